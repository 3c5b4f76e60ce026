"""The base class of executors, and the error of a worker that died."""

from __future__ import annotations

from concurrent.futures import Future

from simstudy.engine.tasks import Task, TaskResult


class WorkerDiedError(Exception):
    """A worker process ended while it drew a task; the text says how.

    Attributes
    ----------
    by_signal
        Whether somebody, or the system, may have ended it, so that its block need not be at fault.
    """

    def __init__(self, how: str, *, by_signal: bool) -> None:
        super().__init__(how)
        self.by_signal = by_signal


class Executor:
    """Draws tasks; a backend of your own is a class derived from it.

    Its parameters are set with `backend_options`; `n_workers` and `expected` (a hash of the code
    that workers must have loaded) are given by the engine to a class that has them.

    Attributes
    ----------
    n_workers
        Number of tasks that are drawn at a time.
    task_seconds
        Least duration of a task, in seconds, where submitting one is expensive.
    """

    n_workers: int = 1
    task_seconds: float = 0.0

    def submit(self, task: Task) -> Future[TaskResult]:
        """Start a task: call `simstudy.engine.tasks.draw_task` with it, here or elsewhere.

        The future raises what the worker raised, and `WorkerDiedError` if the worker has ended.
        """
        raise NotImplementedError

    def close(self, *, kill: bool) -> None:
        """Release the workers; with `kill`, do not wait for running tasks."""

    @property
    def n_ahead(self) -> int:
        """Number of tasks that may be submitted at a time."""
        return 2 * self.n_workers

    @property
    def trouble(self) -> str:
        """What the executor waits for; empty if nothing is wrong."""
        return ""

    def isolated(self) -> Executor | None:
        """An executor for single blocks that may end their worker.

        None stands for a process of this machine.
        """
        return None
