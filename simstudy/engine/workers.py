"""The number and kind of workers."""

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simstudy.errors import ConfigError, describe, how_to_install, nearest
from simstudy.options import option
from simstudy.validation import check_whole, is_whole

BACKENDS = ("auto", "loky", "threads", "inline", "dask")


@dataclass
class Workers:
    """The options of a run that choose its workers, and change no number; see `RunOptions`."""

    backend: str = option("where blocks are drawn", default="auto")
    n_jobs: int | None = option("number of workers (default and -1: one per core)")
    backend_options: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        check_backend(self.backend)
        if self.n_jobs is not None and not (is_whole(self.n_jobs) and self.n_jobs < 0):
            text = "of workers, or -1 for one per core"
            check_whole("n_jobs", self.n_jobs, least=1, counts=text)

    @property
    def count(self) -> int:
        """The number of workers."""
        n_jobs = self.n_jobs or -1
        return n_jobs if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)


def check_backend(name: str) -> None:
    """Refuse an unknown backend."""
    module, _, kind = str(name).partition(":")
    is_place = kind.isidentifier() and all(part.isidentifier() for part in module.split("."))
    if name not in BACKENDS and not is_place:
        raise ConfigError(
            f"backend={name}: no such backend, and not of the form module:Class; "
            + nearest(str(name), BACKENDS)
        )


def class_at(setting: str, place: str) -> Callable[..., Any]:
    """Import the class that a setting names as `module:Class`."""
    module, _, kind = place.partition(":")
    try:
        named: Callable[..., Any] = getattr(importlib.import_module(module), kind)
    except Exception as error:  # an import may raise anything
        raise ConfigError(
            f"{setting}={place} cannot be imported: {describe(error)}. "
            + (how_to_install(error) or "Name the class as module:Class, on Python's path.")
        ) from error
    return named


# environment variables with the cores of a batch job, each with one that is set in jobs only
CORE_VARIABLES = {
    "SLURM_CPUS_PER_TASK": "SLURM_JOB_ID",
    "SLURM_CPUS_ON_NODE": "SLURM_JOB_ID",
    "NCPUS": "PBS_JOBID",
    "NSLOTS": "JOB_ID",  # SGE
    "LSB_DJOB_NUMPROC": "LSB_JOBID",
}


def available_cores() -> int:
    """Count the cores that this process may use: of its batch job, or by container and affinity."""
    from joblib import cpu_count

    of_job = (
        os.environ.get(cores, "") for cores, job in CORE_VARIABLES.items() if job in os.environ
    )
    return int(next((text for text in of_job if text.isdecimal() and int(text)), cpu_count()))
