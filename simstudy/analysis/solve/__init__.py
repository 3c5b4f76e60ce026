"""Solving for a design by simulation alone: where does a measure reach its target?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from simstudy.analysis.solve.search import Number, Question, ScenarioOf, Search, Solution
from simstudy.analysis.solve.simulation import Simulation
from simstudy.design import Scenario
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError, nearest
from simstudy.measures import Measure, MeasureContext
from simstudy.provenance.scenario_id import with_factor

__all__ = ["ScenarioOf", "Solution", "solve"]


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
    chosen, where = _chosen_measure(measure, study.measures), where or {}
    bracket = low, high, tolerance, max_n_rep, integer, level
    question = Question(factor, chosen.name, target, *bracket, chosen.bounds == "wilson")
    plan = replace(study.plan(seed), common=())
    label = where.get(plan.methods_axis)
    if label in [method.name for method in plan.methods]:
        plan = plan.of_methods([label])
    context = MeasureContext(plan.axes, plan.name, plan.seed, study.rules.group_size)
    bound, workers = chosen.bind(context), Workers(backend, n_jobs)
    varied = _varied(scenario, factor)
    simulation = Simulation(plan, varied, bound, where, study.rules.worst, workers)
    return Search(simulation, question, plan.block_size).solve()


def _chosen_measure(measure: Measure | str, measures: Sequence[Measure]) -> Measure:
    by_name = {declared.name: declared for declared in measures}
    if isinstance(measure, Measure):
        return measure
    if measure not in by_name:
        raise ConfigError(f"measure={measure!r}: the study has none; {nearest(measure, by_name)}")
    return by_name[measure]


def _varied(scenario: Scenario | ScenarioOf, factor: str) -> ScenarioOf:
    """The scenario as a function of the factor."""
    if is_dataclass(scenario) and not isinstance(scenario, type):
        names = [field.name for field in fields(scenario) if field.init]
        if factor not in names:
            raise ConfigError(
                f"{type(scenario).__name__} has no factor {factor!r}; {nearest(factor, names)}"
            )
        return lambda value: with_factor(scenario, factor, value)
    if callable(scenario) and not isinstance(scenario, type):
        return scenario
    raise ConfigError(
        f"scenario={scenario!r} is neither a scenario nor a function of {factor}. Give one "
        f"scenario, whose {factor} is then varied, or for example lambda x: Scenario({factor}=x)."
    )
