"""Executors: in-process, threads, loky, Dask, or a user's class."""

import inspect
import multiprocessing
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from simstudy.engine.context import OnRow
from simstudy.engine.executors.base import Executor, WorkerDiedError
from simstudy.engine.executors.dask import Dask
from simstudy.engine.executors.loky import Loky
from simstudy.engine.tasks import Task, TaskResult, draw_task
from simstudy.engine.timeouts import is_worker
from simstudy.engine.workers import Workers, class_at
from simstudy.errors import ConfigError, describe, nearest

__all__ = ["Executor", "InProcess", "Threads", "WorkerDiedError", "executor_of", "maker_of"]

ENGINE_PARAMETERS = ("n_workers", "expected")  # parameters of an executor that the engine sets


def executor_of(workers: Workers, expected: str) -> Executor:
    """Make the executor of the selected backend.

    Parameters
    ----------
    expected
        Hash of the code that workers must have loaded.

    Raises
    ------
    ConfigError
        If the backend is unknown, or does not start with these options; also in a worker, where
        a study that runs when its file is imported would start workers without end.
    """
    if workers.backend in ("auto", "loky") and is_worker():
        raise ConfigError(
            "a worker cannot start workers. Workers import the files of a study: if a file runs a "
            'study when it is imported, put the run below `if __name__ == "__main__":`. A method '
            "that itself runs a study needs backend=inline."
        )
    if workers.backend in ("auto", "loky") and multiprocessing.current_process().daemon:
        warnings.warn(
            "a daemonic process (of multiprocessing or Celery) cannot start processes, so the run "
            "uses threads. Choose backend=threads or backend=inline to avoid this warning.",
            stacklevel=2,
        )
        workers = replace(workers, backend="threads", options={})
    make = maker_of(workers)
    names = inspect.signature(make).parameters
    ours = {"n_workers": workers.count, "expected": expected}
    options = {name: value for name, value in ours.items() if name in names}
    try:
        return make(**options, **workers.options)
    except ConfigError:
        raise
    except Exception as error:  # an executor may raise anything
        raise ConfigError(
            f"backend={workers.backend} cannot be started: {describe(error)}"
        ) from error


def maker_of(workers: Workers) -> Callable[..., Executor]:
    """Find the class or function that makes the executor of a backend.

    Raises
    ------
    ConfigError
        If the backend is unknown, or does not have one of the options.
    """
    known: Mapping[str, Callable[..., Executor]] = {
        "inline": InProcess, "threads": Threads, "dask": Dask
    }  # fmt: skip
    if ":" in workers.backend:
        make = class_at("backend", workers.backend)
        if not (isinstance(make, type) and issubclass(make, Executor)):
            raise ConfigError(
                f"backend={workers.backend} is not an executor: derive the class from "
                "simstudy.engine.executors.Executor, and define its method submit."
            )
    else:
        make = known.get(workers.backend, Loky)
    names = set(inspect.signature(make).parameters) - set(ENGINE_PARAMETERS)
    for name in workers.options:
        if name not in names:
            raise ConfigError(
                f"backend.{name}: backend {workers.backend} has no such setting; "
                + nearest(name, names)
            )
    return make


# ---------------------------------------------------------------- in the user's own process
class InProcess(Executor):
    """Draws each task when it is submitted.

    Parameters
    ----------
    on_row
        Function that is called after each replicate of a method that analyses one at a time.
    """

    n_ahead = 1

    def __init__(self, on_row: OnRow | None = None) -> None:
        self.on_row = on_row

    def submit(self, task: Task) -> "Future[TaskResult]":
        """Draw a task now; exceptions are raised here."""
        done: Future[TaskResult] = Future()
        done.set_result(draw_task(task, self.on_row))
        return done

    def isolated(self) -> Executor:
        """Return this executor: there is no other process."""
        return self


class Threads(Executor):
    """A pool of threads, for kernels that release the GIL."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._pool = ThreadPoolExecutor(n_workers)

    def submit(self, task: Task) -> "Future[TaskResult]":
        """Start a task in a thread."""
        return self._pool.submit(draw_task, task)

    def isolated(self) -> Executor:
        """Return this executor: there is no other process."""
        return self

    def close(self, *, kill: bool) -> None:
        """Wait for running tasks, since threads cannot be ended."""
        self._pool.shutdown(cancel_futures=kill)
