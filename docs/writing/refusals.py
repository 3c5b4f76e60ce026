"""What keeps a page from being written."""

from __future__ import annotations

from collections.abc import Iterable


class PageError(Exception):
    """A page asks for what the results do not have, or says what they no longer say."""


def listed(names: Iterable[object], *, most: int = 30) -> str:
    """What there is, for an error's line: at most so many names, and how many more."""
    words = [repr(name) if isinstance(name, str) else f"{name}" for name in names]
    more = [f"and {len(words) - most} more"] if len(words) > most else []
    return ", ".join(words[:most] + more) or "nothing"
