"""Blocks that may kill their process: found, and recorded as what they are."""

from collections.abc import Iterator

from simstudy.engine.backends.protocol import Apart, WorkerDiedError
from simstudy.engine.tasks import Receipt, Task, record_failed


def receipts_apart(task: Task, process: Apart) -> Iterator[Receipt]:
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


def _second_try(task: Task, process: Apart) -> Receipt:
    try:
        return process.receipt(task)
    except WorkerDiedError as died:
        return record_failed(task, str(died), machine=died.by_signal)
