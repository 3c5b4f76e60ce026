"""How a command ends: exit statuses, signals, and the line that says how to go on."""

import contextlib
import errno
import gc
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence

from simstudy.cli import stops
from simstudy.cli.project import Project
from simstudy.cli.standard_streams import complain
from simstudy.engine.warning import OutOfTime, forget_warning, warn
from simstudy.errors import AlwaysFailsError
from simstudy.remote.paths import without_passwords

DEFECT, REFUSED, FAILED, OUT_OF_TIME = 1, 2, 3, 75
STOPPED = frozenset({OUT_OF_TIME, *(stops.BY_SIGNAL + number for number in stops.STOPS)})


def refuse(error: BaseException) -> int:
    """Say in one line what is wrong."""
    complain(without_passwords(" ".join(str(error).split())))
    for frame in error.frames if isinstance(error, AlwaysFailsError) else ():
        complain(f"  {frame}")
    return REFUSED


def is_of_output(error: BaseException) -> bool:
    """Whether it is the standard output that cannot be written: nobody reads on, or no room.

    Where a study's folder has no room, that has been said in words of its own by then.
    """
    full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    return full or isinstance(error, BrokenPipeError)


def interrupted(stop: KeyboardInterrupt, command: str) -> int:
    """Say how to go on: with a command."""
    command = without_passwords(command)
    stops.said()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not cut this short
    if isinstance(stop, OutOfTime):
        print(
            f"out of time: what was begun is finished and kept, and {stop.n_left:,} blocks are to "
            f"go. To go on: {command}",
            file=sys.stderr,
        )
        return OUT_OF_TIME
    print(stops.interruption(command), file=sys.stderr)
    return stops.status_of(stop)


def again(project: Project, overrides: Sequence[str]) -> str:
    """The command that goes on where this one stopped: it must not delete what is finished."""
    kept = [text for text in overrides if text.lstrip("+").partition("=")[0] != "restart"]
    return f"{project.runs} {shlex.join(kept)}"


@contextlib.contextmanager
def warnings_heard() -> Iterator[None]:
    """SIGUSR1, which a batch system can be told to send ahead of a time limit, ends a run early.

    What is under way is finished first: that may be a block of an hour.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main and hasattr(signal, "SIGUSR1")):  # there is none on Windows
        yield
        return
    before = signal.signal(signal.SIGUSR1, lambda *_: warn())
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)
        forget_warning()


@contextlib.contextmanager
def no_garbage(*, to_the_end: bool) -> Iterator[None]:
    """Imports leave no garbage: looking for it among what they make is a seventh of a short run.

    Parameters
    ----------
    to_the_end
        Whether what is there afterwards stays until the process ends, as a program may say of
        itself, but not of another that calls it.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if to_the_end:
            gc.freeze()
