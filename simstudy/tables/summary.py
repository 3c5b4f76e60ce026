"""Summary tables: a row per scenario and cell, a column per measure; ranked methods."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from simstudy.design.reprs import from_to
from simstudy.errors import TableError, nearest
from simstudy.lazy import pd
from simstudy.tables.cells import Grid
from simstudy.tables.table import Column, Table

if TYPE_CHECKING:
    from simstudy.analysis.result import Result

Readings = Mapping[str, Mapping[Any, str]]
Labels = Mapping[Any, str]

MEASURE = "measure"
HEAD_ROWS = 10  # rows in the `repr` of a result
MAX_TABLE_ROWS = 1000  # rows of a summary; a longer table is too long to read
MAX_NAMED = 4  # measures named in a caption
OPTIONAL_COLUMNS = {"variance_reduction": "variance reduction", "n_effective": "carried by"}
"""Headings of the columns of a summary that only some measures have."""
NAME = re.compile(r"[^\W_]+(_[\w.]+)+")  # identifiers of several words
PARENTHESES = "In parentheses: Monte Carlo standard errors, by which numbers are rounded."


def summary_table(
    summary: pd.DataFrame,
    title: str,
    value_labels: Readings = MappingProxyType({}),
    labels: Labels = MappingProxyType({}),
    *,
    axis: str | None = None,
) -> Table:
    """Make a table of a summary, one column per measure; constant columns go to the notes.

    Parameters
    ----------
    summary
        One row per scenario, cell of the axes and measure. Columns: the factors and axes,
        `measure`, `estimate`, `mcse` and `n_rep`.
    title
        Subject of the summary, such as the name of the study.
    value_labels
        Labels for values, by factor.
    labels
        Headings of factors, axes and measures, by name. Default: their names.
    axis
        Factor or axis whose values become columns, such as `method`. Default: the measures.

    Returns
    -------
    Table
        The table.

    Raises
    ------
    TableError
        If the summary has no such factor or axis.
    """
    keys = list(summary.columns[: list(summary.columns).index(MEASURE)])
    if axis is not None and axis not in keys:
        raise TableError(
            f"columns={axis!r} is not a factor or axis of this summary; {nearest(axis, keys)}"
        )
    spread = axis or MEASURE
    names = [name for name in (*keys, MEASURE) if name != spread]
    places = pd.Series(pd.factorize(np.array(identities(summary[names])))[0], index=summary.index)
    firsts = summary[~places.duplicated()]
    same = {name: summary[name].iloc[0] for name in names if is_constant(summary[name])}
    data = {n: firsts[n].tolist() for n in names if n not in same}
    words = {**value_labels, MEASURE: labels}
    columns: dict[str, Column | str] = {
        n: factor_column(data[n], words.get(n, {}), labels.get(n, "")) for n in data
    }
    groups: Iterable[tuple[Any, pd.DataFrame]] = summary.groupby(spread, sort=False, dropna=False)
    for value, rows in groups:
        spread_out = rows.set_axis(places[rows.index]).reindex(range(len(firsts)))
        text = as_words(value)
        heading = words.get(spread, {}).get(value, labels.get(value, text))
        name = value if axis is None else f"{axis}={value}"
        own, error, warned = (_free(f"{name}{end}", keys) for end in ("", "_mcse", "_warning"))
        texts = rows["warning"].astype(object) if "warning" in rows else pd.Series(dtype=object)
        has_warnings = bool((texts.notna() & texts.ne("")).any())
        columns[own] = Column(heading, mcse=error, warning=warned if has_warnings else "")
        data[own] = spread_out["estimate"].tolist()
        data[error] = spread_out["mcse"].tolist()
        if has_warnings:
            data[warned] = spread_out["warning"].astype(object).fillna("").tolist()
        for extra, heading in OPTIONAL_COLUMNS.items() if axis is None else ():
            if extra in rows and rows[extra].notna().any():
                column = _free(f"{name}_{extra}", keys)
                columns[column] = Column(f"{text}: {heading}", decimals=1)
                data[column] = spread_out[extra].tolist()
    notes = [format_constants(same, value_labels, labels), _replicates(summary), PARENTHESES]
    caption = _caption(summary, title, axis or "")
    return Table(pd.DataFrame(data), caption, columns, [*filter(None, notes)])


def as_words(name: Any) -> str:
    """A name for readers: `least_squares` becomes "least squares"."""
    return str(name).replace("_", " ") if NAME.fullmatch(str(name)) else str(name)


def _caption(summary: pd.DataFrame, title: str, axis: str = "") -> str:
    """The caption, such as "Toy: bias and coverage in each scenario"."""
    words = as_words(title)
    names = [as_words(name) for name in summary[MEASURE].unique()]
    *most, last = names if 0 < len(names) <= MAX_NAMED else ["all estimates"]
    named = f"{', '.join(most)} and {last}" if most else last
    where = f"by {as_words(axis)}" if axis else "in each scenario"
    return f"{words[:1].upper()}{words[1:]}: {named} {where}"


def summary_head(table: Table) -> Grid:
    """The first rows of a summary's table, for the `repr` of a result."""
    grid, n = table.grid, HEAD_ROWS
    more = [f"The first {n} of {len(grid.rows):,} rows."] if len(grid.rows) > n else []
    return grid._replace(rows=grid.rows[:n], notes=(*grid.notes, *more))


def factor_column(values: Sequence[Any], words: Mapping[Any, str], heading: str = "") -> Column:
    """A column of factor levels."""
    names = (value for value in values if isinstance(value, str) and NAME.fullmatch(value))
    return Column(heading, words={name: as_words(name) for name in names} | dict(words))


def is_short(summary: pd.DataFrame) -> bool:
    """Whether a table is short enough to read."""
    return 0 < len(summary) <= MAX_TABLE_ROWS


def identities(keys: pd.DataFrame) -> list[str]:
    """A text that identifies each row: 1 is not True, NaN equals NaN."""
    return [repr(list(row)) for row in keys.to_numpy(dtype=object)]


def is_constant(column: pd.Series) -> bool:
    """Whether all rows have one value."""
    return len(set(map(repr, column.tolist()))) == 1


def _free(name: str, names: Collection[str]) -> str:
    """A name that no factor has."""
    return f"{name}_estimate" if name in names else name


def format_constants(
    same: Mapping[Any, Any], value_labels: Readings, labels: Labels = MappingProxyType({})
) -> str:
    """The constant columns as text."""
    values = {name: value for name, value in same.items() if value is not None and value == value}
    shown = {n: factor_column([v], value_labels.get(n, {})).cell(v) for n, v in values.items()}
    heads = {name: labels.get(name, as_words(name)) for name in shown}
    lines = [f"{heads[name]} = {cell}" for name, cell in shown.items()]
    return f"{', '.join(lines)}." if lines else ""


def _replicates(summary: pd.DataFrame) -> str:
    """The numbers of replicates and, for conditional measures, of those that meet the condition."""
    text = _range(summary["n_rep"])
    each = " each" * (summary["n_rep"].nunique() == 1)
    within = [
        f"{as_words(measure)} {_range(rows['n_given'])}"
        for measure, rows in summary.groupby(MEASURE, sort=False)
        if "n_given" in rows and (rows["n_given"] < rows["n_rep"]).any()
    ]
    return f"{text} replicates{each}." + f" Of these, {'; '.join(within)}." * bool(within)


def _range(counts: pd.Series) -> str:
    return from_to(int(counts.min()), int(counts.max()))


ERROR = "difference_mcse"
PAIRED = "Differences are paired: both methods analyse the same data."
Best = Literal["smallest", "largest"]
DIRECTIONS: dict[str, Best] = {
    **dict.fromkeys(
        ("mse", "rmse", "mae", "variance", "empirical_se", "interval_score", "run_time"), "smallest"
    ),
    **dict.fromkeys(
        ("power", "sensitivity", "specificity", "area_under_curve", "relative_precision"), "largest"
    ),
}
"""The best value of a measure, by name. For other measures it depends on the question."""


def _best_value(measure: str, best: str | None) -> str:
    found = best or DIRECTIONS.get(measure)
    if found not in get_args(Best):
        raise TableError(
            f"ranked_methods(measure={measure!r}, best={best!r}): it is not known which value is "
            "best. Use best='smallest' (as for an error) or best='largest' (as for an accuracy)."
        )
    return str(found)


def ranked_methods(
    result: Result, measure: str, *, axis: str = "method", best: Best | None = None
) -> Table:
    """Rank the methods of every scenario.

    Parameters
    ----------
    result
        Result of a study with several methods, as returned by `study.run()`.
    measure
        Name of the measure to rank by.
    axis
        Name of the axis of methods.
    best
        "smallest" or "largest": which value is best. Default: known for measures that have one
        direction, such as `mse` or `power`; required for others.

    Returns
    -------
    Table
        A row per scenario and method: `rank` (equal values share one), `estimate` and its Monte
        Carlo error, and `difference` from the best method of the scenario with its paired error
        (missing for the best itself). A method without an estimate is last and has no rank.

    Raises
    ------
    TableError
        If the summary has no such axis or measure, or `best` is needed and missing.
    """
    summary = result.summary
    names = summary[MEASURE].unique().tolist()
    if axis not in summary.columns or measure not in names:
        raise TableError(
            f"methods cannot be ranked by measure={measure!r} along axis={axis!r}: the summary has "
            f"the measures {', '.join(names)} and the columns {', '.join(summary.columns)}."
        )
    largest_first = _best_value(measure, best) == "largest"
    before = list(summary.columns[: list(summary.columns).index(MEASURE)])
    factors = [name for name in before if name != axis]
    ranked = summary[summary[MEASURE] == measure]
    paired: dict[tuple[str, str], pd.DataFrame] = {}

    def differences(scenario: str, methods: list[str], best: str) -> Iterator[tuple[Any, ...]]:
        for method in methods:
            if method == best:
                yield math.nan, math.nan
                continue
            if (method, best) not in paired:
                frame = result.contrast(measure, axis=axis, first=method, second=best)
                paired[method, best] = frame.set_axis(identities(frame[factors]))
            yield tuple(paired[method, best].loc[scenario, ["estimate", "mcse"]])

    parts = []
    for scenario, rows in ranked.groupby(identities(ranked[factors]), sort=False):
        ranks = rows["estimate"].rank(method="min", ascending=not largest_first)
        rows = rows[[*factors, axis, "estimate", "mcse"]].assign(rank=ranks)
        rows = rows.sort_values("rank", kind="stable")
        methods = rows[axis].tolist()
        apart = pd.DataFrame(differences(str(scenario), methods, methods[0]), rows.index)
        parts.append(rows.assign(difference=apart[0], **{ERROR: apart[1]}))
    order = [*factors, axis, "rank", "estimate", "mcse", "difference", ERROR]
    frame = pd.concat(parts, ignore_index=True)[order]
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
    direction = "largest" if largest_first else "smallest"
    caption = f"Methods ranked by {as_words(measure)}; the {direction} is best"
    return Table(frame, caption, columns, [*filter(None, notes)])
