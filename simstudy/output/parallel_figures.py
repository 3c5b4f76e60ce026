"""Draws figures in parallel processes."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, TypeVar

START_SECONDS = 2.0  # until a worker has started and loaded what draws a figure
ENDED = "the process that drew it ended: it was killed, ran out of memory, or its own code ended it"

Drawn = TypeVar("Drawn")
Futures = dict[str, Any]  # of what workers draw, by the figure's name


class Begun(NamedTuple):
    """Figures that workers are drawing."""

    packed: bytes
    futures: Futures


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

    def begin(self, draw: Callable[[str], Drawn], names: Sequence[str]) -> Begun | None:
        """Start drawing figures in the background; None without workers.

        Parameters
        ----------
        draw
            As for `map`, which gives what they drew.
        """
        packed = _packed(draw) if self.n_jobs > 1 and names else None
        return None if packed is None else Begun(packed, self._submitted(packed, names))

    def map(
        self, draw: Callable[[str], Drawn], names: Sequence[str], begun: Begun | None = None
    ) -> list[Drawn | None]:
        """Draw each figure, in order; None where the drawing process ended.

        This process draws the first ones, until their times say that workers are worth their start.

        Parameters
        ----------
        draw
            Draws a figure and raises nothing. One that cannot be pickled is called in this process.
        begun
            What workers have begun of these.
        """
        if begun is not None:
            return self._in_workers(draw, begun.packed, names, begun.futures)
        drawn: list[Drawn | None] = []
        start = time.perf_counter()
        while len(drawn) < len(names):
            rest = names[len(drawn) :]
            seconds = (time.perf_counter() - start) / len(drawn) if drawn else 0.0
            packed = _packed(draw) if self._saves_time(len(rest), seconds) else None
            if packed is not None:
                return drawn + self._in_workers(draw, packed, rest)
            drawn.append(draw(rest[0]))
        return drawn

    def _saves_time(self, n_left: int, seconds: float) -> bool:
        """Whether workers save time for these figures."""
        n_workers = min(self.n_jobs, n_left)
        if n_workers < 2:
            return False
        return self._pool is not None or seconds * (n_left - n_left / n_workers) > START_SECONDS

    def _in_workers(
        self,
        draw: Callable[[str], Drawn],
        packed: bytes,
        names: Sequence[str],
        begun: Futures | None = None,
    ) -> list[Drawn | None]:
        """Draw in workers; after one died, each remaining figure gets its own process."""
        drawn: dict[str, Drawn] = self._received(draw, begun) if begun else {}
        for group in (names, *([name] for name in names)):
            left = [name for name in group if name not in drawn]
            drawn |= self._received(draw, self._submitted(packed, left)) if left else {}
        return [drawn.get(name) for name in names]

    def _submitted(self, packed: bytes, names: Sequence[str]) -> Futures:
        """Submit figures to workers, starting them if necessary."""
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool

        from simstudy.engine.executors.loky import deaf_to_interrupts, end_with

        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.n_jobs, initializer=end_with, initargs=(os.getpid(),)
            )
        try:
            with deaf_to_interrupts():
                return {name: self._pool.submit(_draw, packed, name) for name in names}
        except BrokenProcessPool:
            self.__exit__()
            return {}

    def _received(self, draw: Callable[[str], Drawn], futures: Futures) -> dict[str, Drawn]:
        """The figures that workers drew, without those lost with a worker."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        drawn = {}
        try:
            for name, future in futures.items():
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    raise error
                drawn[name] = draw(name) if error else future.result()  # it could not be loaded
        except BrokenProcessPool:
            self.__exit__()
        return drawn


def _packed(draw: Callable[[str], object]) -> bytes | None:
    """Serialise a drawing function; None if that is not possible."""
    from joblib.externals.loky.backend.reduction import dumps

    try:
        return bytes(dumps(draw))
    except Exception:  # whatever an object raises that will not be pickled
        return None


def _draw(packed: bytes, name: str) -> object:
    """Draw a figure, in a worker."""
    return pickle.loads(packed)(name)
