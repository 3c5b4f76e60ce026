"""Time limits of blocks (`block_seconds`).

An alarm stops Python code, and the block has failed. An alarm cannot stop compiled code: a worker
process in such code is ended, and `faulthandler` prints its traceback. The user's own process is
never ended.
"""

import contextlib
import faulthandler
import signal
import threading
from collections.abc import Iterator
from typing import Any

GRACE_SECONDS = 1.0  # time between the alarm and the end of the process
REPEAT_SECONDS = 1.0  # time between alarms, for blocks that catch the exception


class BlockTimeoutError(BaseException):
    """A block takes too long. Not an `Exception`, since a method could catch that."""


_is_worker = threading.Event()  # set in a process that may be ended


def mark_as_worker() -> None:
    """Mark this process as a worker, which may be ended if an alarm does not stop a block."""
    _is_worker.set()


def is_worker() -> bool:
    """Whether this process draws blocks for a run in another process."""
    return _is_worker.is_set()


def hears_ctrl_c() -> bool:
    """Whether a `KeyboardInterrupt` here may come from the user: workers ignore Ctrl-C."""
    return _in_main_thread() and not is_worker()


def timeout_message(seconds: float) -> str:
    """Make the error text of a block that took too long."""
    return f"drawing the block took longer than block_seconds={seconds:g}"


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Limit the time of the context, in seconds; None for no limit.

    An alarm can stop only the main thread of a process.

    Raises
    ------
    BlockTimeoutError
        If Python code takes longer than the limit.
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
    """Set an alarm for the context, which also ends waits; restore the user's alarm at its end."""
    is_within = True

    def stop(*_: Any) -> None:
        if is_within:
            raise BlockTimeoutError

    handler = signal.signal(signal.SIGALRM, stop)
    alarm = signal.setitimer(signal.ITIMER_REAL, seconds, REPEAT_SECONDS)
    try:
        yield
    finally:
        is_within = False
        signal.setitimer(signal.ITIMER_REAL, *alarm)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
