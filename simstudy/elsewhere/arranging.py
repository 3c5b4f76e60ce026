"""Rows as replicates: for each cell of the design, arrays over data sets and methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simstudy.elsewhere.checks import cells_of, row_of
from simstudy.elsewhere.quantities import Quantities
from simstudy.elsewhere.roles import OWN, Roles
from simstudy.lazy import pd
from simstudy.store.layout import ERROR

NO_ROW, NO_ESTIMATE = "no row", "no estimate"  # why a method has failed on a data set


@dataclass(frozen=True)
class GivenCell:
    """A cell of the design.

    Parameters
    ----------
    levels
        Of the columns that tell cells apart.
    columns
        By name, `(rep,)`, or `(rep, method)`.
    n_rep
        Data sets, whichever methods have a row for them.
    """

    levels: tuple[Any, ...]
    columns: Mapping[str, np.ndarray]
    n_rep: int


@dataclass
class Arranged:
    """All cells, the methods in order of appearance, and what a reader has to know."""

    methods: tuple[str, ...]
    cells: list[GivenCell] = field(default_factory=list)
    noticed: list[str] = field(default_factory=list)


def arranged(frame: pd.DataFrame, roles: Roles, quantities: Quantities) -> Arranged:
    """Every cell of a table.

    Parameters
    ----------
    quantities
        What to arrange, by row.

    Returns
    -------
    Arranged
        A data set for which a method has no row, or no estimate, is that method's failure.
    """
    codes, methods = _methods(frame, roles)
    found = Arranged(methods)
    absent = _Absent(roles)
    for levels, rows in cells_of(frame, roles.by):
        reps, labels = _data_sets(rows, roles)
        at = rows.index.to_numpy()
        grid = _Grid(reps, codes[at], (len(labels), max(len(methods), 1)), bool(methods))
        columns = {name: grid.filled(values[at]) for name, values in quantities.items()}
        columns |= grid.errors(columns[roles.estimate])
        columns |= {_name_of_rep(roles.rep): labels} if roles.rep else {}
        found.cells.append(GivenCell(levels, columns, len(labels)))
        absent.count(grid.absent, methods, levels, labels)
    found.noticed += absent.in_words(sum(cell.n_rep for cell in found.cells))
    found.noticed += _without_error(roles, quantities)
    return found


@dataclass
class _Absent:
    """Data sets for which a method has no row: how many, and the first, by method."""

    roles: Roles
    n: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def count(
        self,
        is_absent: np.ndarray,
        methods: tuple[str, ...],
        levels: tuple[Any, ...],
        labels: np.ndarray,
    ) -> None:
        """Those of another cell, `(rep, method)`."""
        for at, method in enumerate(methods):
            lacking = np.flatnonzero(is_absent[:, at])
            if lacking.size:
                self.n[method] += lacking.size
                where = [f"{self.roles.rep}={labels[lacking[0]]}"]
                where += map("{}={}".format, self.roles.by, levels)
                self.first.setdefault(method, ", ".join(where))

    def in_words(self, n_rep: int) -> list[str]:
        return [
            f"{self.roles.method} {method} has no row for {n:,} of {n_rep:,} data sets (the first "
            f"is {self.first[method]}): they count as its failures"
            for method, n in self.n.items()
        ]


@dataclass
class _Grid:
    """Where the rows of a cell belong.

    Parameters
    ----------
    shape
        Data sets, and methods.
    """

    rep: np.ndarray
    method: np.ndarray
    shape: tuple[int, int]
    has_methods: bool

    def filled(self, values: np.ndarray) -> np.ndarray:
        """Values at their places, NaN where there is no row."""
        full = np.full(self.shape, np.nan)
        full[self.rep, self.method] = values
        return full if self.has_methods else full[:, 0]

    @property
    def absent(self) -> np.ndarray:
        """Where there is no row, `(rep, method)`."""
        lacking = np.ones(self.shape, dtype=bool)
        lacking[self.rep, self.method] = False
        return lacking

    def errors(self, estimates: np.ndarray) -> dict[str, np.ndarray]:
        """Why there is no estimate, where there is none; nothing where all are there."""
        if not np.isnan(estimates).any():
            return {}
        said = np.full(self.shape, NO_ROW, dtype=object)
        said[self.rep, self.method] = NO_ESTIMATE
        text = said if self.has_methods else said[:, 0]
        text[~np.isnan(estimates)] = None
        return {ERROR: text}


def _methods(frame: pd.DataFrame, roles: Roles) -> tuple[np.ndarray, tuple[str, ...]]:
    """The method of each row, by its place, and their names."""
    if roles.method is None:
        return np.zeros(len(frame), dtype=int), ()
    codes, names = pd.factorize(frame[roles.method].astype(str))
    return codes, tuple(map(str, names))


def _data_sets(rows: pd.DataFrame, roles: Roles) -> tuple[np.ndarray, np.ndarray]:
    """The data set of each row of a cell, by its place, and what each is called."""
    if roles.rep is None:
        return np.arange(len(rows)), np.arange(len(rows))
    codes, names = pd.factorize(rows[roles.rep])
    labels = np.asarray(names)
    are_numbers = labels.dtype.kind in "biuf"
    return codes, labels if are_numbers else np.array([*map(str, labels)], dtype=object)


def _name_of_rep(column: str) -> str:
    """Under which the given names of data sets are kept: results count replicates from 0."""
    return f"{column}_given" if column in OWN else column


def _without_error(roles: Roles, quantities: Quantities) -> list[str]:
    """What is missing beside an estimate, of each column that has a part to play."""
    there = ~np.isnan(quantities[roles.estimate])
    said = []
    for name in roles.numbers:
        lacking = there & np.isnan(quantities[name])
        if lacking.any():
            said.append(
                f"{name} is missing in {int(lacking.sum()):,} rows that have an estimate (the "
                f"first is {row_of(int(lacking.argmax()))}): measures of it are of the other rows, "
                "and count these as n_failed"
            )
    return said
