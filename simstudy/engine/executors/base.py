"""The base class of executors, and the error of a worker that died."""

from __future__ import annotations

from concurrent.futures import Future

from simstudy.engine.tasks import Task, TaskResult


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

    @property
    def trouble(self) -> str:
        """A message if no worker is available; empty if all is well."""
        return ""

    def isolated(self) -> Executor | None:
        """Return an executor for single blocks that may end their worker.

        Default: None, and the engine starts a process on this machine.
        """
        return None
