"""Blocks as Arrow tables, and back: one row per replicate, with its cells in one list.

A column without axes has one number per row. A column with axes has a list of its cells per row,
the last axis moving fastest, so that the number of columns does not depend on the number of cells.
A vector has a list of the scenario's length per row; with axes, a list of such lists.
"""

import itertools
import math
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.design import Scenario
from simstudy.design.plan import Plan
from simstudy.errors import StudyError, nearest

ERROR = "error"  # error of a whole replicate
CELL_ERROR = "error_in_cell"  # errors of its cells, as a list
SCENARIO, REP = "scenario", "rep"  # key of the scenario, number of the replicate
WARNING = "warning"  # warnings of a method that returned; they may explain a NaN
NOT_COMPARED = frozenset({SCENARIO, REP, ERROR, WARNING})  # texts may hold addresses in memory
MISSING = "NaN in "  # beginning of the text for a replicate with NaN, before names of columns
CONVERGED = "converged"  # column made by the engine: 1, or NaN in failed cells
RESERVED = (SCENARIO, REP, CELL_ERROR)
WHOLE_REPLICATE = -1  # cell index of a message about the whole replicate
MESSAGE_COLUMNS = {ERROR: (ERROR, CELL_ERROR), WARNING: (WARNING,)}  # stored columns, by message


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
    schema = unified(table.schema for table in tables)
    return pa.concat_tables(with_schema(table, schema) for table in tables)


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
        values = [block.columns[name] for block in blocks]  # constants are repeated
        full = np.concatenate([v if v.ndim else np.broadcast_to(v, size) for v in values])
        if name == ERROR:
            arrays[ERROR if full.ndim == 1 else CELL_ERROR] = stored_column(full)
            continue
        n_inner = int(name in plan.rules.vectors)
        failed = failed_cells(columns, (name,)) if name != WARNING else None
        void = failed_cell_mask(full, failed, n_inner=n_inner)
        arrays[name] = stored_column(full, void, n_inner=n_inner)
    return pa.table(arrays)


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
    for column in itertools.chain.from_iterable(schemas):
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
    if pa.types.is_primitive(one) and pa.types.is_primitive(other):  # numbers and booleans
        return _number_for(one, other)
    raise StudyError(
        f"column {name!r} is of one type in some blocks and of another in others: {one} and "
        f"{other}. Always return the same type, such as column.astype(float)."
    )


def _number_for(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that holds the numbers of two types without loss."""
    if pa.types.is_integer(one) and pa.types.is_integer(other) and "uint64" in (one, other):
        return pa.int64() if one != other else one
    joint = np.promote_types(one.to_pandas_dtype(), other.to_pandas_dtype())
    return pa.from_numpy_dtype(joint)


def with_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Cast a table to a schema; missing columns become null. Lost digits raise an error."""
    n_rows, known = table.num_rows, table.column_names
    columns = [
        table[each.name].cast(each.type) if each.name in known else pa.nulls(n_rows, each.type)
        for each in schema
    ]
    return pa.table(columns, schema=schema)


# ---------------------------------------------------------------- from the store
def stored_names(names: Sequence[str]) -> list[str]:
    """List the stored columns to read for some columns; errors are always included."""
    return [*(name for name in names if name != CONVERGED), ERROR, CELL_ERROR]


def columns_of(
    plan: Plan,
    table: pa.Table,
    names: Sequence[str],
    available: Callable[[], Iterable[str]] | None = None,
    *,
    holes: bool = False,
) -> dict[str, np.ndarray]:
    """Convert stored rows to columns `(rep,)` or `(rep, *axes)`, with NaN in failed rows.

    Parameters
    ----------
    available
        Function that returns the names of all stored columns, for error messages. Default: the
        columns of the table.
    holes
        Whether values may be missing in rows that did not fail, as those of other scenarios are.
    """
    if not holes:
        _refuse_holes(table, [name for name in names if name in table.column_names])
    return {name: _read_back(plan, table, name, available) for name in names}


def _read_back(
    plan: Plan, table: pa.Table, name: str, available: Callable[[], Iterable[str]] | None
) -> np.ndarray:
    if name == CONVERGED:
        return np.where(_failed(plan, table), np.nan, 1.0)
    if name == ERROR:
        return counted_errors(plan, _errors(plan, table))
    if name in table.column_names:
        return _of_stored(plan, table.column(name), is_vector=name in plan.rules.vectors)
    if ERROR in table.column_names and not table.column(ERROR).null_count:  # no column is known
        return np.full((len(table), *plan.shape), np.nan)
    if name in plan.rules.vectors:
        raise StudyError(
            f"vector {name!r} is not stored: columns derived from it are stored in its place. To "
            f"store both, use Rules(store_vectors=({name!r},))."
        )
    raise StudyError(
        f"column {name!r} is not among the replicates' columns; "
        + nearest(name, simulated_columns(available() if available else table.column_names))
    )


def _refuse_holes(table: pa.Table, names: Sequence[str]) -> None:
    """Refuse a column of numbers that is missing in blocks that did not fail."""
    numbers = [name for name in names if not pa.types.is_string(table[name].type)]
    incomplete = [name for name in numbers if table[name].null_count]
    failed = rows_with_error(table) if incomplete else np.zeros(0, dtype=bool)
    for name in incomplete:
        n_holes = int((table[name].is_null().to_numpy() & ~failed).sum())
        if n_holes:
            raise StudyError(
                f"column {name!r} is missing in {n_holes} of {len(table)} replicates that did not "
                "fail: it was returned in some blocks or scenarios only, so a measure would "
                "silently leave out the others. Always return it, with NaN if there is no value."
            )


def _of_stored(plan: Plan, column: pa.ChunkedArray, *, is_vector: bool) -> np.ndarray:
    """Convert a stored column; list elements are cells, or values of a vector."""
    depth = _depth(column.type)
    shape = plan.shape if depth > int(is_vector) else ()
    flat = _flattened(column, depth)
    if is_vector:
        shape = (*shape, flat.shape[1] // math.prod(shape))
    elif not flat.size:  # every row failed as a whole
        return np.full((len(column), *shape), np.nan)
    return flat.reshape(len(column), *shape)


def _depth(kind: pa.DataType) -> int:
    """Return the nesting depth of lists."""
    return 1 + _depth(kind.value_type) if pa.types.is_list(kind) else 0


def _flattened(column: pa.ChunkedArray, depth: int) -> np.ndarray:
    """Convert to `(rep,)`, or `(rep, value)` for lists; NaN for missing lists."""
    if depth == 0:
        return _to_numpy(column)
    is_valid = column.is_valid().to_numpy()
    values: Any = pa.chunked_array([_innermost(chunk) for chunk in column.chunks])
    n_there = int(is_valid.sum())
    rows = _to_numpy(values).reshape(n_there, len(values) // max(n_there, 1))
    if is_valid.all():
        return rows
    missing = None if rows.dtype == object else np.nan
    full = np.full((len(column), rows.shape[1]), missing, np.result_type(rows.dtype, float))
    full[is_valid] = rows
    return full


def _innermost(lists: pa.Array) -> pa.Array:
    while pa.types.is_list(lists.type):
        lists = lists.flatten()
    return lists


def _to_numpy(column: pa.ChunkedArray) -> np.ndarray:
    """Convert to NumPy: nulls become NaN, or None in text."""
    import pandas  # noqa: F401 - pyarrow would import it, and lose a Ctrl-C meanwhile

    if column.null_count and not pa.types.is_string(column.type):
        column = column.cast(pa.float64(), safe=False)  # integers above 2^53 are rounded
    array: np.ndarray = column.to_numpy()
    return array


def simulated_columns(stored: Iterable[str]) -> dict[str, None]:
    """Convert stored names to the names of columns as `simulate` returned them."""
    named = (ERROR if name == CELL_ERROR else name for name in stored)
    return dict.fromkeys(name for name in named if name not in RESERVED)


def has_nulls(table: pa.Table) -> bool:
    """Whether a value is missing in a column or in one of its lists."""
    return any(
        column.null_count or any(_innermost(chunk).null_count for chunk in column.chunks)
        for name, column in zip(table.column_names, table.columns, strict=True)
        if name not in (ERROR, CELL_ERROR)
    )


# ---------------------------------------------------------------- stored errors
def rows_with_error(table: pa.Table) -> np.ndarray:
    """Find the rows with an error in any cell; shape `(rep,)`."""
    failed = np.zeros(len(table), dtype=bool)
    for name in {ERROR, CELL_ERROR}.intersection(table.column_names):
        failed |= has_text(texts_of(table, name)).reshape(len(table), -1).any(axis=1)
    return failed


def texts_of(table: pa.Table, name: str) -> np.ndarray:
    """Return the errors of replicates `(rep,)` or cells `(rep, cell)`; None for no error."""
    return _flattened(table.column(name), _depth(table.column(name).type))


def _errors(plan: Plan, table: pa.Table) -> np.ndarray:
    """Return the errors of each replicate, or of each cell if cells have their own."""
    names = table.column_names
    whole = texts_of(table, ERROR) if ERROR in names else np.full(len(table), None)
    if CELL_ERROR not in names:
        return whole
    wide = np.tile(whole[:, np.newaxis], math.prod(plan.shape))
    cells = texts_of(table, CELL_ERROR)
    if cells.size:
        wide = np.where(has_text(cells), cells, wide)
    return wide.reshape(-1, *plan.shape)


def counted_errors(plan: Plan, errors: np.ndarray) -> np.ndarray:
    """Return the errors that are failures, without NaN in columns that no measure reads.

    If measures read no column that was returned, NaN is a failure in every column.
    """
    read = plan.columns_read - {CONVERGED}
    if not read or not errors.size:
        return errors
    counted = errors.copy()
    counted[~is_failure(errors, read)] = None
    return counted


def _failed(plan: Plan, table: pa.Table) -> np.ndarray:
    """Find failed cells, shape `(rep, *axes)`; a failed replicate fails in every cell."""
    if not {ERROR, CELL_ERROR}.intersection(table.column_names):
        return np.zeros((len(table), *plan.shape), dtype=bool)
    failed = has_text(counted_errors(plan, _errors(plan, table)))
    wide = failed.reshape(failed.shape + (1,) * (1 + len(plan.shape) - failed.ndim))
    return np.broadcast_to(wide, (len(table), *plan.shape))


# ---------------------------------------------------------------- from a block
def nan_where_failed(
    columns: Mapping[str, np.ndarray], vectors: Container[str] = ()
) -> dict[str, np.ndarray]:
    """Return the columns of a block, with NaN for numbers in failed cells."""
    failed = failed_cells(columns)
    if failed is None:
        return dict(columns)
    made = dict(columns)
    for name, column in columns.items():
        if column.dtype.kind in "biuf":
            full = np.broadcast_to(column, (len(failed), *column.shape[1:]))
            void = failed_cell_mask(full, failed, n_inner=int(name in vectors))
            made[name] = full if void is None else np.where(void, np.nan, full)
    return made


# ---------------------------------------------------------------- errors and warnings
class Message(NamedTuple):
    """An error or a warning of a replicate, in one cell."""

    rep: int
    cell: int
    text: str


def messages_in(texts: np.ndarray) -> Iterator[Message]:
    """Yield the texts of replicates `(rep,)` or cells `(rep, *axes)`, in order."""
    cells = texts.reshape(len(texts), -1)
    for rep, cell in np.argwhere(has_text(cells)).tolist():
        yield Message(rep, cell if texts.ndim > 1 else WHOLE_REPLICATE, cells[rep, cell])
