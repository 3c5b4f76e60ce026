"""The evaluations so far, and a fitted curve that crosses the target.

The curve. Proportions are fitted as logits, other measures as they are, against the logarithm of
the factor (the factor itself, if the bracket reaches down to 0). The curve is a straight line plus
an integrated Wiener process, so that its mean is a cubic smoothing spline. It may bend, and the
more it does, the less do replicates far from the crossing count. How much it bends is not taken for
known but averaged over, with the restricted likelihood as weight (Wahba 1978, J. R. Statist. Soc. B
40, 364-372; Wecker & Ansley 1983, J. Am. Statist. Assoc. 78, 81-89).

The interval. All values of the factor at which the curve, with its error, is compatible with the
target: the inverted band of Fieller (1954, J. R. Statist. Soc. B 16, 175-185), whose width holds
the errors of level, slope and curvature.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simstudy.analysis.estimates import FromRows
from simstudy.analysis.solve.problem import FactorScale, Number, Question
from simstudy.analysis.summary import cell_axes
from simstudy.array_types import Float
from simstudy.design import Scenario, scenario_key
from simstudy.design.plan import Plan
from simstudy.engine.progress import Silent
from simstudy.engine.run_stats import RunStats
from simstudy.engine.scheduler import draw_blocks
from simstudy.engine.tasks import TaskFactory
from simstudy.engine.work_queue import missing_blocks
from simstudy.engine.workers import Workers
from simstudy.errors import StudyError
from simstudy.lazy import special
from simstudy.measures import Estimates, Measure
from simstudy.measures.intervals import critical_value
from simstudy.stats.smoothing.crossing import Crossing, cross
from simstudy.stats.smoothing.spline import ROUGHNESS, Curve
from simstudy.store.arrow_schema import ReplicateStorage
from simstudy.store.blocks import Store
from simstudy.store.columns import imputed


class Evaluation(NamedTuple):
    """A measure at one value of the factor, from all replicates drawn there.

    `lower` and `upper` are an interval of one standard error either side, for a proportion by
    Wilson, so that 0 of n is not certain. `reason` says why a number is missing.
    """

    n_rep: int
    estimate: float
    mcse: float
    lower: float
    upper: float
    n_failed: int = 0
    reason: str = ""


class Evaluations:
    """Evaluations at values of the factor, and a curve fitted to them.

    Parameters
    ----------
    roughness
        As of `Curve`.
    """

    def __init__(
        self, question: Question, roughness: Float[np.ndarray, " size"] = ROUGHNESS
    ) -> None:
        self.question, self.roughness = question, roughness
        self.scale = FactorScale(question.low, question.high)
        self.z = critical_value(question.level)
        self.at: dict[Number, Evaluation] = {}

    def format_value(self, value: Number) -> str:
        """The measure at a value of the factor, as text."""
        reading = self.at[value]
        return (
            f"{self.question.measure} is {reading.estimate:.4g} (MCSE {reading.mcse:.2g}, "
            f"{reading.n_rep} replicates) at {self.question.factor}={value:g}"
        )

    def height(self, value: Number) -> tuple[float, float]:
        """An evaluation on the scale of the fit, with its standard error; NaN if undefined.

        For a proportion the empirical logit of Haldane (1956) and Anscombe (1956), from the
        Wilson interval of one standard error: it adds half a success and half a failure.
        """
        reading = self.at[value]
        if not self.question.proportion:
            error = reading.mcse if reading.mcse > 0 else self._typical_error(reading)
            return reading.estimate, error
        share, half = (reading.lower + reading.upper) / 2, (reading.upper - reading.lower) / 2
        return float(special.logit(share)), half / (share * (1 - share))

    def _typical_error(self, reading: Evaluation) -> float:
        """The error for replicates that are all equal, from the spread at other points."""
        known = [other.mcse**2 * other.n_rep for other in self.at.values() if other.mcse > 0]
        if math.isnan(reading.mcse):
            return math.nan
        if not known:
            raise StudyError(
                f"{self.question.measure} has a Monte Carlo error of 0 wherever it was simulated: "
                "nothing is random. Solve for it with a root finder such as "
                "scipy.optimize.brentq, or measure something that varies."
            )
        return math.sqrt(float(np.median(known)) / reading.n_rep)

    def crossing(self) -> Crossing:
        """Where the fitted curve crosses the target, on the scale of the fit."""
        values, heights, errors = self._fitted()
        rise = abs(heights[-1] - heights[0])
        places = np.array([self.scale.unit(value) for value in values])
        curve = Curve(places, heights, errors, rise=rise, roughness=self.roughness)
        return cross(curve, self.question.goal, self.z)

    def _fitted(self) -> tuple[list[Number], np.ndarray, np.ndarray]:
        """The evaluations with a height and an error, in order."""
        values = sorted(self.at)
        heights, errors = np.array([self.height(value) for value in values]).T
        is_finite = np.isfinite(heights) & np.isfinite(errors)
        kept = [value for value, is_there in zip(values, is_finite, strict=True) if is_there]
        return kept, heights[is_finite], errors[is_finite]

    def interval(self, crossing: Crossing) -> dict[str, float]:
        """A crossing as `value`, `lower` and `upper`, in units of the factor."""
        names = ("value", "lower", "upper")
        return {
            name: self.scale.value(unit) for name, unit in zip(names, crossing[:3], strict=True)
        }

    def half_width(self, crossing: Crossing) -> float:
        """The half-width of the interval, in units of the factor."""
        interval = self.interval(crossing)
        return (interval["upper"] - interval["lower"]) / 2

    def spread_at(self, crossing: Crossing) -> float:
        """The standard deviation per replicate, at the evaluation nearest to the crossing."""
        values, _, errors = self._fitted()
        distances = [abs(self.scale.unit(value) - crossing.place) for value in values]
        i = int(np.argmin(distances))
        return float(errors[i]) * math.sqrt(self.at[values[i]].n_rep)


ONE_SE = math.erf(math.sqrt(0.5))  # level of an interval of one standard error either side


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
        What failed values count as, if the study says so.
    workers
        How blocks are drawn.
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

    def __call__(self, n_blocks: Mapping[Number, int]) -> dict[Number, Evaluation]:
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

    def _draw(self, plan: Plan, n_blocks: Mapping[str, int]) -> RunStats:
        """Draw missing blocks of each scenario."""
        factory = TaskFactory(plan.work_units, self._store, ReplicateStorage())
        blocks = missing_blocks(plan.work_units, plan.drawn_sizes(n_blocks), self._store)
        stats = RunStats()
        for result in draw_blocks(factory, blocks, workers=self.workers, progress=Silent()):
            stats.count(plan.work_units, result)
        self._store.scan()
        return stats

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

    def _prepared(self, columns: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        return imputed(columns, self.worst) if self.worst else columns

    def _reading(
        self, value: Number, scenario: Scenario, estimator: FromRows, n_rep: int, outcome: RunStats
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
