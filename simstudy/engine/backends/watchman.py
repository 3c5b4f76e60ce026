"""The clock for processes that do not come back, and what is said of those that died."""

import re
import threading
from collections.abc import Iterable, Iterator
from typing import Self

from simstudy.engine import time_limits
from simstudy.engine.backends.protocol import HANGS, WorkerDiedError
from simstudy.engine.marks import Marks, Spot
from simstudy.engine.tasks import Task
from simstudy.errors import describe

ENDED_ITSELF = "EXIT(1)"  # as faulthandler ends a process
WATCH_SECONDS = 0.2  # between looks whether a process is overdue


class Watchman:
    """Has the clock for processes that do not come back with their block's time.

    They end themselves, where they can: these are stopped, or hang in the system. To end one breaks
    its pool, and whoever asked is told that a worker died.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks, self._limit = marks, 0.0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._hung: list[Spot | None] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def seen(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """The same tasks; processes are watched from the first on whose blocks have a limit."""
        for task in tasks:
            self._limit = task.block_seconds or 0.0
            if self._limit and self._thread is None:
                self._thread = threading.Thread(target=self._look, daemon=True)
                self._thread.start()
            yield task

    def death(self, error: BaseException) -> WorkerDiedError:
        """What is said of a pool that broke, with the blocks that may be why."""
        overdue, spots = self._marks.overdue(), self._marks.spots()
        self._marks.forget()
        codes = re.search(r"exit codes of the workers are \{(.+?)\}", str(error))
        how = codes[1] if codes else describe(error)
        if self._hung or (overdue and ENDED_ITSELF in how):
            hung = dict.fromkeys([*filter(None, self._hung), *overdue])
            return WorkerDiedError(HANGS, spots=list(hung), by_signal=False)
        by_signal = "EXIT(" not in how
        return WorkerDiedError(f"the process died: {how}", spots=spots, by_signal=by_signal)

    def _look(self) -> None:
        while not self._over.wait(WATCH_SECONDS):
            self._hung += self._marks.end_overdue(self._limit, time_limits.GRACE_SECONDS)
