"""The block that kills is found among others, and its result is that it kills."""

import time

import pytest

from simstudy.engine import quarantine
from simstudy.engine.assignment import Assignment
from simstudy.engine.backends.protocol import WorkerDiedError
from simstudy.engine.jobs import missing_jobs
from simstudy.engine.quarantine import Quarantine
from simstudy.engine.tasks import compute
from simstudy.engine.time_limits import over_time
from simstudy.store.blocks import Store
from simstudy.store.layout import KeepReplicates
from tests import toy

PLAN = toy.study((3,)).plan()


class Mortal:
    """A process that some blocks kill, each so many times."""

    def __init__(self, deaths, how, marked=lambda block: []):
        self.deaths, self.how, self.tried = dict(deaths), how, []
        self.marked = marked  # by the block that kills, those that its process is said to be at

    def receipt(self, task):
        self.tried.append([job.block for job in task.jobs])
        for job in task.jobs:
            if self.deaths.get(job.block, 0):
                self.deaths[job.block] -= 1
                by_signal = not self.how.startswith("EXIT")
                spots = [(job.key, block) for block in self.marked(job.block)]
                how = f"the process died: {self.how}"
                raise WorkerDiedError(how, spots=spots, by_signal=by_signal)
        return compute(task)


@pytest.fixture
def assignment(tmp_path):
    return Assignment(PLAN, Store(tmp_path, PLAN.block_size), KeepReplicates())


def results(assignment, deaths, how="EXIT(7)", n_blocks=4, **marks):
    """Blocks in order of their receipts, those that failed, those tried, and those still wanted."""
    wanted = dict.fromkeys(PLAN.keys, n_blocks)
    task = assignment.task(missing_jobs(PLAN, wanted, assignment.store))
    process = Mortal(deaths, how, **marks)
    receipts = list(Quarantine(process).receipts(task))
    assignment.store.scan()
    done = [block for receipt in receipts for _, block in receipt.done]
    failed = [block for receipt in receipts if receipt.n_failed for _, block in receipt.done]
    left = [job.block for job in missing_jobs(PLAN, wanted, assignment.store)]
    return done, failed, process.tried, left


def test_the_block_that_kills_is_recorded_and_the_others_are_drawn(assignment):
    done, failed, tried, left = results(assignment, {2: 9})
    assert (done, failed, left) == ([0, 1, 2, 3], [2], [])
    assert tried == [[0, 1, 2, 3], [0, 1], [2, 3], [2], [2], [3]]


def test_a_process_that_somebody_killed_once_or_twice_accuses_no_block(assignment):
    done, failed, _, left = results(assignment, {1: 2})
    assert (done, failed, left) == ([0, 1, 2, 3], [], [])


def test_where_a_signal_killed_it_the_next_run_tries_again(assignment):
    _, failed, _, left = results(assignment, {3: 9}, how="SIGKILL(-9)")
    assert (failed, left) == ([3], [3])


def test_the_block_that_a_process_was_at_is_tried_first_and_the_others_are_together(assignment):
    done, failed, tried, left = results(assignment, {2: 9}, marked=lambda block: [block])
    assert (sorted(done), failed, left) == ([0, 1, 2, 3], [2], [])
    assert tried == [[0, 1, 2, 3], [2], [2], [0, 1, 3]]


def test_without_marks_a_block_is_found_in_as_many_deaths_as_there_are_halvings(assignment):
    """Of 64 blocks: each level of halves costs a death, and the block its second try."""
    _, failed, tried, _ = results(assignment, {40: 9}, n_blocks=64)
    assert failed == [40]
    assert sum(40 in blocks for blocks in tried) == 1 + 6 + 1
    assert len(tried) == 1 + 2 * 6 + 1


@pytest.mark.parametrize("marked", [True, False])
def test_a_process_that_took_long_to_begin_is_not_a_block_that_took_long(assignment, marked):
    """Importing may take longer than a block may; without a mark nobody knows which of both it was.

    The error to catch: what ended its process at once is said to have taken too long.
    """
    task = assignment.task(missing_jobs(PLAN, dict.fromkeys(PLAN.keys, 1), assignment.store))
    process = Mortal({0: 9}, "EXIT(7)", marked=lambda block: [block] if marked else [])
    process.receipt = _after(0.05, process.receipt)
    limited = task._replace(block_seconds=0.01)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quarantine, "GRACE_SECONDS", 0.0)
        (receipt,) = Quarantine(process).receipts(limited)
    said = "the process died: EXIT(7)" if marked else over_time(0.01)
    assert receipt.first_failure[1] == said


def _after(seconds, work):
    def later(task):
        time.sleep(seconds)
        return work(task)

    return later
