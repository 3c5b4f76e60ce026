"""Moments in place of replicates (`keep=summary`): one row per block.

A million replicates then cost as much disk as a thousand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Plan, number_factors, number_properties
from simstudy.errors import StudyError
from simstudy.lazy import pc
from simstudy.measures import Measure, MomentMeasure, Moments
from simstudy.store.arrow_schema import ERROR, Block, ReplicateStorage
from simstudy.store.columns import imputed, messages_of_block, with_failures_missing


# ---------------------------------------------------------------- writing
@dataclass(frozen=True)
class MomentStorage:
    """Stores the moments that measures need: one row per block.

    Parameters
    ----------
    worst
        What failed values count as, by column.
    """

    folder: ClassVar[str] = "moments"
    measures: tuple[MomentMeasure, ...]
    worst: Mapping[str, float] = field(default_factory=dict)

    def rows_per_block(self, _plan: Plan) -> int:
        """One row, whatever the size of the block."""
        return 1

    def __call__(self, plan: Plan, blocks: Sequence[Block]) -> pa.Table:
        rows = [self._row(plan, block) | messages_of_block(block) for block in blocks]
        names = dict.fromkeys(name for row in rows for name in row)
        lists = {name: _lists([row.get(name) for row in rows]) for name in names}
        keys = [block.key for block in blocks]
        return pa.table({"scenario": keys, "rep": [block.number for block in blocks], **lists})

    def _row(self, plan: Plan, block: Block) -> dict[str, np.ndarray]:
        came_back = with_failures_missing(block, plan.vectors)
        read = {name for measure in self.measures for name in measure.reads}
        numbers = number_factors(block.scenario)
        numbers |= number_properties(block.scenario, read - {*numbers, *(came_back or ())})
        given = {name: np.asarray(value) for name, value in numbers.items()}
        known = {**given, **came_back} if came_back else self._nothing(block)
        columns = dict(imputed(known, self.worst))
        row: dict[str, np.ndarray] = {}
        for measure in self.measures:
            moments = measure.moments(_with_replicates(columns, measure.reads, plan.block_size))
            row |= _moments_row(measure.name, moments if came_back else moments._replace(centre=()))
        return row

    def _nothing(self, block: Block) -> dict[str, np.ndarray]:
        """The columns of a block that failed completely: NaN in every cell."""
        names = dict.fromkeys(name for measure in self.measures for name in measure.reads)
        return dict.fromkeys(names, np.full(len(block.columns[ERROR]), np.nan))


StoragePolicy = ReplicateStorage | MomentStorage
"""What is stored of blocks: all rows, or moments."""


def _with_replicates(
    columns: Mapping[str, np.ndarray], names: Sequence[str], n_rep: int
) -> Mapping[str, np.ndarray]:
    """Repeat constants for each replicate, where a measure reads nothing else."""
    if any(np.ndim(columns.get(name, 0.0)) for name in names):
        return columns
    return {**columns, **{n: np.broadcast_to(columns[n], n_rep) for n in names if n in columns}}


def streamable(measures: Sequence[Measure]) -> tuple[MomentMeasure, ...]:
    """The measures in a form that needs no replicates; refuses those without one."""
    needy = [measure.name for measure in measures if not isinstance(measure, MomentMeasure)]
    if needy:
        raise StudyError(
            f"keep=summary keeps no replicates, and {', '.join(needy)} cannot do without. "
            "Run with keep=replicates, or leave these measures out."
        )
    return tuple(measure for measure in measures if isinstance(measure, MomentMeasure))


def _moments_row(name: str, moments: Moments) -> dict[str, np.ndarray]:
    """The components of moments, each as one list of numbers."""
    return {
        f"{name}.n": moments.n.ravel(),
        f"{name}.n_failed": moments.n_failed.ravel(),
        f"{name}.mean": moments.mean.ravel(),
        f"{name}.comoment": moments.comoment.ravel(),
        f"{name}.centre": np.concatenate([np.empty(0), *map(np.ravel, moments.centre)]),
        shape_column(name): np.asarray((len(moments.mean), *moments.n.shape)),
    }


def shape_column(name: str) -> str:
    """The stored column with a measure's number of terms and its cells."""
    return f"{name}.shape"


def moment_columns(name: str) -> list[str]:
    """The stored columns of a measure's moments."""
    return [*(f"{name}.{part}" for part in Moments._fields), shape_column(name)]


def _lists(rows: Sequence[np.ndarray | None]) -> pa.Array:
    """A column with one list per row; null for none."""
    there = [row for row in rows if row is not None]
    lengths = [0 if row is None else len(row) for row in rows]
    offsets = np.cumsum([0, *lengths], dtype=np.int32)
    mask = pa.array([row is None for row in rows]) if len(there) < len(rows) else None
    return pa.ListArray.from_arrays(offsets, pa.array(np.concatenate(there)), mask=mask)


# ---------------------------------------------------------------- reading
def merged_moments(name: str, table: pa.Table) -> Moments:
    """Merge a measure's moments of all blocks, pairwise in order."""
    n_terms, *cells = _longest(table.column(shape_column(name)))
    n, n_failed, mean, comoment, centre = (
        _stacked_lists(table, f"{name}.{part}") for part in Moments._fields
    )
    blocks = Moments(  # the block is a last axis, which is halved until it is gone
        n.astype(int).reshape(*cells, -1),
        n_failed.astype(int).reshape(*cells, -1),
        mean.reshape(n_terms, *cells, -1),
        comoment.reshape(n_terms, n_terms, *cells, -1),
        _one_centre(name, centre),
    )
    while blocks.n.shape[-1] > 1:
        blocks = _halved(blocks)
    return _sliced(blocks, np.s_[..., 0])


def _halved(blocks: Moments) -> Moments:
    even = blocks.n.shape[-1] // 2 * 2
    merged = _sliced(blocks, np.s_[..., 0:even:2]) + _sliced(blocks, np.s_[..., 1:even:2])
    rest = _sliced(blocks, np.s_[..., even:])
    joined = (np.concatenate(pair, axis=-1) for pair in zip(merged[:-1], rest[:-1], strict=True))
    return Moments._make([*joined, blocks.centre])


def _sliced(blocks: Moments, location: Any) -> Moments:
    """The same positions of every component."""
    *numbers, centre = blocks
    return Moments._make([*(part[location] for part in numbers), centre])


def _stacked_lists(table: pa.Table, name: str) -> np.ndarray:
    """A column of lists as `(value, block)`; shorter lists are repeated over cells.

    Blocks without a value, which have no centre, are left out.
    """
    column = table.column(name).combine_chunks()
    values = column.flatten().to_numpy(zero_copy_only=False)
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    if (lengths == lengths[0]).all():
        return np.ascontiguousarray(values.reshape(len(table), -1).T)
    rows = [row for row in np.split(values, np.cumsum(lengths)[:-1]) if row.size]
    return np.stack([np.repeat(row, lengths.max() // row.size) for row in rows], axis=1)


def _one_centre(name: str, centre: np.ndarray) -> tuple[np.ndarray, ...]:
    if centre.size and not np.array_equal(centre, centre[:, :1].repeat(centre.shape[1], 1)):
        raise StudyError(
            f"{name}: blocks were centred on different values, so their squares cannot be added. "
            "Give the measure a fixed `around`."
        )
    return tuple(np.asarray(value) for value in centre[:, 0]) if centre.size else ()


def spread_over(moments: Moments, cells: tuple[int, ...]) -> Moments:
    """Repeat numbers for all cells."""
    *numbers, centre = moments
    wide = (np.multiply.outer(part, np.ones(cells, np.asarray(part).dtype)) for part in numbers)
    return Moments._make([*map(np.asarray, wide), centre])


def _longest(column: pa.ChunkedArray) -> list[int]:
    """The longest list: a block that failed completely does not know the number of cells."""
    at = int(np.argmax(pc.list_value_length(column).to_numpy()))
    found: list[int] = column[at].as_py()
    return found
