"""How long drawing a block may take: where a study or a command says so.

In Python's own code a block is stopped by an exception, and nothing else is lost. Compiled code
hears of no exception: a process that was started to draw blocks then ends, with the block that it
draws, and one that does something else can only say so.
"""

import contextlib
import ctypes
import faulthandler
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simstudy.engine.marks import own_mark

GRACE_SECONDS = 1.0  # for Python to come to its next instruction, before the process ends
LATE_SECONDS = 1.0  # after which nobody but a suspended process is still there
AGAIN_SECONDS = 1.0  # until a block that has swallowed the exception gets the next


class OverTimeError(BaseException):
    """A block takes too long; no `Exception`, which a method may be written to survive."""


@dataclass
class _Process:
    """Whether this process was started to draw blocks, and may end itself with one."""

    expendable: bool = False
    ends_itself: bool = True


_process = _Process()


def in_an_expendable_process(*, ends_itself: bool = True) -> None:
    """From now on a block that cannot be stopped ends this process, or who reads its mark does."""
    _process.expendable, _process.ends_itself = True, ends_itself


def hears_signals() -> bool:
    """Whether a signal may raise `KeyboardInterrupt` here, and not only code that draws a block.

    Processes that draw blocks for another one hear of no Ctrl-C, and of Python's threads the main
    one alone does.
    """
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and not _process.expendable


def over_time(seconds: float) -> str:
    """Why a block failed that took too long."""
    return f"drawing the block took longer than block_seconds={seconds:g}"


@contextlib.contextmanager
def at_most(seconds: float | None, what: str) -> Iterator[None]:
    """Within it, whatever takes longer is stopped.

    Parameters
    ----------
    what
        Is drawn, for a person to know what cannot be stopped.

    Raises
    ------
    OverTimeError
        Where it does.
    """
    if seconds is None:
        yield
        return
    in_main = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    stopped = _stopped_by_alarm if in_main else _stopped_by_another_thread
    last = _ended if _process.expendable else _said
    with last(seconds + GRACE_SECONDS, what), stopped(seconds):
        yield


# ---------------------------------------------------------------- while Python runs
@contextlib.contextmanager
def _stopped_by_alarm(seconds: float) -> Iterator[None]:
    """An alarm also ends waiting and sleeping; only the main thread hears it."""
    is_within, due = True, time.monotonic() + seconds

    def stop(*_: Any) -> None:
        nonlocal due
        if is_within and _was_suspended(due):
            due = time.monotonic() + seconds
            signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
            _tell_until(due + GRACE_SECONDS)
        elif is_within:
            due = math.inf  # a block that has swallowed this gets no more time by it
            raise OverTimeError

    handler = signal.signal(signal.SIGALRM, stop)
    alarm = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
    try:
        yield
    finally:
        is_within = False
        signal.setitimer(signal.ITIMER_REAL, *alarm)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)


def _was_suspended(due: float) -> bool:
    """Whether this process did not run when its block's time was over: as with Ctrl-Z, and `fg`.

    Had it run, and not come back to Python, it would have been ended before.
    """
    return _process.expendable and time.monotonic() > due + GRACE_SECONDS + LATE_SECONDS


@contextlib.contextmanager
def _stopped_by_another_thread(seconds: float) -> Iterator[None]:
    """The exception comes with the next instruction of Python's."""
    thread, lock = ctypes.c_ulong(threading.get_ident()), threading.Lock()
    is_within = True

    def stop() -> None:
        with lock:
            if is_within:
                _raise_in(thread, ctypes.py_object(OverTimeError))

    with _called_after(seconds, stop):
        try:
            yield
        finally:
            with lock:
                is_within = False
                _raise_in(thread, None)


def _raise_in(thread: ctypes.c_ulong, error: Any) -> None:
    """Have an exception raised in a thread, or take back one that was not raised yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, error)


# ---------------------------------------------------------------- where it does not
@contextlib.contextmanager
def _ended(seconds: float, _what: str) -> Iterator[None]:
    """The process ends, whatever it does and whoever holds Python's lock.

    A process that is stopped, or hangs in the system, ends nothing, not even itself: who reads its
    mark does. So it is with every copy of a process, which may not look to faulthandler: that has a
    thread which a copy lacks, and would wait for without end where the program had begun one.
    """
    itself = _by_itself if _process.ends_itself else contextlib.nullcontext
    with _told(seconds), itself(seconds):
        yield


@contextlib.contextmanager
def _by_itself(seconds: float) -> Iterator[None]:
    with open(os.devnull, "w") as nowhere:  # the parent says what there is to say
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def _told(seconds: float) -> Iterator[None]:
    """Who reads the mark of this process knows until when."""
    _tell_until(time.monotonic() + seconds)
    try:
        yield
    finally:
        _tell_until(0.0)


def _tell_until(until: float) -> None:
    mark = own_mark()
    if mark is not None:
        mark.set(until)


@contextlib.contextmanager
def _said(seconds: float, what: str) -> Iterator[None]:
    """Somebody is told, once."""
    text = (
        f"{what} has been drawing for {seconds:g} s, and is in a call that cannot be stopped in "
        "this process: stop the run, and draw with backend=loky, which can"
    )
    with _called_after(seconds, lambda: print(text, file=sys.stderr, flush=True)):
        yield


@contextlib.contextmanager
def _called_after(seconds: float, call: Any) -> Iterator[None]:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
