"""A scenario's columns and estimates, put together from what is stored of each of its methods."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simstudy.analysis.derived import DerivedColumns
from simstudy.engine.methods import TEXTS
from simstudy.measures import Estimates
from simstudy.plan import Plan
from simstudy.store.blocks import Store
from simstudy.store.columns import simulated_columns


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
