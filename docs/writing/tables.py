"""A Parquet file as columns, and which of its rows have the values asked for."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from writing.refusals import PageError, listed

Column = np.ndarray[Any, np.dtype[Any]]

ESTIMATES = (
    "measure", "estimate", "mcse", "lower", "upper", "exact", "n_rep", "n_failed", "n_given",
    "reason", "variance_reduction", "n_effective", "warning",
)  # fmt: skip


class Table:
    """The columns of a file, a missing number as NaN and a missing text as None."""

    def __init__(self, path: Path) -> None:
        stored = pq.read_table(path)
        self.name = path.parent.name
        self.columns = {name: _values(stored[name]) for name in stored.column_names}
        self.n_rows = stored.num_rows

    @cached_property
    def factors(self) -> list[str]:
        """Columns that say what a row is about."""
        return [name for name in self.columns if name not in ESTIMATES]

    @cached_property
    def _texts(self) -> dict[str, Column]:
        return {}

    def record(self, row: int) -> dict[str, Any]:
        """A row by its columns, as Python's own values."""
        return {name: column[row : row + 1].tolist()[0] for name, column in self.columns.items()}

    def chosen(self, asked: dict[str, Any]) -> Column:
        """The places of the rows that have all these values.

        Raises
        ------
        PageError
            Where a column is not there, or no row has its value beside the ones before it.
        """
        rows = np.arange(self.n_rows)
        for name, value in asked.items():
            if name not in self.columns:
                raise PageError(
                    f"{self.name} has no factor {name!r}; it has {listed(self.factors)}."
                )
            kept = rows[self._has(name, value)[rows]]
            if not kept.size:
                there = listed(_distinct(self.columns[name][rows]))
                raise PageError(
                    f"no row of {self.name} with {in_words(asked)} has {name}={value!r}; there "
                    f"is {there}."
                )
            rows = kept
        return rows

    def differences(self, rows: Column) -> str:
        """The factors in which these rows differ, with their values."""
        several = {name: _distinct(self.columns[name][rows]) for name in self.factors}
        words = [f"{name} ({listed(found)})" for name, found in several.items() if len(found) > 1]
        return ", ".join(words) or "nothing that is named"

    def _has(self, name: str, value: Any) -> Column:
        """Which rows have the value, or one of a list of them; None is a missing one.

        Sizes of an axis are stored as text, so a number is also what it is written as.
        """
        if isinstance(value, list | tuple):
            return np.asarray(np.any([self._has(name, item) for item in value], axis=0))
        column = self.columns[name]
        if value is None:
            return np.array([item is None or item != item for item in column.tolist()])
        if column.dtype.kind in "biuf":
            return np.asarray(column == value)
        if name not in self._texts:
            self._texts[name] = column.astype(str)
        return np.asarray(self._texts[name] == str(value))


def in_words(asked: dict[str, Any]) -> str:
    """What was asked for, as it would be typed."""
    return ", ".join(f"{name}={value!r}" for name, value in asked.items())


def _values(stored: pa.ChunkedArray) -> Column:
    whole = stored.combine_chunks()
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    return np.asarray(whole.to_numpy(zero_copy_only=False))


def _distinct(column: Column) -> list[Any]:
    """Each value once, in the order in which they come; NaN is one value."""
    return list({str(value): value for value in column.tolist()}.values())
