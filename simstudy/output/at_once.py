"""Outputs made several at once, in copies of this process, where copies are safe."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from simstudy.output.kept_text import text_kept

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from simstudy.engine.backends.beside import Copy

Made = TypeVar("Made")
PLACE = struct.Struct("<I")  # of a name among all: the size in which copies take them
FITS = 16_000  # places into a pipe that nobody reads yet


def each_of(
    names: Sequence[str],
    make: Callable[[str], Made],
    lost: Callable[[str, str], Made],
    *,
    at_once: int,
) -> list[Made]:
    """What is made of each name, in order.

    Parameters
    ----------
    make
        Makes it, and raises nothing: of a copy it is sent here.
    lost
        Says it of a name whose copy has ended, and how.
    at_once
        How many copies there may be; with fewer than two, and where they are not safe, all is
        made here, one by one.
    """
    n_copies = min(at_once, len(names))
    if n_copies > 1 and len(names) <= FITS:
        from simstudy.engine.backends.forked import forks_safely

        if forks_safely():
            return _in_copies(names, make, lost, n_copies)
    return [make(name) for name in names]


def _in_copies(
    names: Sequence[str],
    make: Callable[[str], Made],
    lost: Callable[[str, str], Made],
    n_copies: int,
) -> list[Made]:
    from simstudy.engine.backends.beside import Copy

    places = _all_places(len(names))
    copies = [Copy(partial(_take, places, names, make)) for _ in range(n_copies)]
    os.close(places)
    made, ends = _received(copies)
    for _, text in (made[place] for place in sorted(made)):
        text.print()
    unsaid = "its process ended without a word"
    return [
        made[place][0] if place in made else lost(name, ends.get(place) or unsaid)
        for place, name in enumerate(names)
    ]


def _all_places(n: int) -> int:
    """A pipe from which copies take the places of names: each is taken by one of them."""
    places, filling = os.pipe()
    os.write(filling, b"".join(map(PLACE.pack, range(n))))
    os.close(filling)
    return places


def _take(
    places: int, names: Sequence[str], make: Callable[[str], object], there: Connection
) -> None:
    """In a copy: make what is left to be made, name by name."""
    while taken := os.read(places, PLACE.size):
        (place,) = PLACE.unpack(taken)
        there.send((place, None))
        with text_kept() as kept:
            value = make(names[place])
        there.send((place, (value, kept.text)))


def _received(copies: list[Copy]) -> tuple[dict[int, Any], dict[int, str]]:
    """What copies have made, by place, with its text; and how they ended, by where they were."""
    from simstudy.engine.backends.beside import those_that_said

    made: dict[int, Any] = {}
    ends: dict[int, str] = {}
    at: dict[Copy, int] = {}
    while copies:
        for copy in those_that_said(copies):
            try:
                at[copy], value = copy.told()
            except EOFError:
                copies.remove(copy)
                ends[at.get(copy, -1)] = copy.ended()
            else:
                made |= {} if value is None else {at[copy]: value}
    return made, ends
