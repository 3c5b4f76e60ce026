"""The replicates behind a result: of a store, with derived columns, or of other software."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from simstudy.design.plan import Derived, Plan, base_scenario, read_by
from simstudy.engine.columns import derived_column, optional, scenario_columns
from simstudy.engine.methods import TEXTS, scenario_arguments
from simstudy.errors import StudyError, nearest
from simstudy.lazy import pd
from simstudy.store.arrow_schema import (
    CONVERGED,
    ERROR,
    MESSAGE_COLUMNS,
    REP,
    Message,
    columns_of,
    has_text,
    messages_in,
    rows_with_error,
    simulated_columns,
    stored_names,
)
from simstudy.store.blocks import Store, map_batches, stored_messages
from simstudy.store.provenance import Provenance

CACHE_BYTES = 256 << 20  # many claims read the same columns
NO_ROW = "no row"  # error of a method without a row for a data set


@dataclass
class StoredReplicates:
    """Columns of a plan's scenarios in a store, with derived ones, failures and counts.

    Parameters
    ----------
    n_rep
        Replicates used of each scenario, by its key.
    """

    plan: Plan
    store: Store
    n_rep: Mapping[str, int]
    not_applied: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    _recent: dict[tuple[str, str, int], np.ndarray] = field(default_factory=dict, repr=False)
    _n_bytes: int = field(default=0, repr=False)

    @property
    def provenance(self) -> Provenance:
        return self.store.provenance

    @property
    def derived(self) -> dict[str, Derived]:
        """The derived columns that are not stored, in the order of computation."""
        stored = self.plan.stored_derived
        return {each.name: each for each in self.plan.derived if each.name not in stored}

    def known(self) -> set[str]:
        """The names of all available columns."""
        return self.store.column_names() | self.derived.keys()

    @cached_property
    def any_failed(self) -> bool:
        """Whether any replicate failed."""
        names = sorted(self.store.column_names().intersection(MESSAGE_COLUMNS[ERROR]))
        sizes = self.plan.unit_sizes(self.n_rep)
        found = map_batches(
            lambda batch: rows_with_error(batch.table).any(), self.store, sizes, names
        )
        return bool(names) and any(found) and any(True for _ in self.messages(ERROR))

    def messages(self, kind: str) -> Iterator[tuple[str, Message]]:
        """Errors or warnings (`kind`) with the keys of their work units."""
        for key, n_rep in self.plan.unit_sizes(self.n_rep).items():
            found = stored_messages(self.plan, self.store, key, n_rep, kind)
            yield from ((key, at) for at in found)

    def columns(
        self, key: str, names: Sequence[str], n_rep: int | None = None
    ) -> dict[str, np.ndarray]:
        """A scenario's columns: `(rep,)`, `(rep, *axes)` or `(rep, method, *axes)`.

        A failed cell is NaN, and a method that only failed.
        """
        n = self.n_rep[key] if n_rep is None else n_rep
        kept = {
            name: self._recent[key, name, n] for name in names if (key, name, n) in self._recent
        }
        absent = [name for name in names if name not in kept]
        if absent:
            read = self._read_columns(key, absent, n)
            self.keep([key], n, read)
            kept |= read
        return {name: kept[name].copy(order="K") for name in names}

    def keep(self, keys: Sequence[str], n_rep: int, columns: Mapping[str, np.ndarray]) -> None:
        """Cache columns that were read for scenarios of `n_rep` replicates each, one after another.

        Threads may call this at the same time.
        """
        n_bytes = sum(column.nbytes for column in columns.values())
        if self._n_bytes + n_bytes > CACHE_BYTES:
            self._recent, self._n_bytes = {}, 0
        if n_bytes > CACHE_BYTES // 2:  # one scenario, or few, of very many replicates
            return
        self._n_bytes += n_bytes
        for at, key in enumerate(keys):
            rows = slice(at * n_rep, (at + 1) * n_rep)
            self._recent.update({(key, n, n_rep): each[rows] for n, each in columns.items()})

    def __getstate__(self) -> dict[str, Any]:
        """The state without the cache of columns."""
        return vars(self) | {"_recent": {}, "_n_bytes": 0}

    def _read_columns(self, key: str, names: Sequence[str], n: int) -> dict[str, np.ndarray]:
        each = [self.unit_columns(drawn, n, names) for drawn in self.plan.unit_keys[key]]
        if not self.plan.methods:
            return each[0]
        return {name: _stacked([columns[name] for columns in each]) for name in names}

    def tidy_columns(self, key: str, names: Sequence[str] | None) -> dict[str, np.ndarray]:
        """Columns for a table; a vector is one object per cell.

        Parameters
        ----------
        names
            All but vectors, if None; a method without `error` or `warning` says nothing there.
        """
        present = [self._names_of(drawn) for drawn in self.plan.unit_keys[key]]
        wanted = list(dict.fromkeys(itertools.chain(*present))) if names is None else list(names)
        each = [
            self._objects(drawn, [n for n in wanted if n in of or n not in TEXTS], self.n_rep[key])
            for drawn, of in zip(self.plan.unit_keys[key], present, strict=True)
        ]
        if not self.plan.methods:
            return each[0]
        silent = np.full(self.n_rep[key], None, dtype=object)
        stacked = {name: _stacked([of.get(name, silent) for of in each]) for name in wanted}
        full = (self.n_rep[key], *self.plan.shape)
        return {name: _over_axes(column, full) for name, column in stacked.items()}

    def _names_of(self, method: str) -> list[str]:
        """The names of all columns except vectors."""
        stored = simulated_columns(self.store.schema_of(method).names)
        vectors = self.plan.rules.vectors
        return [*(name for name in stored if name not in vectors), *self.derived]

    def _objects(self, method: str, names: Sequence[str], n_rep: int) -> dict[str, np.ndarray]:
        columns = self.unit_columns(method, n_rep, names, holes=True)
        return {
            name: _as_objects(column) if name in self.plan.rules.vectors else column
            for name, column in columns.items()
        }

    # ---------------------------------------------------------------- columns of a work unit
    def unit_columns(
        self, key: str, n_rep: int, names: Sequence[str], *, holes: bool = False
    ) -> dict[str, np.ndarray]:
        """Columns of a work unit, stored and derived: `(rep,)` or `(rep, *axes)`."""
        plan = self.plan.work_units
        constants = scenario_columns(plan, plan.keys[key], set(names) - self.known())
        found = {
            name: np.broadcast_to(value, (n_rep, *np.shape(value)))
            for name, value in constants.items()
        }
        found |= self._derived_columns(key, n_rep, names)
        stored = [name for name in names if name not in found]
        if stored:
            table = self.store.read(key, n_rep, stored_names(stored))
            found |= columns_of(plan, table, stored, available=self.known, holes=holes)
        return {name: found[name] for name in names}

    def _derived_columns(self, key: str, n_rep: int, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Columns that are derived on reading, with those that they are derived from."""
        made: dict[str, np.ndarray] = {}
        wanted = self.plan.inputs_of(names)
        for derived in self.derived.values():
            if derived.name in wanted:
                blocks = list(self._blocks(key, derived, self.plan.n_blocks(n_rep), made))
                made[derived.name] = np.ascontiguousarray(np.concatenate(blocks))
        return {name: values[:n_rep] for name, values in made.items()}

    def _blocks(
        self, key: str, derived: Derived, n_blocks: int, made: Mapping[str, np.ndarray]
    ) -> Iterator[np.ndarray]:
        """A derived column's values, computed block by block."""
        plan, size = self.plan.work_units, self.plan.block_size
        scenario, read = plan.keys[key], set(read_by(derived.function))
        known = scenario_arguments(base_scenario(scenario)).keys() | made.keys()
        absent = optional(derived) - self.store.column_names()
        names = sorted(read - known - absent)
        table = self.store.read(key, n_blocks * size, stored_names(names))
        for start in range(0, n_blocks * size, size):
            columns = columns_of(plan, table.slice(start, size), [*names, ERROR])
            columns |= {name: made[name][start : start + size] for name in read & made.keys()}
            yield derived_column(plan, derived, scenario, columns)


def _as_objects(vectors: np.ndarray) -> np.ndarray:
    """The last axis as one object."""
    objects = np.empty(vectors.shape[:-1], dtype=object)
    for place in np.ndindex(objects.shape):
        objects[place] = vectors[place]
    return objects


def _stacked(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Stack along axis 1; columns without further axes are broadcast."""
    widest = max(columns, key=np.ndim).shape
    return np.stack([_over_axes(column, widest) for column in columns], axis=1)


def _over_axes(column: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Add missing axes on the right."""
    lacking = len(shape) - column.ndim
    return np.broadcast_to(column.reshape(column.shape + (1,) * lacking), shape)


# ---------------------------------------------------------------- replicates of other software
@dataclass
class ReplicatesInMemory:
    """Replicates of other software, with what `StoredReplicates` has.

    Parameters
    ----------
    given
        Columns `(rep,)` or `(rep, *axes)` by scenario key, NaN in failed cells; `error` is a text,
        or None.
    not_applied
        Labels of the first axis without any row, by scenario key.
    """

    plan: Plan
    given: Mapping[str, Mapping[str, np.ndarray]]
    provenance: Provenance
    not_applied: Mapping[str, Sequence[str]]
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
        numbers = scenario_columns(self.plan, self.plan.keys[key], names).items()
        known = {
            name: np.broadcast_to(value, (shape[0], *np.shape(value))) for name, value in numbers
        }
        known |= {ERROR: np.full(shape, None), **self.given[key]}
        known[CONVERGED] = np.where(has_text(known[ERROR]), np.nan, 1.0)
        for name in names:
            if name not in known:
                raise StudyError(
                    f"column {name!r} is not among the replicates' columns; {nearest(name, known)}"
                )
        return {name: known[name][:n_rep].copy() for name in names}

    def tidy_columns(self, key: str, names: Sequence[str] | None) -> dict[str, np.ndarray]:
        every = dict.fromkeys(name for columns in self.given.values() for name in columns)
        return self.columns(key, list(every) if names is None else names)

    def messages(self, kind: str) -> Iterator[tuple[str, Message]]:
        for key, columns in self.given.items():
            if kind in columns:
                yield from ((key, at) for at in messages_in(columns[kind]))


Replicates = StoredReplicates | ReplicatesInMemory


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
    given, not_applied = {}, {}
    for key, rows in zip(plan.keys, cells, strict=True):
        given[key] = _columns_of_rows(plan, rows)
        for axis, labels in plan.axes.items():
            applied = set(rows[axis])
            not_applied[key] = [label for label in labels if label not in applied]
    return ReplicatesInMemory(plan, given, provenance, not_applied)


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
    why = columns.pop(ERROR, np.full(shape, None))
    why[~has_row] = NO_ROW
    why[np.broadcast_to(~has_row.any(axis=0), shape)] = None  # not applied
    return columns | ({ERROR: why} if has_text(why).any() else {})


def _filled(column: pd.Series, at: tuple[np.ndarray, ...], has_row: np.ndarray) -> np.ndarray:
    """A column as `(rep, *axes)`; NaN, or None for texts, where there is no row."""
    is_number = pd.api.types.is_numeric_dtype(column)
    texts = column.astype(object).where(column.notna(), None)
    values = column.to_numpy() if is_number else texts.to_numpy()
    full = np.full(has_row.shape, np.nan if is_number else None)
    full[at] = values
    return full.astype(values.dtype) if has_row.all() else full
