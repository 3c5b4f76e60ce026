"""A measure read at values of a factor, by drawing blocks through the engine."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simstudy.analysis.estimates import FromRows
from simstudy.analysis.solve.question import Number
from simstudy.analysis.solve.readings import Reading
from simstudy.analysis.summary import cell_axes
from simstudy.design import Scenario, scenario_key
from simstudy.engine.assignment import Assignment
from simstudy.engine.jobs import missing_jobs
from simstudy.engine.outcome import Outcome
from simstudy.engine.runner import run_jobs
from simstudy.engine.workers import Workers
from simstudy.errors import StudyError
from simstudy.measures import Estimates, Measure
from simstudy.plan import Plan
from simstudy.store.blocks import Store
from simstudy.store.columns import imputed
from simstudy.store.layout import KeepReplicates

ONE_SE = math.erf(math.sqrt(0.5))  # level of an interval of one standard error either side


class Simulation:
    """Reads a measure by drawing blocks through the streams and the store of the engine.

    Parameters
    ----------
    plan
        The study's; its scenarios are not used.
    scenario_of
        The scenario at a value of the factor.
    cell
        Labels that choose one cell of the measure, by axis.
    worst
        What failed values count as, if the study says so.
    """

    def __init__(
        self,
        plan: Plan,
        scenario_of: Callable[[Number], Scenario],
        measure: Measure,
        *,
        cell: Mapping[str, Any],
        worst: Mapping[str, float],
        workers: Workers,
    ) -> None:
        self.plan, self.scenario_of, self.measure = plan, scenario_of, measure
        self.cell, self.worst, self.workers = cell, worst, workers
        self._folder = tempfile.TemporaryDirectory(prefix="simstudy-")
        self._store = Store(Path(self._folder.name), plan.block_size)
        self._values: dict[str, Number] = {}

    def __call__(self, n_blocks: Mapping[Number, int]) -> dict[Number, Reading]:
        scenarios = {value: self.scenario_of(value) for value in n_blocks}
        keys = {value: self._key(value, scenario) for value, scenario in scenarios.items()}
        plan = self.plan.only(scenarios.values())
        wanted = {keys[value]: n for value, n in n_blocks.items()}
        outcome = self._draw(plan, wanted)
        sizes = {key: n * plan.block_size for key, n in wanted.items()}
        estimator = FromRows(plan, self._store, [self.measure], sizes, self._prepared, level=ONE_SE)
        return {
            value: self._reading(value, scenario, estimator, sizes[keys[value]], outcome)
            for value, scenario in scenarios.items()
        }

    def _draw(self, plan: Plan, wanted: Mapping[str, int]) -> Outcome:
        """What is missing of so many blocks of each scenario, by key."""
        assignment = Assignment(plan.drawn, self._store, KeepReplicates())
        jobs = missing_jobs(plan.drawn, plan.drawn_sizes(wanted), self._store)
        outcome = run_jobs(assignment, jobs, workers=self.workers)
        self._store.scan()
        return outcome

    def _key(self, value: Number, scenario: Scenario) -> str:
        """The scenario's key; two values of the factor may not share one, nor its replicates."""
        key = scenario_key(scenario)
        other = self._values.setdefault(key, value)
        if other != value:
            raise StudyError(
                f"the factor's values {other:g} and {value:g} give the same scenario, {scenario}, "
                "so its replicates would count twice. Let the scenario depend on the factor, or "
                "say integer=True where it is rounded."
            )
        return key

    def _prepared(self, columns: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        return imputed(columns, self.worst) if self.worst else columns

    def _reading(
        self, value: Number, scenario: Scenario, estimator: FromRows, n_rep: int, outcome: Outcome
    ) -> Reading:
        estimates = estimator(scenario, self.measure)
        if outcome.failures and not np.any(estimates.n_rep):
            raise StudyError(
                f"no replicate of {scenario} could be used, so {self.measure.name} has no value "
                f"there. The first failure of this round: {outcome.failures[0][1]}. Mend it, or "
                f"choose a bracket without {value:g}."
            )
        cell = self._cell(estimates)
        return Reading(
            n_rep=n_rep,
            estimate=float(cell.estimate),
            mcse=float(cell.mcse),
            lower=float(cell.lower),
            upper=float(cell.upper),
            n_failed=int(cell.n_failed),
            reason=str(cell.reason),
        )

    def _cell(self, estimates: Estimates) -> Estimates:
        """The one cell that is solved for."""
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
            raise StudyError(f"where: {axis} has no {self.cell[axis]!r}; there is {shown}.")
        return labels.index(self.cell[axis])
