"""What runs themselves change of what they use: memories, caches, counters.

It is taken for what it was, as long as nothing else changes it, and nothing else has changed: a
table that was filled with one constant says nothing of what it would hold with another.
"""

from collections.abc import Mapping
from typing import NamedTuple


class _Drift(NamedTuple):
    """What an entry said before a run, and all that was said beside it then."""

    said: str
    beside: Mapping[str, str]


_drifts: dict[tuple[str, str], list[_Drift]] = {}  # by an entry's key and what it says now


def learn_drift(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Note what a run changed of what it uses.

    Parameters
    ----------
    before
        A fingerprint before blocks were drawn in this process.
    after
        The same when they had been.
    """
    for key, said in after.items():
        if key in before and before[key] != said:
            known = _drifts.setdefault((key, said), [])
            drift = _Drift(before[key], before)
            if drift not in known:
                known.append(drift)


def settled(found: Mapping[str, str]) -> dict[str, str]:
    """A fingerprint without what runs of this process changed of it."""
    moved = {key for key, said in found.items() if (key, said) in _drifts}
    still = {key: said for key, said in found.items() if key not in moved}
    return still | {key: _before(key, found[key], still) for key in moved}


def _before(key: str, said: str, still: Mapping[str, str]) -> str:
    """What an entry said at first, if what stands still is as it was then."""
    seen: set[str] = set()
    while said not in seen:
        seen.add(said)
        said = next(
            (drift.said for drift in _drifts.get((key, said), ()) if _agree(drift.beside, still)),
            said,
        )
    return said


def _agree(some: Mapping[str, str], others: Mapping[str, str]) -> bool:
    return all(some.get(key, said) == said for key, said in others.items())
