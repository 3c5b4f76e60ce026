"""Draws figures in parallel processes."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

START_SECONDS = 2.0  # until a worker has started and loaded what draws a figure
ENDED = "the process that drew it ended: it was killed, ran out of memory, or its own code ended it"

Drawn = TypeVar("Drawn")


class FigureWorkers:
    """Worker processes that draw figures, started when they save time.

    The studies of a sweep share them, since each has to load plotnine first. A context manager, at
    whose end they end.

    Parameters
    ----------
    n_jobs
        Most processes; with 1, this process draws every figure.
    """

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._pool: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(kill_workers=True)
            self._pool = None

    def map(self, draw: Callable[[str], Drawn], names: Sequence[str]) -> list[Drawn | None]:
        """Draw each figure, in order; None where the drawing process ended.

        This process draws the first ones, until their times say that workers are worth their start.

        Parameters
        ----------
        draw
            Draws a figure and raises nothing. One that cannot be pickled is called in this process.
        """
        drawn: dict[str, Drawn] = {}
        start = time.perf_counter()
        for name in names:
            seconds = (time.perf_counter() - start) / len(drawn) if drawn else 0.0
            if self._saves_time(len(names) - len(drawn), seconds):
                drawn |= self._in_workers(draw, names[len(drawn) :])
                break
            drawn[name] = draw(name)
        return [drawn.get(name) for name in names]

    def _saves_time(self, n_left: int, seconds: float) -> bool:
        """Whether workers save time for figures that take so long each."""
        n_workers = min(self.n_jobs, n_left)
        if n_workers < 2:
            return False
        return self._pool is not None or seconds * (n_left - n_left / n_workers) > START_SECONDS

    def _in_workers(self, draw: Callable[[str], Drawn], names: Sequence[str]) -> dict[str, Drawn]:
        """Draw in workers; after one died, each remaining figure gets its own process."""
        from joblib.externals.loky.backend.reduction import dumps

        try:
            packed = bytes(dumps(draw))
        except Exception:  # whatever an object raises that will not be pickled
            return {name: draw(name) for name in names}
        drawn: dict[str, Drawn] = {}
        for group in (names, *([name] for name in names)):
            left = [name for name in group if name not in drawn]
            drawn |= self._received(draw, packed, left) if left else {}
        return drawn

    def _received(
        self, draw: Callable[[str], Drawn], packed: bytes, names: Sequence[str]
    ) -> dict[str, Drawn]:
        """The figures that workers drew, without those lost with a worker."""
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool

        from simstudy.engine.executors.loky import deaf_to_interrupts, end_with

        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.n_jobs, initializer=end_with, initargs=(os.getpid(),)
            )
        drawn = {}
        try:
            with deaf_to_interrupts():
                futures = {name: self._pool.submit(_draw, packed, name) for name in names}
            for name, future in futures.items():
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    raise error
                drawn[name] = draw(name) if error else future.result()  # it could not be loaded
        except BrokenProcessPool:
            self.__exit__()
        return drawn


def _draw(packed: bytes, name: str) -> object:
    """Draw a figure, in a worker."""
    return pickle.loads(packed)(name)
