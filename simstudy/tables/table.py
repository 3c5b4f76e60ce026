"""A table: a frame, the format of its columns, and its files."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from simstudy.atomic_files import write_bytes
from simstudy.errors import TableError, nearest, writable
from simstudy.lazy import pd
from simstudy.remote import Place, place_of
from simstudy.tables.cells import Grid, Heading, as_latex, as_markdown, as_text
from simstudy.tables.rounding import to_decimals, with_commas, with_error, without_error
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
        if not is_number(value):
            return _format_value(value)
        if self.mcse:
            known = float(mcse) if is_number(mcse) else math.nan
            digits, error = map(with_commas, with_error(value, known, percent=self.percent))
            return f"{digits} ({error})" if error else digits
        if self.decimals is not None:
            return with_commas(to_decimals(value, self.decimals, percent=self.percent))
        if isinstance(value, numbers.Integral) and not self.percent:
            return f"{int(value):,}"
        return with_commas(without_error(value, percent=self.percent))

    def _has_words_for(self, value: Any) -> bool:
        """Whether a value has a label."""
        return isinstance(value, str | numbers.Real) and value in self.words


@dataclass(frozen=True)
class Table:
    """A table for publication: exact as CSV, rounded as Markdown and LaTeX.

    Parameters
    ----------
    frame
        Rows of the table. A column that another names as its `mcse` or `warning` is shown with
        that one.
    caption
        Content of the table, in a sentence.
    columns
        Format or heading of each column, by name. Default: the name is the heading.
    notes
        Sentences below the table, such as the meaning of parentheses.

    Raises
    ------
    TableError
        If a named column does not exist, or an error column holds other values.
    """

    frame: pd.DataFrame
    caption: str
    columns: Mapping[str, Column | str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.caption, str) or not self.caption.strip():
            raise TableError(
                f"caption={self.caption!r} is not a caption. Give a sentence that says what the "
                "table shows."
            )
        if isinstance(self.notes, str):
            raise TableError(
                f"notes={self.notes!r} is one text: give a list of sentences, [{self.notes!r}]."
            )
        names = list(self.frame.columns)
        strange = [name for name in names if not isinstance(name, str) or names.count(name) > 1]
        if strange or not names:
            found = ", ".join(map(repr, dict.fromkeys(strange))) or "none at all"
            raise TableError(
                f"the columns of a table need distinct names, which are text; found: {found}. "
                "Name them, and make an index a column with reset_index()."
            )
        for name in [*self.columns, *self._beside]:
            if name not in names:
                raise TableError(f"the table has no column {name!r}; {nearest(name, names)}")
        for name in self._errors:
            _check_errors(self.frame[name])

    @cached_property
    def _declared(self) -> dict[str, Column]:
        given = self.columns.items()
        return {name: Column(how) if isinstance(how, str) else how for name, how in given}

    @property
    def _errors(self) -> list[str]:
        return [column.mcse for column in self._declared.values() if column.mcse]

    @property
    def _beside(self) -> list[str]:
        """The columns of errors and of warnings, which are shown with others."""
        warnings = [column.warning for column in self._declared.values() if column.warning]
        return [*self._errors, *warnings]

    @property
    def _shown(self) -> dict[str, Column]:
        """The columns to show, in order, without those of errors and of warnings."""
        names = [name for name in self.frame.columns if name not in self._beside]
        return {name: self._declared.get(name, Column()) for name in names}

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

    def _repr_markdown_(self) -> str:
        """The table for a notebook."""
        return self.markdown()

    @cached_property
    def grid(self) -> Grid:
        """The rounded cells, which all formats but CSV use."""
        columns = [self._column(name, how) for name, how in self._shown.items()]
        headings, cells = zip(*columns, strict=True)
        rows = list(map(list, zip(*cells, strict=True)))
        return Grid(list(headings), rows, self.caption, (*self.notes, *self._warnings()))

    def _warnings(self) -> list[str]:
        """A note for each text of a warning, with the number of values that it is about."""
        found: dict[str, dict[str, int]] = {}
        for name, how in self._shown.items():
            for text in filter(None, self.frame[how.warning] if how.warning else ()):
                heading = how.heading or name.replace("_", " ")
                counts = found.setdefault(str(text), {})
                counts[heading] = counts.get(heading, 0) + 1
        return [
            f"{DAGGER} {', '.join(f'{name} ({n:,})' for name, n in counts.items())}: {text}."
            for text, counts in found.items()
        ]

    def _column(self, name: str, how: Column) -> tuple[Heading, list[str]]:
        """The heading and the cells of a column; labels may stand among numbers."""
        values = self.frame[name].tolist()
        errors = self.frame[how.mcse].tolist() if how.mcse else [math.nan] * len(values)
        cells = list(map(how.cell, values, errors))
        warned = self.frame[how.warning].tolist() if how.warning else [""] * len(values)
        plain = [
            is_number(value)
            for value, cell in zip(values, cells, strict=True)
            if cell != MISSING and not how._has_words_for(value)
        ]
        heading = how.heading or name.replace("_", " ")
        heading += ", %" * (how.percent and "%" not in heading)
        marked = [cell + DAGGER * bool(text) for cell, text in zip(cells, warned, strict=True)]
        return Heading(heading, bool(plain) and all(plain)), marked


def is_number(value: Any) -> bool:
    """Whether a cell is a number and not a boolean."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _format_value(value: Any) -> str:
    if value is None or value is pd.NA or value is pd.NaT:
        return MISSING
    return ("no", "yes")[bool(value)] if isinstance(value, bool | np.bool_) else str(value)


def _check_errors(column: pd.Series) -> None:
    """Refuse a column that is not a Monte Carlo standard error."""
    for value in column.tolist():
        if value is None or value is pd.NA or (is_number(value) and not value < 0):
            continue
        raise TableError(
            f"column {column.name!r} holds {value!r}, which is not a Monte Carlo standard error. "
            "Give numbers of at least 0, and NaN for unknown errors."
        )


class SavedTable(NamedTuple):
    """The files of a table.

    Attributes
    ----------
    csv, md, tex : Place
        Path of the file.
    """

    csv: Place
    md: Place
    tex: Place


def save_table(table: Any, folder: str | Place, name: str, *, label: str = "") -> SavedTable:
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
    SavedTable
        Paths of the files.

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
    paths = SavedTable(*(place_of(folder) / f"{file_name(name)}.{ending}" for ending in ENDINGS))
    forms = [table.csv(), table.markdown(), table.latex(label or name)]
    for path, text in zip(paths, forms, strict=True):
        write_bytes(path, text.encode())
    return paths


def as_csv(frame: pd.DataFrame) -> str:
    """Format a frame as CSV with all digits; its index is left out."""
    return writable(str(frame.to_csv(index=False, lineterminator="\n")))
