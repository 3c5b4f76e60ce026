"""Which blocks are drawn, in which order, without a list of them."""

import itertools
import tracemalloc

import numpy as np
import pytest

from simstudy.engine.jobs import (
    PART_OF_DONE,
    Job,
    Jobs,
    Waiting,
    all_jobs,
    in_shard,
    missing_jobs,
)
from simstudy.store.blocks import Store
from tests import toy
from tests.engine.test_methods import METHODS
from tests.engine.test_methods import study as study_with_methods

PLAN = toy.study((3, 10, 30)).plan()
ANALYSED = study_with_methods().plan().drawn


def every(plan, n_blocks):
    return all_jobs(plan, dict.fromkeys(plan.keys, n_blocks))


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


def test_methods_of_a_block_come_one_after_the_other():
    for start, job in enumerate(jobs := list(every(ANALYSED, 40))):
        if start % len(METHODS) == 0:
            family = jobs[start : start + len(METHODS)]
            assert {(one.scenario.scenario, one.block) for one in family} == {
                (job.scenario.scenario, job.block)
            }


def test_jobs_know_what_is_among_them(tmp_path):
    jobs = missing_jobs(PLAN, dict.fromkeys(PLAN.keys, 2), Store(tmp_path, PLAN.block_size))
    key, scenario = next(iter(PLAN.keys.items()))
    assert Job(scenario, 1, key) in jobs
    assert Job(scenario, 2, key) not in jobs
    assert "another" not in jobs
    few = Jobs.of(PLAN, [Job(scenario, 1, key)])
    assert list(few) == [Job(scenario, 1, key)]
    assert len(jobs.without(Jobs.of(PLAN, list(jobs)))) == 0
    assert len(Jobs.of(PLAN, [])) == 0


# ---------------------------------------------------------------- handed out
@pytest.mark.parametrize("n", [1, 2, 5, 1000])
def test_what_is_taken_ends_with_the_last_method_of_a_block(n):
    waiting = Waiting(every(ANALYSED, 9))
    taken = []
    while some := waiting.take(n):
        taken += some
        data = [(job.scenario.scenario, job.block) for job in some]
        assert all(data.count(one) == len(METHODS) for one in data)
        assert waiting.left == 9 * len(ANALYSED.keys) - len(taken)
    assert taken == list(every(ANALYSED, 9))


def test_what_is_put_back_comes_first():
    waiting = Waiting(every(PLAN, 4))
    some = waiting.take(5)
    waiting.put_back(some[3:])
    assert waiting.left == 12 - 3
    assert waiting.take(99) == list(every(PLAN, 4))[3:]
    assert waiting.take(1) == []


def test_jobs_that_others_hand_out_are_passed_over_and_later_blocks_wait():
    waiting, jobs = Waiting(every(PLAN, 4)), list(every(PLAN, 4))
    first = jobs[0].key
    waiting.drop([(first, 0), (first, 3)])
    assert not waiting.has(first, 3)
    assert waiting.first() == jobs[1]
    assert waiting.take(5, before=2) == jobs[1:6]
    waiting.put_back(jobs[4:6])
    rest = [job for job in jobs[4:] if (job.key, job.block) != (first, 3)]
    assert waiting.left == len(rest)
    assert waiting.take(99) == rest
    assert waiting.left == 0


# ---------------------------------------------------------------- shares


def test_a_share_does_not_depend_on_what_is_stored():
    """Of half of the blocks it has those that it has of all."""
    some = Jobs(PLAN, {key: np.arange(8) % 2 == 0 for key in PLAN.keys})
    whole = in_shard(PLAN, every(PLAN, 8), (2, 3))
    assert list(in_shard(PLAN, some, (2, 3))) == [job for job in whole if job in some]
