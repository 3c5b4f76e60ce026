"""Writes one file of blocks and reads its metadata.

A file holds whole blocks, ordered by scenario. Its metadata state which blocks these are, their
provenance and their generation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedRandom
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.errors import StoreError
from simstudy.store.arrow_schema import REP, RESERVED, unified, with_schema
from simstudy.store.files import Files, name_by_content
from simstudy.store.provenance import NO_PROVENANCE, Provenance

RANGES_KEY = b"simstudy.groups"
PROVENANCE_KEY = b"simstudy.owner"
GENERATION_KEY = b"simstudy.rank"
WIDTH_KEY = b"simstudy.width"

MIN_GROUP_ROWS = 1 << 14  # rows of one value to collect in a row group, which costs a millisecond
MAX_GROUP_ROWS = 1 << 17  # rows of one value in a row group: fast to read, small in memory


# ---------------------------------------------------------------- metadata
class FileMetadata(NamedTuple):
    """The metadata of a file of blocks.

    Parameters
    ----------
    row_groups
        Number of rows of each row group.
    width
        Average number of values in a row of a column.
    """

    schema: pa.Schema
    ranges: list[BlockRange]
    row_groups: list[int]
    provenance: Provenance
    generation: int
    width: int


def file_metadata(parquet: pq.FileMetaData) -> FileMetadata:
    """Parse the Parquet metadata of a file of blocks.

    Raises
    ------
    StoreError
        If the metadata do not state which blocks the file holds.
    """
    content = parquet.metadata or {}
    if RANGES_KEY not in content:
        raise StoreError("its metadata do not state which blocks it holds")
    return FileMetadata(
        schema=parquet.schema.to_arrow_schema().remove_metadata(),
        ranges=[BlockRange(*each) for each in json.loads(content[RANGES_KEY])],
        row_groups=[parquet.row_group(i).num_rows for i in range(parquet.num_row_groups)],
        provenance=provenance_in(parquet),
        generation=int(content.get(GENERATION_KEY, b"0")),
        width=int(content.get(WIDTH_KEY, b"1")),
    )


def provenance_in(parquet: pq.FileMetaData | Exception) -> Provenance:
    """Read the provenance in a file's metadata; unknown for a damaged file."""
    content = {} if isinstance(parquet, Exception) else parquet.metadata or {}
    return Provenance.from_json(content.get(PROVENANCE_KEY, b"").decode())


# ---------------------------------------------------------------- writing
def write_blocks(
    files: Files,
    ranges: Sequence[BlockRange],
    table: pa.Table,
    *,
    provenance: Provenance = NO_PROVENANCE,
    generation: int = 0,
    label: str = "",
) -> str:
    """Write blocks to one file and return its name, a hash of its content.

    The file is written under a temporary name, synced, then renamed. Any number of processes and
    machines may write at the same time.

    Parameters
    ----------
    ranges
        Blocks in the table, in the order of its rows; all blocks have the same number of rows.
    provenance
        Provenance of the blocks; a `Store` reads only those that match its own.
    generation
        Generation of the blocks. It must be above that of blocks they replace;
        `RETRY_GENERATION` for blocks that a later run draws again.
    label
        Label of the share that writes the file, for its name.
    """
    n_cells = max(1, table.num_rows * table.num_columns)
    width = max(1, table.nbytes // (8 * n_cells))  # average number of values in a row of a column
    rows_per_block = table.num_rows // sum(each.n for each in ranges)
    short = list(_cut(ranges, max(1, MAX_GROUP_ROWS // width // rows_per_block)))
    lengths = [each.n * rows_per_block for each in short]
    content = {
        RANGES_KEY: json.dumps([list(each) for each in short]),
        PROVENANCE_KEY: provenance.to_json(each.key for each in short),
        GENERATION_KEY: str(generation),
        WIDTH_KEY: str(width),
    }
    schema = joint_schema([table.schema]).with_metadata(content)
    whole = with_schema(table, schema)

    def fill(file: BufferedRandom) -> str:
        start = 0
        with _writer(file, schema) as writer:
            for n in _row_groups(lengths, max(1, MIN_GROUP_ROWS // width)):
                writer.write_table(whole.slice(start, n).combine_chunks(), row_group_size=n)
                start += n
        return name_by_content(file, label)

    return files.write(fill)


def _cut(ranges: Iterable[BlockRange], most: int) -> Iterator[BlockRange]:
    """Cut ranges to the number of blocks that fit in a row group."""
    for key, first, n in ranges:
        for start in range(first, first + n, most):
            yield BlockRange(key, start, min(most, first + n - start))


def joint_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Unify the columns of several tables, in an order independent of the tables' order."""
    fields = sorted(unified(schemas), key=lambda column: (column.name not in RESERVED, column.name))
    return pa.schema([(column.name, _as_read(column.type)) for column in fields])


def _as_read(kind: pa.DataType) -> pa.DataType:
    """Give a type the field names that it has when read from a file."""
    if not pa.types.is_list(kind):
        return kind
    return pa.list_(pa.field("element", _as_read(kind.value_type)))


def _writer(file: BufferedRandom, schema: pa.Schema) -> pq.ParquetWriter:
    """Make a Parquet writer with dictionaries for text only: numbers would take a third longer.

    Numbers of replicates are written as differences, which takes a third of the time and a
    hundredth of the space.
    """
    text = [path for column in schema for path in _paths_of_text(column.name, column.type)]
    counted = [column.name for column in schema if column.equals(pa.field(REP, pa.int64()))]
    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=text,
        column_encoding=dict.fromkeys(counted, "DELTA_BINARY_PACKED") or None,
    )


def _paths_of_text(path: str, kind: pa.DataType) -> list[str]:
    """Return the path of a text column in the file, in a list; an empty list for numbers."""
    if pa.types.is_list(kind):
        return _paths_of_text(f"{path}.list.element", kind.value_type)
    return [path] if pa.types.is_string(kind) else []


def _row_groups(lengths: Iterable[int], at_most: int) -> Iterator[int]:
    """Yield the number of rows of each row group: those of a long range, or of several short ones.

    Parameters
    ----------
    lengths
        Rows of each range.
    """
    n_rows = 0
    for length in lengths:
        if n_rows and max(length, n_rows) >= at_most:
            yield n_rows
            n_rows = 0
        n_rows += length
    yield n_rows


# ---------------------------------------------------------------- index
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


def joined_ranges(ranges: Iterable[tuple[str, int, int]]) -> list[BlockRange]:
    """Sort ranges and join those that are adjacent."""
    joined: list[BlockRange] = []
    for key, first, n in ranges:
        last = joined[-1] if joined else None
        if last and (last.key, last.first + last.n) == (key, first):
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
        return _cut_slices(slices[wanted], starts[wanted], (ends - starts)[wanted])

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
    return _cut_slices(slices[holder[starts[is_taken]]], starts[is_taken], lengths[is_taken])


def _cut_slices(slices: np.ndarray, first: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Cut slices to the `n` blocks from `first` on."""
    cut = slices.copy()
    cut["offset"] += first - slices["first"]
    cut["first"], cut["n"] = first, n
    return cut
