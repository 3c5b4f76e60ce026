"""What a worker gets and gives."""

import numpy as np

from simstudy.engine.provenance import compute_provenance
from simstudy.engine.tasks import TaskFactory, draw_task, record_failed
from simstudy.engine.work_queue import missing_blocks
from simstudy.store.arrow_schema import ReplicateStorage
from simstudy.store.blocks import Store
from simstudy.store.messages import failed_blocks
from tests import toy

PLAN = toy.study((3, 10)).plan()


def factory(folder, **how):
    provenance = compute_provenance(PLAN)
    store = Store(folder, PLAN.block_size, provenance.of_blocks)
    return TaskFactory(PLAN, store, ReplicateStorage(), provenance, **how)


def jobs_of(store, n_blocks=2):
    return list(missing_blocks(PLAN, dict.fromkeys(PLAN.keys, n_blocks), store))


def test_a_task_carries_its_own_scenarios_and_their_provenance_only(tmp_path):
    whole = factory(tmp_path)
    (job, *_) = jobs_of(whole.store)
    task = whole.task([job])
    assert task.plan.scenarios == (job.scenario,)
    assert list(task.provenance.codes) == [job.key]
    assert task.expected == whole.expected != ""


def test_the_result_says_what_is_written(tmp_path):
    whole = factory(tmp_path)
    jobs = jobs_of(whole.store)
    result = draw_task(whole.task(jobs))
    assert result.done == tuple((job.key, job.block) for job in jobs)
    assert result.n_failed == 0
    assert result.first_failure is None
    assert len(result.draw_seconds) == len(jobs)
    assert result.seconds >= sum(result.draw_seconds)
    whole.store.scan()
    assert jobs_of(whole.store) == []


def test_blocks_that_the_machine_made_fail_are_drawn_again(tmp_path):
    whole = factory(tmp_path)
    job, other, *_ = jobs_of(whole.store)
    results = [
        record_failed(whole.task([job]), "killed", machine=True),
        record_failed(whole.task([other]), "EXIT(1)", machine=False),
    ]
    assert [result.n_failed for result in results] == [PLAN.block_size] * 2
    address, said = results[0].first_failure
    assert (str(address), said) == (f"{job.key}/{job.block * PLAN.block_size}", "killed")
    whole.store.scan()
    assert job in jobs_of(whole.store)
    assert other not in jobs_of(whole.store)
    np.testing.assert_array_equal(failed_blocks(whole.store, other.key, 2), [True, False])
