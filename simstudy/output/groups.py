"""Estimates of a summary from groups of consecutive blocks, which anyone can draw again.

Each row of a summary is estimated from each group by the code that made the summary. A group can be
drawn again without the others, so that a part of the work checks a published folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simstudy.analysis.estimates import names_read, with_scenarios_last
from simstudy.analysis.result import Result
from simstudy.errors import StudyError
from simstudy.lazy import pd
from simstudy.measures import Columns, Measure

GROUPS = "groups.parquet"
AVERAGES = "averages"  # key in a manifest: measures that are means over replicates
MAX_VALUES = 20_000  # estimates in a file: about 160 kB
MIN_GROUPS, MAX_GROUPS = 10, 100  # groups per scenario
COUNTS = ("n_rep", "n_failed", "n_given")


class Group(NamedTuple):
    """Consecutive blocks of a scenario."""

    group: int
    first_block: int
    last_block: int

    def rows(self, block_size: int, n_rep: int) -> slice:
        """The replicates of the group, among the `n_rep` of the scenario."""
        return slice(self.first_block * block_size, min((self.last_block + 1) * block_size, n_rep))


def groups_of_blocks(n_blocks: int, n_groups: int) -> list[Group]:
    """Divide blocks into at most `n_groups` groups of equal size; the last may be smaller."""
    size = -(-n_blocks // n_groups)
    firsts = range(0, n_blocks, size)
    return [Group(at, first, min(first + size, n_blocks) - 1) for at, first in enumerate(firsts)]


def rows_with_groups(n_rows: int) -> np.ndarray:
    """The rows of a summary that are estimated from groups: all, or as many as fit, spread out."""
    n = min(n_rows, MAX_VALUES // MIN_GROUPS)
    return np.unique(np.linspace(0, n_rows - 1, n).round().astype(int))


def estimates_of_groups(result: Result) -> pd.DataFrame:
    """Estimate each row of a summary from each group of blocks.

    If a summary has very many rows, only some are estimated.

    Parameters
    ----------
    result
        A result with measures, whose replicates are stored in blocks.

    Returns
    -------
    DataFrame
        `row` (its place in the summary), `group`, `first_block`, `last_block`, `n_rep`,
        `n_failed`, `n_given` and `estimate`, which is NaN where the group has none.
    """
    plan, details = result.plan, result.details
    chosen = rows_with_groups(len(result.summary))
    n_groups = min(MAX_GROUPS, MAX_VALUES // len(chosen))
    names, parts, row = names_read(details.measures), [], 0
    for key in plan.keys:
        n_rep = details.n_rep[key]
        groups = groups_of_blocks(plan.n_blocks(n_rep), n_groups)
        columns = details.replicates.columns(key, names)
        for measure in details.measures:
            values = group_estimates(measure, columns, groups, plan.block_size)
            rows = np.arange(row, row + len(values["estimate"]))
            row += len(rows)
            kept = np.isin(rows, chosen)
            parts.append(_frame(rows[kept], groups, {n: v[kept] for n, v in values.items()}))
    return pd.concat(parts, ignore_index=True)


def _frame(
    rows: np.ndarray, groups: Sequence[Group], values: Mapping[str, np.ndarray]
) -> pd.DataFrame:
    repeated = np.tile(np.array(groups, dtype=np.int32).reshape(-1, 3), (len(rows), 1))
    frame = {"row": np.repeat(rows, len(groups)).astype(np.int32)}
    frame |= dict(zip(Group._fields, repeated.T, strict=True))
    frame |= {name: values[name].ravel().astype(np.int32) for name in COUNTS}
    return pd.DataFrame(frame | {"estimate": values["estimate"].ravel()})


def group_estimates(
    measure: Measure, columns: Columns, groups: Sequence[Group], block_size: int
) -> dict[str, np.ndarray]:
    """Estimate a measure from each group of a scenario's replicates.

    Parameters
    ----------
    columns
        The scenario's columns, `(rep, *axes)`.

    Returns
    -------
    dict
        `estimate`, `n_rep`, `n_failed` and `n_given`, each of shape `(cell, group)`.
    """
    read = {name: columns[name] for name in measure.reads}
    n_rep = len(next(iter(read.values())))
    parts = list(_side_by_side(measure, read, groups, block_size, n_rep))
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}


def _side_by_side(
    measure: Measure, columns: Columns, groups: Sequence[Group], block_size: int, n_rep: int
) -> Iterator[dict[str, np.ndarray]]:
    """Estimate the groups of equal size together, as further cells, where cells are independent."""
    slices = [group.rows(block_size, n_rep) for group in groups]
    size = slices[0].stop
    n_equal = sum(part.stop - part.start == size for part in slices)
    if measure.by_cell and n_equal > 1:
        n_axes = max(column.ndim for column in columns.values()) - 1
        wide = {
            name: with_scenarios_last(column[: n_equal * size], (n_equal, size), n_axes)
            for name, column in columns.items()
        }
        try:
            found = measure.values(wide)
        except StudyError:  # not defined in some group
            found = {}
        if found:
            moved = {name: np.moveaxis(part, n_axes, -1) for name, part in found.items()}
            yield {name: part.reshape(-1, n_equal) for name, part in moved.items()}
            slices = slices[n_equal:]
    n_cells = 0
    for part in slices:
        some = {name: column[part] for name, column in columns.items()}
        try:
            one = {n: np.ravel(values)[:, None] for n, values in measure.values(some).items()}
            n_cells = len(one["estimate"])
        except StudyError:
            one = {}
        yield one or _nothing(n_cells or np.size(measure.values(columns)["estimate"]))


def _nothing(n_cells: int) -> dict[str, np.ndarray]:
    counts = {name: np.zeros((n_cells, 1), dtype=int) for name in COUNTS}
    return {"estimate": np.full((n_cells, 1), np.nan)} | counts
