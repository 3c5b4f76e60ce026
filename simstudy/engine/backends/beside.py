"""Copies of this process that do something else beside it, say what came of it, and end with it.

A copy is told to end by SIGTERM, which comes also when its parent has gone: it ends the copies that
it made itself, and takes away what it was writing. Of Ctrl-C, and of a terminal that goes, it is
the parent that hears. So nothing half written stays, whatever is stopped where.
"""

import contextlib
import gc
import os
import signal
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn

from simstudy.engine.backends.forked import STOPS, end_with, fork, no_stop_between
from simstudy.whole_files import forget_own

Work = Callable[[Connection], None]
WAIT_SECONDS = 10.0  # for a copy that was told to end: it may be in the middle of compiled code
LEFT_TO_THE_PARENT = {*STOPS, getattr(signal, "SIGUSR1", signal.SIGINT)} - {signal.SIGTERM}
TOLD = 128 + signal.SIGTERM  # the status of a copy that was


class Copy:
    """A copy of this process, with a connection to it.

    Parameters
    ----------
    work
        What it does, with its end of the connection; then it ends. Where copies are not safe
        (`forks_safely`), there must be none.
    """

    def __init__(self, work: Work) -> None:
        parent = os.getpid()
        self.connection, there = Pipe()
        with no_stop_between() as mask:
            self.process = fork()
            if not self.process:
                self.connection.close()
                _live(work, there, parent, mask)
        there.close()
        _own.append(self)

    def fileno(self) -> int:
        """That of the connection, so that several can be waited for."""
        return self.connection.fileno()

    def told(self) -> Any:
        """What it says next, waiting for it.

        Raises
        ------
        EOFError
            Where it has ended.
        """
        try:
            return self.connection.recv()
        except OSError:  # it ended in the middle of a word
            raise EOFError from None

    def end(self) -> str:
        """End it, unless it has; how it ended, in words, empty where it had done its work."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGTERM)
        return self.ended()

    def ended(self) -> str:
        """Wait until it ends; then how, in words, empty where it had done its work."""
        self.connection.close()
        status = _status_of(self.process)
        with contextlib.suppress(ValueError):
            _own.remove(self)
        return _in_words(status)


_own: list[Copy] = []  # copies of this process, but for those that have ended


def those_that_said(copies: Iterable[Any], seconds: float | None = None) -> list[Any]:
    """Which of some copies and connections have said something, or have ended.

    Parameters
    ----------
    seconds
        How long to wait for any; for ever, if None.
    """
    return wait(list(copies), seconds)


def end_all() -> None:
    """End all copies of this process: it ends itself."""
    for copy in list(_own):
        with contextlib.suppress(ProcessLookupError):
            os.kill(copy.process, signal.SIGTERM)
    for copy in list(_own):
        copy.ended()


def _status_of(process: int) -> int:
    """The exit status of a process, or the number of the signal that ended it, less than zero."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        try:
            found, status = os.waitpid(process, os.WNOHANG)
        except ChildProcessError:  # somebody has waited for it
            return 0
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _in_words(status: int) -> str:
    if status >= 0:
        return f"its process ended with {status}" if status else ""
    known = {member.value: member.name for member in signal.Signals}
    return f"its process was ended by {known.get(-status, f'signal {-status}')}"


# ---------------------------------------------------------------- in the copy
def _live(work: Work, there: Connection, parent: int, mask: set[Any]) -> NoReturn:
    status = 1
    try:
        _own.clear()  # they are the parent's
        gc.freeze()  # looking for garbage among what was there would copy all of its memory
        for stop in LEFT_TO_THE_PARENT:
            signal.signal(stop, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, _told_to_end)
        end_with(parent, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        work(there)
        status = 0
    finally:
        os._exit(status)  # what it is worth is what it has said


def _told_to_end(_number: int, _frame: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_all()
    forget_own()
    os._exit(TOLD)
