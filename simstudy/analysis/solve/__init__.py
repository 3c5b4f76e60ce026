"""Solving for a design by simulation alone: where does a measure reach its target?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from simstudy.analysis.estimates import Estimator
from simstudy.analysis.lookup import place_on_axes
from simstudy.analysis.solve.search import Number, Search, Solution
from simstudy.analysis.stored_replicates import StoredReplicates
from simstudy.analysis.summary import cell_axes
from simstudy.atomic_files import TemporaryFolder
from simstudy.design import Scenario
from simstudy.design.plan import Plan
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError, StudyError, nearest
from simstudy.measures import Estimates, Measure, MeasureContext
from simstudy.provenance.scenario_id import with_factor
from simstudy.store.blocks import Store
from simstudy.store.columns import imputed

__all__ = ["ScenarioOf", "Solution", "solve"]

ONE_SE = math.erf(math.sqrt(0.5))  # level of an interval of one standard error either side

ScenarioOf = Callable[[Number], Scenario]
"""The scenario at a value of the factor."""


def solve(
    study: Any,
    scenario: Scenario | ScenarioOf,
    factor: str,
    *,
    measure: Measure | str,
    target: float,
    low: Number,
    high: Number,
    tolerance: float | None = None,
    max_n_rep: int = 1_000_000,
    integer: bool = True,
    level: float = 0.95,
    where: Mapping[str, Any] | None = None,
    seed: int = 1,
    n_jobs: int | None = None,
    backend: str = "auto",
) -> Solution:
    """Find the value of a factor at which a measure reaches its target, by simulation alone.

    The measure has to cross the target once between `low` and `high`, rising or falling. Values of
    the factor do not share random streams, even if the study sets `common`, because the fit assumes
    independent readings. The answer is the same to the last bit for any number of workers.

    Parameters
    ----------
    study
        Gives name, block size, axes and measures; its scenarios are not used.
    scenario
        A scenario, of which `factor` is varied; or a function from a value of the factor to one.
    factor
        Name of the factor.
    measure
        Name of one of the study's measures, or a measure.
    target
        In units of the measure.
    low, high
        Values of the factor with the answer between them.
    tolerance
        Half-width of the interval at which to stop, in units of the factor; None spends
        `max_n_rep`.
    max_n_rep
        Replicates that may be drawn in all.
    integer
        Whether the factor takes whole numbers only.
    level
        Coverage of the interval.
    where
        Labels of the cell to solve for, by axis, where the measure has several.
    seed
        Seed of the random numbers.
    n_jobs, backend
        Number and kind of workers, as for `Study.run`.

    Returns
    -------
    Solution
        The value of the factor with its interval, and what was drawn to find it.

    Raises
    ------
    ConfigError
        For a setting that makes no sense.
    StudyError
        If the ends of the bracket are not on different sides of the target; the message says
        what the measure is there, with its MCSE.
    """
    varied, where = _varied(scenario, factor), where or {}
    declared = {each.name: each for each in study.measures}
    chosen = measure if isinstance(measure, Measure) else declared.get(measure)
    if chosen is None:
        raise ConfigError(f"measure={measure!r}: the study has none; {nearest(measure, declared)}")
    plan = replace(study.plan(seed), common=())
    label = where.get(plan.methods_axis)
    if label in [method.name for method in plan.methods]:
        plan = plan.of_methods([label])
    bound = chosen.bind(MeasureContext(plan.axes, plan.name, plan.seed, study.rules.group_size))
    workers = Workers(backend, n_jobs)
    read = Simulation(plan, varied, bound, where, study.rules.worst, workers)
    bracket = low, high, tolerance, max_n_rep, integer, level, chosen.bounds == "wilson"
    return Search(read, plan.block_size, factor, chosen.name, target, *bracket).solve()


def _varied(scenario: Scenario | ScenarioOf, factor: str) -> ScenarioOf:
    """The scenario as a function of the factor."""
    if isinstance(scenario, type) or not (is_dataclass(scenario) or callable(scenario)):
        raise ConfigError(
            f"scenario={scenario!r} is neither a scenario nor a function of {factor}. Give one "
            f"scenario to vary, or for example lambda x: Scenario({factor}=x)."
        )
    if not is_dataclass(scenario):
        return scenario
    names = [field.name for field in fields(scenario) if field.init]
    if factor not in names:
        raise ConfigError(
            f"{type(scenario).__name__} has no factor {factor!r}; {nearest(factor, names)}"
        )
    return partial(with_factor, scenario, factor)


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
    where
        Labels that choose one cell of the measure, by axis.
    worst
        Values that failures count as, if the study sets any.
    workers
        How blocks are drawn.
    """

    plan: Plan
    scenario_of: ScenarioOf
    measure: Measure
    where: Mapping[str, Any]
    worst: Mapping[str, float]
    workers: Workers

    def __post_init__(self) -> None:
        self._folder = TemporaryFolder()
        self._store = Store(Path(self._folder.name), self.plan.block_size)
        self._values: dict[str, Number] = {}  # keys: scenario keys

    def __call__(self, n_rep: Mapping[Number, int]) -> dict[Number, Estimates]:
        plan = self.plan.only(map(self.scenario_of, n_rep))
        for value, scenario in zip(n_rep, plan.scenarios, strict=True):
            other = self._values.setdefault(plan.key_of(scenario), value)
            if other != value:
                raise StudyError(
                    f"the factor's values {other:g} and {value:g} give the same scenario, whose "
                    "replicates would count twice. Let the scenario depend on the factor, or say "
                    "integer=True where it is rounded."
                )
        sizes = dict(zip(plan.keys, n_rep.values(), strict=True))
        loop = Loop(plan.work_units, self._store, self.workers, Silent())
        loop.draw_blocks(loop.missing(plan.drawn_sizes(sizes)))
        rows = StoredReplicates(plan, self._store, sizes)
        estimator = Estimator(rows, [self.measure], partial(imputed, worst=self.worst), ONE_SE)
        found = {}
        for value, scenario in zip(n_rep, plan.scenarios, strict=True):
            estimates = estimator(scenario, self.measure)
            if loop.stats.failures and not np.any(estimates.n_rep):
                raise StudyError(
                    f"no replicate of {scenario} could be used, so {self.measure.name} has no "
                    f"value there. The first failure of this round: {loop.stats.failures[0][1]}. "
                    f"Fix it, or choose a bracket without {value:g}."
                )
            found[value] = self._in_cell(estimates)
        return found

    def _in_cell(self, estimates: Estimates) -> Estimates:
        """The estimates in the cell that is solved for."""
        axes = cell_axes(self.plan, self.measure, np.ndim(estimates.estimate))
        shape = tuple(map(len, axes.values()))
        try:
            index = place_on_axes(axes, self.where)
        except LookupError as error:
            raise StudyError(f"where={dict(self.where)}: {error}") from None
        return estimates.map(lambda part: np.asarray(np.broadcast_to(part, shape)[index]))
