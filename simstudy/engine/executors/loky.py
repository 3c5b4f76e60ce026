"""The loky executor: worker processes, the message they are sent, and their check of the code."""

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

LOOK_SECONDS = 1.0  # between looks whether the parent is there


def forwarded(source: Any, result_of: Callable[[Any], TaskResult]) -> "Future[TaskResult]":
    """A future with the converted result of another future."""
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
        Hash of the code that they must have loaded.
    idle_worker_timeout
        Seconds after which a process without work ends.
    """

    def __init__(self, n_workers: int, expected: str, idle_worker_timeout: float = 300.0) -> None:
        self.n_workers, self.expected = n_workers, expected
        self.idle_worker_timeout = float(idle_worker_timeout)
        self._pool: Any = None
        self._latest: Any = None  # future of the pool's own

    def submit(self, task: Task) -> "Future[TaskResult]":
        """Start a task in a worker."""
        sent = packed(task)
        with deaf_to_interrupts():
            try:
                self._pool = self._pool or self._begin_pool()
                self._latest = self._pool.submit(draw_packed, sent)
                return forwarded(self._latest, self._result)
            except RuntimeError as error:  # a worker died as it began, or a moment ago
                raise self._death(error) from error

    def close(self, *, kill: bool) -> None:
        """Keep the workers for the next run, or kill them."""
        pool = self._pool  # loky's thread takes it away when a worker dies meanwhile
        if kill and pool is not None:
            self._until_taken()
            pool.shutdown(wait=False, kill_workers=True)
            self._pool = None

    def _until_taken(self) -> None:
        """Wait until loky's thread has taken the latest task, which a kill before would break."""
        end = time.monotonic() + LOOK_SECONDS
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
        is_own_exit = "EXIT(" in how and "EXIT(1)" not in how  # 1 is that of a broken start, too
        return WorkerDiedError(f"the process died: {how}", by_signal=not is_own_exit)


class IsolatedWorker(Loky):
    """A single worker process for blocks that may end it; restarted when they do."""

    n_ahead = 1

    def __init__(self) -> None:
        super().__init__(1, "")

    def close(self, *, kill: bool) -> None:
        """Kill the worker."""
        if self._pool is not None:
            self._pool.shutdown(kill_workers=kill)
            self._pool = None

    def _begin_pool(self) -> Any:
        """Start the process and wait for it: its start does not count against `block_seconds`.

        Raises
        ------
        StudyError
            If none begins: then no block is at fault.
        """
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool

        for _ in range(2):  # somebody else may have ended the first
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
            f"worker processes end as soon as they start ({describe(error)}): they inherit this "
            "process's environment, which a library may have changed. backend=inline draws without "
            "workers."
        ) from error


WARNINGS = {
    getattr(signal, name)
    for name in ("SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)  # there are none on Windows
}


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Context: processes and threads started in it ignore Ctrl-C, which goes to the whole group.

    Nor do they hear that a job's time is nearly up, which a batch system may tell all processes
    of the job, and which would end them where nothing handles it. Both are for the parent, which
    stops them; of Ctrl-C each would say with a traceback that it heard. What a thread blocks is
    handed down to all that it begins. The trackers of resources, Python's and loky's, may let
    Ctrl-C through again when they start, so they have to be there before it is blocked. They must
    live longest, so they alone do not hear the end of a terminal.
    """
    if not hasattr(signal, "pthread_sigmask"):  # there is none on Windows
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as of_loky

    # a worker that is half started when the parent stops would report that with a traceback
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
    """One hash seed for all workers, so that sets of texts have one order within a run."""
    return {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")}


def _begin(parent: int, _expected: str = "") -> None:
    """Initialise a worker; loky starts new workers if the expected code differs."""
    mark_as_worker()
    end_with(parent)


def end_with(parent: int) -> None:
    """Watch the parent process and end soon after it.

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
def packed(task: object) -> bytes:
    """Serialise a task for a worker.

    Raises
    ------
    UnsendableError
        If it cannot be: it holds something that lives in this process only.
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
def draw_packed(payload: bytes) -> TaskResult:
    """In a worker: load a task, check the code's fingerprint, and draw the task."""
    try:
        task: Task = pickle.loads(payload)
    except Exception as error:  # a module that is not found, a name that has gone
        where = first_few([path for path in sys.path if path])
        raise UnreadableTaskError(
            f"workers cannot load the study ({describe(error)}; modules are looked for in {where}"
            "): its code was edited under this run, or cannot be sent to another process. What was "
            "finished is kept. Run again, or use backend=threads or backend=inline."
        ) from None
    with single_threaded():  # libraries have not been told yet in a process of its own
        _refuse_other_code(task.code)
        return draw_task(task)


_checked: set[str] = set()  # what this process was found to have loaded


def _refuse_other_code(code: LoadedCode | None) -> None:
    """Refuse to draw if this process has loaded other code than its parent."""
    if code is None or code.digest in _checked:
        return
    differences = code.differences()
    if differences:
        raise StaleCodeError(differences)
    _checked.add(code.digest)
