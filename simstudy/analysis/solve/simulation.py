"""The simulation behind a search: blocks are drawn at values of the factor, and measured."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from simstudy.analysis.estimates import Estimator
from simstudy.analysis.solve.problem import Number, ScenarioOf
from simstudy.analysis.solve.search import Evaluation
from simstudy.analysis.stored_replicates import StoredReplicates
from simstudy.analysis.summary import cell_axes
from simstudy.design import Scenario, scenario_key
from simstudy.design.plan import Plan
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
from simstudy.engine.run_stats import RunStats
from simstudy.engine.work_queue import missing_blocks
from simstudy.engine.workers import Workers
from simstudy.errors import StudyError
from simstudy.measures import Estimates, Measure
from simstudy.store.blocks import Store
from simstudy.store.columns import imputed

ONE_SE = math.erf(math.sqrt(0.5))  # level of an interval of one standard error either side


@dataclass
class Simulation:
    """Evaluates a measure at values of a factor, by drawing blocks.

    Parameters
    ----------
    plan
        The study's; its scenarios are not used.
    scenario_of
        The scenario at a value of the factor.
    measure
        The measure that is to reach its target.
    cell
        Labels that choose one cell of the measure, by axis.
    worst
        Values that failures count as, if the study sets any.
    workers
        How blocks are drawn.
    """

    plan: Plan
    scenario_of: ScenarioOf
    measure: Measure
    cell: Mapping[str, Any]
    worst: Mapping[str, float]
    workers: Workers
    _values: dict[str, Number] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="simstudy-")
        self._store = Store(Path(self._folder.name), self.plan.block_size)

    def __call__(self, n_blocks: Mapping[Number, int]) -> dict[Number, Evaluation]:
        scenarios = {value: self.scenario_of(value) for value in n_blocks}
        keys = {value: self._key(value, scenario) for value, scenario in scenarios.items()}
        plan = self.plan.only(scenarios.values())
        wanted = {keys[value]: n for value, n in n_blocks.items()}
        outcome = self._draw(plan, wanted)
        sizes = {key: n * plan.block_size for key, n in wanted.items()}
        prepare = partial(imputed, worst=self.worst)
        rows = StoredReplicates(plan, self._store, sizes)
        estimator = Estimator(rows, [self.measure], prepare, level=ONE_SE)
        return {
            value: self._reading(value, scenario, estimator, sizes[keys[value]], outcome)
            for value, scenario in scenarios.items()
        }

    def _draw(self, plan: Plan, n_blocks: Mapping[str, int]) -> RunStats:
        """Draw missing blocks of each scenario."""
        loop = Loop(plan.work_units, self._store, self.workers, Silent())
        blocks = missing_blocks(plan.work_units, plan.drawn_sizes(n_blocks), self._store)
        loop.draw_blocks(blocks)
        return loop.stats

    def _key(self, value: Number, scenario: Scenario) -> str:
        """The scenario's key, which two values of the factor may not share."""
        key = scenario_key(scenario)
        other = self._values.setdefault(key, value)
        if other != value:
            raise StudyError(
                f"the factor's values {other:g} and {value:g} give the same scenario, {scenario}, "
                "so its replicates would count twice. Let the scenario depend on the factor, or "
                "say integer=True where it is rounded."
            )
        return key

    def _reading(
        self, value: Number, scenario: Scenario, estimator: Estimator, n_rep: int, outcome: RunStats
    ) -> Evaluation:
        estimates = estimator(scenario, self.measure)
        if outcome.failures and not np.any(estimates.n_rep):
            raise StudyError(
                f"no replicate of {scenario} could be used, so {self.measure.name} has no value "
                f"there. The first failure of this round: {outcome.failures[0][1]}. Fix it, or "
                f"choose a bracket without {value:g}."
            )
        cell = self._cell(estimates)
        return Evaluation(
            n_rep=n_rep,
            estimate=float(cell.estimate),
            mcse=float(cell.mcse),
            lower=float(cell.lower),
            upper=float(cell.upper),
            n_failed=int(cell.n_failed),
            reason=str(cell.reason),
        )

    def _cell(self, estimates: Estimates) -> Estimates:
        """The estimate in the cell that is solved for."""
        axes = cell_axes(self.plan, self.measure, np.ndim(estimates.estimate))
        shape = tuple(len(labels) for labels in axes.values())
        index = tuple(self._position(axis, labels) for axis, labels in axes.items())
        return estimates.map(lambda part: np.asarray(np.broadcast_to(part, shape)[index]))

    def _position(self, axis: str, labels: tuple[Any, ...]) -> int:
        if len(labels) == 1 and axis not in self.cell:
            return 0
        shown = ", ".join(map(repr, labels))
        if axis not in self.cell:
            raise StudyError(
                f"{self.measure.name} has a value for each {axis} ({shown}), and one answer cannot "
                f"hold for all. Say which: where={{{axis!r}: {labels[0]!r}}}."
            )
        if self.cell[axis] not in labels:
            raise StudyError(f"where: {axis} has no {self.cell[axis]!r}; available: {shown}.")
        return labels.index(self.cell[axis])
