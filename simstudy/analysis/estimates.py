"""A measure's estimates in one scenario, from stored replicates or from stored moments."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from simstudy.analysis.assembly import read_columns, stacked_estimates
from simstudy.design import Plan, Scenario, scenario_key
from simstudy.measures import Estimates, Measure, MomentMeasure
from simstudy.store.blocks import Store
from simstudy.store.moments import cells_known, merged_moments, shape_column, spread_over

Prepare = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
"""What is done to a scenario's columns before they are measured."""


class Estimator(Protocol):
    """From a scenario and a measure to its estimates."""

    def __call__(self, scenario: Scenario, measure: Measure) -> Estimates: ...


@dataclass
class FromRows:
    """Estimates from stored replicates, reading each scenario once.

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

    def __post_init__(self) -> None:
        reads = (name for measure in self.measures for name in measure.reads)
        self._names = tuple(dict.fromkeys(reads))
        self._read = functools.lru_cache(maxsize=1)(self._columns)

    def __call__(self, scenario: Scenario, measure: Measure) -> Estimates:
        columns = self._read(scenario_key(scenario))
        return measure.estimate(columns, level=self.level)

    def _columns(self, key: str) -> Mapping[str, np.ndarray]:
        columns = read_columns(self.plan, self.store, key, self.n_rep[key], self._names)
        return self.prepare(columns) if self.prepare else columns


@dataclass
class FromMoments:
    """Estimates from the moments of whole blocks."""

    plan: Plan
    store: Store
    n_rep: Mapping[str, int]
    level: float = 0.95

    def __post_init__(self) -> None:
        self._drawn, self._sizes = self.plan.drawn, self.plan.drawn_sizes(self.n_rep)
        self._read = functools.lru_cache(maxsize=len(self.plan.methods) or 1)(self._table)
        self._cells_elsewhere = functools.cache(self._cells)

    def __call__(self, scenario: Scenario, measure: Measure) -> Estimates:
        assert isinstance(measure, MomentMeasure)
        keys = self.plan.drawn_keys[scenario_key(scenario)]
        each = [self._of_drawn(key, measure) for key in keys]
        return stacked_estimates(each) if self.plan.methods else each[0]

    def _of_drawn(self, key: str, measure: MomentMeasure) -> Estimates:
        merged = merged_moments(measure.name, self._read(key))
        if self._drawn.axes and np.ndim(merged.n) == 0:
            merged = spread_over(merged, self._cells_elsewhere(measure.name))
        return measure.from_moments(merged, level=self.level)

    def _cells(self, name: str) -> tuple[int, ...]:
        """The cells of a measure in any scenario: one that only failed does not know them."""
        shape = [shape_column(name)]
        return cells_known(name, (self._table(key, shape) for key in self._drawn.keys))

    def _table(self, key: str, columns: Sequence[str] | None = None) -> pa.Table:
        return self.store.read(key, self._sizes[key] // self.plan.block_size, columns)
