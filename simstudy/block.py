"""One block: drawn, checked, and laid out as a table with one row per replicate."""

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.attempt import describe, is_machine_trouble
from simstudy.data import data_parts
from simstudy.design import Plan, factors_of, scenario_key
from simstudy.errors import StudyError
from simstudy.naming import nearest
from simstudy.reads import watching

RESERVED = ("scenario", "rep")
ERROR = "error"


class Address(NamedTuple):
    """Where a replicate is found again: `scenario-key/replicate`."""

    key: str
    rep: int

    def __str__(self) -> str:
        return f"{self.key}/{self.rep}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        key, _, rep = text.partition("/")
        if not key or not rep.isdecimal():
            raise StudyError(
                f"{text!r} is not the address of a replicate. Copy one from failures.parquet or "
                "the closing table; it reads like 3f2a90c1d4e5b678/1234."
            )
        return cls(key, int(rep))


class Block(NamedTuple):
    """What one block computed: its columns, and how many of its replicates failed.

    `machine` where it failed for want of memory, disk or the like, which is nothing to keep.
    """

    scenario: Any
    number: int
    columns: dict[str, np.ndarray]
    n_failed: int
    machine: bool = False  # whether it failed by the machine's fault, and not by a method's


def draw_block(plan: Plan, scenario: Any, index: int) -> Block:
    """Simulate one block; an exception becomes rows with its text, so the rest can go on.

    Columns that are not what a study may return are no failure of a replicate but a mistake in the
    study, the same in every block: that is raised.
    """
    try:
        columns = simulate_columns(plan, scenario, index)
    except StudyError as error:
        raise StudyError(f"{scenario!r}: {error}") from error
    except (Exception, SystemExit) as error:  # a method may not end the run, nor its status
        if plan.on_failure == "abort":
            raise
        machine = is_machine_trouble(error)
        return failed_block(plan, scenario, index, describe(error), machine=machine)
    return Block(scenario, index, columns, _count_failed(columns.get(ERROR)))


def failed_block(
    plan: Plan, scenario: Any, index: int, reason: str, *, machine: bool = False
) -> Block:
    """A block of which nothing came back."""
    columns = {ERROR: np.full(plan.block_size, reason, dtype=object)}
    return Block(scenario, index, columns, plan.block_size, machine)


def simulate_columns(plan: Plan, scenario: Any, index: int) -> dict[str, np.ndarray]:
    """What `simulate` returns for a block, each `()`, `(rep,)` or `(rep, *axes)`."""
    return checked_columns(plan, _simulated(plan, scenario, index))


def checked_columns(plan: Plan, raw: Any) -> dict[str, np.ndarray]:
    """What `simulate` returned as columns of full shape, with what is missing named."""
    if not isinstance(raw, Mapping):
        raise StudyError(
            f"simulate returned {type(raw).__name__}, not columns by name: return a dict of arrays."
        )
    columns = {name: _checked(plan, name, value) for name, value in raw.items()}
    return _with_missing_named(plan, columns)


def _simulated(plan: Plan, scenario: Any, index: int) -> Any:
    """What `simulate` returns, or raises, from nothing but what the scenario declares."""
    for data in data_parts(scenario):
        data.check()
    with watching() as undeclared:
        try:
            return scenario.simulate(plan.streams(scenario, index), plan.block_size)
        finally:
            _refuse_undeclared(undeclared)


def _refuse_undeclared(paths: Sequence[str]) -> None:
    """A mistake in the study, whatever else went wrong after the file was read."""
    if paths:
        more = f" (and {len(paths) - 1} more files)" if len(paths) > 1 else ""
        raise StudyError(
            f"simulate read {paths[0]}{more}, which the study does not declare, so a change of "
            "that file would go unnoticed. Make it a part of the scenario: a field `data: Data`, "
            f"given Data.file({_near(paths[0])!r}), and read it with {_how_to_read(paths[0])}."
        )


def _near(path: str) -> str:
    """The path as one would type it in the current folder."""
    return path.removeprefix(os.getcwd() + os.sep)


def _how_to_read(path: str) -> str:
    readers = {".csv": "frame()", ".parquet": "frame()", ".npy": "array()", ".txt": "text()"}
    reader = readers.get(os.path.splitext(path)[1])
    return f"self.data.{reader}" if reader else "self.data.bytes() or from self.data.path"


def _checked(plan: Plan, name: str, value: Any) -> np.ndarray:
    array = np.asarray(value)
    if name in RESERVED or not name or set(name) & set("[],"):
        raise StudyError(
            f"simulate returned a column {name!r}, a name that is the engine's own. Rename it."
        )
    if array.dtype.kind not in "biufUO" or (array.dtype == object and not _is_text(name, array)):
        raise StudyError(
            f"column {name!r} holds {array.dtype}: return booleans, integers, floats or text."
        )
    if array.ndim == 0:
        return np.broadcast_to(array, plan.block_size) if name == ERROR else array
    full = (plan.block_size, *plan.shape)
    target = full if array.ndim > 1 else full[:1]
    if array.shape == target:
        return array
    if not _fits(array, target):
        axes = ", ".join(f"{axis}: {len(labels)}" for axis, labels in plan.axes.items())
        raise StudyError(
            f"column {name!r} has shape {array.shape}; with n_rep={plan.block_size} it must be "
            f"{full[:1]}" + (f" or {full} (axes {axes})" if axes else "") + "."
        )
    return np.broadcast_to(array, target)


def _fits(array: np.ndarray, target: tuple[int, ...]) -> bool:
    """One value for each replicate; an axis of size 1 holds for all of its positions."""
    if array.ndim != len(target) or len(array) != target[0]:
        return False
    return all(n in (1, wanted) for n, wanted in zip(array.shape, target, strict=True))


def _is_text(name: str, array: np.ndarray) -> bool:
    return name == ERROR or all(isinstance(one, str | None) for one in array.flat)


def _with_missing_named(plan: Plan, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """NaN where a study did not announce it is a failure: say so in the `error` column."""
    for name, array in columns.items():
        if array.dtype.kind == "f" and name not in plan.may_be_missing and np.isnan(array).any():
            missing = np.broadcast_to(np.isnan(array), (plan.block_size, *array.shape[1:]))
            columns = columns | {ERROR: _errors_with(columns.get(ERROR), name, missing)}
    return columns


def _errors_with(errors: np.ndarray | None, name: str, missing: np.ndarray) -> np.ndarray:
    text = np.full(missing.shape, None, dtype=object)
    text[missing] = f"NaN in {name}"
    if errors is None:
        return text
    if errors.ndim < text.ndim:
        errors = errors.reshape(errors.shape + (1,) * (text.ndim - errors.ndim))
    elif text.ndim < errors.ndim:
        text = text.reshape(text.shape + (1,) * (errors.ndim - text.ndim))
    return np.where(has_text(errors), errors, text)


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


def _count_failed(errors: np.ndarray | None) -> int:
    if errors is None:
        return 0
    return int(has_text(errors).reshape(len(errors), -1).any(axis=1).sum())


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
    rows = [{"scenario": key} | factors_of(one) for key, one in plan.keys.items()]
    names = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
