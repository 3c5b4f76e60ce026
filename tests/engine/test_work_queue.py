"""Which blocks are drawn, in which order, without a list of them."""

import itertools
import tracemalloc

import numpy as np
import pytest

from simstudy.engine.tasks import (
    PART_OF_DONE,
    BlockId,
    BlockSet,
    WorkQueue,
    all_blocks,
    blocks_of_shard,
    missing_blocks,
    n_blocks_by_shard,
)
from simstudy.store.blocks import Store
from tests.engine.test_methods import METHODS
from tests.engine.test_methods import study as study_with_methods
from tests.factories import mean_study

PLAN = mean_study((3, 10, 30)).plan()
ANALYSED = study_with_methods().plan().work_units


def every(plan, n_blocks):
    return all_blocks(plan, dict.fromkeys(plan.keys, n_blocks))


def test_twenty_million_blocks_are_asked_for_in_no_time_and_little_memory():
    """A list of them would be 17 GB; a byte each is allowed, and what is read of them at once."""
    n_blocks = 20_000_000 // len(PLAN.keys)
    tracemalloc.start()
    jobs = every(PLAN, n_blocks)
    assert len(jobs) == n_blocks * len(PLAN.keys)
    first = list(itertools.islice(jobs, 100))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [job.block for job in first[:6]] == [0, 0, 0, 1, 1, 1]
    assert peak < 1.1 * len(jobs)


@pytest.mark.parametrize("plan", [PLAN, ANALYSED], ids=["simulated", "methods"])
def test_every_block_comes_once(plan):
    jobs = [(job.key, job.block) for job in every(plan, 700)]
    assert len(jobs) == len(set(jobs)) == 700 * len(plan.keys)


def test_a_scenario_is_never_far_ahead_of_another():
    """An early look, which has as many blocks as the shortest, lacks an eighth at most."""
    done = dict.fromkeys(PLAN.keys, 0)
    for job in every(PLAN, 3000):
        assert job.block == done[job.key]
        done[job.key] += 1
        ahead = max(done.values()) - min(done.values())
        assert ahead <= max(1, min(done.values()) / PART_OF_DONE)


def test_a_set_knows_what_is_in_it(tmp_path):
    blocks = missing_blocks(PLAN, dict.fromkeys(PLAN.keys, 2), Store(tmp_path, PLAN.block_size))
    key, scenario = next(iter(PLAN.keys.items()))
    assert BlockId(scenario, 1, key) in blocks
    assert BlockId(scenario, 2, key) not in blocks
    assert "another" not in blocks
    assert len(blocks.without(blocks)) == 0


# ---------------------------------------------------------------- handed out
@pytest.mark.parametrize("n", [1, 2, 5, 1000])
def test_what_is_taken_ends_with_the_last_method_of_a_block(n):
    waiting = WorkQueue(every(ANALYSED, 9))
    taken = []
    while some := waiting.take(n):
        taken += some
        data = [(job.scenario.scenario, job.block) for job in some]
        assert all(data.count(one) == len(METHODS) for one in data)
        assert waiting.left == 9 * len(ANALYSED.keys) - len(taken)
    assert taken == list(every(ANALYSED, 9))


# ---------------------------------------------------------------- shares


def test_a_share_does_not_depend_on_what_is_stored():
    """Of half of the blocks it has those that it has of all."""
    some = BlockSet(PLAN, {key: np.arange(8) % 2 == 0 for key in PLAN.keys})
    whole = blocks_of_shard(PLAN, every(PLAN, 8), (2, 3))
    assert list(blocks_of_shard(PLAN, some, (2, 3))) == [job for job in whole if job in some]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_queue_hands_out_as_many_blocks_as_were_asked_for(n):
    queue = WorkQueue(every(PLAN, 4))
    assert len(queue.take(n)) == n
    assert queue.left == 12 - n


@pytest.mark.parametrize("n_shards", [1, 3, 5])
def test_the_blocks_of_a_shard_are_as_many_as_are_counted_for_it(n_shards):
    blocks = every(PLAN, 4)
    counted = n_blocks_by_shard(PLAN, blocks, n_shards)
    drawn = {i: len(blocks_of_shard(PLAN, blocks, (i, n_shards))) for i in range(1, n_shards + 1)}
    assert drawn == {i: counted[i] for i in drawn}
    assert sum(drawn.values()) == 12
