"""The number and kind of workers."""

import importlib
import math
import numbers
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from simstudy.errors import ConfigError, describe, nearest
from simstudy.validation import check_whole

BACKENDS = ("auto", "loky", "threads", "inline", "dask")


@dataclass(frozen=True)
class Workers:
    """The number and kind of workers; no choice here changes a number.

    Parameters
    ----------
    backend
        `auto` (this process while less than about a second of work is left, then loky), `loky`
        (processes), `threads`, `inline` (this process, where a debugger sees them), `dask` (a
        cluster), or a backend of your own as `module:Class`.
    n_jobs
        Workers; None means one per core that this process may use, or that the job of a batch
        system has.
    options
        What the backend is told beside, by the names of its own parameters.
    block_seconds
        How long drawing a block may take, after which it has failed; None leaves that to the
        study.
    """

    backend: str = "auto"
    n_jobs: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    block_seconds: float | None = None

    def __post_init__(self) -> None:
        check_backend(self.backend)
        check_n_jobs(self.n_jobs)
        check_block_seconds(self.block_seconds)

    def limited(self, block_seconds: float | None) -> "Workers":
        """Add a time limit per block where none is set.

        Parameters
        ----------
        block_seconds
            Seconds; None for no limit.

        Returns
        -------
        Workers
            These workers, or a copy with the limit.
        """
        return self if self.block_seconds else replace(self, block_seconds=block_seconds)

    @property
    def count(self) -> int:
        """The number of workers."""
        return self.n_jobs or available_cores()


def check_backend(name: str) -> None:
    """Refuse an unknown backend."""
    module, _, kind = str(name).partition(":")
    is_place = kind.isidentifier() and all(part.isidentifier() for part in module.split("."))
    if name not in BACKENDS and not is_place:
        raise ConfigError(
            f"backend={name}: no such backend, nor the place of one as module:Class; "
            + nearest(str(name), BACKENDS)
        )


def class_at(setting: str, place: str) -> Callable[..., Any]:
    """The class that a setting names as `module:Class`."""
    module, _, kind = place.partition(":")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), kind)
    except Exception as error:  # whatever a module raises that cannot be imported
        raise ConfigError(
            f"{setting}={place} cannot be imported: {describe(error)}. Name a class of a module "
            "that Python finds, as module:Class."
        ) from error
    return found


def available_cores() -> int:
    """The number of cores that this process may use: of its job, its container, its affinity."""
    from joblib import cpu_count

    return cores_of_job(os.environ) or int(cpu_count())


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse an invalid number of workers; None means all cores."""
    if n_jobs is not None:
        check_whole("n_jobs", n_jobs, least=1, counts="of workers, or none for every core")


def check_block_seconds(seconds: Any) -> None:
    """Refuse an invalid time limit."""
    if seconds is None:
        return
    is_number = isinstance(seconds, numbers.Real) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds < math.inf:
        raise ConfigError(
            f"block_seconds={seconds!r}: drawing a block takes some time, so every block would "
            "fail. Give a number above 0, in seconds, or None for as long as it takes."
        )


# ---------------------------------------------------------------- cores of a batch job
class CoreVariable(NamedTuple):
    """Environment variables with the number of cores of a batch job.

    Parameters
    ----------
    job
        Set in its jobs only, which tells its word from a variable of that name that somebody
        exports in a shell. Empty where no other program uses the name.
    cores
        The number of cores of a process of this job, on this machine.
    """

    job: str
    cores: str


CORE_VARIABLES = (
    CoreVariable("", "SLURM_CPUS_PER_TASK"),  # where somebody asked for --cpus-per-task
    CoreVariable("SLURM_JOB_ID", "SLURM_CPUS_ON_NODE"),
    CoreVariable("PBS_JOBID", "NCPUS"),
    CoreVariable("JOB_ID", "NSLOTS"),  # SGE
    CoreVariable("LSB_JOBID", "LSB_DJOB_NUMPROC"),  # LSF
)


def cores_of_job(environment: Mapping[str, str]) -> int | None:
    """The number of cores of this batch job; None outside of one.

    A batch system may let a job see more cores than it has, so its word goes before the
    system's. What is no such number (0, `4(x2)`, nothing) is passed over: the job has cores.
    """
    for variable in CORE_VARIABLES:
        text = environment.get(variable.cores, "")
        is_in_job = not variable.job or environment.get(variable.job)
        if is_in_job and text.isascii() and text.isdigit() and int(text):
            return int(text)
    return None
