"""Executors: in-process, threads, loky, Dask, or a user's own."""

import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from simstudy.engine.executors.dask import Dask
from simstudy.engine.executors.loky import Loky
from simstudy.engine.tasks import Task, TaskResult, draw_task
from simstudy.engine.workers import Workers, class_at
from simstudy.errors import ConfigError, describe, nearest

OURS = ("n_workers", "expected")  # what an executor is told by the engine, if it asks for it


class Executor(Protocol):
    """The interface of all executors.

    A class of your own needs no more than this. What it may have beside: `n_ahead`, how many tasks
    it holds at a time (twice as many as workers, where it does not say); `task_seconds`, of work in
    a task, where handing out one costs more than on one machine; and `isolated()`, another executor
    for blocks that may end their worker (a process of this machine's, where it has none).

    Attributes
    ----------
    n_workers
        Tasks that are drawn at a time.
    """

    n_workers: int

    def submit(self, task: Task) -> "Future[TaskResult]":
        """Start a task: call `simstudy.engine.tasks.draw_task` with it, here or elsewhere.

        A future raises what the worker raised, and `WorkerDiedError` where the worker has ended.
        """

    def close(self, *, kill: bool) -> None:
        """Release the workers; with `kill`, do not wait for running tasks."""


def executor_of(workers: Workers, expected: str) -> Executor:
    """The executor for the selected backend.

    Parameters
    ----------
    expected
        Hash of the code that workers must have loaded.

    Raises
    ------
    ConfigError
        Where there is none of that name, or it cannot be told what it is to be told.
    """
    make = maker_of(workers)
    names = inspect.signature(make).parameters
    ours = {"n_workers": workers.count, "expected": expected}
    options = {name: value for name, value in ours.items() if name in names}
    try:
        return make(**options, **workers.options)
    except ConfigError:  # which says it already
        raise
    except Exception as error:  # whatever an executor makes of its settings
        raise ConfigError(
            f"backend={workers.backend} cannot be started: {describe(error)}"
        ) from error


def maker_of(workers: Workers) -> Callable[..., Executor]:
    """The class or function that makes the executor of a backend.

    Raises
    ------
    ConfigError
        Where there is none of that name, or it has no such option.
    """
    known: Mapping[str, Callable[..., Executor]] = {
        "inline": InProcess, "threads": Threads, "dask": Dask
    }  # fmt: skip
    if ":" in workers.backend:
        make = class_at("backend", workers.backend)
        if not hasattr(make, "submit"):
            raise ConfigError(
                f"backend={workers.backend} has no method submit, which begins a task: see "
                "simstudy.engine.executors.Executor."
            )
    else:
        make = known.get(workers.backend, Loky)
    names = set(inspect.signature(make).parameters) - set(OURS)
    for name in workers.options:
        if name not in names:
            raise ConfigError(
                f"backend.{name}: backend {workers.backend} has no such setting; "
                + nearest(name, names)
            )
    return make


# ---------------------------------------------------------------- in the user's own process
class InProcess:
    """Draws each task when it is submitted."""

    n_workers = n_ahead = 1

    def submit(self, task: Task) -> "Future[TaskResult]":
        """Draw a task; its exceptions are raised."""
        done: Future[TaskResult] = Future()
        done.set_result(draw_task(task))
        return done

    def isolated(self) -> "InProcess":
        """Return this executor: there is no other process."""
        return self

    def close(self, *, kill: bool) -> None:
        """Do nothing."""


class Threads:
    """A pool of threads, for kernels that release the GIL."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._pool = ThreadPoolExecutor(n_workers)

    def submit(self, task: Task) -> "Future[TaskResult]":
        """Start a task in a thread."""
        return self._pool.submit(draw_task, task)

    def isolated(self) -> "Threads":
        """Return this executor: there is no other process."""
        return self

    def close(self, *, kill: bool) -> None:
        """Wait for running tasks: threads cannot be ended."""
        self._pool.shutdown(cancel_futures=kill)
