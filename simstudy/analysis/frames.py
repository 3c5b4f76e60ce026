"""Stored rows as tidy frames: replicates, and failures with their addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simstudy.analysis.assembly import Rows
from simstudy.analysis.summary import factor_names
from simstudy.design import Scenario
from simstudy.engine.block import Address
from simstudy.lazy.pandas import pd
from simstudy.plan import Plan, factors_of, scenario_behind
from simstudy.store.batches import read_each
from simstudy.store.blocks import Store
from simstudy.store.columns import errors_in
from simstudy.store.layout import ERROR, WARNING
from simstudy.store.texts import WHOLE, Said, said, stored_texts

BETWEEN_WARNINGS = re.compile(r"; (?=\w*Warning: )")  # of one replicate, each after its class


# ---------------------------------------------------------------- replicates
def replicate_frame(
    rows: Rows, scenario: Scenario, names: Sequence[str] | None = None
) -> pd.DataFrame:
    """A scenario's replicates, one row for each and each cell of the axes, if any column has them.

    Parameters
    ----------
    names
        Columns that `simulate` returned, or that are derived; all but vectors, if None.
    """
    key = rows.plan.key_of(scenario)
    columns = rows.tidy_columns(key, names)
    return _tidy(rows.plan, factors_of(scenario), np.arange(rows.n_rep[key]), columns)


def _tidy(
    plan: Plan, factors: Mapping[str, Any], rep: np.ndarray, columns: Mapping[str, np.ndarray]
) -> pd.DataFrame:
    """Long in the axes, if any column has them."""
    with_axes = any(column.ndim > 1 for column in columns.values())
    cells = list(plan.cells()) if with_axes else [()]
    n_rows = len(rep) * len(cells)
    frame: dict[str, Any] = {
        _name_of_factor(name, value, columns): [value] * n_rows for name, value in factors.items()
    }
    frame["rep"] = np.repeat(rep, len(cells))
    if with_axes:
        labels = np.array(cells, dtype=object)
        frame |= {axis: np.tile(labels[:, i], len(rep)) for i, axis in enumerate(plan.axes)}
    for name, column in columns.items():
        flat = column.reshape(len(rep), -1)
        frame[name] = np.broadcast_to(flat, (len(rep), len(cells))).ravel()
    return pd.DataFrame(frame)


def _name_of_factor(name: str, value: Any, columns: Mapping[str, np.ndarray]) -> str:
    """Its own, unless a column has that name and other values: both are to be seen."""
    is_hidden = name in columns and not np.all(columns[name] == value)
    return f"{name} (factor)" if is_hidden else name


# ---------------------------------------------------------------- failures, warnings
def any_failure(plan: Plan, store: Store, n_rep: Mapping[str, int]) -> bool:
    """Whether any of these replicates failed, whatever else is stored beside them."""
    names = store.column_names() & stored_texts(ERROR)
    if not names:
        return False
    size = plan.block_size if store.rows_per_block < plan.block_size else 1
    sizes = {key: n_rep[key] // size for key in plan.keys}
    return any(errors_in(batch.table) for batch in read_each(store, sizes, sorted(names)))


def no_failures() -> pd.DataFrame:
    """The frame of failures where there is none."""
    return pd.DataFrame(columns=["address", ERROR])


def failure_frame(plan: Plan, store: Store, n_rep: Mapping[str, int]) -> pd.DataFrame:
    """One row per failed replicate and cell, with its error and its address."""
    cells = [*plan.cells()]
    found = [
        factors_of(scenario)
        | {"block": at.rep // plan.block_size, "rep": at.rep}
        | dict(zip(plan.axes, _labels(plan, cells, at), strict=True))
        | {ERROR: at.text, "address": str(Address(key, at.rep))}
        for key, scenario in plan.keys.items()
        for at in said(store, key, n_rep[key], plan.block_size, ERROR)
    ]
    names = [*factor_names(plan), "block", "rep", *plan.axes, ERROR, "address"]
    return pd.DataFrame(found, columns=names)


def _labels(plan: Plan, cells: Sequence[tuple[str, ...]], at: Said) -> tuple[str, ...]:
    """Of the cell of what was said; of a whole replicate, none."""
    return ("",) * len(plan.axes) if at.cell == WHOLE else cells[at.cell]


def warning_counts(
    plan: Plan, store: Store, n_rep: Mapping[str, int], axes: Sequence[str]
) -> pd.DataFrame:
    """How many replicates warned of what, by cell of the axes: the most frequent first.

    Returns
    -------
    DataFrame
        The axes, `warning`, `replicates`, in how many `scenarios`, and an `address`.
    """
    names = [*axes, WARNING, "replicates", "scenarios", "address"]
    if not store.column_names() & stored_texts(WARNING):
        return pd.DataFrame(columns=names)
    cells, counts = [*plan.cells()], dict[tuple[str, ...], _Count]()
    for key, scenario in plan.keys.items():
        factors = factors_of(scenario)
        for at in said(store, key, n_rep[key], plan.block_size, WARNING):
            labels = dict(zip(plan.axes, _labels(plan, cells, at), strict=True))
            where = [str((factors | labels)[axis]) for axis in axes]
            for text in dict.fromkeys(BETWEEN_WARNINGS.split(at.text)):
                counts.setdefault((*where, text), _Count(Address(key, at.rep))).add(scenario)
    rows = [
        (*place, count.n, len(count.scenarios), str(count.first)) for place, count in counts.items()
    ]
    frame = pd.DataFrame(rows, columns=names)
    return frame.sort_values("replicates", ascending=False, kind="stable", ignore_index=True)


@dataclass
class _Count:
    first: Address
    n: int = 0
    scenarios: set[int] = field(default_factory=set)  # by their places in memory

    def add(self, drawn: Scenario) -> None:
        self.n += 1
        self.scenarios.add(id(scenario_behind(drawn)))
