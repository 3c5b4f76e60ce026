"""What runs themselves change of what they use: memories, caches, counters.

It is taken for what it was, as long as nothing else changes it.
"""

from collections.abc import Mapping

_drift: dict[tuple[str, str], str] = {}  # an entry's key and what it says -> what it said before


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
            _drift[key, said] = before[key]


def settled(key: str, said: str) -> str:
    """What an entry was before runs of this process changed it."""
    seen = set()
    while (key, said) in _drift and said not in seen:
        seen.add(said)
        said = _drift[key, said]
    return said
