"""Solving for a design by simulation alone: where does a measure reach its target?

Every replicate goes where it says most about the answer. After a few at both ends of the bracket,
each round fits a curve to all that was simulated, puts most of the next replicates at the curve's
crossing with the target and the rest on either side of it, and stops when the interval for the
crossing is narrow enough.

The curve. Proportions are fitted as logits, other measures as they are, against the logarithm of
the factor (the factor itself, if the bracket reaches down to 0). The curve is a straight line plus
an integrated Wiener process, so that its mean is a cubic smoothing spline. It may bend, and the
more it does, the less do replicates far from the crossing count. How much it bends is not taken for
known but averaged over, with the restricted likelihood as weight (Wahba 1978, J. R. Statist. Soc. B
40, 364-372; Wecker & Ansley 1983, J. Am. Statist. Assoc. 78, 81-89).

The interval. All values of the factor at which the curve, with its error, is compatible with the
target: the inverted band of Fieller (1954, J. R. Statist. Soc. B 16, 175-185), whose width holds
the errors of level, slope and curvature.

The design. Two sides at a distance that shrinks with the fourth root of the number of replicates:
fast enough that curvature stays below the error, slowly enough that the slope becomes known. It
follows the sequential designs of Wu (1985), J. Am. Statist. Assoc. 80, 974-984.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from simstudy.analysis.summary import FromRows, cell_axes, imputed
from simstudy.design import Plan, scenario_key
from simstudy.engine.runner import Outcome, Workers, missing_jobs, run_jobs
from simstudy.errors import ConfigError, StudyError, nearest
from simstudy.lazy.pandas import pd
from simstudy.lazy.scipy import special
from simstudy.measures import Estimates, Measure
from simstudy.measures.intervals import critical_value
from simstudy.shapes import Float
from simstudy.stats.smoothing.crossing import Crossing, cross
from simstudy.stats.smoothing.spline import ROUGHNESS, Curve
from simstudy.store.blocks import Store
from simstudy.store.layout import rows_of

Number = int | float

FIRST = 200  # replicates at each end before anything is concluded from them
SETTLED = 3.0  # standard errors that tell an end of the bracket from the target
SHARE_OF_ENDS = 0.25  # of all replicates, at most, to tell the ends from the target
CENTRE = 0.6  # share of a round that goes to the crossing itself
SIDE = 0.5  # distance of the two sides, in geometric means of interval and bracket
LEAST_BLOCKS = 4  # in a round: one for each side and two for the crossing
MARGIN = 1.1  # the replicates still needed are an estimate themselves
LEAST_GROWTH = 0.02  # of all replicates, in a last round that misses the tolerance by little
ONE_SE = math.erf(math.sqrt(0.5))  # level of an interval of one standard error either side


@runtime_checkable
class Source(Protocol):
    """What `solve` takes from a study: its streams, its measures, its answer to failures."""

    @property
    def measures(self) -> Sequence[Measure]: ...
    @property
    def worst(self) -> Mapping[str, float]: ...
    def plan(self, seed: int = 1) -> Plan: ...


@dataclass(frozen=True)
class Solution:
    """The value of a factor at which a measure reaches its target.

    Parameters
    ----------
    factor, measure, target
        What was asked.
    value
        The answer on the scale of the factor; between whole numbers if only these are possible.
    lower, upper
        Interval for it, of coverage `level`; an end of the bracket where it reaches so far.
    n_rep
        Replicates drawn, all of them.
    reached
        Whether the interval is as narrow as was asked; false where the budget ran out first.
    integer
        The least whole number at or above the answer, if only whole numbers are possible: where a
        rising measure has reached its target, or a falling one has come down to it.
    trace
        One row per round and value of the factor (`at`): replicates drawn there in this round,
        estimate and MCSE of all that were drawn there until then, and the answer after the round
        (NaN before both ends are told from the target).
    """

    factor: str
    measure: str
    target: float
    value: float
    lower: float
    upper: float
    level: float
    n_rep: int
    reached: bool
    integer: int | None = None
    trace: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(), repr=False, compare=False)

    @property
    def integer_interval(self) -> tuple[int, int]:
        """Interval for the least whole number; its coverage is at least `level`."""
        return math.ceil(self.lower), math.ceil(self.upper)


# ---------------------------------------------------------------- what is asked
@dataclass(frozen=True)
class Question:
    """A target, a bracket, and when to stop.

    Parameters
    ----------
    factor, measure
        Names, for messages.
    target
        In units of the measure; in (0, 1) for a proportion.
    low, high
        Ends of the bracket.
    tolerance
        Half-width of the interval at which to stop, in units of the factor; None goes on to
        `max_n_rep`.
    max_n_rep
        Replicates that may be drawn in all.
    integer
        Whether the factor takes whole numbers only.
    level
        Coverage of the interval.
    proportion
        Whether the measure is one.
    """

    factor: str
    measure: str
    target: float
    low: Number
    high: Number
    tolerance: float | None = None
    max_n_rep: int = 1_000_000
    integer: bool = True
    level: float = 0.95
    proportion: bool = True

    def __post_init__(self) -> None:
        critical_value(self.level)
        self._refuse_bad_bracket()
        self._refuse_bad_target()
        if self.tolerance is not None and not self.tolerance > 0:
            raise ConfigError(
                f"tolerance={self.tolerance:g}: no interval is that narrow. Give the half-width "
                f"at which to stop, in units of {self.factor}, or leave it out to spend max_n_rep."
            )

    def _refuse_bad_bracket(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ConfigError(
                f"low={self.low:g} and high={self.high:g} leave nothing between them to search. "
                "Give two finite values with low < high."
            )
        for name, end in (("low", self.low), ("high", self.high)):
            if self.integer and end != round(end):
                raise ConfigError(
                    f"{name}={end:g} is not a whole number, and with integer=True nothing else is "
                    f"simulated; nearest that works: {name}={round(end)}, or integer=False"
                )

    def _refuse_bad_target(self) -> None:
        if self.proportion and not 0 < self.target < 1:
            raise ConfigError(
                f"target={self.target:g}: {self.measure} is a proportion, which gets there nowhere "
                "or everywhere. Give a target between 0 and 1, such as 0.8."
            )
        if not math.isfinite(self.target):
            raise ConfigError(f"target={self.target}: give a finite number.")

    @property
    def goal(self) -> float:
        """The target as it is fitted."""
        return float(special.logit(self.target)) if self.proportion else self.target

    def number(self, value: float) -> Number:
        """The nearest value that the factor can take."""
        value = min(max(value, self.low), self.high)
        return round(value) if self.integer else value


@dataclass(frozen=True)
class Scale:
    """The factor on [0, 1]: its logarithm where the bracket is positive, else itself."""

    low: float
    high: float

    @property
    def is_log(self) -> bool:
        return self.low > 0

    def unit(self, value: Number) -> float:
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, unit: float) -> float:
        if self.is_log:
            return float(self.low * (self.high / self.low) ** unit)
        return self.low + unit * (self.high - self.low)


# ---------------------------------------------------------------- the search
class Reading(NamedTuple):
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


Read = Callable[[Mapping[Number, int]], Mapping[Number, Reading]]
"""From blocks wanted at each value of the factor (all, not further ones) to what they say."""


class Search:
    """The rounds: read, fit, and decide where the next replicates go.

    Parameters
    ----------
    read
        Draws what is missing and measures.
    block_size
        Replicates in a block; only whole blocks are drawn.
    roughness
        As of `Curve`.
    """

    def __init__(
        self,
        read: Read,
        question: Question,
        block_size: int,
        roughness: Float[np.ndarray, " size"] = ROUGHNESS,
    ) -> None:
        self.read, self.question, self.block_size = read, question, block_size
        self.roughness = roughness
        self.scale = Scale(question.low, question.high)
        self.z = critical_value(question.level)
        self.blocks: dict[Number, int] = {}
        self.readings: dict[Number, Reading] = {}
        self.rows: list[dict[str, Any]] = []
        self._refuse_small_budget()

    def _refuse_small_budget(self) -> None:
        least = (2 * self.first + LEAST_BLOCKS) * self.block_size
        if self.question.max_n_rep < least:
            raise ConfigError(
                f"max_n_rep={self.question.max_n_rep} is too few for both ends of the bracket and "
                f"one round between them, in whole blocks of {self.block_size}; nearest that "
                f"works: max_n_rep={least}"
            )

    @property
    def first(self) -> int:
        """Blocks that each end begins with."""
        return math.ceil(FIRST / self.block_size)

    @property
    def n_rep(self) -> int:
        """Replicates drawn so far."""
        return sum(self.blocks.values()) * self.block_size

    def solve(self) -> Solution:
        """Bracket, then close in."""
        self.settle_ends()
        while True:
            found = self.locate()
            n_blocks = self.blocks_wanted(found)
            if not n_blocks:
                return self.solution(found)
            self.draw(self.next_points(found, n_blocks))

    def draw(self, further: Mapping[Number, int]) -> None:
        """Draw further blocks, and note what they say."""
        for value, n in further.items():
            self.blocks[value] = self.blocks.get(value, 0) + n
        self.readings |= self.read({value: self.blocks[value] for value in further})
        number = self.rows[-1]["round"] + 1 if self.rows else 0
        for value, n in further.items():
            self.rows.append(self._row(number, value, n * self.block_size))

    def _row(self, number: int, value: Number, n_new: int) -> dict[str, Any]:
        one = self.readings[value]
        unknown = dict.fromkeys(("value", "lower", "upper"), math.nan)
        return {
            "round": number, "at": value, "n_rep": n_new,
            "estimate": one.estimate, "mcse": one.mcse, "n_failed": one.n_failed,
            "reason": one.reason, **unknown, "n_rep_in_all": self.n_rep,
        }  # fmt: skip

    # ---- the ends
    def settle_ends(self) -> None:
        """Draw at both ends until each is told from the target, and on different sides of it."""
        ends = (self.question.low, self.question.high)
        self.draw(dict.fromkeys(ends, self.first))
        while True:
            sides = {end: self.side(end) for end in ends}
            if sides[ends[0]] == sides[ends[1]] != 0:
                raise StudyError(self._not_bracketed())
            open_ends = {end: self.blocks[end] for end, side in sides.items() if side == 0}
            if not open_ends:
                return
            self._refuse_unsettled(open_ends)
            self.draw(open_ends)

    def side(self, end: Number) -> int:
        """1 where the measure is above its target, -1 where below, 0 while it cannot be told."""
        height, error = self.height(end)
        if not (math.isfinite(height) and math.isfinite(error)):
            return 0
        distance = height - self.question.goal
        return int(np.sign(distance)) if abs(distance) > SETTLED * error else 0

    def _refuse_unsettled(self, open_ends: Mapping[Number, int]) -> None:
        further = sum(open_ends.values()) * self.block_size
        if self.n_rep + further <= SHARE_OF_ENDS * self.question.max_n_rep:
            return
        question, end = self.question, next(iter(open_ends))
        missing = self.readings[end].reason
        if missing:
            raise StudyError(
                f"{question.measure} has no value at {question.factor}={end:g}: {missing} (of "
                f"{self.readings[end].n_rep}). Without it the search has no bracket. Choose an end "
                "at which it is defined."
            )
        raise StudyError(
            f"{self._said(end)}, which cannot be told from the target {question.target:g}: the "
            "answer may lie outside the bracket. Move that end further away, or raise max_n_rep."
        )

    def _not_bracketed(self) -> str:
        ends = " and ".join(map(self._said, (self.question.low, self.question.high)))
        return (
            f"{ends}: both on one side of the target {self.question.target:g}, so no crossing is "
            "known to lie between. Choose low and high on either side of it."
        )

    def _said(self, value: Number) -> str:
        one = self.readings[value]
        return (
            f"{self.question.measure} is {one.estimate:.4g} (MCSE {one.mcse:.2g}, {one.n_rep} "
            f"replicates) at {self.question.factor}={value:g}"
        )

    # ---- the fit
    def height(self, value: Number) -> tuple[float, float]:
        """A reading on the scale of the fit, with its standard error; NaN where there is none.

        For a proportion the empirical logit of Haldane (1956) and Anscombe (1956), from the
        Wilson interval of one standard error: it adds half a success and half a failure.
        """
        one = self.readings[value]
        if not self.question.proportion:
            return one.estimate, one.mcse if one.mcse > 0 else self._typical_error(one)
        share, half = (one.lower + one.upper) / 2, (one.upper - one.lower) / 2
        return float(special.logit(share)), half / (share * (1 - share))

    def _typical_error(self, reading: Reading) -> float:
        """Of replicates that happen to be all equal: the error by the spread at other points."""
        known = [one.mcse**2 * one.n_rep for one in self.readings.values() if one.mcse > 0]
        if math.isnan(reading.mcse):
            return math.nan
        if not known:
            raise StudyError(
                f"{self.question.measure} has a Monte Carlo error of 0 wherever it was simulated: "
                "nothing is random. Solve for it with a root finder such as "
                "scipy.optimize.brentq, or measure something that varies."
            )
        return math.sqrt(float(np.median(known)) / reading.n_rep)

    def locate(self) -> Crossing:
        """Fit all readings, and find the crossing."""
        values, heights, errors = self._fitted()
        rise = abs(heights[-1] - heights[0])
        places = np.array([self.scale.unit(value) for value in values])
        curve = Curve(places, heights, errors, rise=rise, roughness=self.roughness)
        found = cross(curve, self.question.goal, self.z)
        answer = self._answer(found)
        for row in reversed(self.rows):
            if row["round"] != self.rows[-1]["round"]:
                break
            row.update(answer)
        return found

    def _fitted(self) -> tuple[list[Number], np.ndarray, np.ndarray]:
        """Values in order, heights and errors of the readings that have both."""
        values = sorted(self.readings)
        heights, errors = np.array([self.height(value) for value in values]).T
        there = np.isfinite(heights) & np.isfinite(errors)
        kept = [value for value, is_there in zip(values, there, strict=True) if is_there]
        return kept, heights[there], errors[there]

    def _answer(self, found: Crossing) -> dict[str, float]:
        names = ("value", "lower", "upper")
        return {name: self.scale.value(one) for name, one in zip(names, found[:3], strict=True)}

    def half_width(self, found: Crossing) -> float:
        """Of the interval, in units of the factor."""
        answer = self._answer(found)
        return (answer["upper"] - answer["lower"]) / 2

    # ---- the next round
    def blocks_wanted(self, found: Crossing) -> int:
        """Blocks of the next round: what the tolerance needs, at most as many as there are."""
        left = (self.question.max_n_rep - self.n_rep) // self.block_size
        if self.reached(found):
            return 0
        most = max(self.n_rep, LEAST_BLOCKS * self.block_size)
        n_rep = min(self._needed(found), most)
        return max(min(math.ceil(n_rep / self.block_size), left), 0)

    def reached(self, found: Crossing) -> bool:
        """Whether the interval is as narrow as was asked."""
        tolerance = self.question.tolerance
        return tolerance is not None and self.half_width(found) <= tolerance

    def _needed(self, found: Crossing) -> float:
        """Replicates at the crossing that would narrow the interval to the tolerance."""
        if self.question.tolerance is None:
            return math.inf
        wanted = found.half_width * self.question.tolerance / self.half_width(found)
        per_replicate = (self.z * self._spread(found) / found.slope) ** 2
        needed = MARGIN * per_replicate * (wanted**-2 - found.half_width**-2)
        return max(needed, LEAST_GROWTH * self.n_rep)

    def _spread(self, found: Crossing) -> float:
        """Standard deviation per replicate, at the reading nearest to the crossing."""
        values, _, errors = self._fitted()
        distances = [abs(self.scale.unit(value) - found.place) for value in values]
        i = int(np.argmin(distances))
        return float(errors[i]) * math.sqrt(self.readings[values[i]].n_rep)

    def next_points(self, found: Crossing, n_blocks: int) -> dict[Number, int]:
        """Most blocks at the crossing, the rest on both sides, at most halfway to the ends.

        Places are rounded to an eighth of the interval, in nested steps, so that rounds meet at
        the same values: a few values with many replicates, none of them nearly equal.
        """
        at_side = round(n_blocks * (1 - CENTRE) / 2)
        distance = SIDE * math.sqrt(found.half_width / 2)  # the bracket's half-width is 1/2
        left = found.place - min(distance, found.place / 2)
        right = found.place + min(distance, (1 - found.place) / 2)
        shares = ((found.place, n_blocks - 2 * at_side), (left, at_side), (right, at_side))
        step = 2.0 ** math.floor(math.log2(found.half_width / 4))
        points: dict[Number, int] = {}
        for place, n in shares:
            value = self.question.number(self.scale.value(round(place / step) * step))
            points[value] = points.get(value, 0) + n
        return {value: n for value, n in sorted(points.items()) if n}

    def solution(self, found: Crossing) -> Solution:
        """The answer, with all that led to it."""
        question, answer = self.question, self._answer(found)
        return Solution(
            factor=question.factor,
            measure=question.measure,
            target=question.target,
            **answer,
            level=question.level,
            n_rep=self.n_rep,
            reached=question.tolerance is None or self.reached(found),
            integer=math.ceil(answer["value"]) if question.integer else None,
            trace=pd.DataFrame(self.rows),
        )


# ---------------------------------------------------------------- simulation
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
        scenario_of: Callable[[Number], Any],
        measure: Measure,
        *,
        cell: Mapping[str, Any],
        worst: Mapping[str, float],
        workers: Workers,
    ) -> None:
        self.plan, self.scenario_of, self.measure = plan, scenario_of, measure
        self.cell, self.worst, self.workers = cell, worst, workers
        self._folder = tempfile.TemporaryDirectory(prefix="simstudy-")
        self._store = Store(Path(self._folder.name) / "replicates", plan.block_size)
        self._values: dict[str, Number] = {}

    def __call__(self, n_blocks: Mapping[Number, int]) -> dict[Number, Reading]:
        scenarios = {value: self.scenario_of(value) for value in n_blocks}
        keys = {value: self._key(value, one) for value, one in scenarios.items()}
        plan = replace(self.plan, scenarios=tuple(scenarios.values()))
        wanted = {keys[value]: n for value, n in n_blocks.items()}
        outcome = run_jobs(
            plan, missing_jobs(plan, wanted, self._store), self._store,
            keep=rows_of, workers=self.workers,
        )  # fmt: skip
        self._store.scan()
        sizes = {key: n * plan.block_size for key, n in wanted.items()}
        estimator = FromRows(plan, self._store, [self.measure], sizes, self._prepared, level=ONE_SE)
        return {
            value: self._reading(value, one, estimator, sizes[keys[value]], outcome)
            for value, one in scenarios.items()
        }

    def _key(self, value: Number, scenario: Any) -> str:
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
        self, value: Number, scenario: Any, estimator: FromRows, n_rep: int, outcome: Outcome
    ) -> Reading:
        estimates = estimator(scenario, self.measure)
        if outcome.failures and not np.any(estimates.n_rep):
            raise StudyError(
                f"no replicate of {scenario} could be used, so {self.measure.name} has no value "
                f"there. The first failure of this round: {outcome.failures[0][1]}. Mend it, or "
                f"choose a bracket without {value:g}."
            )
        one = self._cell(estimates)
        return Reading(
            n_rep=n_rep,
            estimate=float(one.estimate),
            mcse=float(one.mcse),
            lower=float(one.lower),
            upper=float(one.upper),
            n_failed=int(one.n_failed),
            reason=str(one.reason),
        )

    def _cell(self, estimates: Estimates) -> Estimates:
        """The one cell that is solved for."""
        axes = cell_axes(self.plan, self.measure, np.ndim(estimates.estimate))
        shape = tuple(len(labels) for labels in axes.values())
        index = tuple(self._position(axis, labels) for axis, labels in axes.items())
        return Estimates(*(np.broadcast_to(part, shape)[index] for part in estimates))

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


def solve(
    study: Source,
    scenario: Any,
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
    workers: Workers | None = None,
) -> Solution:
    """Find the value of a factor at which a measure reaches its target, by simulation alone.

    The measure has to cross the target once between `low` and `high`, rising or falling. Every
    value of the factor has random streams of its own, also where the study shares them between
    scenarios: the readings are then independent, as their fit takes them to be. The answer is the
    same to the last bit for any number of workers.

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

    Raises
    ------
    ConfigError
        For a setting that makes no sense.
    StudyError
        Where the ends of the bracket are not on different sides of the target; the message says
        what the measure is there, with its MCSE.
    """
    chosen = _chosen_measure(measure, study.measures)
    question = Question(
        factor, chosen.name, target, low, high, tolerance, max_n_rep, integer, level,
        proportion=chosen.bounds == "wilson",
    )  # fmt: skip
    plan = replace(study.plan(seed), common=())
    simulation = Simulation(
        plan, _scenarios(scenario, factor), chosen,
        cell=where or {}, worst=study.worst, workers=workers or Workers(),
    )  # fmt: skip
    return Search(simulation, question, plan.block_size).solve()


def _chosen_measure(measure: Measure | str, measures: Sequence[Measure]) -> Measure:
    if isinstance(measure, Measure):
        return measure
    known = {one.name: one for one in measures}
    if measure not in known:
        raise ConfigError(f"measure={measure!r}: the study has none; {nearest(measure, known)}")
    return known[measure]


def _scenarios(scenario: Any, factor: str) -> Callable[[Number], Any]:
    """The scenario as a function of the factor."""
    if is_dataclass(scenario) and not isinstance(scenario, type):
        names = [one.name for one in fields(scenario) if one.init]
        if factor not in names:
            raise ConfigError(
                f"{type(scenario).__name__} has no factor {factor!r}; {nearest(factor, names)}"
            )
        instance: Any = scenario
        return lambda value: replace(instance, **{factor: value})
    if callable(scenario) and not isinstance(scenario, type):
        return scenario  # type: ignore[no-any-return]
    raise ConfigError(
        f"scenario={scenario!r} is neither a scenario nor a function of {factor}. Give one "
        f"scenario, whose {factor} is then varied, or for example lambda x: Scenario({factor}=x)."
    )
