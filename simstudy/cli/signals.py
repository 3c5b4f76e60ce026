"""Handlers of the signals that stop a command.

If there is nothing to clean up, the process ends at once, with one line and its status: an
exception in the middle of an import would print a traceback or be lost. While blocks are drawn a
signal raises an exception, which stops workers on its way.

Imports little, because signals are not handled until this module is loaded.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

POOLS = "joblib.externals.loky.process_executor"  # loaded if workers may be running
COMPILER = "llvmlite"  # the package that compiles for Numba
COMPILING_SECONDS = 0.05  # pause before a signal that came while Numba compiles is raised again
BY_SIGNAL = 128  # a shell's status of a program that a signal ended, less the signal's number


class Terminated(KeyboardInterrupt):
    """SIGTERM, which schedulers send before they kill."""


class HungUp(KeyboardInterrupt):
    """SIGHUP: the terminal was closed."""


RAISED: dict[str, type[KeyboardInterrupt]] = {
    "SIGINT": KeyboardInterrupt,
    "SIGTERM": Terminated,
    "SIGHUP": HungUp,  # unknown to Windows
}
STOPS = {getattr(signal, name): kind for name, kind in RAISED.items() if hasattr(signal, name)}


class _Listener:
    """The signal handling of this process.

    Attributes
    ----------
    end
        Ends the process with a status.
    raises
        Whether exceptions are raised instead.
    command
        The command that continues an interrupted one.
    """

    end: Callable[[int], None] | None = None
    raises: bool = False
    command: str = ""


def listen(end: Callable[[int], None]) -> None:
    """Install the signal handlers: signals end this process.

    Signals that are ignored stay ignored, as under `nohup` or in a shell's background.
    """
    if threading.current_thread() is threading.main_thread():
        _Listener.end = end
        for number in STOPS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _receive)


def resume_with(command: str) -> None:
    """Set the command that is printed after a signal."""
    _Listener.command = command


def stop_listening() -> None:
    """Ignore signals from now on: the command is done."""
    if _Listener.end is not None and threading.current_thread() is threading.main_thread():
        for number in STOPS:
            signal.signal(number, signal.SIG_IGN)


def _receive(number: int, frame: FrameType | None) -> None:
    if _Listener.end is not None and not _Listener.raises and POOLS not in sys.modules:
        _Listener.end(BY_SIGNAL + number)
    if _is_compiling(frame):
        threading.Timer(COMPILING_SECONDS, _send_again, (number,)).start()
    else:
        raise STOPS[signal.Signals(number)]


def _send_again(number: int) -> None:
    if sys.platform == "win32":
        signal.raise_signal(number)
    else:  # also wakes a main thread that waits
        signal.pthread_kill(threading.main_thread().ident or 0, number)


def _is_compiling(frame: FrameType | None) -> bool:
    """Whether Numba compiles: its compiler calls Python functions and ignores their exceptions."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == COMPILER:
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def raising(raises: bool = True) -> Iterator[None]:
    """Context in which a signal raises an exception instead of ending the process."""
    before, _Listener.raises = _Listener.raises, raises
    try:
        yield
    finally:
        _Listener.raises = before


def status_of(stop: KeyboardInterrupt) -> int:
    """The exit status of a stopped command."""
    kinds = {kind: number for number, kind in STOPS.items()}
    return BY_SIGNAL + int(kinds.get(type(stop), signal.SIGINT))


def interruption(command: str | None = None) -> str:
    """The text printed after an interruption."""
    command = _Listener.command if command is None else command
    return f"interrupted; every finished block is kept. To go on: {command}"


def write_line(text: str) -> None:
    """Write a line to standard error, also in the middle of other output."""
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode(sys.getfilesystemencoding(), "replace"))
