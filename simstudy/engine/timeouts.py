"""Time limits of blocks (`block_seconds`).

Python code is stopped by an alarm, and the block has failed. Code that does not come back to Python
hears no alarm: a worker process that is in such code is ended, and `faulthandler` prints where it
was. In the user's own process nothing is ended.
"""

import contextlib
import faulthandler
import signal
import threading
from collections.abc import Iterator
from typing import Any

GRACE_SECONDS = 1.0  # for Python to come to its next instruction, before the process is ended
AGAIN_SECONDS = 1.0  # until a block that has swallowed the exception gets the next


class BlockTimeoutError(BaseException):
    """A block takes too long; not an `Exception`, which a method could catch."""


_is_worker = threading.Event()  # set in a process that may be ended


def mark_as_worker() -> None:
    """Mark this process as a worker: a block that no alarm stops ends it."""
    _is_worker.set()


def hears_ctrl_c() -> bool:
    """Whether a `KeyboardInterrupt` here may come from the user: workers ignore Ctrl-C."""
    return _in_main_thread() and not _is_worker.is_set()


def timeout_message(seconds: float) -> str:
    """The error text of a block that took too long."""
    return f"drawing the block took longer than block_seconds={seconds:g}"


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Context with a time limit; None for none.

    Only the main thread of a process can be stopped by an alarm.

    Raises
    ------
    BlockTimeoutError
        If Python code takes longer.
    """
    with contextlib.ExitStack() as limits:
        if seconds is not None and _is_worker.is_set():
            faulthandler.dump_traceback_later(seconds + GRACE_SECONDS, exit=True)
            limits.callback(faulthandler.cancel_dump_traceback_later)
        if seconds is not None and _in_main_thread() and hasattr(signal, "setitimer"):
            limits.enter_context(_alarm(seconds))
        yield


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Context with an alarm, which also ends waiting and sleeping; the user's alarm is restored."""
    is_within = True

    def stop(*_: Any) -> None:
        if is_within:
            raise BlockTimeoutError

    handler = signal.signal(signal.SIGALRM, stop)
    alarm = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
    try:
        yield
    finally:
        is_within = False
        signal.setitimer(signal.ITIMER_REAL, *alarm)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
