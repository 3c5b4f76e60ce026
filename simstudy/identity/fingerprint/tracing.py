"""A fingerprint, and what was met on the way."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simstudy.identity.fingerprint.room import uncollected, with_room
from simstudy.identity.fingerprint.walk.follow import walked

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
    with uncollected():
        try:
            return _traced(parts, without_main)
        except RecursionError:
            return with_room(lambda: _traced(parts, without_main))


def _traced(parts: Sequence[object], without_main: bool) -> Trace:
    walk, tokens = walked(parts, without_main=without_main)
    if "exact" in walk.attributes | walk.strings:
        walk, tokens = walked(parts, without_main=without_main, with_exact=True)
    compiled, remembering = tuple(walk.compiled.values()), tuple(walk.remembering)
    return Trace(walk.found, walk.unfollowed, compiled, remembering, tokens)
