"""What a backend is."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from simstudy.engine.tasks import Receipt, Task


class Backend(Protocol):
    """A way from tasks to receipts, in any order.

    Tasks are taken as workers become free, and a receipt is given as soon as there is one: how
    large the next task is depends on what the last one took.
    """

    def receipts(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Compute tasks; raises what a worker raises."""


class WorkerDiedError(Exception):
    """A worker process ended under its task; the text says how."""
