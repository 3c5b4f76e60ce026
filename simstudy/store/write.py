"""Blocks to files, each named by what it contains.

A file holds whole blocks and is named by the hash of its own bytes. So a file that is there under
its name is undamaged, two runs that compute the same block do no harm, and the name of a finished
study's file is the same on every machine that computed the same bits.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import BufferedRandom
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from simstudy.store.files import Files
from simstudy.store.header import WIDTH_KEY, Group, metadata_for
from simstudy.store.layout import (
    CELL_ERROR,
    ERROR,
    REP,
    RESERVED,
    WARNING,
    innermost,
    values_per_row,
)
from simstudy.store.naming import name_by_content
from simstudy.store.owner import NOBODY, Owner
from simstudy.store.types import below_each_other, in_schema, unified

TEXTS = frozenset((ERROR, CELL_ERROR, WARNING))  # columns that say something of few rows
ROWS_TOGETHER = 1 << 14  # rows of one value that share a row group: each costs a millisecond


class Form(NamedTuple):
    """What the files of a finished folder have in common.

    Parameters
    ----------
    schema
        All columns of any of them, as `joint_schema` orders them.
    rank
        Above that of blocks which they replace.
    width
        The most values that a row of any has in a column.
    """

    schema: pa.Schema
    rank: int
    width: int

    def over(self, tables: Iterable[pa.Table]) -> "Form":
        """The form of these files and of some tables beside them."""
        tables = list(tables)
        schema = joint_schema([self.schema, *(table.schema for table in tables)])
        return Form(schema, self.rank, max([self.width, *map(values_per_row, tables)]))


def write_blocks(
    files: Files,
    groups: Sequence[Group],
    table: pa.Table,
    *,
    owner: Owner = NOBODY,
    rank: int = 0,
) -> str:
    """Write blocks as one file: to a temporary name, synced, then renamed to the content's hash.

    Gives that name. Safe to call from any number of processes and machines at once.

    Parameters
    ----------
    groups
        What the rows of the table are, in order; every block has as many rows as any other.
    owner
        Whose blocks these are; a `Store` believes only those of its own.
    rank
        Above that of blocks which these replace; `TENTATIVE` for blocks to be drawn again.
    """
    rows_per_block = table.num_rows // sum(group.n for group in groups)
    lengths = [group.n * rows_per_block for group in groups]
    starts = [0, *itertools.accumulate(lengths)]
    parts = (table.slice(*part) for part in zip(starts, lengths, strict=False))
    said = metadata_for(groups, owner, rank, values_per_row(table))
    return write_tables(files, joint_schema([table.schema]).with_metadata(said), parts)


def write_laid_out(
    files: Files,
    groups: Sequence[Group],
    tables: Iterable[pa.Table],
    form: Form,
    *,
    owner: Owner = NOBODY,
) -> str:
    """Write a table for each group as one file, in the form of all that lie beside it.

    Whoever writes the same blocks so, a worker or a compaction, writes the same bytes. A column of
    errors or warnings is only there where it says something: a failure changes no other file.
    """
    said = metadata_for(groups, owner, form.rank, form.width)
    schema = form.schema
    if not TEXTS.isdisjoint(schema.names):
        tables = list(tables)
        schema = without(schema, [n for n in TEXTS if not any(_says(table, n) for table in tables)])
    return write_tables(files, schema.with_metadata(said), tables)


def without(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    """A schema but for some columns, of which it may have none."""
    return pa.schema([column for column in schema if column.name not in names])


def _says(table: pa.Table, name: str) -> bool:
    """Whether a column is there and holds any value, in a list or not."""
    chunks = table.column(name).chunks if name in table.column_names else []
    return any(flat.null_count < len(flat) for flat in map(innermost, chunks))


def joint_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """All columns of some tables, in an order that does not depend on the tables' order."""
    fields = sorted(unified(schemas), key=lambda column: (column.name not in RESERVED, column.name))
    return pa.schema([(column.name, _as_read(column.type)) for column in fields])


def _as_read(kind: pa.DataType) -> pa.DataType:
    """The same type with the names of parts that it has when it is read from a file."""
    return (
        pa.list_(pa.field("element", _as_read(kind.value_type))) if pa.types.is_list(kind) else kind
    )


def write_tables(files: Files, schema: pa.Schema, tables: Iterable[pa.Table]) -> str:
    """One file with the rows of all tables, in order; its name is the hash of its bytes.

    Parameters
    ----------
    schema
        The columns, with what the file is to say of itself.
    """
    at_most = rows_together(int(schema.metadata[WIDTH_KEY]))

    def fill(file: BufferedRandom) -> str:
        with _writer(file, schema) as writer:
            for table in _packed(tables, at_most):
                writer.write_table(in_schema(table, schema), row_group_size=table.num_rows)
        return f"{name_by_content(file)}.parquet"

    return files.write(fill)


def _writer(file: BufferedRandom, schema: pa.Schema) -> pq.ParquetWriter:
    """Only text is worth a dictionary: numbers would take a third longer and more room.

    Numbers of replicates are written as differences, a third of the time and a hundredth of the
    room.
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
    """The path in the file of a column's text, which may be in a list; none for numbers."""
    if pa.types.is_list(kind):
        return _paths_of_text(f"{path}.list.element", kind.value_type)
    return [path] if pa.types.is_string(kind) else []


def rows_together(width: int) -> int:
    """Groups with fewer rows share a row group, which is so many times as short as it is wide."""
    return max(1, ROWS_TOGETHER // width)


def _packed(parts: Iterable[pa.Table], at_most: int) -> Iterator[pa.Table]:
    """One table for each row group: the rows of a large group, or of several small ones."""
    pack: list[pa.Table] = []
    n_rows = 0
    for part in parts:
        if pack and (part.num_rows >= at_most or n_rows >= at_most):
            yield in_one_piece(pack)
            pack, n_rows = [], 0
        pack.append(part)
        n_rows += part.num_rows
    if pack:
        yield in_one_piece(pack)


def in_one_piece(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables below each other, so that the bytes written do not depend on the pieces."""
    return below_each_other(tables).combine_chunks()
