"""What a worker gets and gives; which blocks are drawn, in which order, and in which shard."""

import itertools
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest

from simstudy import Study
from simstudy.engine.tasks import (
    PART_OF_DONE,
    BlockId,
    BlockSet,
    WorkQueue,
    all_blocks,
    blocks_of_shard,
    draw_task,
    missing_blocks,
    n_blocks_by_shard,
    record_failed,
    shard_of_each,
)
from simstudy.measures import mean
from simstudy.store.blocks import Store, failed_replicates
from simstudy.store.files import Folder
from tests.engine.test_methods import METHODS
from tests.engine.test_methods import study as study_with_methods
from tests.factories import blocks_of, factory_of, mean_study
from tests.guarantees.content import content
from tests.support import INLINE

PLAN = mean_study((3, 10)).plan()


@dataclass(frozen=True)
class OneFails:
    """One replicate of each block fails."""

    row: int

    def simulate(self, streams, n_rep):
        errors = np.full(n_rep, None)
        errors[self.row] = f"row {self.row} of block {streams.block}"
        return {"x": streams("data").normal(size=n_rep), "error": errors}


def test_a_task_carries_its_own_scenarios_and_their_provenance_only(tmp_path):
    whole = factory_of(PLAN, tmp_path)
    (job, *_) = list(blocks_of(whole, 2))
    task = whole.task([job])
    assert task.plan.scenarios == (job.scenario,)
    assert list(task.provenance.codes) == [job.key]
    assert task.code.digest == whole.provenance.expected.digest != ""


def test_blocks_that_the_machine_made_fail_are_drawn_again(tmp_path):
    whole = factory_of(PLAN, tmp_path)
    job, other, *_ = list(blocks_of(whole, 2))
    results = [
        record_failed(whole.task([job]), "killed", machine=True),
        record_failed(whole.task([other]), "EXIT(1)", machine=False),
    ]
    assert [result.n_failed for result in results] == [PLAN.block_size] * 2
    address, said = results[0].first_failure
    assert (str(address), said) == (f"{job.key}/{job.block * PLAN.block_size}", "killed")
    whole.store.scan()
    assert job in list(blocks_of(whole, 2))
    assert other not in list(blocks_of(whole, 2))
    failed = failed_replicates(PLAN.work_units, whole.store, other.key, 2)
    np.testing.assert_array_equal(failed, np.arange(PLAN.block_size))


@pytest.mark.parametrize("row", [0, 7, 49])
def test_the_address_of_the_first_failure_is_that_of_its_replicate(row, tmp_path):
    """`replay` of the address that a message names shows the error that it names."""
    deadly = Study("one_fails", [OneFails(row)], [mean("x")], block_size=50)
    factory = factory_of(deadly.plan(), tmp_path)
    _, second = blocks_of(factory, 2)
    address, said = draw_task(factory.task([second])).first_failure
    assert (address.rep, said) == (50 + row, f"row {row} of block 1")
    shown = deadly.replay(address)
    assert shown["error"] == said


# ---------------------------------------------------------------- sets of blocks
THREE = mean_study((3, 10, 30)).plan()
ANALYSED = study_with_methods().plan().work_units


def every(plan, n_blocks):
    return all_blocks(plan, dict.fromkeys(plan.keys, n_blocks))


def test_twenty_million_blocks_are_asked_for_in_no_time_and_little_memory():
    """A list of them would be 17 GB; a byte each is allowed, and what is read of them at once."""
    n_blocks = 20_000_000 // len(THREE.keys)
    tracemalloc.start()
    jobs = every(THREE, n_blocks)
    assert len(jobs) == n_blocks * len(THREE.keys)
    first = list(itertools.islice(jobs, 100))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [job.block for job in first[:6]] == [0, 0, 0, 1, 1, 1]
    assert peak < 1.1 * len(jobs)


@pytest.mark.parametrize("plan", [THREE, ANALYSED], ids=["simulated", "methods"])
def test_every_block_comes_once(plan):
    jobs = [(job.key, job.block) for job in every(plan, 700)]
    assert len(jobs) == len(set(jobs)) == 700 * len(plan.keys)


def test_a_scenario_is_never_far_ahead_of_another():
    """An early look, which has as many blocks as the shortest, lacks an eighth at most."""
    done = dict.fromkeys(THREE.keys, 0)
    for job in every(THREE, 3000):
        assert job.block == done[job.key]
        done[job.key] += 1
        ahead = max(done.values()) - min(done.values())
        assert ahead <= max(1, min(done.values()) / PART_OF_DONE)


def test_a_set_knows_what_is_in_it(tmp_path):
    blocks = missing_blocks(THREE, dict.fromkeys(THREE.keys, 2), Store(tmp_path, THREE.block_size))
    key, scenario = next(iter(THREE.keys.items()))
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
        assert n <= len(some) < n + len(METHODS) or not waiting.left
        data = [(job.scenario.scenario, job.block) for job in some]
        assert all(data.count(one) == len(METHODS) for one in data)
        assert waiting.left == 9 * len(ANALYSED.keys) - len(taken)
    assert taken == list(every(ANALYSED, 9))


# ---------------------------------------------------------------- shards
def test_a_share_does_not_depend_on_what_is_stored():
    """Of half of the blocks it has those that it has of all."""
    some = BlockSet(THREE, {key: np.arange(8) % 2 == 0 for key in THREE.keys})
    whole = blocks_of_shard(THREE, every(THREE, 8), (2, 3))
    assert list(blocks_of_shard(THREE, some, (2, 3))) == [job for job in whole if job in some]


@pytest.mark.parametrize("n_shards", [1, 3, 5])
def test_the_blocks_of_a_shard_are_as_many_as_are_counted_for_it(n_shards):
    blocks = every(THREE, 4)
    counted = n_blocks_by_shard(THREE, blocks, n_shards)
    drawn = {i: len(blocks_of_shard(THREE, blocks, (i, n_shards))) for i in range(1, n_shards + 1)}
    assert drawn == {i: counted[i] for i in drawn}
    assert sum(drawn.values()) == 12


FOUR = mean_study((3, 10, 30, 100)).plan()


def share_by_key(n_shares, n_blocks, plan=FOUR):
    """By key, the share of each block."""
    chosen = dict.fromkeys(plan.keys, np.ones(n_blocks, dtype=bool))
    return shard_of_each(plan, chosen, n_shares)


@pytest.mark.parametrize("n_shares", [1, 2, 3, 4, 5, 6, 9, 10, 12])
def test_shares_of_equal_blocks_are_of_one_size_and_mix_all_scenarios(n_shares):
    for n_blocks in (1, 2, 5, n_shares, 3 * n_shares):
        found = share_by_key(n_shares, n_blocks)
        sizes = np.bincount(np.concatenate(list(found.values())), minlength=n_shares + 1)[1:]
        assert np.ptp(sizes) <= 1
        for shares in found.values():
            assert len(set(shares)) == min(n_shares, n_blocks)


def test_methods_of_a_block_are_in_one_share():
    drawn = list(ANALYSED.keys)
    found = share_by_key(6, 9, ANALYSED)
    for at in range(0, len(drawn), len(METHODS)):
        family = [found[key].tolist() for key in drawn[at : at + len(METHODS)]]
        assert family == [family[0]] * len(METHODS)


# ---------------------------------------------------------------- files of shards
def test_a_share_opens_no_file_of_the_others_and_draws_no_block_again(tmp_path, monkeypatch):
    opened, original, study = [], Folder.open, mean_study()
    monkeypatch.setattr(
        Folder, "open", lambda folder, name: opened.append(name) or original(folder, name)
    )
    for index in (1, 2, 3):
        study.run(450, out=tmp_path, **INLINE, shard=(index, 4))
    before = {path.name for path in (tmp_path / "toy" / "replicates").glob("*.parquet")}
    opened.clear()
    study.run(450, out=tmp_path, **INLINE, shard=(4, 4))
    assert opened
    assert not before.intersection(opened)
    assert study.run(450, out=tmp_path, **INLINE, shard=(2, 4)).outcome.n_blocks == 0
    joined = study.run(450, out=tmp_path, **INLINE)
    assert joined.outcome.n_blocks == 0
    assert content(joined) == content(study.run(450, **INLINE))


def test_what_another_split_or_a_whole_run_has_drawn_is_not_drawn_again(tmp_path):
    study = mean_study()
    study.run(200, out=tmp_path, **INLINE)
    study.run(450, out=tmp_path, **INLINE, shard=(1, 2))
    drawn = [
        study.run(450, out=tmp_path, **INLINE, shard=(i, 3)).outcome.n_blocks for i in (1, 2, 3)
    ]
    n_by_first = sum(len(range(4, 9)) for _ in study.plan().keys) - sum(drawn)
    assert n_by_first in (7, 8), "half of the 15 blocks beyond the whole run"
