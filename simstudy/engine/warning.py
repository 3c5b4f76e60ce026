"""A warning that the time is nearly up: what is under way is finished, and nothing more begun."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

_time_is_nearly_up = threading.Event()


class OutOfTime(KeyboardInterrupt):
    """A run ended early, as it was warned to; every block that it began is stored.

    An interrupt and no error, so that nothing that catches errors goes on after it.
    """

    def __init__(self, n_left: int) -> None:
        super().__init__(n_left)
        self.n_left = n_left
        self.outcome: Any = None  # what the run did until then


def warn() -> None:
    """Have runs of this process hand out no more work; safe in a signal's handler."""
    _time_is_nearly_up.set()


def forget_warning() -> None:
    """Let the next run work to its end."""
    _time_is_nearly_up.clear()


def is_warned() -> bool:
    """Whether no more work is to be begun."""
    return _time_is_nearly_up.is_set()


@contextlib.contextmanager
def time_budget(seconds: float | None) -> Iterator[Callable[[], bool]]:
    """Warn when so much time has passed, or never; gives what tells whether it has."""
    spent = threading.Event()

    def end() -> None:
        spent.set()
        warn()

    timer = threading.Timer(seconds or 0.0, end)
    timer.daemon = True
    if seconds is not None:
        timer.start()
    try:
        yield spent.is_set
    finally:
        timer.cancel()
        if timer.is_alive():  # it may be about to warn
            timer.join()
        if spent.is_set():
            forget_warning()


def stop_if_warned(n_left: int) -> None:
    """End a run that was warned and has blocks left.

    Raises
    ------
    OutOfTime
        Where it was warned, and there are any.
    """
    if n_left and is_warned():
        raise OutOfTime(n_left)
