"""What differs between two fingerprints, in words."""

from collections.abc import Mapping


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
