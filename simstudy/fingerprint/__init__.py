"""What a scenario's numbers depend on: code as it is loaded, what it uses, and libraries.

Comments, formatting, docstrings, annotations, and what a scenario does not use (figures and claims
in the same file) do not count. `docs/guarantees.md` says what is followed, what counts whole, and
what cannot be seen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from simstudy.fingerprint.modules import library_version
from simstudy.fingerprint.walk import WHOLE, Walk

__all__ = ["WHOLE", "Fingerprint", "Trace", "changes", "fingerprint", "library_version", "trace"]

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
    tokens
        The text of each part that was asked for.
    """

    found: Fingerprint
    unfollowed: Mapping[str, str]
    compiled: tuple[Any, ...]
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
    walk, tokens = _walked(parts, Walk(without_main=without_main))
    if "exact" in walk.attributes:
        walk, tokens = _walked(parts, Walk(with_exact=True, without_main=without_main))
    return Trace(walk.found, walk.unfollowed, tuple(walk.compiled.values()), tokens)


def _walked(parts: list[object], walk: Walk) -> tuple[Walk, tuple[str, ...]]:
    tokens = tuple(_part(walk, one) for one in parts)
    walk.finish()
    return walk, tokens


def _part(walk: Walk, part: Any) -> str:
    """A scenario's class, and the classes of its parts; its values are named by its identity."""
    where = f"{getattr(part, '__module__', None) or type(part).__module__}:"
    if not hasattr(type(part), "simulate") or isinstance(part, type):
        return walk.token(part, where)
    walk.token(type(part), where)
    for one in fields(part):
        walk.token(getattr(part, one.name), where)
    return ""


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
