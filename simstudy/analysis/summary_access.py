"""Access to a summary, shared by results that were drawn here and results that were loaded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from simstudy.errors import SimstudyError, TableError
from simstudy.lazy import pd

if TYPE_CHECKING:
    from simstudy.tables.cells import Grid
    from simstudy.tables.table import Table

SUMMARY = "summary"  # the table that every study has


class SummaryAccess:
    """Base class of results: rows and tables of the `summary`, and the `repr`."""

    _value_labels: Mapping[str, Mapping[Any, str]] = MappingProxyType({})
    _labels: Mapping[str, str] = MappingProxyType({})

    @property
    def _name(self) -> str:
        """The study's name."""
        raise NotImplementedError

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The summary: one row per scenario, cell and measure, each with its MCSE."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """The study, and the first rows of the summary, rounded to their errors."""
        from simstudy.tables.cells import as_text

        head = self._head()
        return self._short_repr() + (f"\n\n{as_text(head)}" if head else "")

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        from html import escape

        from simstudy.tables.cells import as_html

        head = self._head()
        return f"<pre>{escape(self._short_repr())}</pre>{as_html(head) if head else ''}"

    def _short_repr(self) -> str:
        raise NotImplementedError

    def _head(self) -> Grid | None:
        """The first rows of the summary's table; None if there is no summary."""
        from simstudy.tables.summary import MOST_NUMBERS, summary_head, summary_table

        try:
            rows = self.summary.head(MOST_NUMBERS)
        except SimstudyError:  # `summary` raises it again; a `repr` must not
            return None
        if not len(rows):
            return None
        return summary_head(summary_table(rows, self._name, self._value_labels, self._labels))

    def select(self, **factors: Any) -> pd.DataFrame:
        """The rows of the summary with these values of factors, axes and `measure`.

        A list stands for any of its values. Floats are equal up to rounding.

        Raises
        ------
        KeyError
            For a factor that the summary does not have.
        """
        from simstudy.analysis.lookup import rows_with

        return rows_with(self.summary, factors)

    def row(self, measure: str, **factors: Any) -> pd.Series:
        """The one row of the summary with this measure and these factors.

        Raises
        ------
        LookupError
            Where there is none, or more than one; KeyError for a factor that it does not have.
        """
        from simstudy.analysis.lookup import row_with

        return row_with(self.summary, measure, factors)

    def _summary_table(self, name: str, columns: str | None) -> Table:
        """The summary as a table, with a column per measure or per label of an axis."""
        from simstudy.tables.summary import summary_table, summary_table_by

        if name != SUMMARY:
            raise TableError(
                f"columns={columns!r} with table {name!r}: only the table of the summary can be "
                "laid out by an axis. Leave out the name, or columns."
            )
        more = self._name, self._value_labels, self._labels
        if columns is None:
            return summary_table(self.summary, *more)
        return summary_table_by(self.summary, columns, *more)
