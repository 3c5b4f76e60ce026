"""The Dask executor: a local cluster, a running scheduler, or a cluster class.

Tasks are submitted as futures, not through joblib, so that the scheduler can name a task that kills
its workers, and the other tasks continue. If a worker dies, a scheduler runs its task on another
worker, and gives up after the fourth death. A cluster that is started here gives up after the
first.
"""

import os
import shutil
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from logging import CRITICAL
from multiprocessing import parent_process
from typing import Any, cast

from simstudy.engine import executors
from simstudy.engine.graceful_stop import mark_as_worker
from simstudy.engine.tasks import Task, TaskResult
from simstudy.engine.workers import class_at
from simstudy.errors import ConfigError, SchedulerLostError, StoreError

SCHEDULER_SECONDS = 0.005  # minimum duration of a task per worker, for about 600 tasks a second
LOOPBACK = "127.0.0.1"
COUNT_INTERVAL = 1.0  # seconds between counts of the workers
TASKS_AHEAD = 2  # submitted tasks per thread, so that no thread waits for its next task
DIED = "the process died: each of the Dask workers that took it, one after the other"


class Dask(executors.Executor):
    """Workers of a Dask cluster, on this machine or on several that share a file system.

    Parameters
    ----------
    n_workers
        Number of workers of a cluster that is started here; each has one thread.
    address
        Address of a running scheduler, such as `tcp://10.0.0.1:8786`; `cluster` is then ignored.
        None starts a cluster, which opens ports on the loopback only.
    cluster
        Class that starts a cluster, as `module:Class`, such as `dask_jobqueue:SLURMCluster`.
    cluster_options
        Arguments of that class. The cluster must then provide `n_workers` workers.
    timeout
        Seconds to wait for a scheduler and its first worker.

    """

    def __init__(
        self,
        n_workers: int,
        address: str | None = None,
        cluster: str | None = None,
        cluster_options: Mapping[str, Any] | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._open = ExitStack()
        self._end = weakref.finalize(self, self._open.close)
        try:
            where = address or started(self._open, n_workers, cluster, cluster_options or {})
            from distributed import Client

            self._client = self._open.enter_context(
                Client(where, timeout=timeout, set_as_default=False)
            )
            self._client.wait_for_workers(1, timeout=timeout)
            self._asked = 1 if address else n_workers  # some may not have started yet
            self.n_workers = max(self._asked, self._n_threads())
        except BaseException:
            self._end()
            raise
        self._looked = time.monotonic()
        self._seen = False  # whether this machine has seen a file that a worker wrote
        self.task_seconds = SCHEDULER_SECONDS * self.n_workers

    def submit(self, task: Task) -> "Future[TaskResult]":
        """Start a task on a worker.

        The future raises `SchedulerLostError` if the scheduler no longer answers, and `StoreError`
        if a worker writes to another place.
        """
        paths = [os.path.abspath(path) for path in sys.path if not path.startswith(sys.prefix)]
        future = self._client.submit(draw_elsewhere, executors.packed(task), paths, pure=False)
        return executors.forwarded(future, lambda done: self._result(done, task))

    def isolated(self) -> executors.Executor:
        """Return this executor: the cluster replaces workers that die."""
        return self

    def close(self, *, kill: bool) -> None:  # noqa: ARG002 - a cluster ends with its tasks
        """Disconnect, and end a cluster that was started here."""
        self._end()

    @property
    def n_ahead(self) -> int:
        """The number of tasks that may be submitted at a time, by the workers present.

        Workers join and leave as a batch system starts and ends their jobs.
        """
        now = time.monotonic()
        if now - self._looked > COUNT_INTERVAL:
            self._looked = now
            self.n_workers = max(self._asked, self._n_threads())
        return TASKS_AHEAD * self.n_workers

    def _n_threads(self) -> int:
        """The number of threads of the workers now."""
        try:
            return sum(map(int, self._client.nthreads().values()))
        except OSError:  # no answer
            raise self._lost() from None

    def _result(self, future: Any, task: Task) -> TaskResult:
        from distributed import KilledWorker

        if future.status == "finished":
            try:
                result = cast(TaskResult, future.result())
            except OSError:  # the scheduler died while it sent the result
                raise self._lost() from None
            if not self._seen and not set(task.files.names()).intersection(result.files):
                raise StoreError(
                    f"blocks go to {task.files}, and a Dask worker wrote its blocks, but this "
                    "machine cannot see them. Choose an out= on a file system that all machines "
                    "share."
                )
            self._seen = True
            return result
        if future.status != "error":
            raise self._lost()
        error = future.exception()
        if isinstance(error, KilledWorker):
            raise executors.WorkerDiedError(DIED, by_signal=False)
        if isinstance(error, TimeoutError):  # raised by Dask; a study's own is a failed row
            raise self._lost() from None
        raise error

    def _lost(self) -> SchedulerLostError:
        return SchedulerLostError(
            f"the Dask scheduler at {self._client.scheduler.address} no longer answers. Finished "
            "blocks are kept. Start a scheduler, and run the same command again."
        )


def draw_elsewhere(payload: bytes, paths: Sequence[str]) -> TaskResult:
    """Draw a task in a Dask worker, with the caller's module search path.

    Parameters
    ----------
    paths
        The search path without installed packages, which workers have themselves.
    """
    sys.path[:] = [*paths, *(path for path in sys.path if path not in paths)]
    if parent_process() is not None:  # a nanny restarts the process if it ends
        mark_as_worker()
    return executors.draw_packed(payload)


# ---------------------------------------------------------------- clusters
def started(open_: ExitStack, n_workers: int, place: str | None, options: Mapping[str, Any]) -> Any:
    """Start a cluster that ends with this process."""
    with executors.deaf_to_interrupts():
        if place is None:
            return open_.enter_context(_own_cluster(n_workers, options))
        make = class_at("backend.cluster", place)
        _refuse_without_scheduler(place, make)
        cluster = open_.enter_context(make(**options))
        cluster.adapt(minimum=n_workers, maximum=n_workers)  # scale() replaces none that end
        return cluster


def _refuse_without_scheduler(place: str, make: Any) -> None:
    """Refuse a class of dask-jobqueue where no jobs can be submitted: it waits for workers."""
    command = getattr(getattr(make, "job_cls", None), "submit_command", None)
    if command and shutil.which(command.split()[0]) is None:
        raise ConfigError(
            f"backend.cluster={place} submits jobs with {command}, which is not on the PATH here. "
            "Run this where the cluster's jobs are submitted, such as its login node."
        )


def _own_cluster(n_workers: int, options: Mapping[str, Any]) -> Any:
    """Start a local cluster without retries: the engine retries tasks itself."""
    from dask import config
    from distributed import LocalCluster

    # the engine reports deaths, so Dask's logs need not
    settings = {"n_workers": n_workers, "threads_per_worker": 1, "silence_logs": CRITICAL}
    places = {"host": LOOPBACK, "dashboard_address": f"{LOOPBACK}:0"}
    with config.set({"distributed.scheduler.allowed-failures": 0}):
        return LocalCluster(**settings, **places, **options)
