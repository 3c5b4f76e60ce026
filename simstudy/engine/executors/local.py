"""Executors in the user's own process: one task at a time, or in threads.

Exceptions are recorded. A block that ends the process ends the run.
"""

from concurrent.futures import Future, ThreadPoolExecutor

from simstudy.engine.tasks import Task, TaskResult, draw_task


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
