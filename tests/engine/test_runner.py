"""Jobs to receipts: in which portions, and what is said where workers cannot go on."""

import pytest

from simstudy.engine import runner
from simstudy.engine.assignment import Assignment
from simstudy.engine.jobs import Waiting, missing_jobs
from simstudy.engine.progress import Silent
from simstudy.engine.runner import Runner, run_jobs
from simstudy.engine.workers import Workers
from simstudy.errors import StoreError, UnreadableTaskError
from simstudy.store.blocks import Store
from simstudy.store.layout import KeepReplicates
from tests import toy

PLAN = toy.study((3, 10)).plan()


@pytest.fixture
def assignment(tmp_path):
    return Assignment(PLAN, Store(tmp_path, PLAN.block_size), KeepReplicates())


def jobs_of(assignment, n_blocks):
    return missing_jobs(PLAN, dict.fromkeys(PLAN.keys, n_blocks), assignment.store)


def test_tasks_are_all_jobs_in_order_whatever_their_sizes(assignment):
    jobs = jobs_of(assignment, 7)
    here = Runner(assignment, Workers("threads", 2), Silent())
    handed = []
    for n, task in enumerate(here.tasks(Waiting(jobs))):
        handed += task.jobs
        here.portions.seconds_per_block = 0.1 / (n + 1)  # they grow as blocks turn out to be fast
    assert handed == list(jobs)


def test_what_workers_cannot_load_is_said_with_what_will_do(assignment, monkeypatch):
    class Unreadable:
        def receipts(self, tasks):
            raise UnreadableTaskError("ImportError: no module named trial")

    monkeypatch.setattr(runner, "backend_of", lambda *_: Unreadable())
    said = r"workers cannot load the study \(ImportError: .* Run again, or use backend=threads"
    with pytest.raises(StoreError, match=said):
        run_jobs(assignment, jobs_of(assignment, 2), workers=Workers("loky", 2))
