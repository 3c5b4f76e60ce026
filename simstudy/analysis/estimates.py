"""Estimates of measures from stored replicates.

Scenarios are read in the order of the files, many at a time; a measure whose cells are each their
own takes those that were read together side by side, as further cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from simstudy.analysis.replicates import Replicates
from simstudy.analysis.stored_replicates import StoredReplicates
from simstudy.analysis.undefined import Undefined, stacked
from simstudy.design import Scenario
from simstudy.design.plan import number_factors, properties_in
from simstudy.engine.columns import constants_named, refuse_other_values
from simstudy.engine.workers import available_cores
from simstudy.errors import StudyError
from simstudy.measures import Estimates, Measure
from simstudy.store.blocks import Batch, map_batches
from simstudy.store.columns import columns_of, has_nulls, stored_names

Columns = Mapping[str, np.ndarray]
Prepare = Callable[[Columns], Columns]
"""What is done to a scenario's columns before they are measured."""

Found = dict[tuple[str, str], Estimates]
"""Estimates by scenario key and the measure's name."""


@dataclass
class Estimator:
    """Estimates from replicates: a function of a scenario and a measure.

    Parameters
    ----------
    prepare
        Function applied to a scenario's columns before they are measured.
    """

    rows: Replicates
    measures: Sequence[Measure]
    prepare: Prepare | None = None
    level: float = 0.95

    def __call__(self, scenario: Scenario, measure: Measure) -> Estimates:
        plan = self.rows.plan
        key = plan.key_of(scenario)
        if self._cells is None or measure not in self._cells.measures:
            return self._of_whole[key, measure.name]
        each = [self._cells.found[drawn, measure.name] for drawn in plan.drawn_keys[key]]
        return stacked(each) if plan.methods else each[0]

    @cached_property
    def _cells(self) -> CellEstimates | None:
        """Estimates that are computed cell by cell; None for columns that need preparation."""
        if self.prepare is not None or not isinstance(self.rows, StoredReplicates):
            return None
        return CellEstimates(self.rows, measures_by_cell(self.rows, self.measures), self.level)

    @cached_property
    def _of_whole(self) -> Found:
        """Estimates of the other measures, scenario by scenario."""
        by_cell = [] if self._cells is None else self._cells.measures
        measures = [measure for measure in self.measures if measure not in by_cell]
        names, plan = names_read(measures), self.rows.plan
        found: Found = {}
        undefined = Undefined(self.level)
        for key, scenario in plan.keys.items():
            columns: Columns = self.rows.columns(key, names)
            named = constants_named(plan, scenario, [m.reads for m in measures], columns)
            refuse_other_values(scenario, named, columns)
            columns = self.prepare(columns) if self.prepare else columns
            found |= {(key, m.name): undefined.estimate(m, columns) for m in measures}
        undefined.check()
        return found


def measures_by_cell(rows: StoredReplicates, measures: Sequence[Measure]) -> list[Measure]:
    """The measures that are computed cell by cell, independently of other methods and scenarios."""
    read = names_read(measures)
    factors = {
        name
        for each in rows.plan.scenarios
        for name in (*number_factors(each), *properties_in(each, read))
    }
    later = rows.derived.names | (factors - rows.store.column_names())
    return [
        m
        for m in measures
        if m.by_cell
        and not later.intersection(m.reads)
        and not (len(m.reads) > 1 and factors.intersection(m.reads))
    ]


@dataclass
class CellEstimates:
    """Estimates of measures that are computed cell by cell, many scenarios at a time."""

    rows: StoredReplicates
    measures: Sequence[Measure]
    level: float

    @cached_property
    def found(self) -> Found:
        names = stored_names(names_read(self.measures))
        sizes = self.rows.plan.drawn_sizes(self.rows.n_rep)
        each = partial(side_by_side, n_threads=available_cores())
        found: Found = {}
        undefined = self._undefined  # made before threads share it
        for some in map_batches(self._of_batch, self.rows.store, sizes, names, each):
            found |= some
        undefined.check()
        return found

    @cached_property
    def _undefined(self) -> Undefined:
        return Undefined(self.level)

    def _of_batch(self, batch: Batch) -> Found:
        """Estimate several scenarios together, where their columns have equal shapes and types."""
        if len(batch.keys) == 1 or has_nulls(batch.table):
            return self._one_by_one(batch)
        try:
            found = self._side_by_side(batch)
        except StudyError:  # find the cells that it is about
            return self._one_by_one(batch)
        self._undefined.note_defined(measure.name for measure in self.measures)
        return found

    def _one_by_one(self, batch: Batch) -> Found:
        return {
            (key, measure.name): self._undefined.estimate(measure, columns)
            for key, table in batch.each()
            for columns in [self._columns_of_one(key, table)]
            for measure in self.measures
        }

    def _columns(self, table: pa.Table) -> Columns:
        names, plan = names_read(self.measures), self.rows.plan.work_units
        return columns_of(plan, table, names, available=self.rows.derived.known)

    def _columns_of_one(self, key: str, table: pa.Table) -> Columns:
        try:
            return self._columns(table)
        except StudyError:  # drawn numbers that are not stored are drawn again
            return self.rows.derived.columns(key, len(table), names_read(self.measures))

    def _side_by_side(self, batch: Batch) -> Found:
        columns = self._columns(batch.table)
        return {
            (key, measure.name): estimates
            for measure in self.measures
            for key, estimates in self._of_all(batch, measure, columns)
        }

    def _of_all(
        self, batch: Batch, measure: Measure, columns: Columns
    ) -> Iterator[tuple[str, Estimates]]:
        """Estimate one measure with scenarios as the last axis, then split the result."""
        read = {name: columns[name] for name in measure.reads}
        n_axes = max(column.ndim for column in read.values()) - 1
        size = len(batch.keys), batch.n_rows
        wide = {name: _with_scenarios_last(c, size, n_axes) for name, c in read.items()}
        numbers = measure.estimate(wide, level=self.level)
        for at, key in enumerate(batch.keys):
            yield key, numbers.map(partial(_of_scenario, at=at, axis=n_axes))


def names_read(measures: Sequence[Measure]) -> tuple[str, ...]:
    """The columns that some measures read, without duplicates."""
    return tuple(dict.fromkeys(name for measure in measures for name in measure.reads))


def _of_scenario(part: np.ndarray, *, at: int, axis: int) -> np.ndarray:
    """The cells of one scenario."""
    return np.asarray(np.moveaxis(part, axis, 0)[at, ...])


def _with_scenarios_last(column: np.ndarray, size: tuple[int, int], n_axes: int) -> np.ndarray:
    """Reshape stacked rows of scenarios to `(rep, *axes, scenario)`."""
    missing = (1,) * (n_axes + 1 - column.ndim)
    return np.moveaxis(column.reshape(*size, *column.shape[1:], *missing), 0, -1)


Item = TypeVar("Item")
Made = TypeVar("Made")


def side_by_side(
    work: Callable[[Item], Made], items: Iterable[Item], n_threads: int
) -> Iterator[Made]:
    """Apply a function to each item in threads, with the caller's settings of NumPy, in order."""
    context = copy_context()
    with ThreadPoolExecutor(n_threads) as threads:
        yield from threads.map(lambda item: context.copy().run(work, item), items)
