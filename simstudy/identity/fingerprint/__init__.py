"""What a scenario's numbers depend on: code as it is loaded, what it uses, and libraries.

Comments, formatting, docstrings, annotations, and what a scenario does not use (figures and claims
in the same file) do not count. `docs/guarantees.md` says what is followed, what counts whole, and
what cannot be seen.
"""

import gc
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from simstudy.errors import StudyError
from simstudy.identity.fingerprint.modules import library_version
from simstudy.identity.fingerprint.walk import WHOLE, Walk, learn_drift

__all__ = [
    "WHOLE", "Fingerprint", "Trace", "changes", "fingerprint", "learn_drift", "library_version",
    "trace",
]  # fmt: skip

ROOM = 512 << 20  # bytes of stack: reserved, and taken only as far as it is needed
DEEPEST = 100_000

Fingerprint = dict[str, str]
"""Definition, constant, module or library -> hash or version."""


@dataclass(frozen=True)
class Trace:
    """A fingerprint, and what was met on the way.

    Attributes
    ----------
    found
        The fingerprint.
    unfollowed
        What counts as changed since nobody can say, with what it is.
    compiled
        numba's dispatchers that are used.
    remembering
        Functions that are used and keep what they returned.
    tokens
        The text of each part that was asked for, with its values.
    """

    found: Fingerprint
    unfollowed: Mapping[str, str]
    compiled: tuple[Any, ...]
    remembering: tuple[Any, ...]
    tokens: tuple[str, ...]


def fingerprint(parts: Iterable[object]) -> Fingerprint:
    """Everything that the code of `parts` (classes, functions, dataclass instances) depends on."""
    return trace(parts).found


def trace(parts: Iterable[object], *, without_main: bool = False) -> Trace:
    """Follow some parts; `exact` counts only where code that is followed calls it.

    Parameters
    ----------
    without_main
        Leave out what only the process that was started has: the source of its `__main__`.
    """
    parts = list(parts)
    with _uncollected():
        try:
            return _traced(parts, without_main)
        except RecursionError:
            return _with_room(lambda: _traced(parts, without_main))


@contextmanager
def _uncollected() -> Iterator[None]:
    """A walk makes many small objects and few that go: a collection over all of what is imported
    costs more than a third of it, and frees nothing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _traced(parts: list[object], without_main: bool) -> Trace:
    walk, tokens = _walked(parts, Walk(without_main=without_main))
    if "exact" in walk.attributes | walk.strings:
        walk, tokens = _walked(parts, Walk(with_exact=True, without_main=without_main))
    compiled, remembering = tuple(walk.compiled.values()), tuple(walk.remembering)
    return Trace(walk.found, walk.unfollowed, compiled, remembering, tokens)


def _with_room(work: Callable[[], Trace]) -> Trace:
    """Work that goes deep (a chain of hundreds of functions, a long linked list)."""
    done: list[Trace | BaseException] = []

    def deep() -> None:
        try:
            done.append(work())
        except BaseException as error:
            done.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(ROOM)
    try:
        sys.setrecursionlimit(max(limit, DEEPEST))
        thread = threading.Thread(target=deep)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if isinstance(done[0], RecursionError):
        raise StudyError(
            "what the scenarios use is nested too deeply to be compared with what a later run uses "
            "(a list of many thousand links, say). Hold it in an array or a flat list."
        ) from None
    if isinstance(done[0], BaseException):
        raise done[0]
    return done[0]


def _walked(parts: list[object], walk: Walk) -> tuple[Walk, tuple[str, ...]]:
    tokens = tuple(_part(walk, one) for one in parts)
    walk.finish()
    return walk, tokens


def _part(walk: Walk, part: Any) -> str:
    """A part's text; of a scenario its class, and the values of its fields and of what it adds."""
    where = f"{getattr(part, '__module__', None) or type(part).__module__}:"
    return walk.token(part, where)


def changes(stored: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """In words, what differs between two fingerprints."""
    lines = []
    for name in sorted({*stored, *current}):
        old, new = stored.get(name), current.get(name)
        if old != new:
            lines.append(_change(name, old, new))
    return lines


def _change(name: str, old: str | None, new: str | None) -> str:
    if old is None:
        return f"{name} is new"
    if new is None:
        return f"{name} is gone"
    is_version = not old.startswith("#")
    return f"{name} was {old} and is {new}" if is_version else f"{name} has changed"
