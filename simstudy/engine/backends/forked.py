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

from simstudy.data.unowned import note_written, written_here
from simstudy.engine.backends.protocol import HANGS, WorkerDiedError
from simstudy.engine.marks import Mark, Spot, keep
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


def forked(items: Iterator[Item]) -> Iterator[Item]:
    """What an iterator gives, computed in a copy of this process that ends with it.

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
    pidfd = os.pidfd_open(child)
    try:
        yield from _received(reader, pidfd, child, mark)
    finally:
        _end(child)
        os.close(pidfd)
        os.close(reader)


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
def _received(reader: int, pidfd: int, child: int, mark: Mark) -> Iterator[Any]:
    while True:
        kind, content = _message(reader, pidfd, child, mark)
        if kind == RAISED:
            error, cause = content
            raise error from cause
        if kind == END:
            for path in content:  # which a later block may read: it is this program's own
                note_written(path)
            return
        yield content


def _message(reader: int, pidfd: int, child: int, mark: Mark) -> tuple[int, Any]:
    """The next; processes that the copy began may hold the pipe open when it has gone."""
    waiting = select.poll()
    for source in (reader, pidfd):
        waiting.register(source, select.POLLIN)
    while not (ready := dict(waiting.poll(LOOK_MILLISECONDS))):
        if is_warned():
            os.kill(child, signal.SIGUSR1)
        if mark.read.is_past():
            raise WorkerDiedError(HANGS, spots=_spots(mark), by_signal=False)
    head = _read(reader, LENGTH.size) if reader in ready else b""
    if len(head) == LENGTH.size:
        (length,) = LENGTH.unpack(head)
        body = _read(reader, length)
        if len(body) == length:
            kind, content = pickle.loads(body)
            return kind, content
    raise _death(child, mark)


def _read(reader: int, length: int) -> bytes:
    parts = []
    while length and (part := os.read(reader, length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _death(child: int, mark: Mark) -> WorkerDiedError:
    """How it ended, in the words that are used of any worker, and what it was at."""
    end: Any = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    status, spots = end.si_status, _spots(mark)
    if end.si_code == os.CLD_EXITED:
        how = f"the process died: EXIT({status})"
        return WorkerDiedError(how, spots=spots, by_signal=False)
    known = {member.value: member.name for member in signal.Signals}
    how = f"the process died: {known.get(status, 'signal')}(-{status})"
    return WorkerDiedError(how, spots=spots)


def _spots(mark: Mark) -> list[Spot]:
    spot = mark.read.spot
    return [spot] if spot else []


def _end(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
