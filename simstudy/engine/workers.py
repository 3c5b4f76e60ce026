"""How many workers there are, and of which kind."""

import os
from dataclasses import dataclass

from simstudy.errors import ConfigError

BACKENDS = ("auto", "loky", "threads", "inline")


@dataclass(frozen=True)
class Workers:
    """How blocks are computed; no choice here moves a number.

    Parameters
    ----------
    backend
        `auto` (in this process while that is the fastest, then loky), `loky` (processes),
        `threads`, or `inline` (this process).
    n_jobs
        Workers; None means one per core that this process may use (`SLURM_CPUS_PER_TASK` where
        Slurm set it).
    """

    backend: str = "auto"
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise ConfigError(f"backend={self.backend!r}: there is {', '.join(BACKENDS)}.")
        if self.n_jobs is not None and self.n_jobs < 1:
            raise ConfigError(
                f"n_jobs={self.n_jobs}: work needs at least one worker. "
                "Give 1 or more, or leave it out to use every core."
            )

    @property
    def count(self) -> int:
        """Workers to use."""
        return self.n_jobs or available_cores()


def available_cores() -> int:
    """Cores that this process may use."""
    slurm = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if slurm.isdecimal():
        return int(slurm)
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(affinity(0)) if affinity else os.cpu_count() or 1
