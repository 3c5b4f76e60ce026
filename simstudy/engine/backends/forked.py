"""In a copy of this process, made by fork: what kills the copy leaves this one alive.

A copy costs some milliseconds, has everything that was loaded here, and needs nothing to be sent:
lambdas, notebooks' functions and open files are there. Starting a process that imports for itself
takes a second. But a copy has only the thread that made it, so whoever held a lock in another
holds it there for ever: a copy is made only where no other thread could have held one.
"""

import contextlib
import ctypes
import gc
import importlib
import math
import os
import pickle
import select
import signal
import struct
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

from simstudy.data.read_audit import note_written, written_here
from simstudy.engine import time_limits
from simstudy.engine.backends.protocol import HANGS, WorkerDiedError
from simstudy.engine.marks import Mark, Spot, Stopped, keep
from simstudy.engine.time_limits import in_an_expendable_process
from simstudy.engine.warning import is_warned, warn
from simstudy.errors import SimstudyError, StudyError, describe

_THREADED = """
catboost cupy duckdb grpc jaxlib juliacall lightgbm mpi4py polars pyspark ray tensorflow vaex
xgboost
"""
THREADED_LIBRARIES = tuple(_THREADED.split())
"""Libraries with threads or connections of their own, which a copy would wait for in vain.

OpenBLAS, MKL, pyarrow and torch without a GPU make their threads anew in a copy, and OpenMP has
none where its number is one, which it is wherever a block is drawn.
"""
THAT_DRAW_A_BAR = ("_RefreshThread",)  # rich's, whose locks a copy never takes
STOPS = {signal.SIGINT, signal.SIGTERM, *({signal.SIGHUP} if hasattr(signal, "SIGHUP") else ())}
ITEM, END, RAISED = range(3)
LENGTH = struct.Struct("<Q")
LOOK_MILLISECONDS = 200.0  # between looks whether a copy has to be told that its time is nearly up
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG, of Linux

Item = TypeVar("Item")


def can_fork() -> bool:
    """Whether this system makes copies and tells of their end."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open")


def forks_safely() -> bool:
    """Whether a copy of this process can draw blocks, and whoever watches this one misses none."""
    return (
        can_fork()
        and not (sys.gettrace() or sys.getprofile())  # a debugger, a profiler
        and not any(name in sys.modules for name in THREADED_LIBRARIES)
        and not _has_other_threads()
        and not _has_native_state()
    )


def _has_other_threads() -> bool:
    others = (
        thread for thread in threading.enumerate() if thread is not threading.current_thread()
    )
    return any(type(thread).__name__ not in THAT_DRAW_A_BAR for thread in others)


def _has_native_state() -> bool:
    """A GPU in use, or a pool of numba's that runs."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        return True
    try:
        sys.modules["numba"].threading_layer()
    except (KeyError, AttributeError, ValueError):  # not loaded, loading, or no pool yet
        return False
    return True


def forked(items: Iterator[Item], block_seconds: float | None = None) -> Iterator[Item]:
    """What an iterator gives, computed in a copy of this process that ends with it.

    Parameters
    ----------
    block_seconds
        For how long the copy may be stopped between blocks; None for ever.

    Raises
    ------
    WorkerDiedError
        Where the copy ended before the iterator did, or would not end with its time.
    """
    _load_what_both_need()
    reader, writer = os.pipe()
    mark, parent = Mark(), os.getpid()
    with no_stop_between() as mask:
        child = fork()
        if not child:
            end_with(parent)
            os.close(reader)
            _give(items, writer, mask, mark)
    os.close(writer)
    copy = _Copy(child, os.pidfd_open(child), reader, mark, block_seconds or math.inf)
    try:
        yield from copy.received()
    finally:
        copy.end()


def _load_what_both_need() -> None:
    """What the copy loads to write blocks, and this process to read them, is loaded once."""
    for name in ("pandas", "pyarrow.compute", "pyarrow.pandas_compat", "pyarrow.parquet"):
        importlib.import_module(name)


@contextlib.contextmanager
def no_stop_between() -> Iterator[set[Any]]:
    """Within it no signal comes that would stop the run: each process is to know what it is.

    Gives the signals that were blocked before.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield set(before)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def fork() -> int:
    """The number of a copy of this process; in the copy itself, 0."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # what waits to be written would be written twice
            stream.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads: they were looked at
        return os.fork()


# ---------------------------------------------------------------- in the copy
def _give(items: Iterator[Any], writer: int, mask: set[Any], mark: Mark) -> NoReturn:
    """Send what comes of the iterator, and end without what this program does at its end."""
    try:
        _begin(mask, mark)
        for item in items:
            _send(writer, ITEM, item)
        _send(writer, END, written_here())
    except BaseException as error:
        cause = error.__cause__  # which an exception loses on the way
        _send(writer, RAISED, (_as_sent(error), cause and _as_sent(cause)))
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(0)  # what it is worth is what it has sent


def end_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Have a signal end this process when its parent does, which may have been already."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, number)
    if os.getppid() != parent:
        os._exit(1)


def _begin(mask: set[Any], mark: Mark) -> None:
    """Leave Ctrl-C to the parent, and write past its progress bar."""
    gc.freeze()  # looking for garbage among what was there would copy all of its memory
    for stop in STOPS - {signal.SIGINT}:
        signal.signal(stop, signal.SIG_DFL)
    signal.signal(signal.SIGUSR1, lambda *_: warn())
    signal.pthread_sigmask(signal.SIG_SETMASK, mask | {signal.SIGINT})
    sys.stdout = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
    sys.stderr = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
    keep(mark)
    in_an_expendable_process(ends_itself=False)


def _send(writer: int, kind: int, content: Any) -> None:
    sent = pickle.dumps((kind, content))
    left = memoryview(LENGTH.pack(len(sent)) + sent)
    while left:
        left = left[os.write(writer, left) :]


def _as_sent(error: BaseException) -> BaseException:
    """An exception that arrives, with its traceback unless it says all by itself."""
    if not isinstance(error, SimstudyError):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever an exception of a user's own raises
        return StudyError(describe(error))
    return error


# ---------------------------------------------------------------- in the parent
class _Copy:
    """A copy of this process, what it sends, and the clock for it.

    Parameters
    ----------
    limit
        Seconds for which it may be stopped between blocks.
    """

    def __init__(self, child: int, pidfd: int, reader: int, mark: Mark, limit: float) -> None:
        self._child, self._pidfd, self._reader = child, pidfd, reader
        self._mark, self._limit, self._stopped = mark, limit, Stopped()
        self._waiting = select.poll()
        for source in (reader, pidfd):
            self._waiting.register(source, select.POLLIN)

    def received(self) -> Iterator[Any]:
        """What it sends, to its end; raises what it raised."""
        while True:
            kind, content = self._message()
            if kind == RAISED:
                error, cause = content
                raise error from cause
            if kind == END:
                for path in content:  # which a later block may read: it is this program's own
                    note_written(path)
                return
            yield content

    def end(self) -> None:
        """End it, if it is there still; its number may be another's by now."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED)
        os.close(self._pidfd)
        os.close(self._reader)

    def _message(self) -> tuple[int, Any]:
        head = self._read(LENGTH.size)
        if len(head) == LENGTH.size:
            (length,) = LENGTH.unpack(head)
            body = self._read(length)
            if len(body) == length:
                kind, content = pickle.loads(body)
                return kind, content
        raise self._death()

    def _read(self, length: int) -> bytes:
        """So many bytes; fewer where it has ended."""
        parts = []
        while length and self._sends() and (part := os.read(self._reader, length)):
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _sends(self) -> bool:
        """Whether there is more of it, once that is known.

        Processes that it began may hold the pipe open when it has gone.
        """
        while not (ready := dict(self._waiting.poll(LOOK_MILLISECONDS))):
            if is_warned():
                self._warn()
            if self._is_overdue():
                raise WorkerDiedError(HANGS, spots=self._spots(), by_signal=False)
        return self._reader in ready

    def _warn(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGUSR1)

    def _is_overdue(self) -> bool:
        is_stopped = self._stopped.seconds(self._child) > self._limit + time_limits.GRACE_SECONDS
        return is_stopped or self._mark.read.is_past()

    def _death(self) -> WorkerDiedError:
        """How it ended, in the words that are used of any worker, and what it was at."""
        spots = self._spots()
        try:
            end: Any = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:  # SIGCHLD is ignored here, or somebody else waits for all
            return WorkerDiedError("the process died", spots=spots)
        status = end.si_status
        if end.si_code == os.CLD_EXITED:
            how = f"the process died: EXIT({status})"
            return WorkerDiedError(how, spots=spots, by_signal=False)
        known = {member.value: member.name for member in signal.Signals}
        how = f"the process died: {known.get(status, 'signal')}(-{status})"
        return WorkerDiedError(how, spots=spots)

    def _spots(self) -> list[Spot]:
        spot = self._mark.read.spot
        return [spot] if spot else []
