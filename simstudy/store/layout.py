"""How blocks lie in a table: one row per replicate, one column per cell of the axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from simstudy.design import Plan, Scenario
from simstudy.measures import MomentMeasure

RESERVED = ("scenario", "rep")
ERROR = "error"


class Block(NamedTuple):
    """What one block computed: its columns, and how many of its replicates failed.

    `machine` where it failed for want of memory, disk or the like, which is nothing to keep.
    """

    scenario: Scenario
    number: int
    columns: dict[str, np.ndarray]
    n_failed: int
    key: str  # of the scenario, or of one method of it
    machine: bool = False  # whether it failed by the machine's fault, and not by a method's


class Keep(Protocol):
    """What is kept of blocks: all of their rows, or moments."""

    @property
    def folder(self) -> str:
        """Name of the folder that these files have to themselves."""

    @property
    def measures(self) -> Sequence[MomentMeasure]:
        """Measures that what is kept depends on."""

    def rows_per_block(self, plan: Plan, /) -> int:
        """Rows that each block has in its table."""

    def __call__(self, plan: Plan, blocks: Sequence[Block], /) -> pa.Table:
        """The table that is kept of some blocks, in order."""


@dataclass(frozen=True)
class KeepReplicates:
    """Keeps every row of a block."""

    folder: ClassVar[str] = "replicates"
    measures: ClassVar[tuple[MomentMeasure, ...]] = ()

    def rows_per_block(self, plan: Plan) -> int:
        """A row for each replicate."""
        return plan.block_size

    def __call__(self, plan: Plan, blocks: Sequence[Block]) -> pa.Table:
        tables = [_rows_of_block(plan, block) for block in blocks]
        return pa.concat_tables(tables, promote_options="permissive")


def _rows_of_block(plan: Plan, block: Block) -> pa.Table:
    size = plan.block_size
    rep = np.arange(block.number * size, (block.number + 1) * size, dtype=np.int64)
    key = pa.repeat(pa.scalar(block.key), size)
    arrays: dict[str, Any] = {"scenario": key, "rep": rep}
    failed = failed_cells(block.columns)
    for name, array in block.columns.items():
        full = np.broadcast_to(array, (size, *array.shape[1:]))
        arrays |= _cell_columns(
            plan, name, full, None if name == ERROR else void_cells(full, failed)
        )
    return pa.table(arrays)


def failed_cells(columns: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Where a block failed, `(rep,)` or `(rep, *axes)`; None where nothing did."""
    return has_text(columns[ERROR]) if ERROR in columns else None


def void_cells(column: np.ndarray, failed: np.ndarray | None) -> np.ndarray | None:
    """Which values of a column are none, because their cell failed."""
    if failed is None or failed.ndim > column.ndim:
        return None
    wide = failed.reshape(failed.shape + (1,) * (column.ndim - failed.ndim))
    return np.broadcast_to(wide, column.shape)


def has_text(errors: np.ndarray) -> np.ndarray:
    """Where an array of errors holds one."""
    return np.array([text is not None for text in errors.flat], dtype=bool).reshape(errors.shape)


def _cell_columns(
    plan: Plan, name: str, array: np.ndarray, void: np.ndarray | None
) -> dict[str, pa.Array]:
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


def column_of(stored: str) -> str:
    """The column as `simulate` named it, from the name in the store of it or one of its cells."""
    return stored.split("[")[0]
