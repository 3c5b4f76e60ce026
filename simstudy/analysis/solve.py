"""Solving for a design by simulation alone: where does a measure reach its target?

After a few replicates at both ends of the bracket, each round fits a curve to everything simulated
so far, finds where it crosses the target, and puts most of the next replicates there and the rest
on either side. It stops when the interval for the crossing is narrow enough.

The sides are at a distance that shrinks with the fourth root of the number of replicates: fast
enough that curvature stays below the error, slowly enough that the slope becomes known (Wu 1985,
J. Am. Statist. Assoc. 80, 974-984). Proportions are fitted as logits, other measures as they are,
against the logarithm of the factor if the bracket is positive.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from simstudy.analysis.curve import Crossing, Curve, cross
from simstudy.analysis.estimates import Estimator
from simstudy.analysis.replicates import StoredReplicates
from simstudy.analysis.summary import cell_axes, place_on_axes
from simstudy.array_types import Float
from simstudy.atomic_files import TemporaryFolder
from simstudy.design import Scenario
from simstudy.design.plan import Plan
from simstudy.engine.loop import Loop
from simstudy.engine.progress import Silent
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError, StudyError, nearest
from simstudy.lazy import pd, special
from simstudy.measures import Estimates, Measure, MeasureContext
from simstudy.measures.intervals import critical_value
from simstudy.provenance.scenario_id import with_factor
from simstudy.store.blocks import Store
from simstudy.validation import as_whole, check_whole

ONE_SE = math.erf(math.sqrt(0.5))  # level of an interval of one standard error either side

FIRST = 200  # replicates at each end before anything is concluded from them
CLEAR = 3.0  # standard errors between the target and an end of the bracket
SHARE_OF_ENDS = 0.25  # largest share of all replicates for separating the ends from the target
CENTRE = 0.6  # share of a round at the crossing itself
SIDE = 0.5  # distance of the two sides, in geometric means of interval and bracket
MIN_BLOCKS = 4  # per round: one for each side and two for the crossing
MARGIN = 1.1  # the number of replicates needed is an estimate itself
MIN_GROWTH = 0.02  # smallest round, as a share of all replicates
SHOWN = ("estimate", "mcse", "n_failed", "reason")  # columns of the trace

Number = int | float

ScenarioOf = Callable[[Number], Scenario]
"""The scenario at a value of the factor."""


@dataclass(frozen=True)
class Solution:
    """The value of a factor at which a measure reaches its target.

    Parameters
    ----------
    factor, measure, target
        The question.
    value
        The answer on the scale of the factor; between whole numbers if only these are possible.
    lower, upper
        Interval for it, of coverage `level`; an end of the bracket where it reaches so far.
    level
        Coverage of the interval.
    n_rep
        Replicates drawn, all of them.
    reached
        Whether the interval is as narrow as requested; false if the budget ran out first.
    integer
        The least whole number at or above the answer, if only whole numbers are possible.
    trace
        One row per round and value of the factor (`at`): replicates drawn there in this round,
        estimate and MCSE over all drawn there so far, and the answer after the round (NaN until
        both ends of the bracket differ clearly from the target).
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
    integer: int | None
    trace: pd.DataFrame = field(repr=False, compare=False)

    @property
    def integer_interval(self) -> tuple[int, int]:
        """Interval for the least whole number; its coverage is at least `level`."""
        return math.ceil(self.lower), math.ceil(self.upper)


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
    bound = chosen.bind(MeasureContext(plan.axes, plan.name, plan.seed, plan.group_size))
    workers = Workers(backend, n_jobs)
    read = _Simulation(plan, varied, bound, where, workers)
    bracket = low, high, tolerance, max_n_rep, integer, level, chosen.bounds == "wilson"
    return _Search(read, plan.block_size, factor, chosen.name, target, *bracket).solve()


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
class _Simulation:
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
    workers
        How blocks are drawn.
    """

    plan: Plan
    scenario_of: ScenarioOf
    measure: Measure
    where: Mapping[str, Any]
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
        estimator = Estimator(rows, [self.measure], None, ONE_SE)
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


# ---------------------------------------------------------------- the search
Read = Callable[[Mapping[Number, int]], Mapping[Number, Estimates]]
"""From the replicates at each value of the factor, in all, to the measure there: one cell,
with an interval of one standard error either side, by Wilson for a proportion."""


@dataclass
class _Search:
    """The search: evaluate, fit, and choose the next points.

    Parameters
    ----------
    read
        Draws missing replicates and measures.
    block_size
        Replicates in a block; only whole blocks are drawn.
    factor, measure
        Names, for messages.
    proportion
        Whether the measure is one; its target is then in (0, 1).

    The others are those of `solve`.

    Raises
    ------
    ConfigError
        If the bracket is empty, the target or the level is out of range, or the budget is too
        small.
    """

    read: Read
    block_size: int
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
        self.z = critical_value(self.level)
        if not -math.inf < self.low < self.high < math.inf:
            raise ConfigError(
                f"low={self.low:g} and high={self.high:g} leave nothing between them to search. "
                "Give two finite values with low < high."
            )
        least, most = (0.0, 1.0) if self.proportion else (-math.inf, math.inf)
        if not least < self.target < most:
            raise ConfigError(
                f"target={self.target:g} is not allowed: give a number between {least:g} and "
                f"{most:g} for {self.measure}."
            )
        self.goal = float(special.logit(self.target)) if self.proportion else self.target
        self.first = math.ceil(FIRST / self.block_size) * self.block_size  # at each end
        self.max_n_rep = as_whole(self.max_n_rep)
        counts = f"for both ends and one round between them, in blocks of {self.block_size}"
        needed = 2 * self.first + MIN_BLOCKS * self.block_size
        check_whole("max_n_rep", self.max_n_rep, least=needed, counts=counts)
        self.drawn = Counter[Number]()  # replicates by value of the factor
        self.at: dict[Number, Estimates] = {}
        self.rounds: list[list[dict[str, Any]]] = []

    def solve(self) -> Solution:
        """Draw until the interval is narrow enough or the budget is spent.

        Raises
        ------
        StudyError
            If both ends are on one side of the target, or the budget cannot tell.
        """
        self._separate_ends()
        while True:
            crossing = self._locate()
            value, lower, upper = map(self.value, crossing[:3])
            half_width = (upper - lower) / 2
            for row in self.rounds[-1]:
                row |= {"value": value, "lower": lower, "upper": upper}
            n_blocks = self._blocks_wanted(crossing, half_width)
            if not n_blocks:
                break
            self._draw(self._next_points(crossing, n_blocks))
        reached = self.tolerance is None or half_width <= self.tolerance
        integer = math.ceil(value) if self.integer else None
        trace = pd.DataFrame([row for rows in self.rounds for row in rows])
        return Solution(
            self.factor, self.measure, self.target, value, lower, upper, self.level,
            self.drawn.total(), reached, integer, trace,
        )  # fmt: skip

    def _draw(self, further: Mapping[Number, int]) -> None:
        """Draw further replicates, by value of the factor, and record the evaluations."""
        self.drawn.update(further)
        self.at |= self.read({value: self.drawn[value] for value in further})
        rows = [
            {"round": len(self.rounds), "at": value, "n_rep": n}
            | {name: getattr(self.at[value], name).item() for name in SHOWN}
            | dict.fromkeys(("value", "lower", "upper"), math.nan)
            | {"n_rep_in_all": self.drawn.total()}
            for value, n in further.items()
        ]
        self.rounds.append(rows)

    # ---- places
    def _nearest(self, value: float) -> Number:
        """The nearest value that the factor can take."""
        value = min(max(value, self.low), self.high)
        return round(value) if self.integer else value

    def unit(self, value: Number) -> float:
        """Return the place of a value on [0, 1]: logarithmic if the bracket is positive."""
        if self.low > 0:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, unit: float) -> float:
        """Return the value of the factor at a place on [0, 1]."""
        if self.low > 0:
            return float(self.low * (self.high / self.low) ** unit)
        return self.low + unit * (self.high - self.low)

    # ---- the ends
    def _separate_ends(self) -> None:
        """Draw at both ends until each differs from the target, on different sides of it."""
        ends = self._nearest(self.low), self._nearest(self.high)
        further = dict.fromkeys(ends, self.first)
        while further:
            self._draw(further)
            sides = {end: self._side(end) for end in ends}
            if abs(sum(sides.values())) == 2:
                raise StudyError(
                    f"{' and '.join(map(self._described, ends))}: both on one side of the target "
                    f"{self.target:g}, so no crossing is known to lie between. Choose low and high "
                    "on either side of it."
                )
            further = {end: self.drawn[end] for end, side in sides.items() if side == 0}
            n_next = self.drawn.total() + sum(further.values())
            if further and n_next > SHARE_OF_ENDS * self.max_n_rep:
                raise StudyError(
                    f"{self._described(next(iter(further)))}, which cannot be told from the target "
                    f"{self.target:g}: the answer may lie outside the bracket. Move that end to a "
                    "place where the measure is defined and further away, or raise max_n_rep."
                )

    def _side(self, end: Number) -> int:
        """1 above the target, -1 below it, 0 while it is unclear."""
        height, error = self._height(end)
        distance = (height - self.goal) / error
        return int(distance > CLEAR) - int(distance < -CLEAR)

    def _described(self, value: Number) -> str:
        """The measure at a value of the factor, as text."""
        reading, reason = self.at[value], self.at[value].reason.item()
        why = f", {reason}" if reason else ""
        return (
            f"{self.measure} is {reading.estimate:.4g} (MCSE {reading.mcse:.2g}, "
            f"{self.drawn[value]} replicates{why}) at {self.factor}={value:g}"
        )

    # ---- the curve
    def _locate(self) -> Crossing:
        """Find the crossing from all evaluations."""
        places, heights, errors, _ = self._readings()
        curve = Curve(places, heights, errors, rise=abs(heights[-1] - heights[0]))
        return cross(curve, self.goal, self.z)

    def _readings(self) -> Float[np.ndarray, "4 value"]:
        """Place, height, its error, and replicates, of each value where the measure is defined."""
        rows = [(self.unit(at), *self._height(at), self.drawn[at]) for at in sorted(self.at)]
        return np.array([row for row in rows if np.isfinite(row).all()]).T

    def _height(self, value: Number) -> tuple[float, float]:
        """An evaluation on the scale of the fit, with its standard error; NaN if undefined.

        For a proportion this is the empirical logit of Haldane (1956) and Anscombe (1956), from
        the Wilson interval of one standard error: it adds half a success and half a failure.
        """
        reading = self.at[value]
        if not self.proportion:
            return float(reading.estimate), float(reading.mcse) or self._typical_error(value)
        share, half = (reading.lower + reading.upper) / 2, (reading.upper - reading.lower) / 2
        return float(special.logit(share)), half / (share * (1 - share))

    def _typical_error(self, value: Number) -> float:
        """The error for replicates that are all equal, from the spread at other values."""
        known = [at.mcse**2 * self.drawn[other] for other, at in self.at.items() if at.mcse > 0]
        if not known:
            raise StudyError(
                f"{self.measure} has a Monte Carlo error of 0 wherever it was simulated: nothing "
                "is random. Solve for it with a root finder such as scipy.optimize.brentq, or "
                "measure something that varies."
            )
        return math.sqrt(float(np.median(known)) / self.drawn[value])

    # ---- the next round
    def _blocks_wanted(self, crossing: Crossing, half_width: float) -> int:
        """The number of blocks of the next round, within the budget; 0 to stop."""
        wanted, n_rep = math.inf, self.drawn.total()
        if self.tolerance is not None:
            if half_width <= self.tolerance:
                return 0
            places, _, errors, drawn = self._readings()
            closest = np.argmin(np.abs(places - crossing.place))
            spread = errors[closest] * math.sqrt(drawn[closest])  # standard deviation per replicate
            narrow = crossing.half_width * self.tolerance / half_width
            per_replicate = (self.z * spread / crossing.slope) ** 2
            needed = MARGIN * per_replicate * (narrow**-2 - crossing.half_width**-2)
            wanted = max(needed, MIN_GROWTH * n_rep)
        wanted = min(wanted, max(n_rep, MIN_BLOCKS * self.block_size))
        left = (self.max_n_rep - n_rep) // self.block_size
        return min(math.ceil(wanted / self.block_size), left)

    def _next_points(self, crossing: Crossing, n_blocks: int) -> dict[Number, int]:
        """The replicates of a round, by value: at the crossing, and on both sides of it.

        Places are rounded to an eighth of the interval, in nested steps, so that rounds meet at
        the same values: a few values with many replicates each.
        """
        at_side = round(n_blocks * (1 - CENTRE) / 2)
        distance = SIDE * math.sqrt(crossing.half_width / 2)  # the bracket's half-width is 1/2
        left = crossing.place - min(distance, crossing.place / 2)
        right = crossing.place + min(distance, (1 - crossing.place) / 2)
        shares = ((crossing.place, n_blocks - 2 * at_side), (left, at_side), (right, at_side))
        step = 2.0 ** math.floor(math.log2(crossing.half_width / 4))
        points = Counter[Number]()
        for place, n in shares:
            points[self._nearest(self.value(round(place / step) * step))] += n
        return {value: n * self.block_size for value, n in sorted(points.items()) if n}
