"""The error that says how a worker process ended."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from simstudy.engine.tasks import TaskResult


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
