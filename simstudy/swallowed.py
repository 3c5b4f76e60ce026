"""Errors that became data, for a replay, which wants to see one of them again.

Code that goes on where a model fails, and keeps only the text, tells of the error here.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

Swallowed = tuple[int | None, BaseException]
"""A row of a block, or None for all of it, and its error."""

_told: ContextVar[list[Swallowed] | None] = ContextVar("told", default=None)


@contextlib.contextmanager
def listening_to_errors() -> Iterator[list[Swallowed]]:
    """Collect the errors that are swallowed within."""
    told: list[Swallowed] = []
    token = _told.set(told)
    try:
        yield told
    finally:
        _told.reset(token)


def swallowed(error: BaseException, row: int | None = None) -> None:
    """Tell of an error of which only the text is kept, and in which row of a block it was."""
    told = _told.get()
    if told is not None:
        told.append((row, error))
