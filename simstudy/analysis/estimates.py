"""Estimates of measures from stored replicates.

Scenarios are read in the order of the files, many at a time; a measure whose cells are each their
own takes those that were read together side by side, as further cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from simstudy.analysis.replicates import Replicates, StoredReplicates
from simstudy.design import Scenario
from simstudy.design.plan import number_factors, properties_in
from simstudy.engine.columns import refuse_other_values
from simstudy.engine.workers import available_cores
from simstudy.errors import ConfigError, StudyError, UndefinedError, in_one_line, nearest
from simstudy.measures import Columns, Estimates, Measure
from simstudy.measures.warnings import ALL_ALIKE
from simstudy.options import format_setting
from simstudy.store.arrow_schema import CONVERGED, columns_of, has_nulls, stored_names
from simstudy.store.blocks import Batch, map_batches

Prepare = Callable[[Columns], Columns]
"""What is done to a scenario's columns before they are measured."""

Compute = Callable[[Columns], Estimates]

Found = dict[tuple[str, str], Estimates]
"""Estimates by scenario key and the measure's name."""

NOTHING = {"reason": "", "warning": "", "n_rep": 0, "n_failed": 0, "n_given": 0}  # else NaN


@dataclass
class Estimator:
    """Estimates from replicates: a function of a scenario and a measure.

    Parameters
    ----------
    prepare
        Function applied to a scenario's columns, `converged` among them, before they are measured.
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
        each = [self._cells.found[drawn, measure.name] for drawn in plan.unit_keys[key]]
        return stacked(each) if plan.methods else each[0]

    @cached_property
    def _cells(self) -> CellEstimates | None:
        """Estimates that are computed cell by cell; None for columns that need preparation."""
        if self.prepare is not None or not isinstance(self.rows, StoredReplicates):
            return None
        measures = measures_by_cell(self.rows, self.measures)
        return CellEstimates(self.rows, measures, Undefined(self.level))

    @cached_property
    def _of_whole(self) -> Found:
        """Estimates of the other measures, scenario by scenario."""
        by_cell = [] if self._cells is None else self._cells.measures
        measures = [measure for measure in self.measures if measure not in by_cell]
        names, plan = names_read(measures), self.rows.plan
        if self.prepare is not None:
            names = (*names, CONVERGED)
        found: Found = {}
        undefined = Undefined(self.level)
        for key, scenario in plan.keys.items():
            columns: Columns = self.rows.columns(key, names)
            refuse_other_values(plan, scenario, [m.reads for m in measures], columns)
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
    later = rows.derived.keys() | (factors - rows.store.column_names())
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
    undefined: Undefined

    @cached_property
    def found(self) -> Found:
        names = stored_names(names_read(self.measures))
        sizes = self.rows.plan.unit_sizes(self.rows.n_rep)
        each = partial(side_by_side, n_threads=available_cores())
        found: Found = {}
        for some in map_batches(self._of_batch, self.rows.store, sizes, names, each):
            found |= some
        self.undefined.check()
        return found

    def _of_batch(self, batch: Batch) -> Found:
        """Estimate several scenarios together, where their columns have equal shapes and types."""
        if len(batch.keys) == 1 or has_nulls(batch.table):
            return self._one_by_one(batch)
        try:
            found = self._side_by_side(batch)
        except StudyError:  # find the cells that it is about
            return self._one_by_one(batch)
        self.undefined.note_defined(measure.name for measure in self.measures)
        return found

    def _one_by_one(self, batch: Batch) -> Found:
        return {
            (key, measure.name): self.undefined.estimate(measure, columns)
            for key, table in batch.each()
            for columns in [self._columns_of_one(key, table)]
            for measure in self.measures
        }

    def _columns(self, table: pa.Table) -> Columns:
        names, plan = names_read(self.measures), self.rows.plan.work_units
        return columns_of(plan, table, names, available=self.rows.known)

    def _columns_of_one(self, key: str, table: pa.Table) -> Columns:
        try:
            return self._columns(table)
        except StudyError:  # drawn numbers that are not stored are drawn again
            return self.rows.unit_columns(key, len(table), names_read(self.measures))

    def _side_by_side(self, batch: Batch) -> Found:
        columns = self._columns(batch.table)
        if not self.rows.plan.methods:  # claims and figures read the same columns
            self.rows.keep(batch.keys, batch.n_rows, columns)
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
        wide = {name: with_scenarios_last(c, size, n_axes) for name, c in read.items()}
        numbers = measure.estimate(wide, level=self.undefined.level)
        for at, key in enumerate(batch.keys):
            yield key, numbers.map(partial(np.take, indices=at, axis=n_axes))


def names_read(measures: Sequence[Measure]) -> tuple[str, ...]:
    """The columns that some measures read, without duplicates."""
    return tuple(dict.fromkeys(name for measure in measures for name in measure.reads))


def with_scenarios_last(column: np.ndarray, size: tuple[int, int], n_axes: int) -> np.ndarray:
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


# ---------------------------------------------------------------- cells without a value
@dataclass
class Undefined:
    """Computes measures; a cell in which one raises is NaN with the reason.

    A measure that raises everywhere is a mistake of the study: `check` raises its first error.

    Parameters
    ----------
    level
        Coverage of the intervals.
    caught
        The errors that become NaN.
    """

    level: float
    caught: type[StudyError] = StudyError
    _first: dict[str, StudyError] = field(default_factory=dict)
    _defined: set[str] = field(default_factory=set)

    def estimate(
        self, measure: Measure, columns: Columns, compute: Compute | None = None
    ) -> Estimates:
        """Compute a measure of some columns `(rep, *axes)`.

        Parameters
        ----------
        compute
            Function of the columns, for a contrast of the measure. Default: its `estimate`.
        """
        if compute is None:
            compute = partial(measure.estimate, level=self.level)
            columns = {name: columns[name] for name in measure.reads if name in columns}
        try:
            estimates = compute(columns)
        except self.caught as error:
            return self._by_cell(measure, columns, compute, error)
        self._defined.add(measure.name)
        return estimates

    def note_defined(self, names: Iterable[str]) -> None:
        """Note measures that have values of other cells."""
        self._defined.update(names)

    def check(self) -> None:
        """Raise the first error of a measure that has no value anywhere.

        Raises
        ------
        StudyError
            The error that the measure raised.
        """
        errors = [error for name, error in self._first.items() if name not in self._defined]
        mistakes = [error for error in errors if not isinstance(error, UndefinedError)]
        if errors:
            raise (mistakes or errors)[0]

    def _by_cell(
        self, measure: Measure, columns: Columns, compute: Compute, error: StudyError
    ) -> Estimates:
        """Compute cell by cell; one estimate for all cells where cells need each other."""
        self._first.setdefault(measure.name, error)
        n_axes = max((column.ndim for column in columns.values()), default=1) - 1
        wide = {n: c.reshape(c.shape + (1,) * (n_axes + 1 - c.ndim)) for n, c in columns.items()}
        shape = np.broadcast_shapes(*(column.shape[1:] for column in wide.values()))
        own = tuple(len(values) for values in measure.axes.values())
        if not shape or not measure.by_cell:
            return _without_value(error, (*shape, *own))
        full = {n: np.broadcast_to(c, (len(c), *shape)) for n, c in wide.items()}
        each = []
        for cell in np.ndindex(shape):
            try:
                each.append(compute({name: column[:, *cell] for name, column in full.items()}))
                self._defined.add(measure.name)
            except self.caught as undefined:
                each.append(_without_value(undefined, own))
        return stacked(each).map(lambda part: part.reshape((*shape, *own)))


def _without_value(error: StudyError, shape: tuple[int, ...]) -> Estimates:
    """NaN in each cell, with an error's text as the reason."""
    names = [name for name in Estimates._fields if name not in Estimates._field_defaults]
    values = {name: np.full(shape, NOTHING.get(name, np.nan)) for name in names}
    reason = getattr(error, "reason", "") or in_one_line(str(error))
    return Estimates(**values | {"reason": np.full(shape, reason, dtype=object)})


def stacked(each: Sequence[Estimates]) -> Estimates:
    """Stack estimates along a first axis; what only some of them have is missing in the others."""
    parts = {}
    for name, of_each in zip(Estimates._fields, zip(*each, strict=True), strict=True):
        if any(part is not None for part in of_each):
            nothing = np.array(NOTHING.get(name, np.nan), object if name in NOTHING else float)
            found = [nothing if part is None else part for part in of_each]
            parts[name] = np.stack(np.broadcast_arrays(*found))
    return Estimates(**parts)


# ---------------------------------------------------------------- targets
@dataclass(frozen=True)
class Target:
    """A target for the Monte Carlo standard error.

    Parameters
    ----------
    measure
        Name of the measure.
    mcse
        In the measure's units, or as a share of the estimate if `relative`.
    """

    measure: str
    mcse: float
    relative: bool = False

    def shortfall(self, estimates: Estimates, block_size: int) -> float:
        """The largest ratio of error to target over the cells.

        Replicates that are all alike do not show what was rare: an error of 0 counts only if there
        are `ALL_ALIKE` of them or more, from two blocks or more. The ratio is infinite otherwise.
        """
        n = estimates.n_rep
        allowed = self.mcse * (np.abs(estimates.estimate) if self.relative else 1.0)
        by_luck = (n < ALL_ALIKE) | (n <= block_size)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = estimates.mcse / allowed
        ratio = np.where(estimates.mcse == 0, np.where(by_luck, math.inf, 0.0), ratio)
        return float(np.where(np.isnan(ratio), math.inf, ratio).max())


def read_targets(targets: Mapping[str, Any], measures: Sequence[Measure]) -> tuple[Target, ...]:
    """Parse targets: `{"power": 0.005}`, or `"2%"` of the estimate.

    Raises
    ------
    ConfigError
        For a measure that the study does not have, or an error that is not above 0.
    """
    return tuple(_read_target(name, value, measures) for name, value in targets.items())


def _read_target(name: str, value: Any, measures: Sequence[Measure]) -> Target:
    known = [measure.name for measure in measures]
    if name not in known:
        raise ConfigError(f"precision.{name}: no such measure; {nearest(name, known)}")
    text = str(value).strip()
    relative = text.endswith("%")
    try:
        number = float(text.removesuffix("%")) / (100 if relative else 1)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        given = value if isinstance(value, str) else format_setting(value)
        raise ConfigError(
            f"precision.{name}={given}: must be a Monte Carlo standard error above 0, or a "
            f"share of the estimate such as 2%; nearest that works: precision.{name}=0.005"
        )
    return Target(name, number, relative)
