"""Stored rows as tidy frames: replicates, and failures with their addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.analysis.assembly import Rows
from simstudy.analysis.summary import factor_names
from simstudy.design import Scenario
from simstudy.engine.block import Address
from simstudy.lazy.pandas import pd
from simstudy.plan import Plan, factors_of
from simstudy.store.batches import read_each
from simstudy.store.blocks import Store
from simstudy.store.columns import errors_in, texts_of
from simstudy.store.layout import CELL_ERROR, ERROR, has_text


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
    frame: dict[str, Any] = {name: [value] * n_rows for name, value in factors.items()}
    frame["rep"] = np.repeat(rep, len(cells))
    if with_axes:
        labels = np.array(cells, dtype=object)
        frame |= {axis: np.tile(labels[:, i], len(rep)) for i, axis in enumerate(plan.axes)}
    for name, column in columns.items():
        flat = column.reshape(len(rep), -1)
        frame[name] = np.broadcast_to(flat, (len(rep), len(cells))).ravel()
    return pd.DataFrame(frame)


# ---------------------------------------------------------------- failures
def any_failure(plan: Plan, store: Store, n_rep: Mapping[str, int]) -> bool:
    """Whether any of these replicates failed, whatever else is stored beside them."""
    names = store.column_names() & {ERROR, CELL_ERROR}
    if not names:
        return False
    sizes = {key: n_rep[key] for key in plan.keys}
    return any(errors_in(batch.table) for batch in read_each(store, sizes, sorted(names)))


def no_failures() -> pd.DataFrame:
    """The frame of failures where there is none."""
    return pd.DataFrame(columns=["address", ERROR])


def failure_frame(plan: Plan, store: Store, n_rep: Mapping[str, int]) -> pd.DataFrame:
    """One row per failed replicate and cell, with its error and its address."""
    found = [
        row
        for key, scenario in plan.keys.items()
        for row in _failures_of(plan, store, key, scenario, n_rep[key])
    ]
    names = [*factor_names(plan), "block", "rep", *plan.axes, ERROR, "address"]
    return pd.DataFrame(found, columns=names)


def _failures_of(
    plan: Plan, store: Store, key: str, scenario: Scenario, n_rep: int
) -> Iterator[dict[str, Any]]:
    table = store.read(key, n_rep, [ERROR, CELL_ERROR])
    whole = [("",) * len(plan.axes)]  # an error of the replicate is in no cell of its own
    labels_of = {ERROR: whole, CELL_ERROR: list(plan.cells())}
    for name in table.column_names:
        texts = texts_of(table, name).reshape(len(table), -1)
        for rep, cell in np.argwhere(has_text(texts)).tolist():
            place = {"block": rep // plan.block_size, "rep": rep}
            labels = dict(zip(plan.axes, labels_of[name][cell], strict=True))
            error = {ERROR: texts[rep, cell], "address": str(Address(key, rep))}
            yield factors_of(scenario) | place | labels | error
