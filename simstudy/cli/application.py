"""The Hydra application that runs studies: `python run.py experiment=NAME`."""

import itertools
import math
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import ChoiceSweep, Override, RangeSweep
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig

from simstudy.cli import sweep
from simstudy.cli.composition import (
    VERSION_BASE,
    config_location,
    first_line,
    hydra_errors_in_one_line,
    parse_overrides,
    register,
    resolve,
    short_name,
)
from simstudy.cli.exit_status import (
    DEFECT,
    complain,
    complain_of,
    is_output_error,
    resume_command,
)
from simstudy.cli.project import ALL, COMMANDS, Project, default_group, members
from simstudy.cli.runs import Outcome, carry_out
from simstudy.cli.settings import NAMES, SILENT, Settings
from simstudy.engine.graceful_stop import OutOfTime
from simstudy.errors import ConfigError, SimstudyError, describe, nearest
from simstudy.options import build

MAX_RUNS = 10_000  # runs in a sweep
FULL_ERROR = "HYDRA_FULL_ERROR"
MULTIRUN = ("-m", "--multirun")
FLAGS_WITH_VALUE = (
    "--cfg", "-c", "--package", "-p", "--config-path", "-cp", "--config-name", "-cn",
    "--config-dir", "-cd", "--experimental-rerun", "--info", "-i", "--shell-completion", "-sc",
)  # fmt: skip


def run_application(project: Project, arguments: Sequence[str]) -> int:
    """Run Hydra on the command's arguments; returns the exit status.

    Parameters
    ----------
    arguments
        Flags and overrides of Hydra. A bare word names an experiment; `all` names every experiment
        of the group.

    Raises
    ------
    ConfigError
        In one line, for anything that cannot be composed.
    """
    arguments = with_experiments(arguments, project)
    overrides = overrides_among(arguments)
    flags = [text for text in arguments if text not in overrides]  # argparse takes them last
    parsed = parse_overrides(overrides)
    _check_sweep(parsed)
    program = project.command("run")
    register(project, parsed, program=program, sweep_folder=_sweep_folder(overrides))
    task = Task(project)
    sweep.begun.clear()
    folder, name = config_location(project)
    start = hydra.main(version_base=VERSION_BASE, config_path=folder, config_name=name)(task)
    with _hydra_process([program, *overrides, *flags]), hydra_errors_in_one_line():
        try:
            start()
        except SystemExit as ending:  # after --help, --cfg and the like
            return int(ending.code or 0)
        except Exception as error:
            statuses = sweep.finish()
            if isinstance(error, RuntimeError) and not statuses:  # of a launcher: runs catch theirs
                raise ConfigError(f"the sweep cannot start: {first_line(error)}") from error
            if isinstance(error, HydraException) or not statuses:
                raise
            complain(f"a job of the sweep was lost: {first_line(error)}")
            return max(statuses)
    if task.error is not None:
        raise task.error
    return max([*task.statuses, *sweep.finish()], default=0)


def overrides_among(arguments: Sequence[str]) -> list[str]:
    """The overrides among arguments, without Hydra's flags and their values."""
    before = ("", *arguments)
    return [
        text
        for text, previous in zip(arguments, before, strict=False)
        if not text.startswith("-") and ("=" in text or previous not in FLAGS_WITH_VALUE)
    ]


def with_experiments(arguments: Sequence[str], project: Project) -> list[str]:
    """Turn leading words into `experiment=`, and `all` into the experiments of the group."""
    rest = [text for text in arguments if text not in MULTIRUN]
    flags = [MULTIRUN[0]] if len(rest) < len(arguments) else []
    names = list(itertools.takewhile(lambda text: not re.search(r"^[-+~]|=", text), rest))
    groups = [text.partition("=")[2] for text in rest if text.startswith("group=")]
    rest = [text.removeprefix("+") if text.startswith("+experiment=") else text
            for text in rest[len(names):] if not text.startswith("group=")]  # fmt: skip
    known = project.options("experiment") if names else []
    for word in names:
        if word not in (*known, ALL):
            near = nearest(word, [*COMMANDS, *known])
            raise ConfigError(f"{word!r} is no command and no experiment; {near}")
    if names == [ALL]:
        names = members(groups[-1] if groups else default_group(project), project)
        flags = [MULTIRUN[0]]
    flags = [MULTIRUN[0]] if len(names) > 1 else flags
    return [*flags, *([f"experiment={','.join(names)}"] if names else []), *rest]


def _check_sweep(overrides: Sequence[Override]) -> None:
    """Refuse a sweep whose runs would all be refused, or too large for Hydra's own sweeper."""
    single = {each.key_or_group: each.value() for each in overrides if not each.is_sweep_override()}
    given = {name: value for name, value in single.items() if name in NAMES}
    is_value = {name: isinstance(value, bool | int | float | str) for name, value in given.items()}
    build(Settings, {name: v for name, v in given.items() if is_value[name] and "${" not in str(v)})
    values = [each.value() for each in overrides if each.is_sweep_override()]
    n_each = [len(value.list) for value in values if isinstance(value, ChoiceSweep)]
    ranges = [value for value in values if isinstance(value, RangeSweep) and value.step]
    n_runs = math.prod([*n_each, *((each.stop - each.start) / each.step for each in ranges)])
    if n_runs > MAX_RUNS and not any(each.key_or_group == "hydra/sweeper" for each in overrides):
        raise ConfigError(
            f"this sweep has {n_runs:,.0f} runs, and one may have {MAX_RUNS:,}: sweep over fewer "
            "values, or make them factors of the study, as in experiment.NAME=[1,2,3]"
        )


def _sweep_folder(overrides: Sequence[str]) -> str:
    """The folder of a sweep's table, named after its overrides."""
    given = {name: value for name, _, value in (text.partition("=") for text in overrides)}
    scale = given.get("scale", "")
    root = given.get("out") or (f"results/{scale}" if scale else "results")
    root = root if re.fullmatch(r"[\w./-]+", root) else "results"
    names = [name for name in given if name not in SILENT and not name.startswith("hydra")]
    shown = [f"{name}={given[name]}" for name in ("experiment", *names) if name in given]
    return f"{root}/sweeps/{short_name(','.join(shown))}"


@contextmanager
def _hydra_process(argv: list[str]) -> Iterator[None]:
    """Context for Hydra's main function, which reads `sys.argv` and raises its own errors."""
    before, is_full = sys.argv, os.environ.get(FULL_ERROR)
    sys.argv = argv
    os.environ[FULL_ERROR] = "1"  # raise errors instead of printing them and exiting
    GlobalHydra.instance().clear()
    try:
        yield
    finally:
        sys.argv = before
        GlobalHydra.instance().clear()
        if is_full is None:
            del os.environ[FULL_ERROR]


class Task:
    """One run of the application, which Hydra calls with the composed settings.

    Launchers may send it to other processes, so it holds only the project.

    Attributes
    ----------
    statuses
        Exit statuses of the runs in this process.
    error
        An error that ends the command: of a single run, or of the standard output.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.statuses: list[int] = []
        self.error: Exception | None = None
        self.__name__ = self.__qualname__ = "run"
        self.__module__ = "simstudy.cli.application"

    def __call__(self, config: DictConfig) -> float | None:
        """Run one study; returns the objective of a sweeper, if one is named."""
        if self.error is not None:
            return None
        cfg = HydraConfig.get()
        is_sweep = cfg.mode == RunMode.MULTIRUN
        try:
            outcome = self._run_point(config, cfg) if is_sweep else self._run(config, cfg)
        except Exception as error:
            self.error = error  # raised once Hydra has ended, which would print lines of its own
            return None
        self.statuses.append(outcome.status)
        return outcome.objective

    def _run(self, config: DictConfig, cfg: DictConfig, *, is_sweep: bool = False) -> Outcome:
        return carry_out(resolve(config, cfg, self.project), is_sweep=is_sweep)

    def _run_point(self, config: DictConfig, cfg: DictConfig) -> Outcome:
        """Run a study of a sweep; its error does not stop the others."""
        typed = sweep.typed_overrides(cfg)
        sweep.write_outcome(Outcome(DEFECT, "ended without a status"), cfg)  # if it is killed
        try:
            outcome = self._run(config, cfg, is_sweep=True)
        except (SimstudyError, OutOfTime) as error:
            command = resume_command(self.project, "run", typed)
            reason = str(error) if isinstance(error, SimstudyError) else "out of time"
            outcome = Outcome(complain_of(error, typed, command), reason)
        except Exception as error:
            if is_output_error(error):
                raise
            traceback.print_exc()
            outcome = Outcome(DEFECT, describe(error))
        sweep.write_outcome(outcome, cfg)
        return outcome
