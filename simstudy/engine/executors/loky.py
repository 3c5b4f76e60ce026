"""The loky executor: worker processes, the tasks they are sent, and their check of the code."""

import contextlib
import os
import pickle
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from typing import Any, cast

from simstudy.engine.executors.base import Executor, WorkerDiedError
from simstudy.engine.graceful_stop import deferred, handlers_of
from simstudy.engine.provenance import LoadedCode
from simstudy.engine.tasks import Task, TaskResult, draw_task
from simstudy.engine.thread_limits import single_threaded
from simstudy.engine.timeouts import mark_as_worker
from simstudy.errors import (
    StaleCodeError,
    StudyError,
    UnreadableTaskError,
    UnsendableError,
    describe,
    first_few,
)

POLL_SECONDS = 1.0  # interval at which a worker checks that its parent is alive


def forwarded(source: Any, result_of: Callable[[Any], TaskResult]) -> "Future[TaskResult]":
    """Make a future with the converted result of another future."""
    outer: Future[TaskResult] = Future()

    def forward(inner: Any) -> None:
        try:
            outer.set_result(result_of(inner))
        except BaseException as error:
            outer.set_exception(error)

    source.add_done_callback(forward)
    return outer


class Loky(Executor):
    """A pool of loky worker processes, reused by later runs of the same code.

    Parameters
    ----------
    expected
        Hash of the code that the workers must have loaded.
    idle_worker_timeout
        Seconds without work after which a process ends.
    """

    def __init__(self, n_workers: int, expected: str, idle_worker_timeout: float = 300.0) -> None:
        self.n_workers, self.expected = n_workers, expected
        self.idle_worker_timeout = float(idle_worker_timeout)
        self._pool: Any = None
        self._latest: Any = None  # the pool's future of the latest task

    def submit(self, task: Task) -> "Future[TaskResult]":
        """Start a task in a worker."""
        sent = packed(task)
        with deaf_to_interrupts():
            try:
                self._pool = self._pool or self._begin_pool()
                self._latest = self._pool.submit(draw_packed, sent)
                return forwarded(self._latest, self._result)
            except RuntimeError as error:  # a worker has just died
                raise self._death(error) from error

    def close(self, *, kill: bool) -> None:
        """Keep the workers for the next run, or kill them."""
        pool = self._pool  # loky's thread may reset it meanwhile, if a worker dies
        if kill and pool is not None:
            self._until_taken()
            pool.shutdown(wait=False, kill_workers=True)
            self._pool = None

    def _until_taken(self) -> None:
        """Wait until loky's thread has taken the latest task; an earlier kill would break it."""
        end = time.monotonic() + POLL_SECONDS
        while not (self._latest is None or self._latest.running() or self._latest.done()):
            if time.monotonic() > end:
                return
            time.sleep(0.001)

    def _begin_pool(self) -> Any:
        from joblib.executor import get_memmapping_executor

        return get_memmapping_executor(
            n_jobs=self.n_workers,
            timeout=self.idle_worker_timeout,
            initializer=_begin,
            initargs=(os.getpid(), self.expected),
            env=_hash_seed(),
        )

    def _result(self, future: Any) -> TaskResult:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        try:
            return cast(TaskResult, future.result())
        except (BrokenProcessPool, CancelledError) as error:
            raise self._death(error) from error

    def _death(self, error: BaseException) -> WorkerDiedError:
        self._pool = None
        codes = re.search(r"exit codes of the workers are \{(.+?)\}", str(error))
        how = codes[1] if codes else describe(error)
        return WorkerDiedError(f"the process died: {how}", by_signal="EXIT(" not in how)


class IsolatedWorker(Loky):
    """A single worker process for blocks that may end it; it is restarted then."""

    n_ahead = 1

    def __init__(self) -> None:
        super().__init__(1, "")

    def close(self, *, kill: bool) -> None:
        """Kill the worker."""
        if self._pool is not None:
            self._pool.shutdown(kill_workers=kill)
            self._pool = None

    def _begin_pool(self) -> Any:
        """Start the process and wait for it, so that its start does not count as a block's time.

        Raises
        ------
        StudyError
            If no process starts, for which no block is at fault.
        """
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool

        for _ in range(2):  # the first may have been ended from outside
            pool = ProcessPoolExecutor(
                max_workers=1, initializer=_begin, initargs=(os.getpid(),), env=_hash_seed()
            )
            try:
                pool.submit(os.getpid).result()
            except BrokenProcessPool as broken:
                error = broken
            else:
                return pool
        raise StudyError(
            f"worker processes end as soon as they start ({describe(error)}): a library may have "
            "changed the environment that they inherit. Use backend=inline to draw without workers."
        ) from error


WARNINGS = {
    getattr(signal, name)
    for name in ("SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)  # Windows has none
}


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Let processes and threads that start within this context ignore signals for the parent.

    Ctrl-C goes to the whole process group, and a batch system may send SIGUSR1 or SIGUSR2 to all
    processes of a job before its time is up. Only the parent should handle these signals, and then
    stop its workers: a worker would print a traceback or end. Processes inherit the signals that
    the starting thread blocks. The resource trackers of Python and loky may unblock Ctrl-C when
    they start, so they are started first. They must outlive the others, so they also ignore the
    end of the terminal (SIGHUP).
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows has none
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as of_loky

    # if the parent stopped now, a half started worker would print a traceback
    with deferred(handlers_of("SIGINT", "SIGTERM", "SIGHUP")):
        before = signal.pthread_sigmask(signal.SIG_BLOCK, WARNINGS | {signal.SIGHUP})
        try:
            resource_tracker.ensure_running()
            of_loky.ensure_running()
            signal.pthread_sigmask(signal.SIG_SETMASK, before | WARNINGS | {signal.SIGINT})
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _hash_seed() -> dict[str, str]:
    """Set one hash seed for all workers, so that sets of texts have one order within a run."""
    return {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")}


def _begin(parent: int, _expected: str = "") -> None:
    """Initialise a worker; loky starts new workers if the expected code differs."""
    mark_as_worker()
    end_with(parent)


def end_with(parent: int) -> None:
    """End this process soon after its parent.

    The parent may have ended while this process started. The system's own signal
    (`PR_SET_PDEATHSIG`) is not used, since it reports the end of the thread that started the
    process, not of the parent process.
    """
    if os.name == "posix" and os.getppid() != parent:  # on Windows a launcher may be in between
        os._exit(1)
    threading.Thread(target=_wait_for_orphanage, args=(os.getppid(),), daemon=True).start()


def _wait_for_orphanage(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(1)


# ---------------------------------------------------------------- messages to workers
def packed(task: object) -> bytes:
    """Serialise a task for a worker.

    Raises
    ------
    UnsendableError
        If the task holds an object that cannot be pickled.
    """
    from joblib.externals.loky.backend.reduction import dumps

    try:
        return bytes(dumps(task))
    except Exception as error:  # pickling may raise anything
        raise UnsendableError(
            f"the study cannot be sent to worker processes: {describe(error)}. Put its code into a "
            "module that workers can import, or use backend=threads or backend=inline."
        ) from error


# ---------------------------------------------------------------- in the worker
def draw_packed(payload: bytes) -> TaskResult:
    """Load a task in a worker, check the code's fingerprint, and draw the task."""
    try:
        task: Task = pickle.loads(payload)
    except Exception as error:  # for example a module or name that does not exist
        where = first_few([path for path in sys.path if path])
        raise UnreadableTaskError(
            f"workers cannot load the study ({describe(error)}; modules are searched in {where}): "
            "its code was edited during this run, or cannot be sent to another process. Finished "
            "blocks are kept. Run again, or use backend=threads or backend=inline."
        ) from None
    with single_threaded():  # a new process has no limits yet
        _refuse_other_code(task.code)
        return draw_task(task)


_checked: set[str] = set()  # hashes of code that this process has loaded, too


def _refuse_other_code(code: LoadedCode | None) -> None:
    """Refuse to draw if this process has loaded other code than its parent."""
    if code is None or code.digest in _checked:
        return
    differences = code.differences()
    if differences:
        raise StaleCodeError(differences)
    _checked.add(code.digest)
