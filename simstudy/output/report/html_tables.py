"""Data frames as tables of a page: texts by row, and by which columns a reader may choose."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from types import MappingProxyType
from typing import Any

from simstudy.lazy import pd
from simstudy.output.wording import number
from simstudy.tables.grid import Grid, in_words
from simstudy.tables.summary import Readings

SHOWN_ROWS = 2000  # of one table; all of them are in a file beside the page
WIDE = 12  # columns from which on a table takes a page of paper lengthwise
MOST_UPRIGHT = 80  # letters beside each other that a page has room for, gaps between columns apart
GAP = 2  # letters' room that a column's margins take
LONGEST_WORD = 40  # letters that a column makes room for
NAME_BREAK = re.compile(r"(?<=_)(?=[^_])")
CHOSEN_FROM = range(2, 16)  # values of a column of which a reader may choose one
COUNTS = (
    "n",
    "n_rep",
    "n_failed",
    "replicates",
    "replicates_timed",
    "scenarios",
)  # read with their thousands apart


@dataclass(frozen=True)
class Column:
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

    @property
    def pieces(self) -> list[str]:
        """Its name in parts between which a line may end."""
        return [piece for piece in NAME_BREAK.split(self.name) if piece]


@dataclass(frozen=True)
class HtmlTable:
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
    columns: tuple[Column, ...]
    rows: list[tuple[str, ...]]
    heading: int = 0
    n_left_out: int = 0

    @property
    def is_wide(self) -> bool:
        """Whether it takes a page lengthwise."""
        taken = self.n_letters + GAP * len(self.columns)
        return len(self.columns) >= WIDE or taken > MOST_UPRIGHT

    @cached_property
    def n_letters(self) -> int:
        """Letters beside each other in the narrowest form that breaks no number and no word.

        Words of texts count for as much as a column makes room for.
        """
        return sum(self._least_width(at) for at in range(len(self.columns)))

    def _least_width(self, at: int) -> int:
        column = self.columns[at]
        texts = {row[at] for row in self.rows}
        words = texts if column.is_number else {word for text in texts for word in text.split()}
        in_heading = (word for piece in column.pieces for word in piece.split())
        widths = [*(min(len(word), LONGEST_WORD) for word in words), *map(len, in_heading)]
        return max(widths, default=0)

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
    texts = [  # two may share a name
        _texts(shown.iloc[:, at], readings.get(name, {})) for at, name in enumerate(shown.columns)
    ]
    columns = tuple(
        _column(str(name), shown.iloc[:, at], texts[at], name in choices)
        for at, name in enumerate(shown.columns)
    )
    at = list(frame.columns).index(heading) if heading else 0
    return HtmlTable(caption, columns, list(zip(*texts, strict=True)), at, len(frame) - len(shown))


def table_of_grid(grid: Grid, caption: str) -> HtmlTable:
    """A table that is to be published, its numbers rounded as in its other forms."""
    rows = [tuple(map(in_words, row)) for row in grid.rows]
    texts = [[row[at] for row in rows] for at in range(len(grid.headings))]
    columns = tuple(
        Column(heading.text, heading.is_number, not heading.is_number and _are_few(values))
        for heading, values in zip(grid.headings, texts, strict=True)
    )
    return HtmlTable(caption, columns, rows[:SHOWN_ROWS], n_left_out=len(rows[SHOWN_ROWS:]))


def _are_few(texts: Collection[str]) -> bool:
    return len(set(texts)) in CHOSEN_FROM


def _column(name: str, values: pd.Series, texts: list[str], may_choose: bool) -> Column:
    is_number = _is_number(values)
    return Column(name, is_number, (may_choose or not is_number) and _are_few(texts))


def _is_number(values: pd.Series) -> bool:
    types = pd.api.types
    return types.is_numeric_dtype(values) and not types.is_bool_dtype(values)


def _texts(values: pd.Series, words: Mapping[Any, str]) -> list[str]:
    if values.name in COUNTS and _is_number(values):
        return list(_counts(values))
    return [worded(cell_text(value), value, words) for value in values.tolist()]


def worded(text: str, value: Any, words: Mapping[Any, str]) -> str:
    """The words for a value, or its text, where it means what it says."""
    return str(words[value]) if isinstance(value, str | Real) and value in words else text


def _counts(values: pd.Series) -> Iterator[str]:
    for value in values.tolist():
        yield "–" if pd.isna(value) else f"{int(value):,}"


def cell_text(value: Any) -> str:
    """Four digits of a number, a dash for what is missing, and anything else as it is written."""
    if value is None or value is pd.NA or value is pd.NaT:
        return "–"
    return number(value) if isinstance(value, float) else str(value)
