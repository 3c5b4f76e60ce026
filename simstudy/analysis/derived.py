"""Derived columns of what is stored: made when something asks for them, and kept beside it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from simstudy.engine.derived import behind, derived_column, read_by
from simstudy.engine.ownership import derived_owner
from simstudy.plan import Derived, Plan
from simstudy.store.blocks import Store
from simstudy.store.columns import columns_of, stored_names
from simstudy.store.compaction import compact
from simstudy.store.header import Group
from simstudy.store.layout import ERROR, stored_column
from simstudy.store.write import write_blocks

FOLDER = "derived"  # below the files of the blocks that they are derived from
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

    def columns(self, key: str, n_rep: int, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Columns of what is drawn, stored and derived: `(rep,)` or `(rep, *axes)`."""
        wanted = [name for name in names if name in self.names]
        read = self._read(key, n_rep, [name for name in names if name not in wanted])
        made = {name: self._read_derived(key, n_rep, name) for name in wanted}
        return {name: (read | made)[name] for name in names}

    def _read(self, key: str, n_rep: int, names: Sequence[str]) -> dict[str, np.ndarray]:
        if not names:
            return {}
        table = self.store.read(key, n_rep, stored_names(names))
        return columns_of(self.plan, table, names, known=self._known)

    def _known(self) -> set[str]:
        return self.store.column_names() | self.names

    def _read_derived(self, key: str, n_rep: int, name: str) -> np.ndarray:
        return columns_of(self.plan, self._table_of(key, n_rep, name), [name])[name]

    def _table_of(self, key: str, n_rep: int, name: str) -> pa.Table:
        """A derived column as it is kept; made first, of all scenarios, where it is not."""
        kept = self._kept(name)
        if self._n_missing(kept, key, n_rep):
            self._make(kept, name, {**self.n_rep, key: max(n_rep, self.n_rep.get(key, 0))})
        return kept.read(key, n_rep, [name])

    # ---------------------------------------------------------------- kept
    def _kept(self, name: str) -> Store:
        """Where a derived column is kept: what another code made there is never read."""
        if name not in self._stores:
            functions = [part.function for part in behind(self.plan.derived, self._named(name))]
            owner = derived_owner(self.store.owner, name, functions)
            files = self.store.files.below(FOLDER, name)
            self._stores[name] = Store(files, self.plan.block_size, owner)
        return self._stores[name]

    def _named(self, name: str) -> Derived:
        return next(derived for derived in self.plan.derived if derived.name == name)

    def _n_missing(self, kept: Store, key: str, n_rep: int) -> int:
        n_blocks = self.plan.n_blocks(n_rep)
        return n_blocks - min(kept.n_blocks(key), n_blocks)

    # ---------------------------------------------------------------- made
    def _make(self, kept: Store, name: str, sizes: Mapping[str, int]) -> None:
        """Write a column's missing blocks, many scenarios to a file."""
        groups: list[Group] = []
        tables: list[pa.Table] = []
        for key, n_rep in sizes.items():
            n_blocks, n_missing = self.plan.n_blocks(n_rep), self._n_missing(kept, key, n_rep)
            if n_missing:
                first = n_blocks - n_missing
                groups.append(Group(key, first, n_missing))
                tables += self._blocks(key, name, range(first, n_blocks))
            if sum(table.num_rows for table in tables) >= ROWS_AT_ONCE:
                self._write(kept, groups, tables)
        self._write(kept, groups, tables)
        compact(kept)

    def _write(self, kept: Store, groups: list[Group], tables: list[pa.Table]) -> None:
        if groups:
            whole = pa.concat_tables(tables, promote_options="permissive")
            whose = kept.owner.only(group.key for group in groups)
            write_blocks(kept.files, groups, whole, owner=whose)
            groups.clear()
            tables.clear()

    def _blocks(self, key: str, name: str, blocks: range) -> Iterator[pa.Table]:
        """A column's values in some blocks, each made from that block alone."""
        derived, size = self._named(name), self.plan.block_size
        inputs = self._inputs(key, derived, blocks.stop * size)
        for block in blocks:
            columns: dict[str, np.ndarray] = {}
            for table, names in inputs:
                columns |= columns_of(self.plan, table.slice(block * size, size), names)
            made = derived_column(self.plan, derived, self.plan.keys[key], columns)
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
        names = sorted(self.store.column_names() & read)
        stored = self.store.read(key, n_rep, stored_names(names)), [*names, ERROR]
        made = sorted(self.names & read)
        return [stored, *((self._table_of(key, n_rep, name), [name]) for name in made)]
