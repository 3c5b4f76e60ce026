"""What goes to a worker process, and what is said where it cannot go or be read there."""

import signal
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest

from simstudy.engine.assignment import Assignment
from simstudy.engine.backends.inline import Inline
from simstudy.engine.backends.processes import compute_packed, packed
from simstudy.engine.jobs import missing_jobs
from simstudy.engine.ownership import ownership_of
from simstudy.engine.workers import Workers
from simstudy.errors import StaleCodeError, StudyError, UnreadableTaskError
from simstudy.store.blocks import Store
from simstudy.store.layout import KeepReplicates
from simstudy.study import Study
from tests import toy

PLAN = toy.study((3,)).plan()


@dataclass(frozen=True)
class KeepLocked(KeepReplicates):
    """Holds what lives in one process only."""

    lock: object = field(default_factory=threading.Lock)


@pytest.fixture
def assignment(tmp_path):
    ownership = ownership_of(PLAN)
    store = Store(tmp_path, PLAN.block_size, ownership.owner)
    return Assignment(PLAN, store, KeepReplicates(), ownership)


def tasks_of(assignment, n_blocks):
    jobs = missing_jobs(PLAN, dict.fromkeys(PLAN.keys, n_blocks), assignment.store)
    return [assignment.task([job]) for job in jobs]


def test_a_task_comes_through_as_it_was_sent(assignment):
    (task,) = tasks_of(assignment, 1)
    receipt = compute_packed(packed(task))
    assert receipt.done == tuple((job.key, job.block) for job in task.jobs)


def test_what_cannot_be_sent_is_said_with_what_will_do(assignment):
    (task,) = tasks_of(assignment, 1)
    said = "the study cannot be sent to worker processes: .* use backend=threads or backend=inline"
    with pytest.raises(StudyError, match=said):
        packed(task._replace(keep=KeepLocked()))


def test_what_cannot_be_loaded_is_said():
    with pytest.raises(UnreadableTaskError, match="UnpicklingError"):
        compute_packed(b"no task")


def test_with_other_code_than_expected_nothing_is_drawn(assignment):
    (task,) = tasks_of(assignment, 1)
    with pytest.raises(StaleCodeError):
        compute_packed(packed(task._replace(expected="another")))
    assert list(task.files.path.iterdir()) == []


def test_inline_takes_a_task_when_the_last_one_is_done(assignment):
    taken = []

    def watched():
        for task in tasks_of(assignment, 3):
            taken.append(task)
            yield task

    receipts = Inline().receipts(watched())
    for n in (1, 2, 3):
        next(receipts)
        assert len(taken) == n


# ---------------------------------------------------------------- Ctrl-C
@dataclass(frozen=True)
class Listens:
    """Says whether its process would hear Ctrl-C."""

    def simulate(self, streams, n_rep):
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        return {"deaf": np.full(n_rep, signal.SIGINT in blocked)}


def test_ctrl_c_is_for_the_parent_alone():
    """It reaches the whole group, and each worker would say with a traceback that it did."""
    study = Study("listens", [Listens()], block_size=2)
    assert study.run(8, workers=Workers("loky", 2)).replicates["deaf"].all()
    assert not study.run(8, workers=Workers("inline")).replicates["deaf"].any()
