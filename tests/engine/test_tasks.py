"""What a worker gets and gives."""

import numpy as np

from simstudy.engine.assignment import Assignment
from simstudy.engine.jobs import missing_jobs
from simstudy.engine.ownership import ownership_of
from simstudy.engine.tasks import compute, record_failed
from simstudy.store.blocks import Store
from simstudy.store.failures import failed_blocks
from simstudy.store.layout import KeepReplicates
from tests import toy

PLAN = toy.study((3, 10)).plan()


def assignment(folder, **how):
    ownership = ownership_of(PLAN)
    store = Store(folder, PLAN.block_size, ownership.owner)
    return Assignment(PLAN, store, KeepReplicates(), ownership, **how)


def jobs_of(store, n_blocks=2):
    return list(missing_jobs(PLAN, dict.fromkeys(PLAN.keys, n_blocks), store))


def test_a_task_carries_its_own_scenarios_and_their_owner_only(tmp_path):
    whole = assignment(tmp_path)
    (job, *_) = jobs_of(whole.store)
    task = whole.task([job])
    assert task.plan.scenarios == (job.scenario,)
    assert list(task.owner.codes) == [job.key]
    assert task.expected == whole.expected != ""


def test_block_by_block_a_task_is_the_tasks_of_its_jobs(tmp_path):
    whole = assignment(tmp_path, rank=2)
    jobs = jobs_of(whole.store)
    alone = [whole.task(jobs).only([job]) for job in jobs]
    assert alone == [whole.task([job]) for job in jobs]


def test_the_receipt_says_what_is_written(tmp_path):
    whole = assignment(tmp_path)
    jobs = jobs_of(whole.store)
    receipt = compute(whole.task(jobs))
    assert receipt.done == tuple((job.key, job.block) for job in jobs)
    assert receipt.n_failed == 0
    assert receipt.first_failure is None
    assert len(receipt.seconds_each) == len(jobs)
    assert receipt.seconds >= sum(receipt.seconds_each)
    whole.store.scan()
    assert jobs_of(whole.store) == []


def test_blocks_that_the_machine_made_fail_are_drawn_again(tmp_path):
    whole = assignment(tmp_path)
    job, other, *_ = jobs_of(whole.store)
    receipts = [
        record_failed(whole.task([job]), "killed", machine=True),
        record_failed(whole.task([other]), "EXIT(1)", machine=False),
    ]
    assert [receipt.n_failed for receipt in receipts] == [PLAN.block_size] * 2
    address, said = receipts[0].first_failure
    assert (str(address), said) == (f"{job.key}/{job.block * PLAN.block_size}", "killed")
    whole.store.scan()
    assert job in jobs_of(whole.store)
    assert other not in jobs_of(whole.store)
    np.testing.assert_array_equal(failed_blocks(whole.store, other.key, 2), [True, False])
