"""The replicates behind a result: of a store, or columns in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from simstudy.design.plan import Plan, number_factors
from simstudy.errors import StudyError, nearest
from simstudy.lazy import pd
from simstudy.store.arrow_schema import CONVERGED, ERROR, REP, has_text
from simstudy.store.blocks import Store
from simstudy.store.columns import Message, messages_in
from simstudy.store.provenance import Provenance

NO_ROW = "no row"  # error of a method without a row for a data set
NOT_APPLIED = "not applied"  # error of a method without any row in a cell


class Replicates(Protocol):
    """Columns of a plan's scenarios, with their failures and counts.

    Attributes
    ----------
    n_rep
        Replicates of each scenario, by its key.
    store
        The store that holds them; None if they are in memory.
    """

    @property
    def plan(self) -> Plan: ...
    @property
    def n_rep(self) -> Mapping[str, int]: ...
    @property
    def store(self) -> Store | None: ...
    @property
    def provenance(self) -> Provenance: ...

    @property
    def any_failed(self) -> bool:
        """Whether any replicate failed."""
        ...

    @property
    def not_applied(self) -> Mapping[str, tuple[str, ...]]:
        """Labels of the first axis without any row, by scenario key."""
        ...

    def columns(
        self, key: str, names: Sequence[str], n_rep: int | None = None
    ) -> dict[str, np.ndarray]:
        """A scenario's columns: `(rep,)` or `(rep, *axes)`, NaN in failed cells."""
        ...

    def tidy_columns(self, key: str, names: Sequence[str] | None) -> dict[str, np.ndarray]:
        """The same for a table, with errors; all columns for None."""
        ...

    def messages(self, kind: str) -> Iterator[tuple[str, Message]]:
        """Errors or warnings (`kind`) with the keys of their work units."""
        ...


@dataclass
class ReplicatesInMemory:
    """Replicates of other software, as `Replicates` describes them.

    Parameters
    ----------
    given
        Columns `(rep,)` or `(rep, *axes)` by scenario key, NaN in failed cells; `error` is a text,
        or None.
    """

    plan: Plan
    given: Mapping[str, Mapping[str, np.ndarray]]
    provenance: Provenance
    store: None = None

    @cached_property
    def n_rep(self) -> dict[str, int]:
        return {key: len(next(iter(columns.values()))) for key, columns in self.given.items()}

    @cached_property
    def any_failed(self) -> bool:
        return any(ERROR in columns for columns in self.given.values())

    def columns(
        self, key: str, names: Sequence[str], n_rep: int | None = None
    ) -> dict[str, np.ndarray]:
        shape = (self.n_rep[key], *self.plan.shape)
        factors = number_factors(self.plan.keys[key]).items()
        known = {name: np.full(shape[:1], value) for name, value in factors}
        known |= {ERROR: np.full(shape, None), **self.given[key]}
        known[CONVERGED] = np.where(has_text(known[ERROR]), np.nan, 1.0)
        for name in names:
            if name not in known:
                raise StudyError(f"a measure reads column {name!r}; {nearest(name, known)}")
        return {name: known[name][:n_rep].copy() for name in names}

    def tidy_columns(self, key: str, names: Sequence[str] | None) -> dict[str, np.ndarray]:
        every = dict.fromkeys(name for columns in self.given.values() for name in columns)
        return self.columns(key, list(every) if names is None else names)

    def messages(self, kind: str) -> Iterator[tuple[str, Message]]:
        for key, columns in self.given.items():
            if kind in columns:
                yield from ((key, at) for at in messages_in(columns[kind]))

    @cached_property
    def not_applied(self) -> dict[str, tuple[str, ...]]:
        found = {}
        for key, columns in self.given.items():
            absent = (columns.get(ERROR, np.array(None)) == NOT_APPLIED).all(axis=0)
            if np.any(absent):
                labels = next(iter(self.plan.axes.values()))
                found[key] = tuple(labels[at] for at in np.flatnonzero(absent))
        return found


# ---------------------------------------------------------------- from rows
def replicates_of_cells(
    plan: Plan, cells: Iterable[pd.DataFrame], provenance: Provenance
) -> ReplicatesInMemory:
    """Replicates from the rows of each scenario.

    Parameters
    ----------
    cells
        For each scenario a frame with `rep` (from 0), the axes and the columns, `error` among them.
        A row that is missing is a failure; a label without any row was not applied.
    """
    given = {key: _columns_of_rows(plan, rows) for key, rows in zip(plan.keys, cells, strict=True)}
    return ReplicatesInMemory(plan, given, provenance)


def _columns_of_rows(plan: Plan, rows: pd.DataFrame) -> dict[str, np.ndarray]:
    """Columns `(rep, *axes)` of the rows of one scenario."""
    shape = (int(rows[REP].max()) + 1, *plan.shape)
    codes = (
        pd.Categorical(rows[n], categories=list(known)).codes for n, known in plan.axes.items()
    )
    at = (rows[REP].to_numpy(), *codes)
    has_row = np.zeros(shape, dtype=bool)
    has_row[at] = True
    names = [name for name in rows if name not in (REP, *plan.axes)]
    columns = {str(name): _filled(rows[name], at, has_row) for name in names}
    is_applied = has_row.any(axis=0)
    why = columns.pop(ERROR, np.full(shape, None))
    why[~has_row] = NO_ROW
    why[np.broadcast_to(~is_applied, shape)] = NOT_APPLIED
    return columns | ({ERROR: why} if has_text(why).any() else {})


def _filled(column: pd.Series, at: tuple[np.ndarray, ...], has_row: np.ndarray) -> np.ndarray:
    """A column as `(rep, *axes)`; NaN, or None for texts, where there is no row."""
    is_number = pd.api.types.is_numeric_dtype(column)
    texts = column.astype(object).where(column.notna(), None)
    values = column.to_numpy() if is_number else texts.to_numpy()
    full = np.full(has_row.shape, np.nan if is_number else None)
    full[at] = values
    return full.astype(values.dtype) if has_row.all() else full
