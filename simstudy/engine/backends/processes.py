"""In processes, which import the study's code for themselves: what they are sent, and check."""

import contextlib
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from types import TracebackType
from typing import Any, Self, cast

from simstudy.engine.backends.watchman import Watchman
from simstudy.engine.marks import Marks, keep_in
from simstudy.engine.ownership import as_imported, digest_of
from simstudy.engine.tasks import Receipt, Task, compute
from simstudy.engine.threads import one_thread_each
from simstudy.engine.time_limits import in_an_expendable_process
from simstudy.errors import StaleCodeError, UnreadableTaskError, UnsendableError, describe

LOOK_SECONDS = 1.0  # between looks whether the parent is there


class Processes:
    """So many processes of loky's, kept for the next run that expects the same code.

    Parameters
    ----------
    expected
        Hash of the code that they must have loaded.
    idle_worker_timeout
        Seconds after which a process without work ends.
    """

    def __init__(self, n_workers: int, expected: str, idle_worker_timeout: float = 300.0) -> None:
        self.n_workers, self.expected = n_workers, expected
        self.idle_worker_timeout = float(idle_worker_timeout)

    def receipts(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        """Compute tasks.

        Raises
        ------
        WorkerDiedError
            Where a process ended; what was finished is written.
        """
        if self.n_workers == 1:  # which joblib would take for the user's own process
            with OneProcess() as process:
                yield from map(process.receipt, tasks)
            return
        yield from self._side_by_side(tasks)

    def _side_by_side(self, tasks: Iterable[Task]) -> Iterator[Receipt]:
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import BrokenProcessPool

        watchman = Watchman(_marks())
        parallel = Parallel(
            n_jobs=self.n_workers,
            backend="loky",
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="2*n_jobs",
            initializer=_begin,
            initargs=(os.getpid(), _marks().folder, self.expected),
            idle_worker_timeout=self.idle_worker_timeout,
        )
        try:
            with watchman:
                seen = watchman.seen(tasks)
                with deaf_to_interrupts():
                    receipts = parallel(delayed(compute_packed)(packed(task)) for task in seen)
                yield from receipts
            _left.add((self.n_workers, self.expected, time.monotonic() + self.idle_worker_timeout))
        except BrokenProcessPool as error:
            raise watchman.death(error) from error


def _marks() -> Marks:
    """Of workers that outlive a run; a copy of this process has marks of its own."""
    return _marks_of(os.getpid())


@cache
def _marks_of(_process: int) -> Marks:
    return Marks()


_left: set[tuple[int, str, float]] = set()  # how many, for which code, and until when


def are_left(n_workers: int, expected: str) -> bool:
    """Whether workers of an earlier run are there, so that to use them costs no start."""
    left = [until for n, code, until in _left if (n, code) == (n_workers, expected)]
    return max(left, default=0.0) > time.monotonic()


class OneProcess:
    """A process for tasks that may kill it; started anew when they do."""

    def __enter__(self) -> Self:
        self._pool: Any = None
        self._marks = Marks()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(kill_workers=kind is not None)  # nobody waits for what it draws
        self._marks.close()

    def receipt(self, task: Task) -> Receipt:
        """Compute a task.

        Raises
        ------
        WorkerDiedError
            Where the process ended.
        """
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool

        self._pool = self._pool or ProcessPoolExecutor(
            max_workers=1, initializer=_begin, initargs=(os.getpid(), self._marks.folder)
        )
        watchman = Watchman(self._marks)
        try:
            with watchman:
                with deaf_to_interrupts():
                    (seen,) = watchman.seen([task])
                    promised = self._pool.submit(compute_packed, packed(seen))
                return cast(Receipt, promised.result())
        except BrokenProcessPool as error:
            self._pool = None
            raise watchman.death(error) from error


WARNINGS = {
    getattr(signal, name)
    for name in ("SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)  # there are none on Windows
}


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Processes and threads begun within it never hear Ctrl-C, which reaches the whole group.

    Nor do they hear that a job's time is nearly up, which a batch system may tell all processes
    of the job, and which would end them where nothing handles it. Both are for the parent, which
    stops them; of Ctrl-C each would say with a traceback that it heard. What a thread blocks is
    handed down to all that it begins. The trackers of resources, Python's and loky's, may let
    Ctrl-C through again when they start, so they have to be there before it is blocked.
    """
    if not hasattr(signal, "pthread_sigmask"):  # there is none on Windows
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as of_loky

    before = signal.pthread_sigmask(signal.SIG_BLOCK, WARNINGS)
    try:
        with _ignored_where_begun("SIGHUP"):
            resource_tracker.ensure_running()
            of_loky.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _ignored_where_begun(name: str) -> Iterator[None]:
    """Processes begun within it never hear a signal: trackers are to outlive all others."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or not hasattr(signal, name):
        yield
        return
    before = signal.signal(getattr(signal, name), signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(getattr(signal, name), signal.SIG_DFL if before is None else before)


def _begin(parent: int, marks: str, _expected: str = "") -> None:
    """What a worker begins with: given other code to expect, joblib starts other workers."""
    in_an_expendable_process()
    keep_in(marks)
    end_with(parent)


def end_with(parent: int) -> None:
    """From now on this process ends soon after the one that started it, however that went.

    That one may have gone while this one began. Asked of the system, which can send a signal
    instead, it would be the end of the thread that started it, and threads come and go.
    """
    if os.name == "posix" and os.getppid() != parent:  # elsewhere a launcher may lie between
        os._exit(1)
    threading.Thread(target=_wait_for_orphanage, args=(os.getppid(),), daemon=True).start()


def _wait_for_orphanage(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)


# ---------------------------------------------------------------- what is sent
def packed(task: Task) -> bytes:
    """A task as it is sent to a worker.

    Raises
    ------
    UnsendableError
        Where it cannot be: it holds something that lives in this process only.
    """
    from joblib.externals.loky.backend.reduction import dumps

    try:
        return bytes(dumps(task))
    except Exception as error:  # whatever an object raises that will not be pickled
        raise UnsendableError(
            f"the study cannot be sent to worker processes: {describe(error)}. Put its code into a "
            "module that workers can import, or use backend=threads or backend=inline."
        ) from error


# ---------------------------------------------------------------- in the worker
def compute_packed(sent: bytes) -> Receipt:
    """The work of a worker: load a task, hold its code to what is expected, and compute it."""
    try:
        task: Task = pickle.loads(sent)
    except Exception as error:  # an import that fails, a name that has gone
        raise UnreadableTaskError(describe(error)) from None
    with one_thread_each():  # libraries have not been told yet in a process of its own
        _refuse_other_code(task.witnesses, task.expected)
        return compute(task)


_checked: set[str] = set()  # what this process was found to have loaded


def _refuse_other_code(witnesses: Sequence[tuple[Any, ...]], expected: str) -> None:
    """Draw nothing where this process has loaded other code than the one that started it."""
    if not expected or expected in _checked:
        return
    found = as_imported(tuple(witnesses))
    if digest_of(found) != expected:
        raise StaleCodeError(found)
    _checked.add(expected)
