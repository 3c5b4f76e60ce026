"""For a task that may kill who computes it: a copy of this process, or one that imports anew."""

from collections.abc import Callable

from simstudy.engine.backends.forked import can_fork, forked, forks_safely
from simstudy.engine.backends.processes import OneProcess
from simstudy.engine.tasks import Receipt, Task, compute
from simstudy.errors import UnsendableError


class LocalApart(OneProcess):
    """A copy of this process first, which takes milliseconds; a process of its own for a verdict.

    What kills a copy could be something that this process had loaded or begun.
    """

    def receipt(self, task: Task) -> Receipt:
        """Compute a task.

        Raises
        ------
        WorkerDiedError
            Where the process ended.
        """
        return self._in_copy(task) if forks_safely() else self.receipt_anew(task)

    def receipt_anew(self, task: Task) -> Receipt:
        """The same in a process that shares nothing with this one, if the task can be sent."""
        try:
            return super().receipt(task)
        except UnsendableError:
            if not can_fork():
                raise
            return self._in_copy(task)

    @staticmethod
    def _in_copy(task: Task) -> Receipt:
        work: Callable[[Task], Receipt] = compute
        (receipt,) = forked(map(work, [task]), task.block_seconds)
        return receipt
