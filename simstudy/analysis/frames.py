"""Stored rows as tidy data frames: replicates, failures, warnings and run times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.analysis.replicates import Replicates
from simstudy.analysis.summary import factor_names
from simstudy.design import Scenario
from simstudy.design.plan import Plan, base_scenario, factors_in
from simstudy.engine.block import Address
from simstudy.lazy import pd
from simstudy.store.arrow_schema import ERROR, WARNING, WHOLE_REPLICATE, Message
from simstudy.store.runs import BlockTimings

BETWEEN_WARNINGS = re.compile(r"; (?=\w*Warning: )")  # separates the warnings of a replicate


# ---------------------------------------------------------------- replicates
def replicate_frame(
    rows: Replicates, scenario: Scenario, names: Sequence[str] | None = None
) -> pd.DataFrame:
    """A scenario's replicates as a frame, one row per replicate and cell.

    Parameters
    ----------
    names
        Columns that `simulate` returned, or that are derived; all but vectors, if None.
    """
    key = rows.plan.key_of(scenario)
    columns = rows.tidy_columns(key, names)
    frame = _tidy(rows.plan, factors_in(rows.plan, scenario), np.arange(rows.n_rep[key]), columns)
    absent, axis = rows.not_applied.get(key, ()), next(iter(rows.plan.axes), "")
    return frame[~frame[axis].isin(absent)] if absent and axis in frame else frame


def _tidy(
    plan: Plan, factors: Mapping[str, Any], rep: np.ndarray, columns: Mapping[str, np.ndarray]
) -> pd.DataFrame:
    """One row per cell, if any column has axes."""
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
    """A factor's column name; another one if a column with other values has it."""
    is_hidden = name in columns and not np.all(columns[name] == value)
    return f"{name} (factor)" if is_hidden else name


# ---------------------------------------------------------------- failures, warnings
def failure_frame(rows: Replicates) -> pd.DataFrame:
    """A frame with one row per failed replicate and cell: error and address."""
    plan = rows.plan.work_units
    cells = [*plan.cells()]
    found = [
        factors_in(plan, plan.keys[key])
        | {"block": at.rep // plan.block_size, "rep": at.rep}
        | dict(zip(plan.axes, _labels(plan, cells, at), strict=True))
        | {ERROR: at.text, "address": str(Address(key, at.rep))}
        for key, at in rows.messages(ERROR)
    ]
    names = [*factor_names(rows.plan), "block", "rep", *rows.plan.axes, ERROR, "address"]
    return pd.DataFrame(found, columns=names)


def _labels(plan: Plan, cells: Sequence[tuple[str, ...]], at: Message) -> tuple[str, ...]:
    """The labels of a message's cell; none for a whole replicate."""
    return ("",) * len(plan.axes) if at.cell == WHOLE_REPLICATE else cells[at.cell]


def failure_rates(plan: Plan, failures: pd.DataFrame, n_rep: Mapping[str, int]) -> pd.DataFrame:
    """How many replicates failed, by scenario, cell of the axes, and kind of error.

    Errors whose texts differ in digits alone are of one kind.

    Parameters
    ----------
    failures
        A row per failed replicate and cell.
    n_rep
        Replicates by scenario key.

    Returns
    -------
    DataFrame
        The factors and axes; replicates that failed, that were drawn, and their ratio; the first
        error of its kind, and its address. No factor has a name with blanks, as these columns have.
    """
    factors = factor_names(plan)
    sizes = {
        str([factors_in(plan, each).get(name) for name in factors]): n_rep[key]
        for key, each in plan.keys.items()
        if key in n_rep
    }
    by = [*factors, *plan.axes]
    kinds = failures[ERROR].astype(str).str.replace(DIGITS, "#", regex=True)
    groups = failures.assign(**{KIND: kinds}).groupby([*by, KIND], sort=False, dropna=False)
    found = groups.agg(**{
        FAILED: ("address", "nunique"), "first error": (ERROR, "first"),
        "first address": ("address", "first"),
    }).reset_index()  # fmt: skip
    keys = found[factors].astype(object).to_numpy().tolist() if factors else [[]] * len(found)
    found[DRAWN] = [sizes.get(str(key), max(n_rep.values())) for key in keys]
    found[RATE] = found[FAILED] / found[DRAWN]
    return found[[*by, FAILED, DRAWN, RATE, "first error", "first address"]]


def warning_counts(rows: Replicates) -> pd.DataFrame:
    """How many replicates gave each warning, by cell of the axes, the most frequent first.

    Returns
    -------
    DataFrame
        The axes, `warning`, `replicates`, in how many `scenarios`, and an `address`.
    """
    plan, axes = rows.plan.work_units, list(rows.plan.axes)
    cells, found = [*plan.cells()], []
    for key, at in rows.messages(WARNING):
        scenario = plan.keys[key]
        labels = dict(zip(plan.axes, _labels(plan, cells, at), strict=True))
        where = [str((factors_in(plan, scenario) | labels)[axis]) for axis in axes]
        about = id(base_scenario(scenario)), str(Address(key, at.rep))
        texts = dict.fromkeys(BETWEEN_WARNINGS.split(at.text))
        found += [(*where, text, *about) for text in texts]
    by = [*axes, WARNING]
    frame = pd.DataFrame(found, columns=[*by, "scenario", "address"])
    counts = frame.groupby(by, sort=False).agg(
        replicates=("address", "size"), scenarios=("scenario", "nunique"),
        address=("address", "first"),
    ).reset_index()  # fmt: skip
    return counts.sort_values("replicates", ascending=False, kind="stable", ignore_index=True)


KIND, FAILED, DRAWN, RATE = "kind of error", "failed replicates", "replicates drawn", "rate failed"
DIGITS = r"-?\d+(?:[.,]\d+)*"
DATA = "(data)"  # method label of the time for drawing data
PER_REPLICATE, IN_ALL, TIMED = "seconds_per_replicate", "seconds", "replicates_timed"


def run_time(plan: Plan, spent: Mapping[str, BlockTimings]) -> pd.DataFrame:
    """Timings, one row per scenario or per scenario and method.

    Returns
    -------
    DataFrame
        The factors, the axis of the methods where there are any, `seconds_per_replicate`,
        `seconds` in all, and `replicates_timed`: those that these seconds were spent on.
    """
    axis = [plan.methods_axis] if plan.methods else []
    factors = [_besides(name) for name in factor_names(plan)]
    names = [*factors, *axis, PER_REPLICATE, IN_ALL, TIMED]
    rows = (row for key in plan.keys for row in _rows_of(plan, key, spent))
    return pd.DataFrame(list(rows), columns=names)


def _besides(name: str) -> str:
    """The name of a factor's column in a table that has columns of times."""
    return f"{name} (factor)" if name in (PER_REPLICATE, IN_ALL, TIMED) else name


def _rows_of(plan: Plan, key: str, spent: Mapping[str, BlockTimings]) -> Iterator[dict[str, Any]]:
    named = factors_in(plan, plan.keys[key])
    factors = {_besides(name): value for name, value in named.items()}
    timed = {drawn: spent[drawn] for drawn in plan.unit_keys[key] if drawn in spent}
    n_data = max((each.n_blocks for each in timed.values()), default=0)
    on_data = sum(each.data for each in timed.values())
    if on_data:
        yield factors | {plan.methods_axis: DATA} | _numbers(plan, n_data, on_data)
    methods = {d: m.name for d, m in zip(plan.unit_keys[key], plan.methods, strict=False)}
    for drawn, each in timed.items():
        named = {plan.methods_axis: methods[drawn]} if plan.methods else {}
        yield factors | named | _numbers(plan, each.n_blocks, each.own)


def _numbers(plan: Plan, n_blocks: int, seconds: float) -> dict[str, float]:
    n_rep = n_blocks * plan.block_size
    return {PER_REPLICATE: seconds / n_rep, IN_ALL: seconds, TIMED: n_rep}
