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
from simstudy.analysis.lookup import place_on_axes
from simstudy.analysis.solve.search import Evaluation, Number, ScenarioOf
from simstudy.analysis.stored_replicates import StoredReplicates
from simstudy.analysis.summary import cell_axes
from simstudy.design.plan import Plan
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
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
        plan = self.plan.only(map(self.scenario_of, n_blocks))
        keys = {value: plan.key_of(s) for value, s in zip(n_blocks, plan.scenarios, strict=True)}
        self._refuse_same_scenario(keys)
        sizes = {keys[value]: n * plan.block_size for value, n in n_blocks.items()}
        loop = Loop(plan.work_units, self._store, self.workers, Silent())
        wanted = {key: plan.n_blocks(n) for key, n in plan.drawn_sizes(sizes).items()}
        loop.draw_blocks(missing_blocks(plan.work_units, wanted, self._store))
        rows = StoredReplicates(plan, self._store, sizes)
        estimator = Estimator(rows, [self.measure], partial(imputed, worst=self.worst), ONE_SE)
        found = {}
        for value, scenario in zip(n_blocks, plan.scenarios, strict=True):
            estimates = estimator(scenario, self.measure)
            if loop.stats.failures and not np.any(estimates.n_rep):
                raise StudyError(
                    f"no replicate of {scenario} could be used, so {self.measure.name} has no "
                    f"value there. The first failure of this round: {loop.stats.failures[0][1]}. "
                    f"Fix it, or choose a bracket without {value:g}."
                )
            cell = self._cell(estimates)
            found[value] = Evaluation(
                n_rep=sizes[keys[value]],
                estimate=float(cell.estimate),
                mcse=float(cell.mcse),
                lower=float(cell.lower),
                upper=float(cell.upper),
                n_failed=int(cell.n_failed),
                reason=str(cell.reason),
            )
        return found

    def _refuse_same_scenario(self, keys: Mapping[Number, str]) -> None:
        """Refuse two values of the factor with one scenario, whose replicates count twice."""
        for value, key in keys.items():
            other = self._values.setdefault(key, value)
            if other != value:
                raise StudyError(
                    f"the factor's values {other:g} and {value:g} give the same scenario, whose "
                    "replicates would count twice. Let the scenario depend on the factor, or say "
                    "integer=True where it is rounded."
                )

    def _cell(self, estimates: Estimates) -> Estimates:
        """The estimate in the cell that is solved for."""
        axes = cell_axes(self.plan, self.measure, np.ndim(estimates.estimate))
        shape = tuple(len(labels) for labels in axes.values())
        try:
            index = place_on_axes(axes, self.cell)
        except LookupError as error:
            raise StudyError(f"where={dict(self.cell)}: {error}") from None
        return estimates.map(lambda part: np.asarray(np.broadcast_to(part, shape)[index]))
