"""The first block of every scenario is drawn before the second of any."""

import itertools

import pytest

from simstudy.engine import tasks
from simstudy.engine.provenance import compute_provenance
from simstudy.engine.tasks import missing_blocks
from simstudy.store.blocks import Store
from tests.factories import mean_study
from tests.support import on

N_REP = 500
WORKERS = [on("inline", 1), on("threads", 4), pytest.param(on("loky", 2), marks=pytest.mark.slow)]


@pytest.fixture
def handed_out(monkeypatch):
    order = []
    original = tasks.TaskFactory.task

    def noted(self, blocks):
        order.extend(block_id.block for block_id in blocks)
        return original(self, blocks)

    monkeypatch.setattr(tasks.TaskFactory, "task", noted)
    return order


@pytest.mark.parametrize("workers", WORKERS, ids=lambda one: one["backend"])
def test_breadth_first_whatever_the_workers(workers, handed_out):
    study = mean_study((3, 10, 30, 100))
    study.run(N_REP, **workers)
    assert handed_out == sorted(handed_out)
    assert [len(list(same)) for _, same in itertools.groupby(handed_out)] == [4] * 10


def test_a_worker_computes_its_blocks_in_that_order(monkeypatch):
    drawn = []
    original = tasks.draw_block

    def noted(plan, scenario, block, *rest):
        drawn.append(block)
        return original(plan, scenario, block, *rest)

    monkeypatch.setattr(tasks, "draw_block", noted)
    mean_study((3, 10, 30, 100)).run(N_REP, backend="inline", n_jobs=1)
    assert drawn == sorted(drawn)


def test_what_is_missing_comes_breadth_first_too(tmp_path):
    """A scenario that is added to a finished study is not in the way of the others."""
    mean_study((3, 10)).run(100, out=tmp_path)
    study = mean_study((100, 3, 10))
    plan = study.plan()
    store = Store(
        tmp_path / "toy" / "replicates", plan.block_size, compute_provenance(plan).of_blocks
    )
    jobs = missing_blocks(plan, dict.fromkeys(plan.keys, 4), store)
    assert [(job.block, job.scenario.n_obs) for job in jobs] == [
        (0, 100), (1, 100), (2, 100), (2, 3), (2, 10), (3, 100), (3, 3), (3, 10),
    ]  # fmt: skip
