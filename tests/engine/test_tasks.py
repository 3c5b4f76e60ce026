"""What a worker gets and gives."""

import numpy as np

from simstudy.engine.tasks import record_failed
from simstudy.store.columns import failed_replicates
from tests.factories import blocks_of, factory_of, mean_study

PLAN = mean_study((3, 10)).plan()


def test_a_task_carries_its_own_scenarios_and_their_provenance_only(tmp_path):
    whole = factory_of(PLAN, tmp_path)
    (job, *_) = list(blocks_of(whole, 2))
    task = whole.task([job])
    assert task.plan.scenarios == (job.scenario,)
    assert list(task.provenance.codes) == [job.key]
    assert task.code.digest == whole.expected != ""


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
    failed = failed_replicates(whole.store, other.key, 2, PLAN.block_size)
    np.testing.assert_array_equal(failed, np.arange(PLAN.block_size))
