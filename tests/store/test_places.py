"""Where blocks are taken from, against a plain table of who holds which block."""

import itertools
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from simstudy.store.header import Group
from simstudy.store.places import Piece, Place, highest, pieces_until

ROWS = 4
FILE = Path("file")
PLACES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 4), st.integers(-1, 2)), min_size=1, max_size=6
)


def place(first: int, n: int, rank: int = 0, row: int = 0) -> Place:
    return Place(Group("a", first, n), FILE, 0, row, rank)


def blocks_of(piece: Piece) -> list[int]:
    return [piece.place.group.first + i for i in range(piece.first, piece.end)]


@given(PLACES)
def test_of_every_block_the_highest_rank_holds(given_places):
    """Against one look at each block."""
    places = [place(*one) for one in given_places]
    best: dict[int, int] = {}
    for here in places:
        for block in range(here.group.first, here.group.end):
            best[block] = max(best.get(block, -9), here.rank)
    found = highest(places, ROWS)
    held = {block: here.rank for here in found for block in range(here.group.first, here.group.end)}
    assert held == best
    assert [here.group.first for here in found] == sorted(here.group.first for here in found)


@given(PLACES, st.integers(0, 8), st.integers(0, 12))
def test_pieces_go_on_from_any_block(given_places, first, n_blocks):
    places = highest([place(start, n) for start, n, _ in given_places], ROWS)
    held = {b for here in places for b in range(here.group.first, here.group.end)}
    without_a_gap = list(itertools.takewhile(held.__contains__, range(first, n_blocks)))
    pieces = pieces_until(places, n_blocks, first)
    assert [block for piece in pieces for block in blocks_of(piece)] == without_a_gap
