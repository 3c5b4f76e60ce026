"""Estimates of measures from stored replicates.

Scenarios are read in the order of the files, many at a time; a measure whose cells are each their
own takes those that were read together side by side, as further cells.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from simstudy.analysis.result_columns import ResultColumns
from simstudy.analysis.undefined import Undefined, stacked
from simstudy.design import Scenario
from simstudy.design.plan import Plan, number_factors, properties_in
from simstudy.engine.columns import refuse_two_meanings
from simstudy.engine.workers import available_cores
from simstudy.errors import StudyError
from simstudy.measures import Estimates, Measure
from simstudy.store.blocks import Batch, Store, map_batches
from simstudy.store.columns import columns_of, has_nulls, stored_names

Columns = Mapping[str, np.ndarray]
Prepare = Callable[[Columns], Columns]
"""What is done to a scenario's columns before they are measured."""

Found = dict[tuple[str, str], Estimates]
"""Estimates by scenario key and the measure's name."""


class Estimator(Protocol):
    """A function from scenario and measure to estimates."""

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
        key = self.plan.key_of(scenario)
        if measure not in self._by_cell:
            return self._of_whole[key, measure.name]
        each = [self._of_cells[drawn, measure.name] for drawn in self.plan.drawn_keys[key]]
        return stacked(each) if self.plan.methods else each[0]

    @cached_property
    def _rows(self) -> ResultColumns:
        return ResultColumns(self.plan, self.store, self.n_rep)

    @cached_property
    def _by_cell(self) -> list[Measure]:
        """Measures that are computed cell by cell, independently of other methods and scenarios."""
        read = names_read(self.measures)
        factors = {
            name
            for each in self.plan.scenarios
            for name in (*number_factors(each), *properties_in(each, read))
        }
        later = self._rows.derived.names | (factors - self.store.column_names())
        if self.prepare is not None:
            return []
        return [
            m
            for m in self.measures
            if m.by_cell
            and not later.intersection(m.reads)
            and not (len(m.reads) > 1 and factors.intersection(m.reads))
        ]

    # ---------------------------------------------------------------- of whole scenarios
    @cached_property
    def _of_whole(self) -> Found:
        measures = [measure for measure in self.measures if measure not in self._by_cell]
        names = names_read(measures)
        found: Found = {}
        undefined = Undefined(self.level)
        for key, scenario in self.plan.keys.items():
            columns: Columns = self._rows.columns(key, names)
            refuse_two_meanings(self.plan, scenario, [m.reads for m in measures], columns)
            columns = self.prepare(columns) if self.prepare else columns
            found |= {(key, m.name): undefined.estimate(m, columns) for m in measures}
        undefined.check()
        return found

    # ---------------------------------------------------------------- of cells, many at a time
    @cached_property
    def _of_cells(self) -> Found:
        names = stored_names(names_read(self._by_cell))
        sizes = self.plan.drawn_sizes({key: self.n_rep[key] for key in self.plan.keys})
        each = partial(side_by_side, n_threads=available_cores())
        found: Found = {}
        undefined = self._undefined  # made before threads share it
        for some in map_batches(self._of_batch, self.store, sizes, names, each):
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
        self._undefined.note_defined(measure.name for measure in self._by_cell)
        return found

    def _one_by_one(self, batch: Batch) -> Found:
        return {
            (key, measure.name): self._undefined.estimate(measure, columns)
            for key, table in batch.each()
            for columns in [self._columns_of_one(key, table)]
            for measure in self._by_cell
        }

    def _columns(self, table: pa.Table) -> Columns:
        names = names_read(self._by_cell)
        return columns_of(self.plan.work_units, table, names, available=self._rows.derived.known)

    def _columns_of_one(self, key: str, table: pa.Table) -> Columns:
        try:
            return self._columns(table)
        except StudyError:  # drawn numbers that are not stored are drawn again
            names = names_read(self._by_cell)
            return self._rows.derived.columns(key, len(table), names)

    def _side_by_side(self, batch: Batch) -> Found:
        columns = self._columns(batch.table)
        return {
            (key, measure.name): estimates
            for measure in self._by_cell
            for key, estimates in self._of_all(batch, measure, columns)
        }

    def _of_all(
        self, batch: Batch, measure: Measure, columns: Columns
    ) -> Iterator[tuple[str, Estimates]]:
        """Estimate one measure with scenarios as the last axis, then split the result."""
        read = {name: columns[name] for name in measure.reads}
        n_axes = max(column.ndim for column in read.values()) - 1
        size = len(batch.keys), batch.n_rows
        beside = {name: _with_scenarios_last(c, size, n_axes) for name, c in read.items()}
        numbers = measure.estimate(beside, level=self.level)
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
    """Apply a function to each item in threads, in order.

    No more items are taken than threads have to do, and one; so memory holds what is made of these.

    Parameters
    ----------
    work
        Leaves the GIL to others for most of its time, as NumPy does, and writes nothing that two
        items share.
    items
        Taken in the thread that asks.
    """
    if n_threads < 2:
        yield from map(work, items)
        return
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(n_threads) as threads:
        for item in items:
            waiting.append(threads.submit(copy_context().run, work, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
