"""Room for a walk: the stack that it goes down, and nobody tidying up meanwhile."""

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from simstudy.errors import StudyError

ROOM = 512 << 20  # bytes of stack: reserved, and taken only as far as it is needed
DEEPEST = 100_000

Done = TypeVar("Done")


@contextmanager
def uncollected() -> Iterator[None]:
    """Within it no garbage is collected.

    A walk makes many small objects and few that go: a collection over all of what is imported
    costs more than a third of it, and frees nothing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def with_room(work: Callable[[], Done]) -> Done:
    """Work that goes deep (a chain of hundreds of functions, a long linked list).

    Raises
    ------
    StudyError
        Where it goes deeper still.
    """
    try:
        return _in_a_thread(work)
    except RecursionError:
        raise StudyError(
            "what the scenarios use is nested too deeply to be compared with what a later run uses "
            "(a list of many thousand links, say). Hold it in an array or a flat list."
        ) from None


def _in_a_thread(work: Callable[[], Done]) -> Done:
    """The process's own stack cannot grow; that of a new thread is as large as one asks."""
    results: list[Done] = []
    errors: list[BaseException] = []

    def deep() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    with _limits_of(ROOM, DEEPEST):
        thread = threading.Thread(target=deep)
        thread.start()
        thread.join()
    for error in errors:
        raise error
    return results[0]


@contextmanager
def _limits_of(stack: int, depth: int) -> Iterator[None]:
    """Within it new threads have a stack of so many bytes, and calls go so deep."""
    limit, size = sys.getrecursionlimit(), threading.stack_size(stack)
    try:
        sys.setrecursionlimit(max(limit, depth))
        yield
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
