"""Measures' estimates, from stored replicates or from stored moments.

Scenarios are read in the order of the files, many at a time; a measure whose cells are each their
own takes those that were read together side by side, as further cells.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from simstudy.design import Plan, Scenario
from simstudy.errors import StudyError
from simstudy.measures import Estimates, Measure, MomentMeasure
from simstudy.store.blocks import Batch, Store
from simstudy.store.columns import columns_of, has_nulls, stored_names
from simstudy.store.moments import cells_known, merged_moments, spread_over

Columns = Mapping[str, np.ndarray]
Prepare = Callable[[Columns], Columns]
"""What is done to a scenario's columns before they are measured."""

Found = dict[tuple[str, str], Estimates]
"""Estimates by scenario key and the measure's name."""


class Estimator(Protocol):
    """From a scenario and a measure to its estimates."""

    def __call__(self, scenario: Scenario, measure: Measure) -> Estimates: ...


@dataclass
class FromRows:
    """Estimates from stored replicates.

    Parameters
    ----------
    n_rep
        Replicates to use of each scenario, by its key: the first so many.
    """

    plan: Plan
    store: Store
    measures: Sequence[Measure]
    n_rep: Mapping[str, int]
    prepare: Prepare | None = None
    level: float = 0.95

    def __call__(self, scenario: Scenario, measure: Measure) -> Estimates:
        return self._found[self.plan.key_of(scenario), measure.name]

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for measure in self.measures for name in measure.reads))

    @cached_property
    def _found(self) -> Found:
        found: Found = {}
        sizes = {key: self.n_rep[key] for key in self.plan.keys}
        for batch in self.store.read_each(sizes, stored_names(self._names)):
            found |= self._of_batch(batch)
        return found

    def _of_batch(self, batch: Batch) -> Found:
        """Side by side where every column is the same as for a scenario alone."""
        alone = len(batch.keys) == 1 or self.prepare is not None or has_nulls(batch.table)
        together = [measure for measure in self.measures if measure.by_cell and not alone]
        try:
            found = self._side_by_side(batch, together) if together else {}
        except StudyError:  # say it of the scenario that it is about
            found, together = {}, []
        rest = [measure for measure in self.measures if measure not in together]
        return found | self._one_by_one(batch, rest)

    def _one_by_one(self, batch: Batch, measures: Sequence[Measure]) -> Found:
        if not measures:
            return {}
        return {
            (key, measure.name): measure.estimate(columns, level=self.level)
            for key, columns in self._columns_of_each(batch)
            for measure in measures
        }

    def _columns_of_each(self, batch: Batch) -> Iterator[tuple[str, Columns]]:
        for at, key in enumerate(batch.keys):
            columns = self._columns(batch.table.slice(at * batch.n_rows, batch.n_rows))
            yield key, self.prepare(columns) if self.prepare else columns

    def _columns(self, table: pa.Table) -> Columns:
        return columns_of(self.plan, table, self._names, known=self.store.column_names)

    def _side_by_side(self, batch: Batch, measures: Sequence[Measure]) -> Found:
        columns = self._columns(batch.table)
        return {
            (key, measure.name): estimates
            for measure in measures
            for key, estimates in zip(
                batch.keys, self._of_all(batch, measure, columns), strict=True
            )
        }

    def _of_all(self, batch: Batch, measure: Measure, columns: Columns) -> Iterator[Estimates]:
        """Scenarios as a last axis of the columns, for one measure, and taken apart again."""
        read = {name: columns[name] for name in measure.reads}
        n_axes = max(column.ndim for column in read.values()) - 1
        size = len(batch.keys), batch.n_rows
        beside = {name: _with_scenarios_last(c, size, n_axes) for name, c in read.items()}
        numbers = measure.estimate(beside, level=self.level)
        apart = [np.moveaxis(part, n_axes, 0) for part in numbers]
        return (Estimates(*(part[at, ...] for part in apart)) for at in range(size[0]))


def _with_scenarios_last(column: np.ndarray, size: tuple[int, int], n_axes: int) -> np.ndarray:
    """From rows of scenarios below each other, `(rep, *axes, scenario)`."""
    missing = (1,) * (n_axes + 1 - column.ndim)
    return np.moveaxis(column.reshape(*size, *column.shape[1:], *missing), 0, -1)


@dataclass
class FromMoments:
    """Estimates from the moments of whole blocks."""

    plan: Plan
    store: Store
    n_rep: Mapping[str, int]
    level: float = 0.95

    def __call__(self, scenario: Scenario, measure: Measure) -> Estimates:
        assert isinstance(measure, MomentMeasure)
        merged = merged_moments(measure.name, self._tables[self.plan.key_of(scenario)])
        if self.plan.axes and np.ndim(merged.n) == 0:
            merged = spread_over(merged, cells_known(measure.name, self._tables.values()))
        return measure.from_moments(merged, level=self.level)

    @cached_property
    def _tables(self) -> dict[str, pa.Table]:
        sizes = {key: self.n_rep[key] // self.plan.block_size for key in self.plan.keys}
        return {
            key: batch.table.slice(at * batch.n_rows, batch.n_rows)
            for batch in self.store.read_each(sizes)
            for at, key in enumerate(batch.keys)
        }
