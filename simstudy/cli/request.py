"""What a command asks for: an experiment's study and its settings, checked and typed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from simstudy.cli.experiments import in_own_code, load_experiment
from simstudy.cli.groups import Scale, read_backend, read_scale
from simstudy.cli.launching import asks_more, runs_elsewhere
from simstudy.cli.project import Project
from simstudy.cli.settings import PILOT, Settings, refuse_contradictions, refuse_low_ceiling
from simstudy.engine.refusals import check_whole_groups
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError
from simstudy.identity.source_files import sources_digest
from simstudy.options import build
from simstudy.remote.paths import Place, place_of

MOST_BLOCKS = 200_000_000  # of each some bytes are kept: this many take about a gigabyte


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
    whole_blocks
        Whether methods that go one by one analyse whole blocks, or what is asked for, where a
        study leaves the choice (`Study.analysed_of`).
    elsewhere
        Whether the jobs of its sweep run in other processes, maybe on other machines.
    is_hydras
        Whether a project's config has Hydra do more with its sweeps than compose them.
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
    whole_blocks: bool = True
    elsewhere: bool = False
    is_hydras: bool = False

    @property
    def folder(self) -> Place:
        """Where its results belong."""
        return place_of(self.out) / str(self.study.name)

    @property
    def workers(self) -> Workers:
        """Who draws it."""
        settings = self.settings
        return Workers(
            settings.backend, settings.n_jobs, self.backend_options, settings.block_seconds
        )

    @property
    def n_drawn(self) -> int:
        """Replicates in each scenario that a run draws: of a pilot, two blocks."""
        size = 2 * self.study.block_size  # the first may have to compile
        return min(size, self.n_rep) if self.settings.shard == PILOT else self.n_rep

    @property
    def record(self) -> dict[str, Any]:
        """What made the numbers, for the manifest: not how they were computed."""
        made_by = {"experiment": self.name, **asdict(self.config), "keep": self.settings.keep}
        if not self.settings.precision:
            return made_by
        decided = {"precision": self.settings.precision, "stop_by": self.settings.stop_by}
        return made_by | decided | {"at_least": self.n_rep}


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
    _refuse_untold_backend(settings, told)
    study = _study_of(module, config, project.root)
    n_rep = settings.n_rep or replicates_at(scale, study.n_rep, study.group_size)
    check_whole_groups(study.group_size, n_rep)
    _refuse_absurd(study, n_rep)
    refuse_low_ceiling(settings, n_rep)
    out = settings.out or str(scale.out)
    _refuse_no_folder(place_of(out) / str(study.name), out)
    if settings.shard:
        refuse_own_memory(out, f"shard={settings.shard}")
    sources = sources_digest(module.__file__)  # now that they are loaded: they may be edited later
    overrides = tuple(hydra.overrides.task)
    elsewhere = runs_elsewhere(hydra.launcher)
    return Request(
        name, module, config, study, settings, n_rep, out, sources, project, overrides, told,
        scale.whole_blocks, elsewhere, elsewhere or asks_more(hydra),
    )  # fmt: skip


def replicates_at(scale: Scale, published: int, group_size: int = 1) -> int:
    """Replicates in each scenario: so many, or so many times the published; of both the fewer.

    Where they come in groups, whole groups, at least so many.
    """
    relative = max(1, round((scale.times or 1) * published))
    if scale.n_rep is None:
        n_rep = relative
    else:
        n_rep = min(scale.n_rep, relative) if scale.times else scale.n_rep
    return n_rep + -n_rep % group_size


def _refuse_absurd(study: Any, n_rep: int) -> None:
    """Refuse more blocks than memory has room to tell apart, before anything tries."""
    n_blocks = -(-n_rep // study.block_size) * len(study.scenarios)
    if n_blocks > MOST_BLOCKS:
        raise ConfigError(
            f"n_rep={n_rep} is {n_blocks:,} blocks of {study.block_size} replicates in all "
            f"{len(study.scenarios)} scenarios, and {MOST_BLOCKS:,} are the most that a run can "
            "keep account of. Ask for fewer replicates, or give the Study a larger block_size."
        )


def _refuse_untold_backend(settings: Settings, told: Mapping[str, Any]) -> None:
    """Refuse what a backend cannot be told before it is asked to draw anything."""
    if told or ":" in settings.backend:
        from simstudy.engine.backends.choice import maker_of

        maker_of(Workers(settings.backend, settings.n_jobs, told))


def refuse_own_memory(out: str, asked: str) -> None:
    """Refuse a place that no other process sees, where several are to share it.

    Parameters
    ----------
    asked
        What has them share it.
    """
    if out.startswith("memory:"):
        raise ConfigError(
            f"out={out} with {asked}: what one process keeps in its memory no other one sees, and "
            "it ends with it, so there would be nothing to join. Give a folder that all see."
        )


def _refuse_no_folder(folder: Place, out: str) -> None:
    """Refuse what no file system takes for a folder, such as a name of 300 letters."""
    if not isinstance(folder, Path):
        return  # its store says what is wrong with it
    try:
        folder.stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # it is made, or its store says what is in the way
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"out={out} cannot be the folder of the results: {reason}. Choose another out=..."
        ) from None


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
