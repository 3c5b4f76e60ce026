"""What a backend is."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from simstudy.engine.marks import Spot
from simstudy.engine.tasks import Receipt, Task


class Backend(Protocol):
    """A way from tasks to receipts, in any order.

    Tasks are taken as workers become free, and a receipt is given as soon as there is one: how
    large the next task is depends on what the last one took.

    What it may have beside: `apart()`, a context in which `receipt(task)` computes a task that may
    kill its worker (a process of this machine's, where there is none); `task_seconds`, of work in
    a task, where handing out one costs more than on one machine; `n_workers`, if they are others
    than was asked for; and `close()`, for when all is done.
    """

    def receipts(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Compute tasks; raises what a worker raises."""


class Apart(Protocol):
    """Where a task goes alone that may kill who computes it.

    It may have `receipt_anew(task)` beside, for a task that has killed: the same in a process
    which has nothing in common with the first.
    """

    def receipt(self, task: Task) -> Receipt:
        """Compute a task; raises `WorkerDiedError` where it kills."""


Place = AbstractContextManager[Any, Any]
"""A context whose value is `Apart`."""


class WorkerDiedError(Exception):
    """A worker process ended under its task; the text says how.

    Attributes
    ----------
    suspects
        The tasks that were under way there, where that is known.
    spots
        The blocks that were being drawn, by key and number, where marks say it: one of them may be
        at fault.
    by_signal
        Whether somebody, or the system, may have ended it, so that its block need not be at fault.
    """

    def __init__(
        self,
        how: str,
        suspects: Sequence[Task] = (),
        *,
        spots: Sequence[Spot] = (),
        by_signal: bool = True,
    ) -> None:
        super().__init__(how)
        self.suspects, self.spots = tuple(suspects), tuple(spots)
        self.by_signal = by_signal


HANGS = "the process was ended: it was stopped, or hung, and did not end with its block's time"
