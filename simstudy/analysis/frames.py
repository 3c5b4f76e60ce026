"""Stored rows as tidy frames: replicates, and failures with their addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.analysis.assembly import every_column
from simstudy.analysis.summary import factor_names
from simstudy.design import Plan, Scenario, factors_of, scenario_key
from simstudy.engine.block import Address
from simstudy.lazy.pandas import pd
from simstudy.store.blocks import Store
from simstudy.store.columns import columns_of, simulated_columns
from simstudy.store.layout import ERROR, cell_name, column_of, has_text


# ---------------------------------------------------------------- replicates
def replicate_frame(
    plan: Plan, store: Store, scenario: Scenario, n_rep: int, names: Sequence[str] | None = None
) -> pd.DataFrame:
    """A scenario's replicates, one row for each and each cell of the axes, if any column has them.

    Parameters
    ----------
    names
        Columns that `simulate` returned; all, if None.
    """
    if plan.methods:
        found = every_column(plan, store, scenario_key(scenario), n_rep, names)
        return _tidy(plan, factors_of(scenario), np.arange(n_rep), found)
    table = store.read(scenario_key(scenario), n_rep)
    wanted = tuple(simulated_columns(table.column_names) if names is None else names)
    columns = columns_of(plan, table, wanted)
    return _tidy(plan, factors_of(scenario), table.column("rep").to_numpy(), columns)


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
    names = [name for name in store.column_names() if column_of(name) == ERROR]
    return bool(names) and any(_has_failed(store, key, n_rep[key], names) for key in plan.keys)


def _has_failed(store: Store, key: str, n_rep: int, names: Sequence[str]) -> bool:
    table = store.read(key, n_rep, names)
    return any(column.null_count < len(column) for column in table.columns)


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
    whole = {ERROR: ("",) * len(plan.axes)}  # an error of the replicate, in no cell of its own
    labels_of = whole | {cell_name(ERROR, labels): labels for labels in plan.cells()}
    table = store.read(key, n_rep, list(labels_of))
    for name in table.column_names:
        texts = table.column(name).to_numpy()
        cell = dict(zip(plan.axes, labels_of[name], strict=True))
        for rep in np.flatnonzero(has_text(texts)).tolist():
            place = {"block": rep // plan.block_size, "rep": rep}
            error = {ERROR: texts[rep], "address": str(Address(key, rep))}
            yield factors_of(scenario) | place | cell | error
