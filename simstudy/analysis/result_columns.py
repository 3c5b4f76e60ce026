"""A result's columns: what is stored of each scenario and method, and what is derived of that."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from simstudy.engine.derived import behind, derived_column, optional, read_by
from simstudy.engine.methods import TEXTS
from simstudy.engine.ownership import derived_owner
from simstudy.engine.parameters import said_by
from simstudy.errors import StoreError
from simstudy.measures import Estimates
from simstudy.plan import Derived, Plan, number_factors, scenario_behind
from simstudy.store.blocks import Store
from simstudy.store.columns import columns_of, simulated_columns, stored_names
from simstudy.store.compaction import compact
from simstudy.store.files import Files
from simstudy.store.header import Group
from simstudy.store.layout import ERROR, stored_column
from simstudy.store.naming import DERIVED
from simstudy.store.write import write_blocks


@dataclass
class Rows:
    """Replicates of a result's scenarios: what is stored of them, and what is derived of that.

    Parameters
    ----------
    n_rep
        Replicates used of each scenario, by its key.
    """

    plan: Plan
    store: Store
    n_rep: Mapping[str, int]

    @cached_property
    def derived(self) -> DerivedColumns:
        sizes = {key: self.n_rep[key] for key in self.plan.keys if key in self.n_rep}
        return DerivedColumns(self.plan.drawn, self.store, self.plan.drawn_sizes(sizes))

    def columns(
        self, key: str, names: Sequence[str], n_rep: int | None = None
    ) -> dict[str, np.ndarray]:
        """Columns of a scenario, `(rep,)` or `(rep, *axes)`; with methods `(rep, method, *axes)`.

        A method that only failed is NaN.
        """
        n = self.n_rep[key] if n_rep is None else n_rep
        each = [self.derived.columns(drawn, n, names) for drawn in self.plan.drawn_keys[key]]
        if not self.plan.methods:
            return each[0]
        return {name: _stacked([columns[name] for columns in each]) for name in names}

    def tidy_columns(self, key: str, names: Sequence[str] | None) -> dict[str, np.ndarray]:
        """Columns for a table: `(rep,)` or `(rep, *axes)`, a vector as one object of each cell.

        Parameters
        ----------
        names
            All but vectors, if None; a method without `error` or `warning` says nothing there.
        """
        there = [self._names_of(drawn) for drawn in self.plan.drawn_keys[key]]
        wanted = list(dict.fromkeys(itertools.chain(*there))) if names is None else list(names)
        each = [
            self._objects(drawn, [n for n in wanted if n in of or n not in TEXTS], self.n_rep[key])
            for drawn, of in zip(self.plan.drawn_keys[key], there, strict=True)
        ]
        if not self.plan.methods:
            return each[0]
        silent = np.full(self.n_rep[key], None, dtype=object)
        stacked = {name: _stacked([of.get(name, silent) for of in each]) for name in wanted}
        full = (self.n_rep[key], *self.plan.shape)
        return {name: _over_axes(column, full) for name, column in stacked.items()}

    def _names_of(self, drawn: str) -> list[str]:
        """All columns of single values."""
        stored = simulated_columns(self.store.schema_of(drawn).names)
        return [*(name for name in stored if name not in self.plan.vectors), *self.derived.in_order]

    def _objects(self, drawn: str, names: Sequence[str], n_rep: int) -> dict[str, np.ndarray]:
        columns = self.derived.columns(drawn, n_rep, names, holes=True)
        return {
            name: _as_objects(column) if name in self.plan.vectors else column
            for name, column in columns.items()
        }


def _as_objects(vectors: np.ndarray) -> np.ndarray:
    """The last axis as one object."""
    objects = np.empty(vectors.shape[:-1], dtype=object)
    for place in np.ndindex(objects.shape):
        objects[place] = vectors[place]
    return objects


def _stacked(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Along axis 1; a column without the further axes holds for all of their positions."""
    widest = max(columns, key=np.ndim).shape
    return np.stack([_over_axes(column, widest) for column in columns], axis=1)


def _over_axes(column: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Axes are matched from the left."""
    lacking = len(shape) - column.ndim
    return np.broadcast_to(column.reshape(column.shape + (1,) * lacking), shape)


def stacked_estimates(each: Sequence[Estimates]) -> Estimates:
    """The estimates of each method along a first axis."""
    parts = zip(Estimates._fields, zip(*each, strict=True), strict=True)
    there = {name: of_each for name, of_each in parts if of_each[0] is not None}
    stacked = {name: np.stack(np.broadcast_arrays(*part)) for name, part in there.items()}
    return Estimates(**stacked)


def seconds_by_method(plan: Plan, seconds_per_block: Mapping[str, float]) -> dict[str, float]:
    """Seconds per replicate of each method, without drawing its data, averaged over scenarios.

    Parameters
    ----------
    seconds_per_block
        By the key of what was drawn; a method of which nothing was drawn is left out.
    """
    spent: dict[str, list[float]] = {}
    for drawn in plan.drawn_keys.values():
        for method, key in zip(plan.methods, drawn, strict=False):
            if key in seconds_per_block:
                spent.setdefault(method.name, []).append(seconds_per_block[key])
    return {name: float(np.mean(each)) / plan.block_size for name, each in spent.items()}


ROWS_AT_ONCE = 1 << 20  # of a file that is written: 8 MB of numbers


@dataclass
class DerivedColumns:
    """What a plan derives of its stored blocks.

    Parameters
    ----------
    plan
        As it is drawn: of each method, where there are any.
    n_rep
        Replicates that a result has of what is drawn, by key: all of them are made at once.
    """

    plan: Plan
    store: Store
    n_rep: Mapping[str, int]
    _stores: dict[str, Store] = field(default_factory=dict, repr=False)

    @property
    def in_order(self) -> list[str]:
        """Names of the columns that are not stored as blocks are drawn."""
        return [d.name for d in self.plan.derived if d.name not in self.plan.at_drawing]

    @property
    def names(self) -> set[str]:
        return set(self.in_order)

    def columns(
        self, key: str, n_rep: int, names: Sequence[str], *, holes: bool = False
    ) -> dict[str, np.ndarray]:
        """Columns of what is drawn, stored and derived: `(rep,)` or `(rep, *axes)`."""
        later = self.names
        wanted = [name for name in names if name in later]
        given = {name: np.full(n_rep, value) for name, value in self._factors(key, names).items()}
        stored = [name for name in names if name not in later and name not in given]
        read = self._read(key, n_rep, stored, holes=holes)
        made = {name: self._read_derived(key, n_rep, name) for name in wanted}
        return {name: (read | made | given)[name] for name in names}

    def _factors(self, key: str, names: Sequence[str]) -> dict[str, float]:
        """Factors among some names, where no column has the name."""
        taken = self.known() if set(names) & set(number_factors(self.plan.keys[key])) else set()
        factors = number_factors(self.plan.keys[key])
        return {n: factors[n] for n in names if n in factors and n not in taken}

    def _read(
        self, key: str, n_rep: int, names: Sequence[str], *, holes: bool
    ) -> dict[str, np.ndarray]:
        if not names:
            return {}
        table = self.store.read(key, n_rep, stored_names(names))
        return columns_of(self.plan, table, names, known=self.known, holes=holes)

    def known(self) -> set[str]:
        """Names of all columns that may be asked for."""
        return self.store.column_names() | self.names

    def _read_derived(self, key: str, n_rep: int, name: str) -> np.ndarray:
        return columns_of(self.plan, self._table_of(key, n_rep, name), [name])[name]

    def _table_of(self, key: str, n_rep: int, name: str) -> pa.Table:
        """A derived column as it is kept; made first, of all scenarios, where it is not."""
        kept = self._kept(name)
        try:
            if not self._outdated(kept, key, n_rep).size:
                return kept.read(key, n_rep, [name])
        except StoreError:  # it has gone since it was made: it is only a copy
            kept.scan()
        kept = self._kept(name, anew=True)
        self._make(kept, name, {**self.n_rep, key: max(n_rep, self.n_rep.get(key, 0))})
        return kept.read(key, n_rep, [name])

    # ---------------------------------------------------------------- kept
    def _kept(self, name: str, *, anew: bool = False) -> Store:
        """Where a derived column is kept: what another code made there is never read.

        Parameters
        ----------
        anew
            Whether to look at the code again: what is made now is made by what it is now.
        """
        if anew or name not in self._stores:
            functions = [part.function for part in behind(self.plan.derived, self._named(name))]
            owner = derived_owner(self.store.owner, name, functions)
            self._stores[name] = Store(self._place(name), self.plan.block_size, owner)
        return self._stores[name]

    def _place(self, name: str) -> Files:
        try:
            return self.store.files.below(DERIVED, name)
        except OSError as error:
            raise StoreError(
                f"cannot keep derived columns in {self.store.files}: {error.strerror or error}. "
                f"Move what is named {DERIVED} there out of the way, or choose another out=..."
            ) from error

    def _named(self, name: str) -> Derived:
        return next(derived for derived in self.plan.derived if derived.name == name)

    def _outdated(self, kept: Store, key: str, n_rep: int) -> np.ndarray:
        """Blocks that were not made, or of what has been drawn again since."""
        n_blocks = self.plan.n_blocks(n_rep)
        return np.flatnonzero(kept.ranks(key, n_blocks) != self.store.ranks(key, n_blocks))

    # ---------------------------------------------------------------- made
    def _make(self, kept: Store, name: str, sizes: Mapping[str, int]) -> None:
        """Write a column's missing blocks, many to a file, each with the rank of its source."""
        writing = _Writing(kept)
        for key, n_rep in sizes.items():
            blocks = self._outdated(kept, key, n_rep)
            ranks = self.store.ranks(key, self.plan.n_blocks(n_rep))[blocks]
            tables = self._blocks(key, name, blocks)
            for block, rank, table in zip(blocks.tolist(), ranks.tolist(), tables, strict=True):
                writing.add(Group(key, block, 1), int(rank), table)
        writing.finish()
        if len({header.rank for header in kept.headers.values()}) == 1:  # a file has but one
            compact(kept)

    def _blocks(self, key: str, name: str, blocks: np.ndarray) -> Iterator[pa.Table]:
        """A column's values in some blocks, each made from that block alone."""
        if not blocks.size:
            return
        derived, size, scenario = self._named(name), self.plan.block_size, self.plan.keys[key]
        lengths = self.plan.lengths_of(scenario)
        inputs = self._inputs(key, derived, (int(blocks.max()) + 1) * size)
        for block in blocks.tolist():
            columns: dict[str, np.ndarray] = {}
            for table, names in inputs:
                columns |= columns_of(self.plan, table.slice(block * size, size), names)
            for vector in set(lengths) & set(columns):
                columns[vector] = _as_long_as(columns[vector], lengths[vector])
            made = derived_column(self.plan, derived, scenario, columns)
            yield pa.table(
                {
                    "scenario": pa.repeat(pa.scalar(key), size),
                    "rep": np.arange(block * size, (block + 1) * size),
                    name: stored_column(made),
                }
            )

    def _inputs(
        self, key: str, derived: Derived, n_rep: int
    ) -> list[tuple[pa.Table, Sequence[str]]]:
        """Tables with what a column reads, and the names of what it reads of each."""
        read = set(read_by(derived))
        factors = said_by(scenario_behind(self.plan.keys[key]))
        absent = optional(derived) - self.store.column_names()
        names = sorted(read - set(factors) - self.names - absent)
        stored = self.store.read(key, n_rep, stored_names(names)), [*names, ERROR]
        made = sorted(self.names & read)
        return [stored, *((self._table_of(key, n_rep, name), [name]) for name in made)]


def _as_long_as(vector: np.ndarray, length: int) -> np.ndarray:
    """A vector of a block that failed as a whole is missing, and still of as many cells as any."""
    if vector.ndim > 1 and vector.shape[-1] == length:
        return vector
    cells = vector.shape[:-1] if vector.ndim > 1 else vector.shape
    return np.full((*cells, length), np.nan)


@dataclass
class _Writing:
    """Blocks on their way into files of one rank each, many to a file."""

    kept: Store
    groups: dict[int, list[Group]] = field(default_factory=dict)
    tables: dict[int, list[pa.Table]] = field(default_factory=dict)

    def add(self, group: Group, rank: int, table: pa.Table) -> None:
        """One more block."""
        self.groups.setdefault(rank, []).append(group)
        self.tables.setdefault(rank, []).append(table)
        if len(self.tables[rank]) * self.kept.rows_per_block >= ROWS_AT_ONCE:
            self._write(rank)

    def finish(self) -> None:
        """Write what is left."""
        for rank in list(self.groups):
            self._write(rank)

    def _write(self, rank: int) -> None:
        groups, whole = self.groups.pop(rank), pa.concat_tables(self.tables.pop(rank))
        whose = self.kept.owner.only(group.key for group in groups)
        write_blocks(self.kept.files, groups, whole, owner=whose, rank=rank)
        self.kept.scan()
