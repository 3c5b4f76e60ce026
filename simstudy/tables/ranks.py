"""Methods ranked by a measure in every scenario, with the difference from the best."""

from __future__ import annotations

import math
from typing import Any, Protocol

from simstudy.errors import TableError
from simstudy.lazy import pd
from simstudy.tables.summary import (
    MEASURE,
    PARENTHESES,
    as_words,
    factor_column,
    format_constants,
    is_constant,
)
from simstudy.tables.table import Column, Table

ERROR = "difference_mcse"
PAIRED = "Differences are paired: both methods analyse the same data."


class Comparable(Protocol):
    """What `ranked_methods` needs of a result."""

    @property
    def summary(self) -> pd.DataFrame:
        """One row per scenario, cell and measure."""

    def contrast(self, measure: str, *, axis: str, first: str, second: str) -> pd.DataFrame:
        """One row per scenario and cell: the paired difference."""


def ranked_methods(
    result: Comparable, measure: str, *, axis: str = "method", largest_first: bool = False
) -> Table:
    """Rank the methods of every scenario.

    Parameters
    ----------
    result
        Of a study with several methods, such as `study.run()` gives.
    measure
        Name of the measure that they are ranked by.
    axis
        Name of the axis of methods.
    largest_first
        Whether the method with the largest value is the best, as for power; else that with the
        smallest, as for a mean squared error.

    Returns
    -------
    Table
        A row per scenario and method: `rank` (equal values share one), `estimate` and its Monte
        Carlo error, and `difference` from the best method of the scenario, with the error of the
        replicates that both share; the best itself has none. A method without an estimate comes
        last and has no rank.

    Raises
    ------
    TableError
        Where the summary has no such axis or measure.
    """
    summary = result.summary
    names = summary[MEASURE].unique().tolist()
    if axis not in summary.columns or measure not in names:
        raise TableError(
            f"methods cannot be ranked by measure={measure!r} along axis={axis!r}: the summary has "
            f"the measures {', '.join(names)} and the columns {', '.join(summary.columns)}."
        )
    before = list(summary.columns[: list(summary.columns).index(MEASURE)])
    factors = [name for name in before if name != axis]
    paired: dict[tuple[str, str], dict[tuple[str, ...], Any]] = {}

    def difference(row: Any, best: Any) -> tuple[float, float]:
        first, second = row[axis], best[axis]
        if first == second:
            return math.nan, math.nan
        if (first, second) not in paired:
            frame = result.contrast(measure, axis=axis, first=first, second=second)
            paired[first, second] = {
                _scenario(each, factors): (each["estimate"], each["mcse"])
                for each in frame.to_dict("records")
            }
        apart, error = paired[first, second][_scenario(row, factors)]
        return apart, error

    groups: dict[tuple[str, ...], list[Any]] = {}
    for row in summary[summary[MEASURE] == measure].to_dict("records"):
        groups.setdefault(_scenario(row, factors), []).append(row)
    rows = []
    for group in groups.values():
        values = pd.Series([row["estimate"] for row in group], dtype=float)
        ranks = values.rank(method="min", ascending=not largest_first)
        order = ranks.sort_values(kind="stable").index
        for at in order:
            row = group[at]
            apart, error = difference(row, group[order[0]])
            shown = {name: row[name] for name in (*factors, axis)}
            numbers = {"estimate": row["estimate"], "mcse": row["mcse"]}
            rows.append({**shown, "rank": ranks[at], **numbers, "difference": apart, ERROR: error})
    frame = pd.DataFrame(rows)
    same = {name: frame[name].iloc[0] for name in factors if is_constant(frame[name])}
    frame = frame.drop(columns=[*same])
    columns: dict[str, Column | str] = {
        name: factor_column(frame[name].tolist(), {}) for name in before if name not in same
    }
    columns |= {
        "rank": Column(decimals=0),
        "estimate": Column(as_words(measure), mcse="mcse"),
        "difference": Column("difference from the best", mcse=ERROR),
    }
    notes = [format_constants(same, {}), PARENTHESES, PAIRED]
    caption = f"Methods ranked by {as_words(measure)}"
    return Table(frame, caption, columns, [*filter(None, notes)])


def _scenario(row: Any, factors: list[str]) -> tuple[str, ...]:
    """The identity of a scenario and cell; NaN and None are values."""
    return tuple(repr(row[name]) for name in factors)
