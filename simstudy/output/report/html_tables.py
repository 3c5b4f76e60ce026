"""Data frames as tables of a page: texts by row, and by which columns a reader may choose."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

from simstudy.lazy import pd
from simstudy.output.formatting import number
from simstudy.tables.grid import Grid, in_words
from simstudy.tables.summary import Readings

SHOWN_ROWS = 2000  # of one table; all of them are in a file beside the page
WIDE = 10  # columns from which on a table takes a page of paper lengthwise
CHOSEN_FROM = range(2, 16)  # values of a column of which a reader may choose one
COUNTS = {"n", "n_rep", "n_failed", "replicates", "replicates_timed", "scenarios"}
"""Columns that are read with their thousands apart."""


class Column(NamedTuple):
    """A column of a table.

    Parameters
    ----------
    is_number
        Whether it is read by its digits, from the right.
    is_choice
        Whether it has so few values that one of them may be chosen.
    """

    name: str
    is_number: bool
    is_choice: bool


class HtmlTable(NamedTuple):
    """A table of texts.

    Parameters
    ----------
    caption
        What it is, for who does not see where it stands.
    heading
        Position of the column that names a row.
    n_left_out
        Rows that are not shown.
    """

    caption: str
    columns: list[Column]
    rows: list[tuple[str, ...]]
    heading: int = 0
    n_left_out: int = 0

    @property
    def is_wide(self) -> bool:
        """Whether it takes a page lengthwise."""
        return len(self.columns) >= WIDE


def html_table(
    frame: pd.DataFrame,
    caption: str,
    *,
    heading: str | None = None,
    choices: Collection[str] = (),
    readings: Readings = MappingProxyType({}),
) -> HtmlTable:
    """A data frame's first rows as a table.

    Parameters
    ----------
    heading
        Name of the column that names a row; the first, if None.
    choices
        Columns of numbers that a reader may choose by, as by any of texts.
    readings
        By column, what values mean that are not what they say.
    """
    shown = frame.head(SHOWN_ROWS)
    columns, texts = [], []
    for at, name in enumerate(shown.columns):  # by position: two may share a name
        values, words = shown.iloc[:, at], readings.get(name, {})
        is_number = _is_number(values)
        as_count = is_number and name in COUNTS
        texts.append([_count(v) if as_count else read_as(v, words) for v in values.tolist()])
        may_choose = name in choices or not is_number
        columns.append(Column(str(name), is_number, may_choose and _has_few(texts[-1])))
    at = list(frame.columns).index(heading) if heading else 0
    return HtmlTable(caption, columns, list(zip(*texts, strict=True)), at, len(frame) - len(shown))


def table_of_grid(grid: Grid, caption: str) -> HtmlTable:
    """A table that is to be published, its numbers rounded as in its other forms."""
    rows = [tuple(map(in_words, row)) for row in grid.rows]
    columns = []
    for at, heading in enumerate(grid.headings):
        is_choice = not heading.is_number and _has_few(row[at] for row in rows)
        columns.append(Column(heading.text, heading.is_number, is_choice))
    return HtmlTable(caption, columns, rows[:SHOWN_ROWS], n_left_out=len(rows[SHOWN_ROWS:]))


def _has_few(texts: Iterable[str]) -> bool:
    """Whether a reader may choose one of them."""
    return len(set(texts)) in CHOSEN_FROM


def _is_number(values: pd.Series) -> bool:
    types = pd.api.types
    return types.is_numeric_dtype(values) and not types.is_bool_dtype(values)


def _count(value: Any) -> str:
    return "–" if pd.isna(value) else f"{int(value):,}"


def read_as(value: Any, words: Mapping[Any, str]) -> str:
    """The words for a value, or its text, where it means what it says."""
    is_named = isinstance(value, str | Real) and value in words
    return str(words[value]) if is_named else cell_text(value)


def cell_text(value: Any) -> str:
    """Four digits of a number, a dash for what is missing, and anything else as it is written."""
    if value is None or value is pd.NA or value is pd.NaT:
        return "–"
    return number(value) if isinstance(value, float) else str(value)
