"""Summary tables: a row per scenario and cell, a column per measure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from simstudy.design.reprs import from_to
from simstudy.errors import TableError, nearest
from simstudy.lazy import pd
from simstudy.tables.cells import as_text
from simstudy.tables.table import Column, Table

Readings = Mapping[str, Mapping[Any, str]]
Labels = Mapping[Any, str]

MEASURE = "measure"
HEAD_ROWS = 10  # rows in the `repr` of a result
MAX_TABLE_ROWS = 1000  # rows of a summary; a longer table is too long to read
MAX_NAMED = 4  # measures named in a caption
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
        in_place = rows.set_axis(places[rows.index]).reindex(range(len(firsts)))
        name = str(value) if axis is None else f"{axis}={value}"
        own = f"{name}_estimate" if name in keys else name
        error, warning = f"{name}_mcse", f"{name}_warning"
        data |= {own: in_place["estimate"].tolist(), error: in_place["mcse"].tolist()}
        heading = words.get(spread, {}).get(value, labels.get(value, as_words(value)))
        columns[own] = Column(heading, mcse=error)
        if "warning" in rows and rows["warning"].fillna("").any():
            data[warning] = in_place["warning"].fillna("").tolist()
            columns[own] = Column(heading, mcse=error, warning=warning)
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


def format_head(table: Table) -> str:
    """The first rows of a summary's table, for the `repr` of a result."""
    grid, n = table.grid, HEAD_ROWS
    more = [f"The first {n} of {len(grid.rows):,} rows."] if len(grid.rows) > n else []
    return as_text(grid._replace(rows=grid.rows[:n], notes=(*grid.notes, *more)))


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


def format_constants(
    same: Mapping[Any, Any], value_labels: Readings, labels: Labels = MappingProxyType({})
) -> str:
    """The constant columns as text."""
    texts = [
        f"{labels.get(name, as_words(name))} = "
        f"{factor_column([value], value_labels.get(name, {})).cell(value)}"
        for name, value in same.items()
        if value is not None and value == value
    ]
    return ", ".join(texts) + "." * bool(texts)


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
