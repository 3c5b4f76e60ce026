"""How a command ends: by itself or by a signal, with its exit status and a last line.

If there is nothing to clean up, a signal ends the process at once, with one line and its status: an
exception in the middle of an import would print a traceback or be lost. While blocks are drawn a
signal raises an exception, which stops workers on its way.

Imports little, because signals are not handled until this module is loaded.
"""

import contextlib
import errno
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FrameType

from simstudy import errors
from simstudy.engine.graceful_stop import OutOfTime, request_stop

DEFECT, REFUSED, FAILED, OUT_OF_TIME, BROKEN_PIPE = 1, 2, 3, 75, 141
POOLS = "joblib.externals.loky.process_executor"  # loaded if workers may be running
BY_SIGNAL = 128  # a shell's status of a program that a signal ended, less the signal's number


STOPS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that end a command: Ctrl-C, a scheduler before it kills, a closed terminal."""


class _Listener:
    """The signal handling of this process.

    Attributes
    ----------
    raises
        Whether a signal raises an exception instead of ending the process.
    command
        The command that continues an interrupted one.
    """

    raises: bool = False
    command: str = ""


def end_with_status(work: Callable[[], int], command: str) -> int:
    """Run a command; errors become one line and an exit status.

    Parameters
    ----------
    command
        The command that continues.

    Returns
    -------
    int
        0 all is well; 1 a defect, with its traceback, or an output that cannot be written;
        2 refused before any work; 3 some replicates failed, drawing a figure raised an error, or
        shares to join are missing;
        75 warned by SIGUSR1 that the time is nearly up, and some blocks are to go; 129 hung up;
        130 interrupted; 141 broken pipe; 143 terminated.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a locale may know only ASCII
    _Listener.command = command
    try:
        status = work()
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where what goes wrong can still be told
        return status
    except (errors.SimstudyError, KeyboardInterrupt) as error:
        return complain_of(error, command)
    except OSError as error:
        if is_output_error(error):
            with contextlib.suppress(OSError, ValueError):  # what it holds would fail at exit
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):
                return BROKEN_PIPE
            complain(f"cannot write to the standard output: {error.strerror}")
            return DEFECT
        if error.filename is None:
            raise
        complain(f"cannot use {error.filename}: {error.strerror}")
        return REFUSED


def complain_of(error: BaseException, command: str = "") -> int:
    """Print an expected error in one line, a defect with its traceback; returns the exit status.

    Parameters
    ----------
    command
        The command that continues.
    """
    if isinstance(error, OutOfTime):
        left = f"{error.n_left:,} blocks are to go. To go on: {command}"
        complain(f"out of time: what was begun is finished and kept, and {left}")
        return OUT_OF_TIME
    if isinstance(error, KeyboardInterrupt):
        stop_listening()  # a second Ctrl-C must not cut this short
        complain(interruption(command))
        return BY_SIGNAL + int(error.args[0] if error.args else signal.SIGINT)
    if not isinstance(error, errors.SimstudyError):
        traceback.print_exception(error)
        return DEFECT
    text = f"{error} That is: {command}" if isinstance(error, errors.DiskFullError) else str(error)
    complain(errors.in_one_line(text))
    for frame in error.frames if isinstance(error, errors.AlwaysFailsError) else ():
        complain(f"  {frame}")
    if isinstance(error, errors.IncompleteError):
        return FAILED
    return OUT_OF_TIME if isinstance(error, errors.SchedulerLostError) else REFUSED


def complain(text: str) -> None:
    """Print a line on standard error."""
    from simstudy.places import without_passwords

    print(without_passwords(text), file=sys.stderr)


def is_output_error(error: BaseException) -> bool:
    """Whether standard output cannot be written: closed pipe or full disk.

    A full disk below a study's folder is another error, raised where its files are written.
    """
    full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    return full or isinstance(error, BrokenPipeError)


# ---------------------------------------------------------------- signals
def listen(command: str) -> None:
    """Install the signal handlers: signals end this process.

    SIGUSR1, sent by a batch system ahead of a time limit, stops the run gracefully: blocks under
    way are finished first, even if one takes an hour. Signals that are ignored stay ignored, as
    under `nohup` or in a shell's background.

    Parameters
    ----------
    command
        The command that continues an interrupted one.
    """
    _Listener.command = command
    if threading.current_thread() is not threading.main_thread():
        return
    for number in STOPS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _receive)
    if hasattr(signal, "SIGUSR1"):  # there is none on Windows
        signal.signal(signal.SIGUSR1, lambda *_: request_stop())


def stop_listening() -> None:
    """Ignore signals from now on: the command is done."""
    for number in STOPS:
        if signal.getsignal(number) is _receive:
            signal.signal(number, signal.SIG_IGN)


def _receive(number: int, _frame: FrameType | None) -> None:
    if not _Listener.raises and POOLS not in sys.modules:
        with contextlib.suppress(OSError):  # also in the middle of other output
            os.write(2, f"{interruption()}\n".encode(sys.getfilesystemencoding(), "replace"))
        os._exit(BY_SIGNAL + number)  # a study's code cannot stop this
    raise KeyboardInterrupt(number)


@contextlib.contextmanager
def raising(raises: bool = True) -> Iterator[None]:
    """Context in which a signal raises an exception instead of ending the process."""
    before, _Listener.raises = _Listener.raises, raises
    try:
        yield
    finally:
        _Listener.raises = before


def interruption(command: str = "") -> str:
    """The text printed after an interruption."""
    return f"interrupted; every finished block is kept. To go on: {command or _Listener.command}"
