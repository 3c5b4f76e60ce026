"""Writes one file of blocks and reads its metadata.

A file holds whole blocks, ordered by scenario. Its metadata state which blocks these are, their
provenance and their generation.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedRandom
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.errors import StoreError
from simstudy.store.arrow_schema import (
    REP,
    RESERVED,
    unified,
    values_per_row,
    with_schema,
)
from simstudy.store.block_index import BlockRange
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
        Largest number of values of a row in any column.
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


def provenance_of_files(files: Files) -> Iterator[tuple[str, Provenance]]:
    """Read the provenance of some files, without a check of their content."""
    for name, parquet in files.metadata(files.names(), verify=False):
        yield name, provenance_in(parquet)


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
    width = values_per_row(table)
    rows_per_block = table.num_rows // sum(each.n for each in ranges)
    short = list(_cut(ranges, max(1, MAX_GROUP_ROWS // width // rows_per_block)))
    lengths = [each.n * rows_per_block for each in short]
    starts = itertools.accumulate(lengths, initial=0)
    content = {
        RANGES_KEY: json.dumps([list(each) for each in short]),
        PROVENANCE_KEY: provenance.to_json(each.key for each in short),
        GENERATION_KEY: str(generation),
        WIDTH_KEY: str(width),
    }
    schema = joint_schema([table.schema]).with_metadata(content)
    whole = with_schema(table, schema)
    parts = (whole.slice(*part) for part in zip(starts, lengths, strict=False))

    def fill(file: BufferedRandom) -> str:
        with _writer(file, schema) as writer:
            for part in _row_groups(parts, max(1, MIN_GROUP_ROWS // width)):
                writer.write_table(part, row_group_size=part.num_rows)
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


def _row_groups(parts: Iterable[pa.Table], at_most: int) -> Iterator[pa.Table]:
    """Yield one table per row group: a large part, or several small ones."""
    pack: list[pa.Table] = []
    n_rows = 0
    for part in parts:
        if pack and (part.num_rows >= at_most or n_rows >= at_most):
            yield pa.concat_tables(pack).combine_chunks()
            pack, n_rows = [], 0
        pack.append(part)
        n_rows += part.num_rows
    if pack:
        yield pa.concat_tables(pack).combine_chunks()
