"""Data frames as tables of a page: texts by row, and by which columns a reader may choose."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

from simstudy.lazy import pd
from simstudy.output.formatting import number
from simstudy.tables.grid import Grid, in_words
from simstudy.tables.summary import Readings

SHOWN_ROWS = 2000  # of one table; all of them are in a file beside the page
WIDE = 12  # columns from which on a table takes a page of paper lengthwise
MOST_UPRIGHT = 80  # letters beside each other that a page has room for, gaps between columns apart
GAP = 2  # letters' room that a column's margins take
LONGEST_WORD = 40  # letters that a column makes room for
NAME_BREAK = re.compile(r"(?<=_)(?=[^_])")
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
    n_letters
        Letters beside each other in the narrowest form that breaks no number and no word; words
        of texts count for as much as a column makes room for.
    """

    name: str
    is_number: bool
    is_choice: bool
    n_letters: int

    @property
    def pieces(self) -> list[str]:
        """Its name in parts between which a line may end."""
        return NAME_BREAK.split(self.name)


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
    def n_letters(self) -> int:
        return sum(column.n_letters for column in self.columns)

    @property
    def is_wide(self) -> bool:
        """Whether it takes a page lengthwise."""
        taken = self.n_letters + GAP * len(self.columns)
        return len(self.columns) >= WIDE or taken > MOST_UPRIGHT

    @property
    def has_long_words(self) -> bool:
        """Whether a text has to be broken within a word, as that of an error may have to be."""
        texts = (text for row in self.rows for text in row if len(text) > LONGEST_WORD)
        return any(len(word) > LONGEST_WORD for text in texts for word in text.split())


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
        columns.append(_column(str(name), texts[-1], is_number, name in choices or not is_number))
    at = list(frame.columns).index(heading) if heading else 0
    return HtmlTable(caption, columns, list(zip(*texts, strict=True)), at, len(frame) - len(shown))


def table_of_grid(grid: Grid, caption: str) -> HtmlTable:
    """A table that is to be published, its numbers rounded as in its other forms."""
    rows = [tuple(map(in_words, row)) for row in grid.rows]
    columns = [
        _column(heading.text, [row[at] for row in rows], heading.is_number, not heading.is_number)
        for at, heading in enumerate(grid.headings)
    ]
    return HtmlTable(caption, columns, rows[:SHOWN_ROWS], n_left_out=len(rows[SHOWN_ROWS:]))


def _column(name: str, texts: Collection[str], is_number: bool, may_choose: bool) -> Column:
    different = set(texts)
    words = different if is_number else {word for text in different for word in text.split()}
    widths = [min(len(word), LONGEST_WORD) for word in words]
    widths += [len(word) for piece in NAME_BREAK.split(name) for word in piece.split()]
    is_choice = may_choose and len(different) in CHOSEN_FROM
    return Column(name, is_number, is_choice, max(widths, default=0))


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
