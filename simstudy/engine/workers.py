"""How many workers there are, and of which kind."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from simstudy.engine.allocation import cores_of_job
from simstudy.engine.refusals import check_block_seconds, check_n_jobs
from simstudy.errors import ConfigError, nearest

BACKENDS = ("auto", "loky", "threads", "inline", "dask")
IN_THIS_PROCESS = ("auto", "inline", "threads")  # backends that draw some or all blocks here
ELSEWHERE = ("auto", "loky", "dask")  # those that send to other processes what they send


@dataclass(frozen=True)
class Workers:
    """How blocks are computed; no choice here moves a number.

    Parameters
    ----------
    backend
        `auto` (in a copy of this process while that is the fastest, then loky), `loky`
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
        refuse_unknown_backend(self.backend)
        check_n_jobs(self.n_jobs)
        check_block_seconds(self.block_seconds)

    def limited(self, block_seconds: float | None) -> "Workers":
        """The same, with a limit where none is given."""
        return self if self.block_seconds else replace(self, block_seconds=block_seconds)

    @property
    def count(self) -> int:
        """Workers to use."""
        return self.n_jobs or available_cores()


def refuse_no_workers(workers: object) -> None:
    """Refuse what does not say how blocks are computed."""
    if workers is not None and not isinstance(workers, Workers):
        raise ConfigError(
            f"workers={workers!r}: say Workers(n_jobs=2) for two of them, or leave it out to use "
            "every core."
        )


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
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    seen = len(affinity(0)) if affinity else os.cpu_count() or 1
    return cores_of_job(os.environ) or seen
