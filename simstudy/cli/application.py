"""The Hydra application that runs studies: `python run.py experiment=NAME`."""

import math
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig

from simstudy.cli import sweep
from simstudy.cli.composition import (
    VERSION_BASE,
    check_overrides,
    config_location,
    first_line,
    hydra_errors_in_one_line,
    parse_overrides,
    register,
    resolve,
    short_name,
)
from simstudy.cli.exit_status import DEFECT, REFUSED, complain, is_output_error, refuse
from simstudy.cli.experiment_groups import ALL, default_group, members
from simstudy.cli.project import COMMANDS, Project
from simstudy.cli.settings import SILENT
from simstudy.errors import ConfigError, SimstudyError, describe, nearest

FULL_ERROR = "HYDRA_FULL_ERROR"
MULTIRUN = ("-m", "--multirun")
OPTIONS_WITH_VALUE = (
    "--cfg", "-c", "--package", "-p", "--config-path", "-cp", "--config-name", "-cn",
    "--config-dir", "-cd", "--experimental-rerun",
)  # fmt: skip
INFO, COMPLETION = ("--info", "-i"), ("--shell-completion", "-sc")  # a value may follow


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
    flags, overrides = split_flags(arguments)
    flags, overrides = with_experiments(flags, overrides, project)
    parsed = parse_overrides(overrides)
    check_overrides(parsed)
    program = project.command("run")
    register(project, parsed, program=program, sweep_folder=_sweep_folder(overrides))
    task = Task(project, tuple(arguments))
    sweep.forget()
    folder, name = config_location(project)
    start = hydra.main(version_base=VERSION_BASE, config_path=folder, config_name=name)(task)
    with _hydra_process([program, *overrides, *flags]), hydra_errors_in_one_line():
        try:
            start()
        except SystemExit as ending:  # after --help, --cfg and the like
            return int(ending.code or 0)
        except Exception as error:
            if isinstance(error, HydraException) or not sweep.write_unfinished():
                sweep.forget()
                raise
            complain(f"a job of the sweep was lost: {first_line(error)}")
    if task.error is not None:
        raise task.error
    sweep.print_table()
    return max([*task.statuses, *sweep.taken_statuses()], default=0)


def split_flags(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split arguments into Hydra's flags, with their values, and overrides."""
    flags, overrides, rest = list[str](), list[str](), iter(arguments)
    for text in rest:
        if text.startswith("-"):
            flags.append(text)
            if text in OPTIONS_WITH_VALUE:
                flags += [value for value in [next(rest, None)] if value is not None]
        elif flags and (flags[-1] in COMPLETION or (flags[-1] in INFO and "=" not in text)):
            flags.append(text)
        else:
            overrides.append(text)
    return flags, overrides


def with_experiments(
    flags: list[str], overrides: list[str], project: Project
) -> tuple[list[str], list[str]]:
    """Turn bare words into `experiment=`, and `all` into the experiments of the group."""
    overrides = [
        text.removeprefix("+") if text.startswith("+experiment=") else text for text in overrides
    ]
    words = [text for text in overrides if "=" not in text and not text.startswith(("+", "~"))]
    rest = [text for text in overrides if text not in words]
    groups = [text.partition("=")[2] for text in rest if text.startswith("group=")]
    rest = [text for text in rest if not text.startswith("group=")]  # no group of Hydra's
    if not words:
        return flags, rest
    known = project.options("experiment")
    for word in words:
        if word not in (*known, ALL):
            near = nearest(word, [*COMMANDS, *known])
            raise ConfigError(f"{word!r} is no command and no experiment; {near}")
    names = words
    if words == [ALL]:
        names = members(groups[-1] if groups else default_group(project), project)
    is_sweep = words == [ALL] or len(names) > 1
    more = [MULTIRUN[0]] if is_sweep and not set(MULTIRUN) & set(flags) else []
    return [*more, *flags], [f"experiment={','.join(names)}", *rest]


def _sweep_folder(overrides: Sequence[str]) -> str:
    """The folder of a sweep's table, named after its overrides."""
    out = [text.partition("=")[2] for text in overrides if text.startswith("out=")]
    scale = [text.partition("=")[2] for text in overrides if text.startswith("scale=")]
    root = out[-1] if out else f"results/{scale[-1]}" if scale else "results"
    root = root if re.fullmatch(r"[\w./-]+", root) else "results"
    kept = [
        text
        for text in overrides
        if not text.startswith("hydra")
        and (text.startswith("experiment=") or text.partition("=")[0] not in SILENT)
    ]
    return f"{root}/sweeps/{short_name(','.join(kept))}"


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

    Launchers may send it to other processes, so it holds only the project and the arguments.

    Attributes
    ----------
    statuses
        Exit statuses of the runs in this process.
    error
        An error that ends the command: of a single run, or of the standard output.
    """

    def __init__(self, project: Project, arguments: tuple[str, ...]) -> None:
        self.project = project
        self.arguments = arguments
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
        if is_sweep:  # a process that is killed writes nothing more
            sweep.write_outcome(sweep.Outcome(DEFECT, "ended without a status"), cfg)
        try:
            outcome = self._run(config, is_sweep=is_sweep)
        except Exception as error:
            if not is_sweep or is_output_error(error):
                self.error = (
                    error  # raised once Hydra has ended, which would print lines of its own
                )
                return None
            traceback.print_exc()  # and the other runs of the sweep go on
            outcome = sweep.Outcome(DEFECT, describe(error))
        self.statuses.append(outcome.status)
        if is_sweep:
            sweep.write_outcome(outcome, cfg)
        return outcome.objective

    def _run(self, config: DictConfig, *, is_sweep: bool) -> sweep.Outcome:
        from simstudy.cli.commands import carry_out

        cfg = HydraConfig.get()
        try:
            _check_launcher(cfg)
            run = resolve(config, cfg, self.project)
        except SimstudyError as error:
            refuse(error, self.arguments)
            return sweep.Outcome(REFUSED, reason=str(error))
        return carry_out(run, run.overrides if is_sweep else self.arguments, is_sweep=is_sweep)


def _check_launcher(cfg: Any) -> None:
    """Refuse a launcher of Slurm that would requeue a job before it has done much."""
    launcher = cfg.launcher
    minutes, delay = launcher.get("timeout_min"), launcher.get("signal_delay_s")
    if minutes and delay and minutes * 60 < 2 * delay:
        raise ConfigError(
            f"hydra.launcher.timeout_min={minutes} with signal_delay_s={delay}: a job would be "
            f"requeued {delay} s before the end of its {minutes * 60} s. Write "
            f"hydra.launcher.signal_delay_s={math.floor(minutes * 30)}"
        )
