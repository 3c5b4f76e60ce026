"""How blocks lie in a table: one row per replicate, one column per cell of the axes."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.design import Plan, factors_of, scenario_key
from simstudy.errors import StudyError, nearest

RESERVED = ("scenario", "rep")
ERROR = "error"


class Block(NamedTuple):
    """What one block computed: its columns, and how many of its replicates failed.

    `machine` where it failed for want of memory, disk or the like, which is nothing to keep.
    """

    scenario: Any
    number: int
    columns: dict[str, np.ndarray]
    n_failed: int
    machine: bool = False  # whether it failed by the machine's fault, and not by a method's


def rows_of(plan: Plan, blocks: Sequence[Block]) -> pa.Table:
    """Blocks as a table: one row per replicate, one column per cell of the axes."""
    tables = [_rows_of_one(plan, block) for block in blocks]
    return pa.concat_tables(tables, promote_options="permissive")


def _rows_of_one(plan: Plan, block: Block) -> pa.Table:
    size = plan.block_size
    rep = np.arange(block.number * size, (block.number + 1) * size, dtype=np.int64)
    key = pa.repeat(pa.scalar(scenario_key(block.scenario)), size)
    arrays: dict[str, Any] = {"scenario": key, "rep": rep}
    failed = failed_cells(block.columns)
    for name, array in block.columns.items():
        full = np.broadcast_to(array, (size, *array.shape[1:]))
        arrays |= _flat(plan, name, full, None if name == ERROR else _void(full, failed))
    return pa.table(arrays)


def failed_cells(columns: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Where a block failed, `(rep,)` or `(rep, *axes)`; None where nothing did."""
    return has_text(columns[ERROR]) if ERROR in columns else None


def _void(column: np.ndarray, failed: np.ndarray | None) -> np.ndarray | None:
    """Which values of a column are none, because their cell failed."""
    if failed is None or failed.ndim > column.ndim:
        return None
    wide = failed.reshape(failed.shape + (1,) * (column.ndim - failed.ndim))
    return np.broadcast_to(wide, column.shape)


def with_failures_missing(block: Block) -> dict[str, np.ndarray]:
    """The columns as measures want them: NaN where the cell failed."""
    failed = failed_cells(block.columns)
    numeric = {n: c for n, c in block.columns.items() if c.dtype.kind in "biuf"}
    if failed is None:
        return numeric
    size = len(failed)
    full = {n: np.broadcast_to(c, (size, *c.shape[1:])) for n, c in numeric.items()}
    return {name: _with_nan(column, _void(column, failed)) for name, column in full.items()}


def _with_nan(column: np.ndarray, void: np.ndarray | None) -> np.ndarray:
    return column if void is None else np.where(void, np.nan, column)


def has_text(errors: np.ndarray) -> np.ndarray:
    """Where an array of errors holds one."""
    return np.array([one is not None for one in errors.flat], dtype=bool).reshape(errors.shape)


def _flat(plan: Plan, name: str, array: np.ndarray, void: np.ndarray | None) -> dict[str, pa.Array]:
    """One column per cell of the axes: `reject[studentized,mse]`."""
    kind = pa.string() if array.dtype.kind in "UO" else None
    if array.ndim == 1:
        return {name: pa.array(array, type=kind, mask=void)}
    cells = array.reshape(plan.block_size, -1)
    voids = [None] * cells.shape[1] if void is None else void.reshape(cells.shape).T
    return {
        cell_name(name, labels): pa.array(
            np.ascontiguousarray(cells[:, i]), type=kind, mask=voids[i]
        )
        for i, labels in enumerate(plan.cells())
    }


def cell_name(name: str, labels: tuple[str, ...]) -> str:
    """Name in the store of one cell of a column."""
    return f"{name}[{','.join(labels)}]"


def columns_of(plan: Plan, table: pa.Table, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The inverse of the layout: columns `(rep,)` or `(rep, *axes)`, NaN where a row failed."""
    return {name: _column(plan, table, name) for name in names}


def _column(plan: Plan, table: pa.Table, name: str) -> np.ndarray:
    if name in table.column_names:
        return _to_numpy(table.column(name))
    cells = [cell_name(name, labels) for labels in plan.cells()]
    present = [_to_numpy(table.column(c)) for c in cells if c in table.column_names]
    if not present and _nothing_came_back(table):
        return np.full(len(table), np.nan)
    if not present or len(present) < len(cells):
        raise StudyError(
            f"a measure reads column {name!r}, which simulate did not return; "
            + nearest(name, stored_columns(table.column_names))
        )
    stacked = np.stack(present, axis=1)
    return stacked.reshape(len(stacked), *plan.shape)


def _nothing_came_back(table: pa.Table) -> bool:
    """Whether every block of it failed as a whole, so that no column of values is known."""
    return ERROR in table.column_names and table.column(ERROR).null_count == 0


def stored_columns(names: list[str]) -> dict[str, None]:
    """Columns as `simulate` named them, from their names in the store."""
    return dict.fromkeys(name.split("[")[0] for name in names if name not in RESERVED)


def _to_numpy(column: pa.ChunkedArray) -> np.ndarray:
    """Without nulls the stored type; with nulls floats with NaN, or text with None."""
    if column.null_count and not pa.types.is_string(column.type):
        column = column.cast(pa.float64())
    array: np.ndarray = column.to_numpy()
    return array


def stored_names(plan: Plan, names: tuple[str, ...]) -> list[str]:
    """Names in the store that these columns may have."""
    return [
        stored
        for name in names
        for stored in (name, *(cell_name(name, labels) for labels in plan.cells()))
    ]


def scenario_table(plan: Plan) -> pa.Table:
    """The factors of every scenario, beside its key."""
    rows = [{"scenario": key, **factors_of(one)} for key, one in plan.keys.items()]
    names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
