"""The index of stored blocks: the place of each block in the files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from simstudy.errors import StoreError

RETRY_GENERATION = -1  # generation of blocks that failed by the machine's fault

SLICE = np.dtype(
    [
        ("key", np.int32),  # number of the scenario's key
        ("first", np.int64),  # number of the first block
        ("n", np.int64),  # number of consecutive blocks
        ("file", np.int32),
        ("row_group", np.int32),
        ("offset", np.int64),  # number of blocks before them in the row group
        ("generation", np.int32),  # the highest generation of a block counts
    ]
)
"""Consecutive blocks of one scenario in one row group of a file: 40 bytes."""


class BlockRange(NamedTuple):
    """`n` consecutive blocks of one scenario, starting with `first`."""

    key: str
    first: int
    n: int

    @property
    def end(self) -> int:
        """The block after the last."""
        return self.first + self.n


def joined_ranges(ranges: Iterable[tuple[str, int, int]]) -> list[BlockRange]:
    """Sort ranges and join those that are adjacent."""
    joined: list[BlockRange] = []
    for key, first, n in ranges:
        last = joined[-1] if joined else None
        if last and (last.key, last.end) == (key, first):
            joined[-1] = BlockRange(key, last.first, last.n + n)
        else:
            joined.append(BlockRange(key, first, n))
    return joined


def slices_of_file(
    ranges: Sequence[tuple[int, int, int]],
    row_groups: Sequence[int],
    rows_per_block: int,
    *,
    file: int,
    generation: int,
) -> np.ndarray:
    """Make the slices of a file.

    Parameters
    ----------
    ranges
        Number of the key, first block and number of blocks of each range, in the order of rows.
    row_groups
        Rows of each row group; each range is within one of them.

    Raises
    ------
    StoreError
        If a block has another number of rows than `rows_per_block`.
    """
    slices = np.zeros(len(ranges), SLICE)
    slices["key"], slices["first"], slices["n"] = np.array(ranges, dtype=np.int64).T
    ends = np.cumsum(slices["n"])
    starts = ends - slices["n"]
    bounds, odd = np.divmod(np.cumsum(row_groups), rows_per_block)
    if odd.any() or not bounds.size or bounds[-1] != ends[-1]:
        raise StoreError(f"its blocks do not have {rows_per_block} rows each")
    slices["row_group"] = np.searchsorted(bounds, starts, side="right")
    if (ends > bounds[slices["row_group"]]).any():
        raise StoreError("its blocks do not end where its row groups do")
    slices["offset"] = starts - np.concatenate([[0], bounds])[slices["row_group"]]
    slices["file"], slices["generation"] = file, generation
    return slices


class BlockIndex:
    """The index, with exactly one slice for every block.

    Attributes
    ----------
    keys
        Numbers of the keys.
    has_duplicates
        Whether slices were left out because other files hold the same blocks.
    """

    def __init__(self) -> None:
        self.keys: dict[str, int] = {}
        self.has_duplicates = False
        self.rebuild([])

    def number_of(self, key: str) -> int:
        """Return the number of a key, which is added if it is new."""
        return self.keys.setdefault(key, len(self.keys))

    def rebuild(self, slices: Iterable[np.ndarray]) -> None:
        """Replace the content; if there are several copies of a block, the newest counts."""
        table = np.concatenate([np.zeros(0, SLICE), *slices])
        table = table[np.lexsort((table["first"], table["key"]))]
        follows = table["key"][1:] == table["key"][:-1]
        overlaps = follows & (table["first"][1:] < (table["first"] + table["n"])[:-1])
        doubtful = np.unique(table["key"][1:][overlaps])
        if doubtful.size:
            clear = table[~np.isin(table["key"], doubtful)]
            table = np.concatenate(
                [clear, *(_each_block_once(table[table["key"] == key]) for key in doubtful)]
            )
            table = table[np.argsort(table["key"], kind="stable")]
        bounds = np.searchsorted(table["key"], np.arange(len(self.keys) + 1))
        self.has_duplicates |= bool(doubtful.size)
        self._table = table, bounds  # one assignment, since threads may read

    @property
    def slices(self) -> np.ndarray:
        """All slices, ordered by key and block."""
        return self._table[0]

    def of(self, key: str) -> np.ndarray:
        """Return the slices of a scenario, ordered by block."""
        (slices, bounds), number = self._table, self.keys.get(key)
        if number is None or number + 1 >= len(bounds):
            return slices[:0]
        return slices[bounds[number] : bounds[number + 1]]

    def has(self, key: str, n_blocks: int, *, least: int) -> np.ndarray:
        """Find out which of a scenario's first blocks are stored; shape `(n_blocks,)`.

        Parameters
        ----------
        least
            Lowest generation that counts as stored.
        """
        slices = self.of(key)
        slices = slices[(slices["generation"] >= least) & (slices["first"] < n_blocks)]
        change = np.zeros(n_blocks + 1, dtype=np.int64)
        np.add.at(change, slices["first"], 1)
        np.add.at(change, np.minimum(slices["first"] + slices["n"], n_blocks), -1)
        return np.cumsum(change[:-1]) > 0

    def between(self, key: str, first: int, end: int) -> np.ndarray:
        """Return the slices of a scenario's blocks from `first` to before `end`."""
        slices = self.of(key)
        starts = np.maximum(slices["first"], first)
        ends = np.minimum(slices["first"] + slices["n"], end)
        wanted = starts < ends
        return _cut(slices[wanted], starts[wanted], (ends - starts)[wanted])

    def n_blocks(self, key: str) -> int:
        """Count a scenario's blocks before the first gap."""
        slices = self.of(key)
        ends = np.concatenate([[0], slices["first"] + slices["n"]])
        gaps = np.flatnonzero(slices["first"] != ends[:-1])
        return int(ends[gaps[0]] if gaps.size else ends[-1])


def _each_block_once(slices: np.ndarray) -> np.ndarray:
    """Cut the slices of one key so that each block appears once, in its highest generation."""
    slices = slices[np.lexsort((-slices["file"], slices["generation"]))]
    holder = np.full(int((slices["first"] + slices["n"]).max()), -1)
    for at, (first, n) in enumerate(zip(slices["first"], slices["n"], strict=True)):
        holder[first : first + n] = at
    starts = np.flatnonzero(np.diff(holder, prepend=-2))
    lengths = np.diff(starts, append=len(holder))
    is_taken = holder[starts] >= 0
    return _cut(slices[holder[starts[is_taken]]], starts[is_taken], lengths[is_taken])


def _cut(slices: np.ndarray, first: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Cut slices to the `n` blocks from `first` on."""
    cut = slices.copy()
    cut["offset"] += first - slices["first"]
    cut["first"], cut["n"] = first, n
    return cut
