"""Blocks that may kill their process: found, and recorded as what they are."""

from collections.abc import Iterator

from simstudy.engine.backends.processes import OneProcess
from simstudy.engine.backends.protocol import WorkerDiedError
from simstudy.engine.tasks import Receipt, Task, record_failed


def receipts_apart(task: Task, process: OneProcess) -> Iterator[Receipt]:
    """Compute a task away from others; of the blocks that kill their process, that is the result.

    A block is run twice before, because somebody else may have killed the first process.
    """
    try:
        yield process.receipt(task)
    except WorkerDiedError:
        if len(task.jobs) == 1:
            yield _second_try(task, process)
            return
        for alone in task.each_block():
            yield from receipts_apart(alone, process)


def _second_try(task: Task, process: OneProcess) -> Receipt:
    try:
        return process.receipt(task)
    except WorkerDiedError as died:
        by_signal = "EXIT(" not in str(died)  # then somebody, or the system, may have sent it
        return record_failed(task, str(died), machine=by_signal)
