"""What a command asks for: an experiment's study and its settings, checked and typed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from simstudy.cli.experiments import in_own_code, load_experiment
from simstudy.cli.groups import Scale, read_backend, read_scale
from simstudy.cli.project import Project
from simstudy.cli.settings import Settings, refuse_contradictions
from simstudy.errors import ConfigError
from simstudy.identity.source_files import sources_digest
from simstudy.options import build

MOST_BLOCKS = 10_000_000  # each is listed in memory: this many take about a gigabyte


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
    project, overrides
        Where it was asked for, and what a user typed for this one, without the others of a sweep.
    backend_options
        What the backend is told beside the number of workers.
    """

    name: str
    module: Any
    config: Any
    study: Any
    settings: Settings
    n_rep: int
    out: str
    sources: str
    project: Project
    overrides: tuple[str, ...]
    backend_options: Mapping[str, Any] = field(default_factory=dict)

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


def read_request(cfg: Any, hydra: Any, project: Project) -> Request:
    """Types and ranges of everything, before any work.

    Parameters
    ----------
    hydra
        What Hydra says of this job: which file it chose of each group, and its overrides.
    """
    plain, choices = _plain(cfg), hydra.runtime.choices
    scale = read_scale(plain.pop("scale", None), choices["scale"], project)
    backend, told = read_backend(plain.pop("backend", None), choices["backend"], project)
    name = choices["experiment"]
    module = load_experiment(name, project.root)
    config = read_config(module, plain.pop("experiment", None), project.root)
    shard = plain.get("shard")
    plain["shard"] = str(shard).lower() if isinstance(shard, int) else shard  # 3 forgets its /N
    settings = build(Settings, plain | {"backend": backend})
    refuse_contradictions(settings)
    study = _study_of(module, config, project.root)
    n_rep = settings.n_rep or replicates_at(scale, study.n_rep)
    _refuse_absurd(study, n_rep)
    out = settings.out or str(scale.out)
    sources = sources_digest(module.__file__)  # now that they are loaded: they may be edited later
    overrides = tuple(hydra.overrides.task)
    return Request(
        name, module, config, study, settings, n_rep, out, sources, project, overrides, told
    )


def replicates_at(scale: Scale, published: int) -> int:
    """Replicates in each scenario: so many, or so many times the published; of both the fewer."""
    relative = max(1, round((scale.times or 1) * published))
    if scale.n_rep is None:
        return relative
    return min(scale.n_rep, relative) if scale.times else scale.n_rep


def _refuse_absurd(study: Any, n_rep: int) -> None:
    """Refuse more blocks than can be listed in memory, before anything tries."""
    n_blocks = -(-n_rep // study.block_size) * len(study.scenarios)
    if n_blocks > MOST_BLOCKS:
        raise ConfigError(
            f"n_rep={n_rep} is {n_blocks:,} blocks of {study.block_size} replicates in all "
            f"{len(study.scenarios)} scenarios, and {MOST_BLOCKS:,} are the most that a run can "
            "list. Ask for fewer replicates, or give the Study a larger block_size."
        )


def _plain(cfg: Any) -> dict[str, Any]:
    """A composed config as plain values, without what is Hydra's."""
    ours = OmegaConf.masked_copy(cfg, [key for key in cfg if key != "hydra"])
    try:
        plain: Any = OmegaConf.to_container(ours, resolve=True)
    except OmegaConfBaseException as error:
        first, key = str(error).splitlines()[0], getattr(error, "full_key", None)
        raise ConfigError(
            f"{key or 'a setting'} cannot be read: {first}. ${{...}} stands for another setting's "
            "value; write the value itself."
        ) from None
    return dict(plain)


def read_config(module: Any, values: Any, root: Path) -> Any:
    """An experiment's options, checked."""
    if values is not None and not isinstance(values, dict):
        raise ConfigError(
            f"experiment is {values!r} in the config: its options are keys below it, as in "
            "experiment.NAME=VALUE."
        )
    with in_own_code(module, "Config", root):
        return build(module.Config, values or {}, prefix="experiment.")


def _study_of(module: Any, config: Any, root: Path) -> Any:
    """What `study(config)` gives; its errors are the user's, and are named with their line."""
    from simstudy.study import Study

    with in_own_code(module, "study(config)", root):
        study = module.study(config)
        if isinstance(study, Study):
            _ = study.plan().keys  # a scenario that is no dataclass has none
            return study
    raise ConfigError(
        f"{Path(module.__file__).relative_to(root)}: study(config) gave {study!r}, and has to give "
        "the Study: end it with return Study(...)."
    )
