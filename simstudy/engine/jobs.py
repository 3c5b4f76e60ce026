"""Which blocks are to be drawn, and in which order."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simstudy.design import Scenario
from simstudy.plan import Plan, scenario_behind
from simstudy.store.blocks import Store
from simstudy.store.failures import failed_blocks


class Job(NamedTuple):
    """One block to compute, of the scenario with this key."""

    scenario: Scenario
    block: int
    key: str


def missing_jobs(
    plan: Plan, wanted: Mapping[str, int], store: Store, *, tentative: bool = False
) -> list[Job]:
    """Blocks that are wanted and not stored, the first of every scenario before the second of any.

    Parameters
    ----------
    wanted
        Blocks wanted of each scenario, by its key.
    tentative
        Whether blocks that the machine made fail will do.
    """
    lacking = {key: ~store.have(key, wanted[key], tentative=tentative) for key in plan.keys}
    return _breadth_first(plan, lacking)


def failed_jobs(plan: Plan, wanted: Mapping[str, int], store: Store) -> list[Job]:
    """Stored blocks among those wanted that hold a failure."""
    return _breadth_first(plan, {key: failed_blocks(store, key, wanted[key]) for key in plan.keys})


def _breadth_first(plan: Plan, chosen: Mapping[str, np.ndarray]) -> list[Job]:
    jobs = [
        Job(plan.keys[key], block, key)
        for key, which in chosen.items()
        for block in np.flatnonzero(which).tolist()
    ]
    return sorted(jobs, key=lambda job: job.block)  # stable: scenarios keep their order


def still_missing(jobs: list[Job], store: Store) -> list[Job]:
    """Those of some jobs whose blocks are not in the store by now."""
    store.scan()
    n_blocks = max(job.block for job in jobs) + 1
    have = {key: store.have(key, n_blocks, tentative=True) for key in {job.key for job in jobs}}
    return [job for job in jobs if not have[job.key][job.block]]


def in_shard(plan: Plan, jobs: Iterable[Job], shard: tuple[int, int]) -> list[Job]:
    """The jobs that belong to shard `i` of `n`, whatever is stored already.

    The methods of a block are in the same shard, which draws their data once.
    """
    index, n_shards = shard
    behind = dict.fromkeys(id(scenario_behind(drawn)) for drawn in plan.scenarios)
    places = {scenario: place for place, scenario in enumerate(behind)}
    return [
        job
        for job in jobs
        if (job.block * len(places) + places[_place_in_memory(job)]) % n_shards == index - 1
    ]


def end_of_task(jobs: Sequence[Job], end: int) -> int:
    """Where a task that would end there does end: with the last method of its last block."""
    while 0 < end < len(jobs) and _data_of(jobs[end]) == _data_of(jobs[end - 1]):
        end += 1
    return end


def _data_of(job: Job) -> tuple[int, int]:
    """What tells the data of jobs apart; jobs of a scenario that simulates share none."""
    return _place_in_memory(job), job.block


def _place_in_memory(job: Job) -> int:
    return id(scenario_behind(job.scenario))
