"""Blocks that may kill their process: found, and recorded as what they are."""

import time
from collections.abc import Iterator

from simstudy.engine.backends.protocol import Apart, WorkerDiedError
from simstudy.engine.tasks import Receipt, Task, record_failed
from simstudy.engine.time_limits import GRACE_SECONDS, over_time


def receipts_apart(task: Task, process: Apart) -> Iterator[Receipt]:
    """Compute a task away from others; of the blocks that kill their process, that is the result.

    A block is run twice before, because somebody else may have killed the first process.
    """
    start = time.monotonic()
    try:
        yield process.receipt(task)
    except WorkerDiedError as died:
        if len(task.jobs) == 1:
            seconds = time.monotonic() - start
            yield _over_time(task, died, seconds) or _second_try(task, process)
            return
        for alone in task.each_block():
            yield from receipts_apart(alone, process)


def _over_time(task: Task, died: WorkerDiedError, seconds: float) -> Receipt | None:
    """The receipt of a block whose process ended itself, since it could not be stopped in time."""
    limit = task.block_seconds
    if limit is None or died.by_signal or seconds < limit + GRACE_SECONDS:
        return None
    return record_failed(task, over_time(limit), machine=False)


def _second_try(task: Task, process: Apart) -> Receipt:
    try:
        return getattr(process, "receipt_anew", process.receipt)(task)
    except WorkerDiedError as died:
        return record_failed(task, str(died), machine=died.by_signal)
