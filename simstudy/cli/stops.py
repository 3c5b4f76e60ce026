"""Signals that stop a command: heard from its first line to its last.

Importing what a command needs takes most of a short one, and an exception that comes in the middle
of an import is told of by a traceback, or by nobody. So where there is nothing to be put in order
the process ends at once, with the line and the status that any other interruption has; only where
blocks are drawn is an exception raised, which stops workers on its way.

This file imports as little as possible: until it is there, nobody listens.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

POOLS = "joblib.externals.loky.process_executor"  # where loaded, there may be workers to stop
PROGRAM, OF_A_SCRIPT = "simstudy", "python run.py"


class Terminated(KeyboardInterrupt):
    """SIGTERM, which schedulers send before they kill."""


class HungUp(KeyboardInterrupt):
    """SIGHUP: the terminal has gone."""


RAISED: dict[str, type[KeyboardInterrupt]] = {
    "SIGINT": KeyboardInterrupt,
    "SIGTERM": Terminated,
    "SIGHUP": HungUp,  # unknown to Windows
}
STOPS = {getattr(signal, name): kind for name, kind in RAISED.items() if hasattr(signal, name)}
BY_SIGNAL = 128  # a shell's status of a program that a signal ended, less the signal's number


def status_of(stop: KeyboardInterrupt) -> int:
    """The exit status of a command that was stopped."""
    kinds = {kind: number for number, kind in STOPS.items()}
    return BY_SIGNAL + int(kinds.get(type(stop), signal.SIGINT))


class _Listening:
    """How this process hears signals.

    Attributes
    ----------
    last_words
        Ends the process with a status; None where only exceptions are raised.
    raises
        Whether exceptions are raised, and nothing is ended at once.
    heard
        What was raised, and may have been swallowed where Python lets nothing through.
    """

    last_words: Callable[[int], Any] | None = None
    raises: bool = True
    heard: KeyboardInterrupt | None = None


_listening = _Listening()


def _hear(number: int, _frame: FrameType | None) -> None:
    for each in STOPS:
        if callable(signal.getsignal(each)):
            signal.signal(each, signal.SIG_IGN)  # a second one must not cut this short
    is_alone = POOLS not in sys.modules
    if is_alone and _listening.last_words is not None and not _listening.raises:
        _listening.last_words(BY_SIGNAL + number)
    _listening.heard = STOPS[signal.Signals(number)]()
    raise _listening.heard


def listen(last_words: Callable[[int], Any]) -> None:
    """From now on signals end this process, which is a command and nothing else.

    What is ignored stays so: `nohup`, and shells for what they run in the background, see to it.
    """
    if threading.current_thread() is not threading.main_thread():
        return  # only there may a program say what a signal does
    _listening.last_words, _listening.raises = last_words, False
    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _hear)


def listen_no_more() -> None:
    """From now on signals change nothing: a command has done what it was to do."""
    if _listening.last_words is not None:
        for number in STOPS:
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """Within it a signal raises: there is something to be put in order."""
    yield from _with_raises(True)
    swallowed()


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Within it a signal ends a command at once, unless there are workers to stop."""
    yield from _with_raises(False)
    swallowed()


def _with_raises(raises: bool) -> Iterator[None]:
    before, _listening.raises = _listening.raises, raises
    try:
        yield
    finally:
        _listening.raises = before


def swallowed() -> None:
    """Raise what was raised before, and came where Python lets no exception through."""
    if _listening.heard is not None:
        raise _listening.heard


def said() -> None:
    """What was heard has been told: nobody is to raise it again."""
    _listening.heard = None


@contextlib.contextmanager
def heard_by_a_guest() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP raise, as Ctrl-C does: for a program that calls a command.

    Ctrl-C is left to do what it did before, and to do it afterwards.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPS}
    for number, handler in before.items():
        if number != signal.SIGINT and handler == signal.SIG_DFL:
            signal.signal(number, _hear)
    try:
        yield
    finally:
        _listening.heard = None
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def interruption(command: str) -> str:
    """What is said of it: how to go on."""
    return f"interrupted; every finished block is kept. To go on: {command}"


def say(text: str) -> None:
    """Write a line where another line may be under way, as a signal may find it."""
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode(sys.getfilesystemencoding(), "replace"))
