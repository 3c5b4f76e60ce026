"""A table: a frame, the format of its columns, and its files."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from simstudy.errors import TableError, nearest, writable
from simstudy.lazy import pd
from simstudy.places import Place, place_of, write_bytes
from simstudy.tables.cells import Grid, Heading, as_latex, as_markdown, as_text
from simstudy.tables.rounding import to_decimals, with_commas, with_error
from simstudy.validation import check_file_name, file_name

ENDINGS: Final = ("csv", "md", "tex")
MISSING: Final = "–"
DAGGER: Final = "†"  # after a number with a warning, which a note below the table tells


@dataclass(frozen=True)
class Column:
    """The heading and rounding of a column.

    Parameters
    ----------
    heading
        Heading of the column. Default: its name.
    mcse
        Name of the column with its Monte Carlo standard errors. Errors are shown in parentheses,
        and each value is rounded to its error (`simstudy.tables.rounding`).
    decimals
        Decimal places of a column without errors, such as published numbers. Default: whole numbers
        in full, four significant digits of others.
    percent
        Whether proportions are shown as percentages: 0.0635 as 6.35, with % in the heading.
    words
        Labels shown instead of values, such as `{0: "∞"}`. The CSV keeps the values.
    warning
        Name of the column with warnings about its values, as texts. A value with a warning is
        marked by a dagger, and the notes tell the warning.
    """

    heading: str = ""
    mcse: str = ""
    decimals: int | None = None
    percent: bool = False
    words: Mapping[Any, str] = field(default_factory=dict)
    warning: str = ""

    def cell(self, value: Any, mcse: Any = None) -> str:
        """Format a value of the column, with its error if the column has one.

        Parameters
        ----------
        value
            A value of the frame's column.
        mcse
            Monte Carlo standard error of the value; ignored without an error column.

        Returns
        -------
        str
            The formatted value.
        """
        if self._has_words_for(value):
            return self.words[value]
        if value is None or value is pd.NA or value is pd.NaT:
            return MISSING
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "no"
        if not isinstance(value, numbers.Real):
            return str(value)
        if isinstance(value, numbers.Integral) and not (self.mcse or self.decimals or self.percent):
            return f"{int(value):,}"
        error = float(mcse) if self.mcse and is_number(mcse) else math.nan
        shown: Any = value
        if self.percent:
            shown, error = _percentage(shown), _percentage(error)
        if self.decimals is not None and not self.mcse:
            return with_commas(to_decimals(shown, self.decimals))
        rounded = with_error(shown, error)
        return with_commas(rounded.value) + f" ({with_commas(rounded.error)})" * bool(rounded.error)

    def _has_words_for(self, value: Any) -> bool:
        """Whether a value has a label."""
        return isinstance(value, str | numbers.Real) and value in self.words


@dataclass(frozen=True)
class Table:
    """A table for publication: exact as CSV, rounded as Markdown and LaTeX.

    Parameters
    ----------
    frame
        Rows of the table, with distinct names of columns. A column that another names as its `mcse`
        or `warning` is shown with that one.
    caption
        Content of the table, in a sentence.
    columns
        Format or heading of each column, by name. Default: the name is the heading.
    notes
        Sentences below the table, such as the meaning of parentheses.

    Raises
    ------
    TableError
        If a named column does not exist.
    """

    frame: pd.DataFrame
    caption: str
    columns: Mapping[str, Column | str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        names = list(self.frame.columns)
        given = [how for how in self.columns.values() if isinstance(how, Column)]
        beside = [name for how in given for name in (how.mcse, how.warning) if name]
        for name in (*self.columns, *beside):
            if name not in names:
                raise TableError(f"the table has no column {name!r}; {nearest(name, names)}")

    @cached_property
    def _shown(self) -> dict[str, Column]:
        """The columns to show, with their headings, without those of errors and of warnings."""
        shown, beside = {}, set[str]()
        for name in self.frame.columns:
            given = self.columns.get(name, "")
            how = Column(given) if isinstance(given, str) else given
            shown[name] = replace(how, heading=how.heading or str(name).replace("_", " "))
            beside |= {how.mcse, how.warning}
        return {name: how for name, how in shown.items() if name not in beside}

    def csv(self) -> str:
        """Format as CSV with all digits; errors and warnings have separate columns.

        Headings are the names of the columns. Missing values are empty.

        Returns
        -------
        str
            The text.
        """
        shown = self._shown.items()
        names = [name for own, how in shown for name in (own, how.mcse, how.warning) if name]
        return as_csv(self.frame[list(dict.fromkeys(names))])  # two columns may have one error

    def markdown(self) -> str:
        """Format as Markdown, rounded.

        Returns
        -------
        str
            The text.
        """
        return writable(as_markdown(self.grid))

    def latex(self, label: str = "") -> str:
        """Format as LaTeX, rounded.

        Parameters
        ----------
        label
            Label of the table, without `tab:`.

        Returns
        -------
        str
            The text.
        """
        return writable(as_latex(self.grid, label))

    def __str__(self) -> str:
        """The table as text, rounded."""
        return writable(as_text(self.grid))

    _repr_markdown_ = markdown  # for notebooks

    @cached_property
    def grid(self) -> Grid:
        """The rounded cells, which all formats but CSV use."""
        columns = [self._column(name, how) for name, how in self._shown.items()]
        headings, cells = zip(*columns, strict=True)
        rows = list(map(list, zip(*cells, strict=True)))
        return Grid(list(headings), rows, self.caption, (*self.notes, *self._warnings()))

    def _warnings(self) -> list[str]:
        """A note for each text of a warning, with the number of values that it is about."""
        found: dict[str, Counter[str]] = {}
        for how in self._shown.values():
            for text in filter(None, self.frame[how.warning] if how.warning else ()):
                found.setdefault(str(text), Counter())[how.heading] += 1
        return [
            f"{DAGGER} {', '.join(f'{name} ({n:,})' for name, n in counts.items())}: {text}."
            for text, counts in found.items()
        ]

    def _column(self, name: str, how: Column) -> tuple[Heading, list[str]]:
        """The heading and the cells of a column; labels may stand among numbers."""
        values = self.frame[name].tolist()
        nothing = [None] * len(values)
        cells = list(map(how.cell, values, self.frame[how.mcse] if how.mcse else nothing))
        warned = self.frame[how.warning] if how.warning else nothing
        unlabelled = [
            value
            for value, cell in zip(values, cells, strict=True)
            if cell != MISSING and not how._has_words_for(value)
        ]
        heading = how.heading + ", %" * (how.percent and "%" not in how.heading)
        marked = [cell + DAGGER * bool(text) for cell, text in zip(cells, warned, strict=True)]
        return Heading(heading, bool(unlabelled) and all(map(is_number, unlabelled))), marked


def is_number(value: Any) -> bool:
    """Whether a cell is a number and not a boolean."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _percentage(proportion: float) -> float:
    """A proportion as a percentage: 0.29 is 29, and not less."""
    return float(f"{100 * proportion:.15g}")


def save_table(table: Any, folder: str | Place, name: str, *, label: str = "") -> list[Place]:
    """Write `<name>.csv`, `<name>.md` and `<name>.tex`, reproducibly.

    Parameters
    ----------
    table
        A table.
    folder
        Folder of the files; created if it does not exist.
    name
        File name without its ending, such as "outcomes". Letters that Windows does not allow in
        names of files become `_`.
    label
        Label of the LaTeX table, without `tab:`. Default: `name`.

    Returns
    -------
    list
        Paths of the three files, in this order.

    Raises
    ------
    TableError
        If `table` is not a table, or `name` is not a file name. Nothing is written then.
    """
    check_file_name(name, "table", TableError)
    if not isinstance(table, Table):
        raise TableError(
            f"a {type(table).__name__} cannot be saved as a table: `save_table` needs a "
            "simstudy.tables.Table. Return one of these."
        )
    paths = [place_of(folder) / f"{file_name(name)}.{ending}" for ending in ENDINGS]
    forms = [table.csv(), table.markdown(), table.latex(label or name)]
    for path, text in zip(paths, forms, strict=True):
        write_bytes(path, text.encode())
    return paths


def as_csv(frame: pd.DataFrame) -> str:
    """Format a frame as CSV with all digits; its index is left out."""
    return writable(str(frame.to_csv(index=False, lineterminator="\n")))
