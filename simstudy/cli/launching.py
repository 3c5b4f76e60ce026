"""Sweeps whose jobs run elsewhere: what is asked of a launcher, and how its jobs ended."""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simstudy.cli.endings import DEFECT
from simstudy.errors import ConfigError

HERE = "hydra._internal.core_plugins."  # launchers of Hydra's own run jobs in this process
LET_PASS = "HYDRA_FULL_ERROR"
FOLDER = "sweeps"  # below the current folder, which every machine of a cluster has to see
INSTALL = (
    "hydra/launcher=slurm needs submitit's launcher, which is not installed: pip install "
    "'simstudy[slurm]'"
)


def runs_elsewhere(launcher: Any) -> bool:
    """Whether a composed launcher hands jobs to something else than this process."""
    return not str(launcher.get("_target_", HERE)).startswith(HERE)


def asks_more(hydra: Any) -> bool:
    """Whether Hydra's own config has a sweeper, callbacks or an environment for jobs.

    Then Hydra is to run it, and not only to compose it.
    """
    is_own = str(hydra.sweeper.get("_target_", HERE)).startswith(HERE)
    return not is_own or bool(hydra.callbacks) or bool(hydra.job.env_set)


def refuse_launcher(launcher: Any, *, is_sweep: bool) -> None:
    """Refuse a launcher whose jobs would end as they begin, or that would launch nothing.

    Raises
    ------
    ConfigError
        Naming the key.
    """
    if not runs_elsewhere(launcher):
        return
    if not is_sweep:
        raise ConfigError(
            "hydra/launcher launches the jobs of a sweep, and this is one run, which would stay "
            "here: add -m, or make a script of shares with simstudy batch"
        )
    minutes, delay = launcher.get("timeout_min"), launcher.get("signal_delay_s")
    if minutes and delay and minutes * 60 < 2 * delay:
        raise ConfigError(
            f"hydra.launcher.timeout_min={minutes} with signal_delay_s={delay}: a job would be "
            f"requeued {delay} s before the end of its {minutes * 60} s, before it has done much; "
            f"nearest that works: hydra.launcher.signal_delay_s={minutes * 30}"
        )


@dataclass(frozen=True)
class Statuses:
    """Exit statuses of a sweep's jobs, each in a file, since jobs may run on other machines."""

    folder: Path

    def keep(self, job: int, status: int) -> None:
        """Note how a job ended."""
        (self.folder / f"{job}.status").write_text(f"{status}\n")

    def all(self) -> list[int]:
        """Those of the jobs that have ended."""
        return [int(path.read_text()) for path in sorted(self.folder.glob("*.status"))]

    def worst(self, n_jobs: int) -> int:
        """The highest of so many; a job without any was killed, or never ran."""
        found = self.all()
        return max(found + [DEFECT] * (len(found) < n_jobs), default=0)


@contextlib.contextmanager
def sweep_folder(overrides: Sequence[str], *, elsewhere: bool) -> Iterator[tuple[Path, list[str]]]:
    """A folder for what a sweep leaves, and the overrides that have Hydra use it.

    Of a sweep in this process nobody reads it, and it goes with it; jobs elsewhere find in it
    what they are to do, and leave their logs.
    """
    said = any(text.startswith("hydra.sweep.dir=") for text in overrides)
    if not elsewhere:
        with tempfile.TemporaryDirectory() as temporary:
            yield Path(temporary), [] if said else [f"hydra.sweep.dir={temporary}"]
        return
    started = time.strftime("%Y-%m-%d-%H%M%S")
    folder = Path.cwd() / FOLDER / f"{started}-{os.getpid()}"
    folder.mkdir(parents=True)
    yield folder, [] if said else [f"hydra.sweep.dir={folder}"]


@contextlib.contextmanager
def losses_said(folder: Path, *, elsewhere: bool) -> Iterator[None]:
    """Say in a line where a job elsewhere ended without a word, as one that was killed does.

    The launcher waits for jobs in order and raises at the first such: others may be under way.
    Hydra would print that as a traceback of its own and leave, unless it is told to let it pass.
    """
    if not elsewhere:
        yield
        return
    before = os.environ.get(LET_PASS)
    os.environ[LET_PASS] = "1"
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("submitit."):
            raise
        print(
            f"a job of the sweep ended without a status ({type(error).__name__}), and others may "
            f"still be under way; their logs lie in {folder}. What was finished is kept: to go "
            "on, give the command again.",
            file=sys.stderr,
        )
    finally:
        del os.environ[LET_PASS]
        os.environ.update({LET_PASS: before} if before is not None else {})
