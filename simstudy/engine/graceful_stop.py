"""Graceful stop: started blocks are finished, and no more are started."""

import contextlib
import faulthandler
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]


class OutOfTime(KeyboardInterrupt):
    """A run stopped early on request; every block that it started is stored.

    It derives from `KeyboardInterrupt`, so that `except Exception` does not catch it.
    """

    def __init__(self, n_left: int) -> None:
        super().__init__(n_left)
        self.n_left = n_left


# the request that all runs of this process start no more blocks; it may come from a signal handler
_stop_request = threading.Event()
request_stop, clear_stop_request = _stop_request.set, _stop_request.clear
stop_requested = _stop_request.is_set


@contextlib.contextmanager
def time_budget(seconds: float | None) -> Iterator[Callable[[], bool]]:
    """Request a stop after some seconds; the context yields a function that returns if it did."""
    spent = threading.Event()

    def end() -> None:
        spent.set()
        request_stop()

    timer = threading.Timer(seconds or 0.0, end)
    timer.daemon = True
    if seconds is not None:
        timer.start()
    try:
        yield spent.is_set
    finally:
        timer.cancel()
        if timer.is_alive():  # it may be about to request the stop
            timer.join()
        if spent.is_set():
            clear_stop_request()


@contextlib.contextmanager
def host_signals_deferred() -> Iterator[None]:
    """Let SIGUSR1 and SIGUSR2 request a stop; the host's own handlers run at the context's end.

    The error of a handler that raises within a block would be recorded as a failure of the block.
    Submitit, for example, sends SIGUSR2 before a job's time is up. Its handler queues the job
    again, here after the started blocks are stored.
    """
    hosts = {
        number: handler
        for number, handler in handlers_of("SIGUSR1", "SIGUSR2").items()
        if not getattr(handler, "__module__", "").startswith("simstudy.")
    }
    with deferred(hosts, request_stop, clear_stop_request):
        yield


def handlers_of(*names: str) -> dict[int, Handler]:
    """Return the handlers of some signals; empty if this is not the main thread.

    Only the main thread may change handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in numbers}
    return {number: handler for number, handler in handlers.items() if callable(handler)}


@contextlib.contextmanager
def deferred(
    handlers: Mapping[int, Handler],
    on_signal: Callable[[], None] = lambda: None,
    before_handlers: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """Let signals call `on_signal`; their own handlers run once at the context's end."""
    received: dict[int, None] = {}

    def defer(number: int, _frame: FrameType | None) -> None:
        received[number] = None
        on_signal()

    for number in handlers:
        signal.signal(number, defer)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if received:
            before_handlers()
        for number in received:
            handlers[number](number, None)


# ---------------------------------------------------------------- time limits of blocks
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
