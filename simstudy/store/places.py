"""Where blocks lie, and which place holds where a block has several."""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from simstudy.errors import StoreError
from simstudy.store.header import Group, Header


class Place(NamedTuple):
    """Where a group lies: in a row group of a file, from a row of it on.

    Of two files with the same block that of the higher rank holds.
    """

    group: Group
    file: str
    row_group: int
    row: int
    rank: int = 0

    @property
    def where(self) -> tuple[str, int, int]:
        """In the order in which a file is read."""
        return self.file, self.row_group, self.row

    def part(self, first: int, end: int, rows_per_block: int) -> "Place":
        """Some of its blocks."""
        row = self.row + (first - self.group.first) * rows_per_block
        return self._replace(group=Group(self.group.key, first, end - first), row=row)


class Piece(NamedTuple):
    """Blocks to take from a place: from `first` to before `end`, counted from its group's first."""

    place: Place
    first: int
    end: int


def places_in(name: str, header: Header, rows_per_block: int) -> Iterator[Place]:
    """A file's groups, each in one row group, which it may share with its neighbours."""
    parquet = header.parquet
    sizes = [parquet.row_group(i).num_rows for i in range(parquet.num_row_groups)]
    index = row = 0
    for group in header.groups:
        if row == sizes[index]:
            index, row = index + 1, 0
        yield Place(group, name, index, row, header.rank)
        row += group.n * rows_per_block
    if [row] != sizes[index:]:
        raise StoreError(f"its blocks do not have {rows_per_block} rows each")


def highest(places: list[Place], rows_per_block: int) -> list[Place]:
    """In order of block; where ranks differ, of every block only the place of the highest."""
    if len({place.rank for place in places}) > 1:
        places = list(_without_outranked(places, rows_per_block))
    return sorted(places, key=lambda place: (place.group.first, -place.group.n))


def _without_outranked(places: list[Place], rows_per_block: int) -> Iterator[Place]:
    taken = np.zeros(max(place.group.end for place in places), dtype=bool)
    for _, level in itertools.groupby(sorted(places, key=_from_the_top), _from_the_top):
        here = list(level)
        for place in here:
            free = np.flatnonzero(~taken[place.group.first : place.group.end]) + place.group.first
            for run in np.split(free, np.flatnonzero(np.diff(free) > 1) + 1):
                if run.size:
                    yield place.part(int(run[0]), int(run[-1]) + 1, rows_per_block)
        for place in here:
            taken[place.group.first : place.group.end] = True


def _from_the_top(place: Place) -> int:
    return -place.rank


def pieces_until(places: list[Place], n_blocks: int, first: int = 0) -> Iterator[Piece]:
    """A scenario's blocks from some block on, each once and in order, until there is a gap."""
    at = first
    for place in places:
        end = min(place.group.end, n_blocks)
        if place.group.first <= at < end:
            yield Piece(place, at - place.group.first, end - place.group.first)
            at = end
