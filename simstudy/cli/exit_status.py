"""Exit statuses, and the line that says how to continue."""

import contextlib
import errno
import io
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from simstudy import errors
from simstudy.cli import signals
from simstudy.cli.project import Project
from simstudy.remote import without_passwords

DEFECT, REFUSED, FAILED, OUT_OF_TIME, BROKEN_PIPE = 1, 2, 3, 75, 141
LONG_WORD = re.compile(r"(\S{120})\S{180,}")  # shortened in messages


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
    try:
        with early_warning():
            status = work()
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where what goes wrong can still be told
        return status
    except (errors.SimstudyError, KeyboardInterrupt) as error:
        return complain_of(error, command)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            reason = f"cannot use {error.filename}: {error.strerror}"
            return complain_of(errors.ConfigError(f"{reason}. Choose another name, or out=..."))
        if not is_output_error(error):
            raise
        mute(sys.stdout)
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        complain(f"cannot write to the standard output: {error.strerror}")
        return DEFECT


def complain_of(error: BaseException, command: str = "") -> int:
    """Print an expected error in one line; returns the exit status.

    Parameters
    ----------
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
    text = f"{error} That is: {command}" if isinstance(error, errors.DiskFullError) else str(error)
    complain(LONG_WORD.sub(r"\1…", " ".join(text.split())))
    for frame in error.frames if isinstance(error, errors.AlwaysFailsError) else ():
        complain(f"  {frame}")
    if isinstance(error, errors.IncompleteError):
        return FAILED
    return OUT_OF_TIME if isinstance(error, errors.SchedulerLostError) else REFUSED


def is_output_error(error: BaseException) -> bool:
    """Whether standard output cannot be written: closed pipe or full disk.

    A full disk below a study's folder is another error, raised where its files are written.
    """
    full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    return full or isinstance(error, BrokenPipeError)


def resume_command(project: Project, verb: str, arguments: Sequence[str]) -> str:
    """The command that continues this one, without drawing stored blocks again."""
    kept = [text for text in arguments if not text.lstrip("+").startswith("redraw=")]
    return " ".join([project.command(verb), *map(shlex.quote, kept)])


@contextlib.contextmanager
def early_warning() -> Iterator[None]:
    """Context: SIGUSR1, sent by a batch system ahead of a time limit, stops the run gracefully.

    Blocks under way are finished first, even if one takes an hour.
    """
    from simstudy.engine.graceful_stop import clear_stop_request, request_stop

    number = getattr(signal, "SIGUSR1", None)  # there is none on Windows
    if number is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, lambda *_: request_stop())
    try:
        yield
    finally:
        signal.signal(number, before)
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
