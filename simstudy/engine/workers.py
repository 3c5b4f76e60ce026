"""How many workers there are, and of which kind."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simstudy.errors import ConfigError, nearest

BACKENDS = ("auto", "loky", "threads", "inline", "dask")
ELSEWHERE = ("loky", "dask")  # backends that draw nothing in this process


@dataclass(frozen=True)
class Workers:
    """How blocks are computed; no choice here moves a number.

    Parameters
    ----------
    backend
        `auto` (in this process while that is the fastest, then loky), `loky` (processes),
        `threads`, `inline` (this process), `dask` (a cluster), or a backend of your own as
        `module:Class`.
    n_jobs
        Workers; None means one per core that this process may use (`SLURM_CPUS_PER_TASK` where
        Slurm set it).
    options
        What the backend is told beside, by the names of its own parameters.
    """

    backend: str = "auto"
    n_jobs: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_unknown_backend(self.backend)
        if self.n_jobs is not None and self.n_jobs < 1:
            raise ConfigError(
                f"n_jobs={self.n_jobs}: work needs at least one worker. "
                "Give 1 or more, or leave it out to use every core."
            )

    @property
    def count(self) -> int:
        """Workers to use."""
        return self.n_jobs or available_cores()


def refuse_unknown_backend(name: str) -> None:
    """Refuse what is neither a backend of the package's nor the place of a class."""
    module, _, kind = str(name).partition(":")
    is_place = kind.isidentifier() and all(part.isidentifier() for part in module.split("."))
    if name not in BACKENDS and not is_place:
        raise ConfigError(
            f"backend={name}: no such backend, nor the place of one as module:Class; "
            + nearest(str(name), BACKENDS)
        )


def available_cores() -> int:
    """Cores that this process may use."""
    slurm = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if slurm.isdecimal():
        return int(slurm)
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1
