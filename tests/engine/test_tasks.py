"""What a worker gets and gives."""

from dataclasses import dataclass

import numpy as np
import pytest

from simstudy import Study
from simstudy.engine.tasks import draw_task, record_failed
from simstudy.measures import mean
from simstudy.store.blocks import failed_replicates
from tests.factories import blocks_of, factory_of, mean_study

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
