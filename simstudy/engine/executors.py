"""Executors: in-process, threads, loky, Dask, or a user's class, and the tasks that workers get."""

from __future__ import annotations

import contextlib
import functools
import inspect
import multiprocessing
import os
import pickle
import re
import signal
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, cast

from simstudy import errors
from simstudy.engine.graceful_stop import deferred, handlers_of, is_worker, mark_as_worker
from simstudy.engine.provenance import LoadedCode
from simstudy.engine.tasks import Task, TaskResult, draw_task
from simstudy.engine.thread_limits import single_threaded
from simstudy.engine.workers import Workers, class_at
from simstudy.errors import ConfigError, describe
from simstudy.provenance.modules import ENTRY_MODULES

ENGINE_PARAMETERS = ("n_workers", "expected")  # parameters of an executor that the engine sets
POLL_SECONDS = 1.0  # interval at which a worker checks that its parent is alive


class WorkerDiedError(Exception):
    """A worker process ended while it drew a task; the text describes how.

    Attributes
    ----------
    by_signal
        Whether a user or the system may have ended it, so that the block may not be at fault.
    """

    def __init__(self, how: str, *, by_signal: bool) -> None:
        super().__init__(how)
        self.by_signal = by_signal

    @property
    def is_machine_trouble(self) -> bool:
        """Whether a later run should draw the block again; a broken start has exit status 1."""
        return self.by_signal or "EXIT(1)" in str(self)


class Executor:
    """The base class of executors, which draw tasks; derive your own backend from it.

    Users set the parameters of a derived class with `backend_options`. The engine sets two
    parameters if the class has them: `n_workers`, and `expected`, a hash of the code that workers
    must have loaded.

    Attributes
    ----------
    n_workers
        Number of tasks that are drawn at a time.
    task_seconds
        Minimum duration of a task, in seconds, if submitting one is expensive.
    """

    n_workers: int = 1
    task_seconds: float = 0.0

    def submit(self, task: Task) -> Future[TaskResult]:
        """Start a task: call `simstudy.engine.tasks.draw_task` with it, here or elsewhere.

        The future raises the worker's exception, or `WorkerDiedError` if the worker has ended.
        """
        raise NotImplementedError

    def close(self, *, kill: bool) -> None:
        """Release the workers; with `kill`, do not wait for running tasks."""

    @property
    def n_ahead(self) -> int:
        """Number of tasks that may be submitted at a time."""
        return 2 * self.n_workers

    def isolated(self) -> Executor | None:
        """Return an executor for single blocks that may end their worker.

        Default: None, and the engine starts a process on this machine.
        """
        return None


# ---------------------------------------------------------------- in the user's own process
class InProcess(Executor):
    """Draws each task when it is submitted."""

    n_ahead = 1

    def submit(self, task: Task) -> Future[TaskResult]:
        """Draw a task now; exceptions are raised here."""
        done: Future[TaskResult] = Future()
        done.set_result(draw_task(task))
        return done

    def isolated(self) -> Executor:
        """Return this executor: there is no other process."""
        return self


class Threads(Executor):
    """A pool of threads, for kernels that release the GIL."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._pool = ThreadPoolExecutor(n_workers)

    def submit(self, task: Task) -> Future[TaskResult]:
        """Start a task in a thread."""
        return self._pool.submit(draw_task, task)

    def isolated(self) -> Executor:
        """Return this executor: there is no other process."""
        return self

    def close(self, *, kill: bool) -> None:
        """Wait for running tasks, since threads cannot be ended."""
        self._pool.shutdown(cancel_futures=kill)


# ---------------------------------------------------------------- worker processes
def forwarded(source: Any, result_of: Callable[[Any], TaskResult]) -> Future[TaskResult]:
    """Make a future with the converted result of another future."""
    outer: Future[TaskResult] = Future()

    def forward(inner: Any) -> None:
        try:
            outer.set_result(result_of(inner))
        except BaseException as error:
            outer.set_exception(error)

    source.add_done_callback(forward)
    return outer


def until_taken(future: Any) -> None:
    """Wait until loky's thread has taken a task; killing its workers earlier would break it."""
    end = time.monotonic() + POLL_SECONDS
    while not (future is None or future.running() or future.done()):
        if time.monotonic() > end:
            return
        time.sleep(0.001)


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

    def submit(self, task: Task) -> Future[TaskResult]:
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
            until_taken(self._latest)
            pool.shutdown(wait=False, kill_workers=True)
            self._pool = None

    def _begin_pool(self) -> Any:
        from joblib.executor import get_memmapping_executor

        return get_memmapping_executor(
            n_jobs=self.n_workers,
            timeout=self.idle_worker_timeout,
            initializer=begin_worker,
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

        for _ in range(2):  # the system or a user may have ended the first one as it started
            pool = ProcessPoolExecutor(
                max_workers=1, initializer=begin_worker, initargs=(os.getpid(),), env=_hash_seed()
            )
            try:
                pool.submit(os.getpid).result()
                return pool
            except BrokenProcessPool as broken:
                error = broken
        raise errors.StudyError(
            f"worker processes end as soon as they start ({describe(error)}): a library may have "
            "changed the environment that they inherit. Use backend=inline to draw without workers."
        ) from error


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

    warnings = {signal.SIGUSR1, signal.SIGUSR2}
    # if the parent stopped now, a half started worker would print a traceback
    with deferred(handlers_of("SIGINT", "SIGTERM", "SIGHUP")):
        before = signal.pthread_sigmask(signal.SIG_BLOCK, warnings | {signal.SIGHUP})
        try:
            resource_tracker.ensure_running()
            of_loky.ensure_running()
            signal.pthread_sigmask(signal.SIG_SETMASK, before | warnings | {signal.SIGINT})
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _hash_seed() -> dict[str, str]:
    """Set one hash seed for all workers, so that sets of texts have one order within a run."""
    return {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")}


def begin_worker(parent: int, _expected: str = "") -> None:
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
        return bytes(dumps(task, reducers=SENT_EMPTY))
    except Exception as error:  # pickling may raise anything
        raise errors.UnsendableError(
            f"the study cannot be sent to worker processes: {describe(error)}. Put its code into a "
            "module that workers can import, or use backend=threads or backend=inline."
        ) from error


def _send_cached(cached: Any) -> Any:
    """Send a cached function of a script by its code; those of other modules by name."""
    module = sys.modules.get(cached.__module__)
    is_there = getattr(module, cached.__qualname__, None) is cached
    if is_there and cached.__module__ not in ENTRY_MODULES:
        return str(cached.__qualname__)
    return _cached, (cached.__wrapped__, cached.cache_parameters())


def _cached(function: Callable[..., Any], parameters: Any) -> Any:
    return functools.lru_cache(**parameters)(function)


def _send_property(cached: Any) -> Any:
    named = {"attrname": cached.attrname}  # Python does not set it in a class that is sent
    return functools.cached_property, (cached.func,), named


# how a script's caches, which pickle refuses, are sent: empty
SENT_EMPTY: dict[type, Callable[[Any], Any]] = {
    type(functools.cache(len)): _send_cached,
    functools.cached_property: _send_property,
    types.MappingProxyType: lambda proxy: (types.MappingProxyType, (dict(proxy),)),
    weakref.WeakKeyDictionary: lambda _: (weakref.WeakKeyDictionary, ()),  # in `singledispatch`
}


# ---------------------------------------------------------------- in the worker
def draw_packed(payload: bytes) -> TaskResult:
    """Load a task in a worker, check the code's fingerprint, and draw the task."""
    try:
        task: Task = pickle.loads(payload)
    except Exception as error:  # for example a module or name that does not exist
        where = errors.first_few([path for path in sys.path if path])
        raise errors.UnreadableTaskError(
            f"workers cannot load the study ({describe(error)}; modules are searched in {where}): "
            "its code was edited during this run, or cannot be sent to another process. Finished "
            "blocks are kept. Run again, or use backend=threads or backend=inline."
        ) from None
    with single_threaded():  # a new process has no limits yet
        refuse_other_code(task.code)
        return draw_task(task)


_checked: set[str] = set()  # hashes of code that this process has loaded, too


def refuse_other_code(code: LoadedCode | None) -> None:
    """Refuse to draw if this process has loaded other code than its parent."""
    if code is None or code.digest in _checked:
        return
    differences = code.differences()
    if differences:
        raise errors.StaleCodeError(differences)
    _checked.add(code.digest)


# ---------------------------------------------------------------- the selected backend
PLACES = {  # executors by the name of their backend
    "auto": f"{__name__}:Loky",
    "loky": f"{__name__}:Loky",
    "inline": f"{__name__}:InProcess",
    "threads": f"{__name__}:Threads",
    "dask": "simstudy.engine.dask_executor:Dask",
}


def executor_of(workers: Workers, expected: str) -> Executor:
    """Make the executor of the selected backend.

    Parameters
    ----------
    expected
        Hash of the code that workers must have loaded.

    Raises
    ------
    ConfigError
        If the backend is unknown, has no such option, or does not start; also in a worker, where
        a study that runs when its file is imported would start workers without end.
    """
    if workers.backend in ("auto", "loky") and is_worker():
        raise ConfigError(
            "a worker cannot start workers. Workers import the files of a study: if a file runs a "
            'study when it is imported, put the run below `if __name__ == "__main__":`. A method '
            "that itself runs a study needs backend=inline."
        )
    if workers.backend in ("auto", "loky") and multiprocessing.current_process().daemon:
        errors.warn(
            "a daemonic process (of multiprocessing or Celery) cannot start processes, so the run "
            "uses threads. Choose backend=threads or backend=inline to avoid this warning.",
            stacklevel=2,
        )
        workers = Workers("threads", workers.n_jobs)
    make = class_at("backend", PLACES.get(workers.backend, workers.backend))
    if not (isinstance(make, type) and issubclass(make, Executor)):
        raise ConfigError(
            f"backend={workers.backend} is not an executor: derive the class from "
            "simstudy.engine.executors.Executor, and define its method submit."
        )
    names = inspect.signature(make).parameters
    for name in workers.backend_options or ():
        if name not in names or name in ENGINE_PARAMETERS:
            raise ConfigError(
                f"backend.{name}: backend {workers.backend} has no such setting; "
                + errors.nearest(name, set(names).difference(ENGINE_PARAMETERS))
            )
    ours = {"n_workers": workers.count, "expected": expected}
    options = {name: value for name, value in ours.items() if name in names}
    try:
        return make(**options, **(workers.backend_options or {}))
    except ConfigError:
        raise
    except Exception as error:  # an executor may raise anything
        raise ConfigError(
            f"backend={workers.backend} cannot be started: {describe(error).removesuffix('.')}. "
            f"{errors.how_to_install(error)}".strip()
        ) from error
