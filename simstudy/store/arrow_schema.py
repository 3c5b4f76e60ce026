"""The Arrow schema of blocks: one row per replicate, with its cells in one list.

A column without axes has one number per row. A column with axes has a list of its cells per row,
the last axis moving fastest, so that the number of columns does not depend on the number of cells.
A vector has a list of the scenario's length per row; with axes, a list of such lists.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.design import Scenario
from simstudy.design.plan import Plan
from simstudy.errors import StudyError

ERROR = "error"  # error of a whole replicate
CELL_ERROR = "error_in_cell"  # errors of its cells, as a list
SCENARIO, REP = "scenario", "rep"  # key of the scenario, number of the replicate
WARNING = "warning"  # warnings of a method that returned; they may explain a NaN
NOT_COMPARED = frozenset({SCENARIO, REP, ERROR, WARNING})  # texts may hold addresses in memory
MISSING = "NaN in "  # beginning of the text for a replicate with NaN, before names of columns
CONVERGED = "converged"  # column made by the engine: 1, or NaN in failed cells
RESERVED = (SCENARIO, REP, CELL_ERROR)


class Block(NamedTuple):
    """A drawn block: its columns, and its number of failed replicates.

    Attributes
    ----------
    key
        Key of the scenario, or of the scenario and a method.
    machine
        Whether it failed by the machine's fault, such as a full disk. A later run draws it again.
    """

    scenario: Scenario
    number: int
    columns: dict[str, np.ndarray]
    n_failed: int
    key: str
    machine: bool = False


def block_table(plan: Plan, blocks: Sequence[Block]) -> pa.Table:
    """Make the table to store for some blocks, in order: one row per replicate."""
    tables = [_rows(plan, list(run)) for _, run in itertools.groupby(blocks, key=_likeness)]
    return concat_tables(tables)


def _likeness(block: Block) -> tuple[Any, ...]:
    """Return a key; blocks with equal keys are converted together, those with failures alone."""
    alone = block.number if ERROR in block.columns else -1
    columns = ((name, c.dtype, c.shape[1:], c.ndim) for name, c in block.columns.items())
    return block.key, alone, *columns


def _rows(plan: Plan, blocks: Sequence[Block]) -> pa.Table:
    """Convert blocks of one scenario with the same types and shapes to rows."""
    size, columns = plan.block_size, blocks[0].columns
    first = np.array([block.number for block in blocks], dtype=np.int64) * size
    rep = np.add.outer(first, np.arange(size, dtype=np.int64)).ravel()
    arrays = {SCENARIO: _repeated(blocks[0].key, len(rep)), REP: _arrow(rep)}
    for name in columns:
        full = _values_of_blocks([block.columns[name] for block in blocks], size)
        if name == ERROR:
            arrays[ERROR if full.ndim == 1 else CELL_ERROR] = stored_column(full)
            continue
        n_inner = int(name in plan.rules.vectors)
        failed = failed_cells(columns, (name,)) if name != WARNING else None
        void = failed_cell_mask(full, failed, n_inner=n_inner)
        arrays[name] = stored_column(full, void, n_inner=n_inner)
    return pa.table(arrays)


def _values_of_blocks(columns: Sequence[np.ndarray], size: int) -> np.ndarray:
    """Join a column of several blocks; constants are repeated for each replicate."""
    full = [column if column.ndim else np.broadcast_to(column, size) for column in columns]
    return full[0] if len(full) == 1 else np.concatenate(full)


def stored_column(
    array: np.ndarray, void: np.ndarray | None = None, *, n_inner: int = 0
) -> pa.Array:
    """Convert a column to one value, or one list of cells, per replicate.

    Parameters
    ----------
    void
        Values to store as null.
    n_inner
        Axes of the column that are within a cell: 1 for a vector, otherwise 0.
    """
    mask = None if void is None else np.ascontiguousarray(void).ravel()
    values = _arrow(np.ascontiguousarray(array).ravel(), mask)
    cells, inner = array.shape[1 : array.ndim - n_inner], array.shape[array.ndim - n_inner :]
    if inner:
        values = _in_lists(values, math.prod(array.shape[:-1]), inner[0])
    return _in_lists(values, len(array), math.prod(cells)) if cells else values


def _arrow(values: np.ndarray, mask: np.ndarray | None = None) -> pa.Array:
    """Convert to Arrow, numbers without `pa.array`: that imports pandas into every worker."""
    if values.dtype.kind in "UO":
        return pa.array(values, type=pa.string(), mask=mask)
    if mask is not None:
        return pa.array(values, mask=mask)
    data = np.packbits(values, bitorder="little") if values.dtype == bool else values
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])


def _repeated(text: str, n: int) -> pa.Array:
    """Repeat a text `n` times, without `pa.repeat`, which imports pandas."""
    data = text.encode()
    offsets = np.arange(n + 1, dtype=np.int32) * np.int32(len(data))
    return pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(data * n))


def _in_lists(values: pa.Array, n: int, length: int) -> pa.Array:
    """Split values into `n` lists of equal length."""
    offsets = np.arange(n + 1, dtype=np.int32) * np.int32(length)
    return pa.ListArray.from_arrays(_arrow(offsets), values)


def failed_cells(
    columns: Mapping[str, np.ndarray], read: Collection[str] = ()
) -> np.ndarray | None:
    """Find the failed replicates `(rep,)` or cells `(rep, *axes)`; None if there are none.

    Parameters
    ----------
    read
        Columns in which NaN is a failure.
    """
    return is_failure(columns[ERROR], read) if ERROR in columns else None


def is_failure(errors: np.ndarray, read: Collection[str]) -> np.ndarray:
    """Find the errors, and the texts about NaN in one of some columns."""
    counts = {text: text is not None and _counts(text, read) for text in set(errors.flat)}
    return np.array([counts[text] for text in errors.flat], dtype=bool).reshape(errors.shape)


def _counts(text: str, read: Collection[str]) -> bool:
    if not text.startswith(MISSING):
        return True
    names = text.removeprefix(MISSING)
    return any(name in read for name in (names, *names.split(", ")))


def failed_cell_mask(
    column: np.ndarray, failed: np.ndarray | None, *, n_inner: int = 0
) -> np.ndarray | None:
    """Find the values of a column that are missing because their cell failed.

    Parameters
    ----------
    n_inner
        Axes of the column that are within a cell: 1 for a vector, otherwise 0.
    """
    if failed is None or failed.ndim > column.ndim - n_inner:
        return None
    wide = failed.reshape(failed.shape + (1,) * (column.ndim - failed.ndim))
    return np.broadcast_to(wide, column.shape)


def has_text(errors: np.ndarray) -> np.ndarray:
    """Find the entries of an array of errors that have a text."""
    return np.array([text is not None for text in errors.flat], dtype=bool).reshape(errors.shape)


def values_per_row(table: pa.Table) -> int:
    """Return the average number of values in a row of a column, at least 1."""
    n_cells: int = max(1, table.num_rows * table.num_columns)
    n_values = int(table.nbytes) // (8 * n_cells)
    return max(1, n_values)


# ---------------------------------------------------------------- one column, one type


def unified(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Unify the columns of several tables, in order of appearance.

    Booleans, integers and doubles are converted to the type that holds all of them exactly. This is
    always possible, because blocks with integers that a double cannot hold are refused.

    Raises
    ------
    StudyError
        If a column is numbers in one table and text in another.
    """
    kinds: dict[str, pa.DataType] = {}
    for schema in schemas:
        for column in schema:
            known = kinds.get(column.name, column.type)
            kinds[column.name] = _joined(column.name, known, column.type)
    return pa.schema(list(kinds.items()))


def _joined(name: str, one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(_joined(name, one.value_type, other.value_type))
    if _is_number(one) and _is_number(other):
        return _number_for(one, other)
    raise StudyError(
        f"column {name!r} is of one type in some blocks and of another in others: {one} and "
        f"{other}. Always return the same type, such as column.astype(float)."
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)
    )


def _number_for(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that holds the numbers of two types without loss."""
    if pa.types.is_integer(one) and pa.types.is_integer(other) and "uint64" in (one, other):
        return pa.int64() if one != other else one
    joint = np.promote_types(one.to_pandas_dtype(), other.to_pandas_dtype())
    return pa.from_numpy_dtype(joint)


def with_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Cast a table to a schema; missing columns become null."""
    columns = [
        _cast(table.column(name), kind)
        if name in table.column_names
        else pa.nulls(table.num_rows, kind)
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast a column with Arrow, which raises if digits would be lost."""
    return column if column.type == kind else column.cast(kind)


def concat_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables, with types that hold all of their values."""
    if all(table.schema.equals(tables[0].schema) for table in tables):
        return pa.concat_tables(tables)
    schema = unified(table.schema for table in tables)
    return pa.concat_tables(with_schema(table, schema) for table in tables)
