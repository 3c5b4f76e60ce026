"""What a command asks for: an experiment's study and its settings, checked and typed."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from simstudy.cli.experiments import load_experiment
from simstudy.cli.project import Project
from simstudy.cli.settings import Settings, read_shard
from simstudy.identity.source_files import sources_digest
from simstudy.options import build


@dataclass(frozen=True)
class Request:
    """A composed config, checked and typed.

    Parameters
    ----------
    name
        The experiment's, which is its file's.
    module
        The experiment's file, loaded.
    config
        Its `Config`.
    study
        The `Study` that it makes of this config.
    n_rep
        Replicates in each scenario.
    out
        Folder under which the study keeps its own.
    sources
        Digest of all sources behind its outputs, as they were when they were loaded.
    """

    name: str
    module: Any
    config: Any
    study: Any
    settings: Settings
    n_rep: int
    out: str
    sources: str

    @property
    def folder(self) -> Path:
        """Where its results belong."""
        return Path(self.out) / str(self.study.name)

    @property
    def record(self) -> dict[str, Any]:
        """What made the numbers, for the manifest: not how they were computed."""
        made_by = {"experiment": self.name, **asdict(self.config), "keep": self.settings.keep}
        targets = self.settings.precision
        return made_by | ({"precision": targets} if targets else {})


def read_request(cfg: Any, name: str, project: Project) -> Request:
    """Types and ranges of everything, before any work."""
    ours = OmegaConf.masked_copy(cfg, [key for key in cfg if key != "hydra"])
    plain: Any = OmegaConf.to_container(ours, resolve=True)
    scale, backend = plain.pop("scale"), plain.pop("backend")
    module = load_experiment(name, project.root)
    config = build(module.Config, plain.pop("experiment"), prefix="experiment.")
    settings = build(Settings, plain | {"backend": backend["name"]})
    read_shard(settings.shard)
    study = module.study(config)
    n_rep = settings.n_rep or scale["n_rep"] or scale["times"] * study.n_rep
    out = settings.out or scale["out"]
    sources = sources_digest(module.__file__)  # now that they are loaded: they may be edited later
    return Request(name, module, config, study, settings, n_rep, out, sources)
