"""Summaries as tables, a row per scenario and cell and a column per measure, and in words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from simstudy.design.reprs import from_to
from simstudy.errors import TableError, nearest
from simstudy.lazy import pd, special
from simstudy.tables.rounding import plus_minus, to_decimals
from simstudy.tables.table import Column, Table, as_text

Readings = Mapping[str, Mapping[Any, str]]
Labels = Mapping[Any, str]

MEASURE = "measure"
HEAD_ROWS = 10  # rows in the `repr` of a result
MAX_TABLE_ROWS = 1000  # rows of a summary; a longer table is too long to read
MAX_NAMED = 4  # measures named in a caption
NAME = re.compile(r"[^\W_]+(_[\w.]+)+")  # identifiers of several words
MAX_RATIO = 5.0  # of two errors of estimates that are averaged, unless they are proportions
ROUNDING = 1e-9  # relative difference of estimates that are one number but for arithmetic
CHANCE = 0.001  # p-value below which estimates differ by more than chance
MAX_VISIBLE = 0.5  # two errors that move a number by less than this of its last digit are not shown
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
        raise TableError(f"columns={axis!r} is no factor or axis here; {nearest(axis, keys)}")
    spread = axis or MEASURE
    names = [name for name in (*keys, MEASURE) if name != spread]
    places = pd.Series(pd.factorize(np.array(identities(summary[names])))[0], index=summary.index)
    firsts = summary[~places.duplicated()]
    same = {name: summary[name].iloc[0] for name in names if is_constant(summary[name])}
    data = {n: firsts[n].tolist() for n in names if n not in same}
    words = {**value_labels, MEASURE: labels}
    columns = {n: factor_column(data[n], words.get(n, {}), labels.get(n, "")) for n in data}
    for value, rows in summary.groupby(spread, sort=False, dropna=False):
        in_place = rows.set_axis(places[rows.index]).reindex(range(len(firsts)))
        name = str(value) if axis is None else f"{axis}={value}"
        own = f"{name}_estimate" if name in keys else name
        texts = in_place.get("warning", pd.Series(dtype=object)).fillna("").tolist()
        error, warning = f"{name}_mcse", f"{name}_warning" if any(texts) else ""
        data |= {own: in_place["estimate"].tolist(), error: in_place["mcse"].tolist()}
        data |= {warning: texts} if warning else {}
        heading = words.get(spread, {}).get(value, labels.get(value, as_words(value)))
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
    known = {name: value for name, value in same.items() if value is not None and value == value}
    cells = {n: factor_column([v], value_labels.get(n, {})).cell(v) for n, v in known.items()}
    texts = [f"{labels.get(name, as_words(name))} = {cell}" for name, cell in cells.items()]
    return ", ".join(texts) + "." * bool(texts)


def _replicates(summary: pd.DataFrame) -> str:
    """The numbers of replicates and, for conditional measures, of those that meet the condition."""
    text = format_range(summary["n_rep"])
    each = " each" * (summary["n_rep"].nunique() == 1)
    within = [
        f"{as_words(measure)} {format_range(rows['n_given'])}"
        for measure, rows in summary.groupby(MEASURE, sort=False)
        if "n_given" in rows and (rows["n_given"] < rows["n_rep"]).any()
    ]
    return f"{text} replicates{each}." + f" Of these, {'; '.join(within)}." * bool(within)


def format_range(counts: pd.Series) -> str:
    """Format the least and the greatest of some counts."""
    return from_to(int(counts.min()), int(counts.max()))


def in_words(
    rows: pd.DataFrame | pd.Series,
    *,
    percent: bool = False,
    decimals: int | None = None,
    where: Sequence[str] = (),
    independent: bool = True,
) -> str:
    """Describe estimates with their Monte Carlo errors, for the answer of a study.

    The least and the greatest of several noisy estimates lie apart even if all have one true value.
    They are therefore given, each with its own error, only if the estimates differ by more than
    chance, or their errors are too unequal to tell, or they are not independent; otherwise their
    weighted mean is.

    Parameters
    ----------
    rows
        Rows of a summary, or one row: `estimate` and `mcse`.
    percent
        Whether these are proportions to be shown as percentages.
    decimals
        Decimal places of the numbers shown. A number whose error does not show at these has no ±.
        Default: by the error.
    where
        Factors and axes that say where the least and the greatest are.
    independent
        Whether no two rows share random numbers, as rows of different scenarios do not (without
        `common_random_numbers`). The rows of several methods, or of other axes, share them.

    Returns
    -------
    str
        "80.2 ± 0.3%", "5.0% (all 12 within chance)" or "2.3 ± 0.2% to 13.1 ± 0.4%".

    Raises
    ------
    LookupError
        If there is no row with an estimate.

    Examples
    --------
    The result is that of the example of `Study`.

    >>> from simstudy.tables import in_words
    >>> in_words(result.row("type_1_error", method="welch"), percent=True)[:3] > ""
    True
    """
    frame = rows.to_frame().T if isinstance(rows, pd.Series) else rows
    known = frame["estimate"].astype(float).map(math.isfinite)
    n_lost, frame = int((~known).sum()), frame[known]
    if frame.empty:
        raise LookupError("these rows have no estimate")
    values, errors = (frame[name].to_numpy(dtype=float) for name in ("estimate", "mcse"))
    size, sign = (100, "%") if percent else (1, "")

    def text(value: float, error: float) -> str:
        value, error = size * value, size * error
        if decimals is None or 2 * error >= MAX_VISIBLE * 10.0**-decimals:
            return plus_minus(value, error) + sign
        return to_decimals(value, decimals).replace("-", "−") + sign

    is_unequal = errors.max() > MAX_RATIO * errors.min() and not percent
    if np.ptp(values) <= ROUNDING * np.abs(values).max():
        found = text(values[0], errors.max())
    elif not independent or differ(values, errors) or is_unequal:
        ends = int(values.argmin()), int(values.argmax())
        found = " to ".join(text(values[at], errors[at]) + _place(frame, at, where) for at in ends)
    else:
        n = frame.get("n_given", frame.get("n_rep", pd.Series(1, frame.index)))  # replicates behind
        weights = n.to_numpy(dtype=float) if percent else 1 / errors**2
        mean = np.average(values, weights=weights)
        error = np.sqrt(np.sum((weights * errors) ** 2)) / np.sum(weights)
        each = "both" if len(frame) == 2 else f"all {len(frame):,}"
        found = f"{text(float(mean), float(error))} ({each} within chance)"
    return found + f"; {n_lost:,} without an estimate" * bool(n_lost)


def differ(values: np.ndarray, errors: np.ndarray) -> bool:
    """Whether estimates differ by more than their Monte Carlo errors explain.

    The sum of squared deviations from the weighted mean, in errors, is compared with the chi-square
    distribution (Cochran 1954). Common random numbers make it smaller, so that nothing is called
    different by mistake.
    """
    if not np.all(np.isfinite(errors) & (errors > 0)):
        return True
    weights = 1 / errors**2
    mean = np.sum(weights * values) / np.sum(weights)
    excess = float(np.sum(weights * (values - mean) ** 2))
    return bool(special.chdtrc(len(values) - 1, excess) < CHANCE)


def _place(frame: pd.DataFrame, at: int, where: Sequence[str]) -> str:
    """Where a row is, by the factors that differ: " (n 20)"."""
    levels = {name: frame[name].iloc[at] for name in where if not is_constant(frame[name])}
    words = [f"{as_words(n)} {factor_column([v], {}).cell(v)}" for n, v in levels.items()]
    return f" ({', '.join(words)})" if words else ""
