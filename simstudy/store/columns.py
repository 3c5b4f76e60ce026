"""Columns as measures want them, from stored rows or from a block just drawn."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from simstudy.design import Plan
from simstudy.errors import StudyError, nearest
from simstudy.measures import impute_worst
from simstudy.store.blocks import Store
from simstudy.store.layout import (
    ERROR,
    RESERVED,
    Block,
    cell_name,
    column_of,
    failed_cells,
    has_text,
    void_cells,
)

CONVERGED = "converged"  # a column that the engine makes: 1, or NaN where a cell failed


# ---------------------------------------------------------------- from the store
def read_columns(
    plan: Plan, store: Store, key: str, n_rep: int, names: Sequence[str]
) -> dict[str, np.ndarray]:
    """Stored columns of a scenario, `(rep,)` or `(rep, *axes)`; `converged` is made of errors."""
    if CONVERGED not in names:
        table = store.read(key, n_rep, [*_stored_as(plan, names), ERROR])
        return columns_of(plan, table, names)
    stored = [name for name in names if name != CONVERGED]
    table = store.read(key, n_rep, [*_stored_as(plan, [*stored, ERROR]), "rep"])
    return {**columns_of(plan, table, stored), CONVERGED: _converged(plan, table)}


def _stored_as(plan: Plan, names: Sequence[str]) -> list[str]:
    """Names in the store that these columns may have."""
    return [
        stored
        for name in names
        for stored in (name, *(cell_name(name, labels) for labels in plan.cells()))
    ]


def columns_of(plan: Plan, table: pa.Table, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The inverse of the layout: columns `(rep,)` or `(rep, *axes)`, NaN where a row failed."""
    return {name: _read_back(plan, table, name) for name in names}


def _read_back(plan: Plan, table: pa.Table, name: str) -> np.ndarray:
    if name in table.column_names:
        return _to_numpy(table.column(name))
    cells = [cell_name(name, labels) for labels in plan.cells()]
    present = [_to_numpy(table.column(cell)) for cell in cells if cell in table.column_names]
    if not present and _nothing_came_back(table):
        return np.full(len(table), np.nan)
    if not present or len(present) < len(cells):
        raise StudyError(
            f"a measure reads column {name!r}, which simulate did not return; "
            + nearest(name, simulated_columns(table.column_names))
        )
    stacked = np.stack(present, axis=1)
    return stacked.reshape(len(stacked), *plan.shape)


def _nothing_came_back(table: pa.Table) -> bool:
    """Whether every block of it failed as a whole, so that no column of values is known."""
    return ERROR in table.column_names and table.column(ERROR).null_count == 0


def simulated_columns(stored: Sequence[str]) -> dict[str, None]:
    """Columns as `simulate` named them, in order, from their names in the store."""
    return dict.fromkeys(column_of(name) for name in stored if name not in RESERVED)


def _to_numpy(column: pa.ChunkedArray) -> np.ndarray:
    """Without nulls the stored type; with nulls floats with NaN, or text with None."""
    if column.null_count and not pa.types.is_string(column.type):
        column = column.cast(pa.float64())
    array: np.ndarray = column.to_numpy()
    return array


def _converged(plan: Plan, table: pa.Table) -> np.ndarray:
    """Shape `(rep, *axes)`: a failure of the whole replicate is one of every cell."""
    failed = np.zeros((len(table), *plan.shape), dtype=bool)
    if ERROR in table.column_names:
        whole = has_text(table.column(ERROR).to_numpy())
        failed |= whole.reshape(-1, *(1 for _ in plan.shape))
    cells = failed.reshape(len(table), -1)
    for i, labels in enumerate(plan.cells()):
        name = cell_name(ERROR, labels)
        if plan.axes and name in table.column_names:
            cells[:, i] |= has_text(table.column(name).to_numpy())
    return np.where(cells.reshape(failed.shape), np.nan, 1.0)


# ---------------------------------------------------------------- from a block
def with_failures_missing(block: Block) -> dict[str, np.ndarray]:
    """A block's numeric columns, NaN where the cell failed."""
    failed = failed_cells(block.columns)
    numeric = {name: c for name, c in block.columns.items() if c.dtype.kind in "biuf"}
    if failed is None:
        return numeric
    size = len(failed)
    full = {name: np.broadcast_to(c, (size, *c.shape[1:])) for name, c in numeric.items()}
    return {name: _with_nan(column, void_cells(column, failed)) for name, column in full.items()}


def _with_nan(column: np.ndarray, void: np.ndarray | None) -> np.ndarray:
    return column if void is None else np.where(void, np.nan, column)


def imputed(columns: Mapping[str, np.ndarray], worst: Mapping[str, float]) -> Mapping[str, Any]:
    """Failed values of the columns named in `worst` replaced by what is said there."""
    named = {name: value for name, value in worst.items() if name in columns}
    return impute_worst(columns, named) if named else columns
