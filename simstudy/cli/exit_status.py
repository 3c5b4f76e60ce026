"""Exit statuses, and the line that says how to continue."""

import contextlib
import errno
import io
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from simstudy.cli import signals
from simstudy.cli.project import Project
from simstudy.errors import (
    AlwaysFailsError,
    ConfigError,
    DiskFullError,
    IncompleteError,
    SchedulerLostError,
    SimstudyError,
)
from simstudy.remote import without_passwords

DEFECT, REFUSED, FAILED, OUT_OF_TIME, BROKEN_PIPE = 1, 2, 3, 75, 141
LONG, REPEATED = 200, 60  # letters of a typed word, and how many of them a refusal repeats


def end_with_status(work: Callable[[], int], typed: Sequence[str], command: str) -> int:
    """Context that turns errors into one line and an exit status.

    Parameters
    ----------
    typed
        The arguments as typed; long values are shortened in error messages.
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
    try:
        with early_warning():
            status = work()
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where what goes wrong can still be told
        return status
    except (SimstudyError, KeyboardInterrupt) as error:
        return complain_of(error, typed, command)
    except BrokenPipeError:
        mute(sys.stdout)
        return BROKEN_PIPE
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            reason = f"cannot use {error.filename}: {error.strerror}"
            return complain_of(ConfigError(f"{reason}. Choose another name, or out=..."), typed)
        if not is_output_error(error):
            raise
        mute(sys.stdout)
        complain(f"cannot write to the standard output: {error.strerror}")
        return DEFECT


def complain_of(error: BaseException, typed: Sequence[str] = (), command: str = "") -> int:
    """Print an expected error in one line; returns the exit status.

    Parameters
    ----------
    typed
        The arguments as typed; long values are shortened.
    command
        The command that continues.
    """
    from simstudy.engine.graceful_stop import OutOfTime

    if isinstance(error, KeyboardInterrupt):
        signals.stop_listening()  # a second Ctrl-C must not cut this short
    if isinstance(error, OutOfTime):
        complain(
            f"out of time: what was begun is finished and kept, and {error.n_left:,} blocks are to "
            f"go. To go on: {command}"
        )
        return OUT_OF_TIME
    if isinstance(error, KeyboardInterrupt):
        complain(signals.interruption(command))
        return signals.status_of(error)
    text = f"{error} That is: {command}" if isinstance(error, DiskFullError) else str(error)
    for argument in typed:
        for part in argument.split("=", 1):
            if len(part) > LONG:
                text = text.replace(part, f"{part[:REPEATED]}…")
    complain(" ".join(text.split()))
    for frame in error.frames if isinstance(error, AlwaysFailsError) else ():
        complain(f"  {frame}")
    if isinstance(error, IncompleteError):
        return FAILED
    return OUT_OF_TIME if isinstance(error, SchedulerLostError) else REFUSED


def is_output_error(error: BaseException) -> bool:
    """Whether standard output cannot be written: closed pipe or full disk.

    A full disk below a study's folder is another error, raised where its files are written.
    """
    full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    return full or isinstance(error, BrokenPipeError)


def resume_command(project: Project, verb: str, arguments: Sequence[str]) -> str:
    """The command that continues this one, without drawing stored blocks again."""
    kept = [text for text in arguments if text.lstrip("+").partition("=")[0] != "redraw"]
    return " ".join([project.command(verb), *map(shlex.quote, kept)])


@contextlib.contextmanager
def early_warning() -> Iterator[None]:
    """Context: SIGUSR1, sent by a batch system ahead of a time limit, stops the run gracefully.

    Blocks under way are finished first, even if one takes an hour.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main and hasattr(signal, "SIGUSR1")):  # there is none on Windows
        yield
        return
    from simstudy.engine.graceful_stop import clear_stop_request, request_stop

    before = signal.signal(signal.SIGUSR1, lambda *_: request_stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)
        clear_stop_request()


def complain(text: str) -> None:
    """Print a line on standard error, if it is open."""
    try:
        print(without_passwords(text), file=sys.stderr)
    except OSError:
        mute(sys.stderr)


def mute(stream: Any) -> None:
    """Discard what a stream still holds, so that it does not fail at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
