"""A checked and typed configuration: an experiment's study and its settings."""

import typing
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from simstudy.cli.project import Project, in_own_code, load_experiment, read_settings
from simstudy.cli.settings import (
    PILOT,
    Settings,
    check_settings,
    read_backend,
    read_scale,
)
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError, nearest
from simstudy.options import build
from simstudy.provenance.modules import sources_digest
from simstudy.remote.paths import Place, place_of
from simstudy.study.validation import check_whole_groups

MOST_BLOCKS = 200_000_000  # of each some bytes are kept: this many take about a gigabyte


@dataclass(frozen=True)
class ResolvedConfig:
    """A composed config, checked and typed.

    Parameters
    ----------
    verb
        What is to be done with the study.
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
    operand
        What a command names beside the study: the address of the replicate that is to be drawn
        again, or the folder of results to merge.
    differences
        Options of the experiment that were typed and differ from its own, in words: such a try has
        a folder to itself, so that published results stay those of the experiment.
    """

    verb: str
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
    operand: str = ""
    differences: str = ""

    @property
    def folder(self) -> Place:
        """The folder of the results."""
        return place_of(self.out) / str(self.study.name)

    @property
    def workers(self) -> Workers:
        """The workers."""
        settings = self.settings
        return Workers(
            settings.backend, settings.n_jobs, self.backend_options, settings.block_seconds
        )

    @property
    def n_drawn(self) -> int:
        """The replicates per scenario that a run draws; two blocks for a pilot."""
        size = 2 * self.study.block_size  # the first may have to compile
        return min(size, self.n_rep) if self.settings.shard == PILOT else self.n_rep

    @property
    def record(self) -> dict[str, Any]:
        """The settings behind the numbers, for the manifest."""
        made_by = {"experiment": self.name, **asdict(self.config)}
        if not self.settings.precision:
            return made_by
        decided = {"precision": self.settings.precision, "stop_by": self.settings.stop_by}
        return made_by | decided | {"at_least": self.n_rep}


def resolve(
    values: dict[str, Any],
    choices: Mapping[str, str],
    overrides: tuple[str, ...],
    project: Project,
    verb: str,
) -> ResolvedConfig:
    """Check types and ranges of all settings, before any work.

    Parameters
    ----------
    values
        The composed config.
    choices
        Which file of each group it was made from.
    """
    scale = read_scale(values.pop("scale", None), choices["scale"], project)
    backend, options = read_backend(values.pop("backend", None), choices["backend"])
    name = choices["experiment"]
    module = load_experiment(name, project.root)
    config = _read_config(module, values.pop("experiment", None), project.root, overrides)
    values = _as_typed(Settings, values, overrides)
    _check_names(values, config)
    settings = build(Settings, values | {"backend": backend})
    check_settings(settings, verb)
    if options or ":" in backend:  # a wrong option is refused before anything is drawn
        from simstudy.engine.executors import maker_of

        maker_of(Workers(backend, settings.n_jobs, options))
    study = _make_study(module, config, project.root)
    n_rep = settings.n_rep or scale.replicates(study.n_rep, study.rules.group_size)
    check_whole_groups(study.rules.group_size, n_rep)
    _check_size(study, settings, n_rep)
    out, differences = settings.out or str(scale.out), ""
    if not (settings.out or settings.replace or settings.restart):
        out, differences = _folder_of_try(out, module, config, overrides, project)
    if settings.shard:
        refuse_own_memory(out, f"shard={settings.shard}")
    sources = sources_digest(module.__file__)  # now that they are loaded: they may be edited later
    return ResolvedConfig(
        verb, name, module, config, study, settings, n_rep, out, sources, project, overrides,
        options, differences=differences,
    )  # fmt: skip


def _folder_of_try(
    out: str, module: Any, config: Any, overrides: Sequence[str], project: Project
) -> tuple[str, str]:
    """The folder of the results, and the options that differ from the published ones.

    More values of an option are no difference: these results go on where the others are.
    """
    typed = {text.partition("=")[0].removeprefix("experiment.") for text in overrides}
    if not typed.intersection(asdict(config)):
        return out, ""
    from simstudy.output.up_to_date import as_json, differing, folder_of_try

    path = project.conf / "experiment" / f"{module.__name__.rpartition('.')[2]}.yaml"
    own = {name: value for name, value in read_settings(path).items() if name != "defaults"}
    declared = _read_config(module, own, project.root)
    changes = differing(as_json(asdict(declared)), as_json(asdict(config)))
    changes = [change for change in changes if change.name in typed - {"n_rep"}]
    said = "; ".join(map(str, changes))
    return (f"{out}/{folder_of_try(changes)}" if changes else out), said


def _as_typed(cls: Any, values: Any, overrides: Sequence[str], prefix: str = "") -> Any:
    """Values with text as it was typed, where it was read as a number: a folder named 1.0."""
    hints, typed = typing.get_type_hints(cls), dict[str, str]()
    for override in overrides:
        key, _, text = override.partition("=")
        name = key.removeprefix(prefix)
        is_text = key == prefix + name and hints.get(name) in (str, str | None)
        if is_text and isinstance(values.get(name), int | float):
            typed[name] = text
    return values | typed


def _check_names(values: Mapping[str, Any], config: Any) -> None:
    """Refuse unknown settings, such as an option without `experiment.`."""
    known, own = ({each.name for each in fields(of)} for of in (Settings, config))
    for name in values:
        if name not in known:
            near = nearest(name, {*known, "experiment", "scale"})
            meant = f"did you mean 'experiment.{name}'?" if name in own else near
            raise ConfigError(f"{name} is not a setting; {meant}")


def _check_size(study: Any, settings: Settings, n_rep: int) -> None:
    """Refuse more blocks than fit into memory, and `max_rep` below the first round."""
    n_blocks = -(-n_rep // study.block_size) * len(study.scenarios)
    if n_blocks > MOST_BLOCKS:
        raise ConfigError(
            f"n_rep={n_rep} is {n_blocks:,} blocks of {study.block_size} replicates in all "
            f"{len(study.scenarios)} scenarios, and {MOST_BLOCKS:,} are the most that a run can "
            "keep account of. Ask for fewer replicates, or give the Study a larger block_size."
        )
    if settings.precision and settings.max_rep < n_rep:
        raise ConfigError(
            f"max_rep={settings.max_rep} is less than the {n_rep:,} replicates that every scenario "
            f"begins with: raise it, or begin with fewer, n_rep={settings.max_rep}"
        )


def refuse_own_memory(out: str, setting: str) -> None:
    """Refuse an in-memory place for results that several processes share.

    Parameters
    ----------
    setting
        What has them share it.
    """
    if out.startswith("memory:"):
        raise ConfigError(
            f"out={out} with {setting}: what one process keeps in its memory no other one sees, "
            "and it ends with it, so there would be nothing to join. Give a folder that all see."
        )


def _read_config(module: Any, values: Any, root: Path, overrides: Sequence[str] = ()) -> Any:
    """Make and check the options of an experiment."""
    if values is not None and not isinstance(values, dict):
        raise ConfigError(
            f"experiment is {values!r} in the config: its options are keys below it, as in "
            "experiment.NAME=VALUE."
        )
    with in_own_code(module, "Config", root):
        read = _as_typed(module.Config, values or {}, overrides, "experiment.")
        return build(module.Config, read, prefix="experiment.")


def _make_study(module: Any, config: Any, root: Path) -> Any:
    """Call `study(config)`; its errors name their line."""
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
