"""Reads columns for measures, and errors and warnings, from stored rows or a new block."""

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Plan
from simstudy.errors import StudyError, nearest
from simstudy.store.arrow_schema import (
    CELL_ERROR,
    CONVERGED,
    ERROR,
    RESERVED,
    WARNING,
    failed_cell_mask,
    failed_cells,
    has_text,
    is_failure,
)
from simstudy.store.blocks import Store

WHOLE_REPLICATE = -1  # cell index of a message about the whole replicate
MESSAGE_COLUMNS = {ERROR: (ERROR, CELL_ERROR), WARNING: (WARNING,)}  # stored columns, by message


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
    if _nothing_came_back(table):
        return np.full((len(table), *plan.shape), np.nan)
    if name in plan.rules.vectors:
        raise StudyError(
            f"vector {name!r} is not stored: columns derived from it are stored in its place. To "
            f"store both, use Rules(store_vectors=({name!r},))."
        )
    raise StudyError(
        f"a measure reads column {name!r}, which simulate did not return; "
        + nearest(name, simulated_columns(available() if available else table.column_names))
    )


def _refuse_holes(table: pa.Table, names: Sequence[str]) -> None:
    """Refuse a column that is missing in blocks that did not fail."""
    incomplete = [name for name in names if _lacks_numbers(table.column(name))]
    if not incomplete:
        return
    failed = rows_with_error(table)
    for name in incomplete:
        n_holes = int((table.column(name).is_null().to_numpy() & ~failed).sum())
        if n_holes:
            raise StudyError(
                f"column {name!r} is missing in {n_holes} of {len(table)} replicates that did not "
                "fail: it was returned in some blocks or scenarios only, so a measure would "
                "silently leave out the others. Always return it, with NaN if there is no value."
            )


def _lacks_numbers(column: pa.ChunkedArray) -> bool:
    """Whether numbers of a column are missing; texts may be."""
    return bool(column.null_count) and not pa.types.is_string(column.type)


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
    if column.null_count and not pa.types.is_string(column.type):
        column = column.cast(pa.float64(), safe=False)  # integers above 2^53 are rounded
    array: np.ndarray = column.to_numpy()
    return array


def _nothing_came_back(table: pa.Table) -> bool:
    """Whether all replicates failed, so that no column with values is known."""
    return ERROR in table.column_names and table.column(ERROR).null_count == 0


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
    whole = np.full(len(table), None, dtype=object)
    if ERROR in table.column_names:
        whole = texts_of(table, ERROR)
    if CELL_ERROR not in table.column_names:
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


def stored_messages(plan: Plan, store: Store, key: str, n_rep: int, name: str) -> Iterator[Message]:
    """Yield the messages of a scenario's first replicates, in order.

    Parameters
    ----------
    name
        Kind of message: `error` or `warning`.
    """
    names = sorted(store.column_names().intersection(MESSAGE_COLUMNS[name]))
    if not names or not n_rep:
        return
    table = store.read(key, n_rep, names)
    for column in MESSAGE_COLUMNS[name]:
        if column in table.column_names:
            texts = texts_of(table, column)
            yield from messages_in(counted_errors(plan, texts) if name == ERROR else texts)


def messages_in(texts: np.ndarray) -> Iterator[Message]:
    """Yield the texts of replicates `(rep,)` or cells `(rep, *axes)`, in order."""
    cells = texts.reshape(len(texts), -1)
    for rep, cell in np.argwhere(has_text(cells)).tolist():
        yield Message(rep, cell if texts.ndim > 1 else WHOLE_REPLICATE, cells[rep, cell])


def failed_replicates(plan: Plan, store: Store, key: str, n_blocks: int) -> np.ndarray:
    """List the failed replicates in a scenario's first blocks, up to the first missing block."""
    n_rep = min(n_blocks, store.n_blocks(key)) * plan.block_size
    failed = {at.rep for at in stored_messages(plan, store, key, n_rep, ERROR)}
    return np.array(sorted(failed), dtype=int)
