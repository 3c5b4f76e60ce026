"""Blocks that may kill their process: found, and recorded as what they are."""

import time
from collections.abc import Generator, Iterator, Sequence

from simstudy.engine.backends.protocol import HANGS, Apart, WorkerDiedError
from simstudy.engine.jobs import Job
from simstudy.engine.marks import Spot
from simstudy.engine.tasks import Receipt, Task, record_failed
from simstudy.engine.time_limits import GRACE_SECONDS, over_time


class Quarantine:
    """Where tasks are computed away from others.

    Attributes
    ----------
    n_deaths
        How many processes have died of them.
    """

    def __init__(self, process: Apart) -> None:
        self.process, self.n_deaths = process, 0

    def receipts(self, task: Task) -> Iterator[Receipt]:
        """Compute a task; of the blocks that kill their process, that is the result.

        A block is run twice before, because somebody else may have killed the first process.
        """
        waiting = [task]
        while waiting:
            some = waiting.pop()
            start = time.monotonic()
            try:
                yield self.process.receipt(some)
            except WorkerDiedError as died:
                self.n_deaths += 1
                if len(some.jobs) > 1:
                    waiting += reversed((yield from self._parts(some, died.spots)))
                    continue
                seconds = time.monotonic() - start
                yield _over_time(some, died, seconds) or self._second_try(some)

    def _parts(self, task: Task, accused: Sequence[Spot]) -> Generator[Receipt, None, list[Task]]:
        """The block that its process was at alone; what is left to do: all others, or halves.

        What kills may have been done before: then the block alone is acquitted.
        """
        suspects = [job for job in task.jobs if (job.key, job.block) in accused]
        others = [job for job in task.jobs if (job.key, job.block) not in accused]
        before = self.n_deaths
        if suspects and others:
            yield from self.receipts(task.only(suspects))
        is_found = self.n_deaths > before
        return [task.only(some) for some in ([others] if is_found else _halves(others or suspects))]

    def _second_try(self, task: Task) -> Receipt:
        try:
            return getattr(self.process, "receipt_anew", self.process.receipt)(task)
        except WorkerDiedError as died:
            self.n_deaths += 1
            return record_failed(task, str(died), machine=died.by_signal)


def _halves(jobs: Sequence[Job]) -> list[Sequence[Job]]:
    half = len(jobs) // 2
    return [some for some in (jobs[:half], jobs[half:]) if some]


def _over_time(task: Task, died: WorkerDiedError, seconds: float) -> Receipt | None:
    """The receipt of a block whose process was ended, or ended itself, when its time was over.

    Where no mark tells it, the clock does, which also counts how long the process took to begin.
    """
    limit = task.block_seconds
    if limit is None or died.by_signal:
        return None
    if str(died) != HANGS and (died.spots or seconds < limit + GRACE_SECONDS):
        return None
    return record_failed(task, over_time(limit), machine=False)
