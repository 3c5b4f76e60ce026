"""Which blocks are to be drawn, and in which order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simstudy.design import Scenario
from simstudy.design.plan import Plan, scenario_behind
from simstudy.engine.shares import shares_of
from simstudy.store.blocks import Store
from simstudy.store.failures import failed_blocks, n_failed_rows

PART_OF_DONE = 8  # blocks of a scenario that come together: at most this part of those before them
TOGETHER = 1 << 10  # and never more


class Job(NamedTuple):
    """One block to compute, of the scenario with this key."""

    scenario: Scenario
    block: int
    key: str


@dataclass(frozen=True)
class Jobs(Collection[Job]):
    """Blocks to compute, in order; each job is made when it is its turn.

    What is remembered is a byte for each block, so a study of many millions can be asked for.

    Parameters
    ----------
    chosen
        By the key of what is drawn, which of its first blocks, shape `(n_blocks,)`; the methods
        of a scenario have as many.
    """

    plan: Plan
    chosen: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, plan: Plan, jobs: Iterable[Job]) -> Jobs:
        """Those of a plan's blocks that are given, in any order."""
        blocks: dict[str, list[int]] = {key: [] for key in plan.keys}
        for job in jobs:
            blocks[job.key].append(job.block)
        longest = 1 + max((block for some in blocks.values() for block in some), default=-1)
        chosen = {key: np.zeros(longest, dtype=bool) for key in blocks}
        for key, some in blocks.items():
            chosen[key][some] = True
        return cls(plan, chosen)

    def __len__(self) -> int:
        return sum(int(np.count_nonzero(which)) for which in self.chosen.values())

    def __contains__(self, job: object) -> bool:
        if not isinstance(job, Job) or job.key not in self.chosen:
            return False
        which = self.chosen[job.key]
        return job.block < len(which) and bool(which[job.block])

    def __iter__(self) -> Iterator[Job]:
        """The first block of every scenario before the second of any, and so on.

        Far on some blocks of a scenario come together, so that they lie together in a file: never
        more than an eighth of those before them, which is what an early look may lack.
        """
        families = families_of(self.plan, self.chosen)
        for start, end in _bands(max(map(len, self.chosen.values()), default=0)):
            for family in families:
                yield from self._in_band(family, start, end)

    def _in_band(self, family: list[str], start: int, end: int) -> Iterator[Job]:
        """Block by block, each with all methods."""
        here = np.stack([self.chosen[key][start:end] for key in family], axis=1)
        for block, place in np.argwhere(here).tolist():
            yield Job(self.plan.keys[family[place]], start + block, family[place])

    def without(self, others: Jobs) -> Jobs:
        """These but for others of as many blocks."""
        return Jobs(
            self.plan, {key: which & ~others.chosen[key] for key, which in self.chosen.items()}
        )

    def only(self, wanted: Mapping[str, np.ndarray]) -> Jobs:
        """Those of them that are wanted too, by key and block."""
        return Jobs(self.plan, {key: which & wanted[key] for key, which in self.chosen.items()})


def families_of(plan: Plan, keys: Iterable[str]) -> list[list[str]]:
    """Keys of what is drawn of the same data, next to each other."""
    families: dict[int, list[str]] = {}
    for key in keys:
        families.setdefault(id(scenario_behind(plan.keys[key])), []).append(key)
    return list(families.values())


def _bands(n_blocks: int) -> Iterator[tuple[int, int]]:
    """Ranges of blocks that are drawn of every scenario before the next, each aligned."""
    start = 0
    while start < n_blocks:
        length = 1 << max(0, (start // PART_OF_DONE).bit_length() - 1)
        end = min(start + min(length, TOGETHER), n_blocks)
        yield start, end
        start = end


class Waiting:
    """Jobs on their way out: each is handed out once, and may be put back.

    Parameters
    ----------
    jobs
        In the order in which they go.
    without
        Those of them that are left out.

    Attributes
    ----------
    left
        How many have not been handed out.
    waits
        By key, which blocks have not been, shape `(n_blocks,)`.
    """

    def __init__(self, jobs: Collection[Job], *, without: Collection[Job] = ()) -> None:
        self.left = len(jobs)
        self.waits = _marked(jobs)
        self.drop((job.key, job.block) for job in without)
        self._back: deque[Job] = deque()
        self._rest = iter(jobs)

    def take(self, n: int, before: int | None = None) -> list[Job]:
        """The next so many, and with the last one the other methods of its block.

        Parameters
        ----------
        before
            Those of this block and of later ones go on waiting; at least `n` others are there.
        """
        taken, later = list[Job](), list[Job]()
        while (job := self._next()) is not None:
            if len(taken) >= n and not _same_data(taken[-1], job):
                self._back.appendleft(job)
                break
            if before is not None and job.block >= before:
                later.append(job)
                continue
            self.drop([(job.key, job.block)])
            taken.append(job)
        self._back.extendleft(reversed(later))
        return taken

    def first(self) -> Job | None:
        """The one that comes next."""
        job = self._next()
        if job is not None:
            self._back.appendleft(job)
        return job

    def has(self, key: str, block: int) -> bool:
        """Whether a block has not been handed out."""
        waits = self.waits.get(key, ())
        return block < len(waits) and bool(waits[block])

    def drop(self, blocks: Iterable[tuple[str, int]]) -> None:
        """Blocks, by key, that somebody else hands out."""
        for key, block in blocks:
            self.waits[key][block] = False
            self.left -= 1

    def put_back(self, jobs: Collection[Job]) -> None:
        """Some that were taken come first again."""
        for job in jobs:
            self.waits[job.key][job.block] = True
        self._back.extendleft(reversed(list(jobs)))
        self.left += len(jobs)

    def _next(self) -> Job | None:
        """The next that waits; those put back that have been handed out since are passed over."""
        while self._back:
            job = self._back.popleft()
            if self.waits[job.key][job.block]:
                return job
        return next((job for job in self._rest if self.waits[job.key][job.block]), None)


def _marked(jobs: Collection[Job]) -> dict[str, np.ndarray]:
    """Which blocks some jobs are, by key: a byte for each."""
    if isinstance(jobs, Jobs):
        return {key: which.copy() for key, which in jobs.chosen.items()}
    blocks: dict[str, list[int]] = {}
    for job in jobs:
        blocks.setdefault(job.key, []).append(job.block)
    marked = {key: np.zeros(max(some) + 1, dtype=bool) for key, some in blocks.items()}
    for key, some in blocks.items():
        marked[key][some] = True
    return marked


def _same_data(job: Job, other: Job) -> bool:
    """Whether two jobs analyse the same data; those of a scenario that simulates share none."""
    behind = scenario_behind(job.scenario) is scenario_behind(other.scenario)
    return behind and job.block == other.block


# ---------------------------------------------------------------- which
def all_jobs(plan: Plan, wanted: Mapping[str, int]) -> Jobs:
    """Every block of so many of each scenario, by its key."""
    return Jobs(plan, {key: np.ones(wanted[key], dtype=bool) for key in plan.keys})


def missing_jobs(
    plan: Plan, wanted: Mapping[str, int], store: Store, *, tentative: bool = False
) -> Jobs:
    """Blocks that are wanted and not stored.

    Parameters
    ----------
    wanted
        Blocks wanted of each scenario, by its key.
    tentative
        Whether blocks that the machine made fail will do.
    """
    lacking = {key: ~store.have(key, wanted[key], tentative=tentative) for key in plan.keys}
    return Jobs(plan, lacking)


def failed_jobs(plan: Plan, wanted: Mapping[str, int], store: Store) -> Jobs:
    """Stored blocks among those wanted that hold a failure."""
    return Jobs(plan, {key: failed_blocks(store, key, wanted[key]) for key in plan.keys})


def failed_replicates(plan: Plan, store: Store, wanted: Mapping[str, int]) -> dict[str, int]:
    """How many stored replicates of so many blocks failed, by key; of a block of moments, all."""
    size = plan.block_size // store.rows_per_block
    return {key: n_failed_rows(store, key, wanted[key]) * size for key in plan.keys}


def still_missing(jobs: Collection[Job], store: Store) -> list[Job]:
    """Those of some jobs whose blocks are not in the store by now."""
    store.scan()
    n_blocks = max((job.block for job in jobs), default=-1) + 1
    have = {key: store.have(key, n_blocks, tentative=True) for key in {job.key for job in jobs}}
    return [job for job in jobs if not have[job.key][job.block]]


def n_by_share(
    plan: Plan, jobs: Jobs, n_shards: int, weights: Mapping[str, float] | None = None
) -> Counter[int]:
    """How many of some jobs belong to each of so many shares, counted from 1."""
    shares, found = shares_of(plan, n_shards, weights), Counter[int]()
    for key, which in jobs.chosen.items():
        whose, counts = np.unique(shares[key](np.flatnonzero(which)), return_counts=True)
        found.update(dict(zip((whose + 1).tolist(), counts.tolist(), strict=True)))
    return found


def in_shard(
    plan: Plan,
    jobs: Iterable[Job],
    shard: tuple[int, int],
    weights: Mapping[str, float] | None = None,
) -> Jobs:
    """The jobs that belong to shard `i` of `n`, whatever is stored already.

    The methods of a block are in the same shard, which draws their data once.

    Parameters
    ----------
    weights
        What a block costs, in any unit, by the key of what is drawn and, where there are methods,
        by the scenario's key for its data: as an `Outcome` has its seconds. Who is not named costs
        what the others do on average. Shares are then equal by cost; `simstudy.engine.shares` says
        how. All shards of a study must be told the same weights.
    """
    index, n_shards = shard
    some = jobs if isinstance(jobs, Jobs) else Jobs.of(plan, jobs)
    shares = shares_of(plan, n_shards, weights)
    return some.only(
        {key: shares[key](np.arange(len(which))) == index - 1 for key, which in some.chosen.items()}
    )
