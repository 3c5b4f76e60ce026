"""A warning that the time is nearly up: what is under way is finished, and nothing more begun."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_stop_request = threading.Event()


class OutOfTime(KeyboardInterrupt):
    """A run ended early, as it was warned to; every block that it began is stored.

    An interrupt and no error, so that nothing that catches errors goes on after it.
    """

    def __init__(self, n_left: int) -> None:
        super().__init__(n_left)
        self.n_left = n_left
        self.outcome: Any = None  # what the run did until then


def request_stop() -> None:
    """Have runs of this process hand out no more work; safe in a signal's handler."""
    _stop_request.set()


def clear_stop_request() -> None:
    """Let the next run work to its end."""
    _stop_request.clear()


def stop_requested() -> bool:
    """Whether no more work is to be begun."""
    return _stop_request.is_set()


@contextlib.contextmanager
def time_budget(seconds: float | None) -> Iterator[Callable[[], bool]]:
    """Warn when so much time has passed, or never; gives what tells whether it has."""
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
        if timer.is_alive():  # it may be about to warn
            timer.join()
        if spent.is_set():
            clear_stop_request()


@contextlib.contextmanager
def host_signals_deferred() -> Iterator[None]:
    """Within it SIGUSR1 and SIGUSR2 ask for a stop; the host's own handlers are called at its end.

    A handler that raises in the middle of a block would be taken for a failure of the block. A
    batch system's library (submitit) sends SIGUSR2 before the time is up; its handler queues the
    job again, and does so after what was begun is stored.
    """
    hosts = _host_handlers()
    heard: list[int] = []

    def defer(number: int, _frame: FrameType | None) -> None:
        heard.append(number)
        request_stop()

    for number in hosts:
        signal.signal(number, defer)
    try:
        yield
    finally:
        for number, handler in hosts.items():
            signal.signal(number, handler)
        if heard:
            clear_stop_request()
        for number in dict.fromkeys(heard):
            hosts[number](number, None)


def _host_handlers() -> dict[int, Callable[[int, FrameType | None], Any]]:
    """Handlers of other code than ours, by signal; only the main thread may change them."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    numbers = [getattr(signal, n) for n in ("SIGUSR1", "SIGUSR2") if hasattr(signal, n)]
    found = {number: signal.getsignal(number) for number in numbers}
    return {
        number: handler
        for number, handler in found.items()
        if callable(handler) and not getattr(handler, "__module__", "").startswith("simstudy.")
    }


def raise_if_stopped(n_left: int) -> None:
    """End a run that was warned and has blocks left.

    Raises
    ------
    OutOfTime
        Where it was warned, and there are any.
    """
    if n_left and stop_requested():
        raise OutOfTime(n_left)
