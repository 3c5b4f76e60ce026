"""Handlers of the signals that stop a command.

Where there is nothing to put in order the process ends at once, with one line and its status: an
exception in the middle of an import ends in a traceback, or in nothing. While blocks are drawn a
signal raises an exception, which stops workers on its way.

This module imports as little as possible: until it is loaded, nobody listens.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

POOLS = "joblib.externals.loky.process_executor"  # where loaded, there may be workers to stop
BY_SIGNAL = 128  # a shell's status of a program that a signal ended, less the signal's number


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


class _Listener:
    """What this process does when a signal comes; without `end` nobody listens.

    Attributes
    ----------
    end
        Ends the process with a status.
    raises
        Whether exceptions are raised instead.
    command
        What goes on after it.
    """

    end: Callable[[int], None] | None = None
    raises: bool = False
    command: str = ""


def listen(end: Callable[[int], None]) -> None:
    """From now on signals end this process, which is a command and nothing else.

    What is ignored stays so: `nohup`, and shells for what they run in the background, see to it.
    """
    if threading.current_thread() is threading.main_thread():
        _Listener.end = end
        for number in STOPS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _receive)


def resume_with(command: str) -> None:
    """From now on this is the command that goes on after a signal."""
    _Listener.command = command


def stop_listening() -> None:
    """From now on signals change nothing: a command has done what it was to do."""
    if _Listener.end is not None and threading.current_thread() is threading.main_thread():
        for number in STOPS:
            signal.signal(number, signal.SIG_IGN)


def _receive(number: int, _frame: FrameType | None) -> None:
    if _Listener.end is not None and not _Listener.raises and POOLS not in sys.modules:
        _Listener.end(BY_SIGNAL + number)
    raise STOPS[signal.Signals(number)]


@contextlib.contextmanager
def raising(raises: bool = True) -> Iterator[None]:
    """Within it a signal raises an exception, or again ends the process at once."""
    before, _Listener.raises = _Listener.raises, raises
    try:
        yield
    finally:
        _Listener.raises = before


def status_of(stop: KeyboardInterrupt) -> int:
    """The exit status of a command that was stopped."""
    kinds = {kind: number for number, kind in STOPS.items()}
    return BY_SIGNAL + int(kinds.get(type(stop), signal.SIGINT))


def interruption(command: str | None = None) -> str:
    """What is printed of it: how to go on; without a command, with that of `resume_with`."""
    command = _Listener.command if command is None else command
    return f"interrupted; every finished block is kept. To go on: {command}"


def write_line(text: str) -> None:
    """Write to standard error where another line may be under way, as a signal may find it."""
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode(sys.getfilesystemencoding(), "replace"))
