"""Composing a command's config with Hydra: the package's own, a project's, and overrides.

Hydra takes the first file of a name that it finds: a project's `conf/` comes before the package's.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from simstudy.cli.endings import DEFECT, refuse
from simstudy.cli.experiments import experiment_files, in_own_code, load_experiment
from simstudy.cli.flags import SEVERAL, flags_first
from simstudy.cli.launching import Statuses, losses_said, refuse_launcher, sweep_folder
from simstudy.cli.overrides import GROUPS, is_flag, is_multirun
from simstudy.cli.project import PACKAGE_CONF, Project
from simstudy.cli.refusals import CONFIG, in_one_line, options
from simstudy.cli.request import Request, read_request
from simstudy.cli.several import sweep_points
from simstudy.cli.yaml_files import trouble_in
from simstudy.errors import (
    BrokenExperimentError,
    ConfigError,
    NotHereError,
    SimstudyError,
    nearest,
)


class Absent(NamedTuple):
    """A point of a sweep that cannot be run here, and why."""

    name: str
    overrides: tuple[str, ...]
    error: SimstudyError

    @property
    def refusal(self) -> SimstudyError:
        """The error, naming the experiment; what is not here is still that."""
        if self.name in str(self.error):
            return self.error
        kind = NotHereError if isinstance(self.error, NotHereError) else ConfigError
        return kind(f"experiment={self.name}: {self.error}")


Point = Request | Absent


class ProjectFirst(SearchPathPlugin):  # type: ignore[misc]
    """Has Hydra look into a project's `conf/` before the package's."""

    conf: ClassVar[Path | None] = None

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Hydra asks this of every plugin before it composes anything."""
        if self.conf is not None and self.conf.is_dir():
            search_path.prepend("project", f"file://{self.conf}", anchor="main")


def look_into(project: Project) -> None:
    """From now on compose this project's configs."""
    ProjectFirst.conf = project.conf
    Plugins.instance().register(ProjectFirst)


def read_requests(overrides: Sequence[str], project: Project) -> list[Request]:
    """Compose every point of the sweep once, so that a mistake is one line and not a traceback.

    What this machine has no data or library for, and experiments that are refused whatever is
    asked of them, are left out of a sweep, as long as any is left.
    """
    return [point for point in read_points(overrides, project) if isinstance(point, Request)]


def read_points(overrides: Sequence[str], project: Project) -> list[Point]:
    """The same with what is left out: in the place of each, why.

    Raises
    ------
    ConfigError
        For any other mistake, and where nothing would be left.
    """
    known = experiment_files(project.root)
    look_into(project)
    if (project.conf / "config.yaml").is_dir():  # which Hydra would pass by
        raise ConfigError(trouble_in(project.conf / "config.yaml"))
    is_sweep = is_multirun(overrides)
    with initialize_config_dir(str(PACKAGE_CONF), version_base=None):
        points = [
            _point(point, project, known, is_sweep=is_sweep)
            for point in sweep_points(overrides, project)
        ]
    absent = [point.refusal for point in points if isinstance(point, Absent)]
    if absent and not (is_sweep and len(absent) < len(points)):
        raise absent[-1]
    return points


def _point(
    point: Sequence[str], project: Project, known: dict[str, Path], *, is_sweep: bool
) -> Point:
    try:
        return _read(_composed(point, project, known, is_sweep=is_sweep), project)
    except SimstudyError:
        alone = _experiment_alone(point)
        broken = _refusal_of(alone, project, known) if is_sweep and alone else None
        if broken is None:
            raise  # what was typed is at fault
        return Absent(alone.partition("=")[2], tuple(point), broken)


def _experiment_alone(point: Sequence[str]) -> str:
    """What names the experiment of a point; empty, where nothing does."""
    named = [text for text in point if text.lstrip("+").startswith("experiment=")]
    return named[-1] if named else ""


def _refusal_of(alone: str, project: Project, known: dict[str, Path]) -> SimstudyError | None:
    """Why an experiment is refused without any setting; None, where it is not, or is not there."""
    if alone.partition("=")[2] not in known:
        return None
    try:
        _read(_composed([alone], project, known, is_sweep=True), project)
    except SimstudyError as error:
        return error
    return None


def _composed(
    point: Sequence[str], project: Project, known: dict[str, Path], *, is_sweep: bool
) -> Any:
    offer_defaults(point, project, known, lenient=is_sweep)
    try:
        cfg = compose(CONFIG, overrides=list(point), return_hydra_config=True)
    except Exception as error:  # Hydra, OmegaConf and ANTLR each raise their own
        raise in_one_line(error, point, project) from None
    refuse_launcher(cfg.hydra.launcher, is_sweep=is_sweep)
    return cfg


def _read(cfg: Any, project: Project) -> Point:
    try:
        return read_request(cfg, cfg.hydra, project)
    except (NotHereError, BrokenExperimentError) as error:
        return Absent(cfg.hydra.runtime.choices.experiment, tuple(cfg.hydra.overrides.task), error)


def refuse_one_folder(requests: Sequence[Request]) -> None:
    """Refuse a sweep whose later runs would be refused: a folder holds results of one making."""
    first: dict[str, Request] = {}
    for request in requests:
        before, settings = first.setdefault(str(request.folder), request), request.settings
        is_alike = (before.settings.seed, before.record) == (settings.seed, request.record)
        if not (is_alike or settings.replace or settings.restart or settings.plan):
            raise ConfigError(
                f"{' '.join(before.overrides)} and {' '.join(request.overrides)} would both stand "
                f"in {request.folder}, which holds the results of one of them. Give each run a "
                "folder of its own, with what differs in its name, as in 'out=results/${seed}'."
            )


def call_hydra(
    overrides: Sequence[str],
    requests: Sequence[Request],
    carry_out: Callable[[Request], int],
    last: frozenset[int],
) -> int:
    """Let Hydra compose, sweep and launch; the highest status of all jobs.

    Parameters
    ----------
    requests
        What it will come to, composed before.
    last
        Statuses after which no other job is begun.
    """
    import hydra

    raised = list[OSError]()
    project, elsewhere = requests[0].project, requests[0].elsewhere
    with sweep_folder(overrides, elsewhere=elsewhere) as (folder, ours):
        statuses = Statuses(folder)

        @hydra.main(version_base=None, config_path=str(PACKAGE_CONF), config_name=CONFIG)  # type: ignore[untyped-decorator]
        def job(cfg: Any) -> int:
            from hydra.core.hydra_config import HydraConfig

            if not elsewhere and (raised or last.intersection(statuses.all())):
                return 0
            told = HydraConfig.get()
            try:
                status = carry_out(read_request(cfg, told, project))
            except SimstudyError as error:  # an experiment is at fault: the others go on
                status = refuse(error)
            except OSError as error:  # such as nobody reading on: Hydra would say how it came to it
                raised.append(error)
                status = DEFECT
            statuses.keep(told.job.get("num", 0), status)
            return status

        sys.argv = [str(project.root / "run.py"), *flags_first(overrides), *ours]
        if elsewhere:
            print(f"{len(requests)} jobs are handed on; what they say: {folder}", file=sys.stderr)
        with losses_said(folder, elsewhere=elsewhere):
            job()
        if raised:
            raise raised[0]
        return statuses.worst(len(requests) if elsewhere else 0)


def needs_hydra(overrides: Sequence[str], requests: Sequence[Request]) -> bool:
    """Whether Hydra is to do more than compose: where it is given flags or settings of its own."""
    others = [text for text in overrides if text not in SEVERAL]
    return not is_plain(others) or any(request.is_hydras for request in requests)


def is_plain(overrides: Sequence[str]) -> bool:
    """Whether this is one run that sets nothing of Hydra's, which then has only to compose it."""
    return not any(is_flag(text) or text.lstrip("+~").startswith("hydra") for text in overrides)


def offer_defaults(
    point: Sequence[str], project: Project, known: dict[str, Path], *, lenient: bool
) -> None:
    """Give Hydra what stands in no file: defaults of an experiment, a backend by its place.

    Parameters
    ----------
    lenient
        Whether a broken experiment has none, since it is refused when it is read, and others go on.

    Raises
    ------
    ConfigError
        For a group's file that there is not.
    """
    for override in OverridesParser.create().parse_overrides(list(point)):
        group, name = override.key_or_group, override.value()
        if group not in GROUPS or override.is_delete():
            continue
        if not isinstance(name, str) or not name or "${" in name:
            given = override.input_line.lstrip("+")
            raise ConfigError(f"{given}: name one; there is: {', '.join(options(group, project))}")
        if "/" in name and group != "experiment":
            known_names = options(group, project)
            raise ConfigError(f"{group}={name}: no such {group}; {nearest(name, known_names)}")
        if group == "experiment":
            _offer_experiment(name, project, known, lenient=lenient)
        elif group == "backend" and ":" in name:
            ConfigStore.instance().store(group=group, name=name, node={"name": name})


def _offer_experiment(
    name: str, project: Project, known: dict[str, Path], *, lenient: bool
) -> None:
    if name not in known:
        raise ConfigError(f"experiment={name}: no such experiment; {nearest(name, known)}")
    if not (project.conf / "experiment" / f"{name}.yaml").exists():
        defaults = _defaults_of(name, project, lenient=lenient)
        ConfigStore.instance().store(group="experiment", name=name, node=defaults)


def _defaults_of(name: str, project: Project, *, lenient: bool) -> dict[str, Any]:
    try:
        module = load_experiment(name, project.root)
    except BrokenExperimentError:
        if lenient:
            return {}
        raise
    with in_own_code(module, "Config", project.root):
        return asdict(module.Config())
