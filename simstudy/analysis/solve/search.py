"""The search, round by round: where the next replicates are drawn.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from simstudy.analysis.solve.curve import ROUGHNESS, Crossing, Curve, cross
from simstudy.array_types import Float
from simstudy.design import Scenario
from simstudy.errors import ConfigError, StudyError
from simstudy.lazy import pd, special
from simstudy.measures.intervals import critical_value

FIRST = 200  # replicates at each end before anything is concluded from them
CLEAR = 3.0  # standard errors between the target and an end of the bracket
SHARE_OF_ENDS = 0.25  # largest share of all replicates for separating the ends from the target
CENTRE = 0.6  # share of a round at the crossing itself
SIDE = 0.5  # distance of the two sides, in geometric means of interval and bracket
MIN_BLOCKS = 4  # per round: one for each side and two for the crossing
MARGIN = 1.1  # the number of replicates needed is an estimate itself
MIN_GROWTH = 0.02  # smallest round, as a share of all replicates
ANSWER = ("value", "lower", "upper")  # columns of the trace


Number = int | float

ScenarioOf = Callable[[Number], Scenario]
"""The scenario at a value of the factor."""


@dataclass(frozen=True)
class Question:
    """The problem: target, bracket, tolerance and budget.

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

    Raises
    ------
    ConfigError
        If the bracket is empty, or the target or the level is out of range.
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
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
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

    @property
    def ends(self) -> tuple[Number, Number]:
        """The ends of the bracket as values that the factor can take."""
        return self.number(self.low), self.number(self.high)

    @property
    def goal(self) -> float:
        """The target on the scale of the fit."""
        return float(special.logit(self.target)) if self.proportion else self.target

    def number(self, value: float) -> Number:
        """Return the nearest value that the factor can take."""
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
    integer: int | None = None
    trace: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(), repr=False, compare=False)

    @property
    def integer_interval(self) -> tuple[int, int]:
        """Interval for the least whole number; its coverage is at least `level`."""
        return math.ceil(self.lower), math.ceil(self.upper)


class Evaluation(NamedTuple):
    """A measure at one value of the factor, from all replicates drawn there.

    `lower` and `upper` are an interval of one standard error either side, by Wilson for a
    proportion, so that 0 of n is not certain. `reason` says why a number is missing.
    """

    n_rep: int
    estimate: float
    mcse: float
    lower: float
    upper: float
    n_failed: int = 0
    reason: str = ""


Read = Callable[[Mapping[Number, int]], Mapping[Number, Evaluation]]
"""From the number of blocks at each value of the factor, in all, to the evaluations there."""


class Search:
    """The search: evaluate, fit, and choose the next points.

    Parameters
    ----------
    read
        Draws missing blocks and measures.
    question
        The problem to solve.
    block_size
        Replicates in a block; only whole blocks are drawn.
    roughness
        Argument of `Curve`.
    """

    def __init__(
        self,
        read: Read,
        question: Question,
        block_size: int,
        roughness: Float[np.ndarray, " size"] = ROUGHNESS,
    ) -> None:
        self.read, self.question, self.block_size = read, question, block_size
        self.z, self.roughness = critical_value(question.level), roughness
        self.blocks: dict[Number, int] = {}
        self.at: dict[Number, Evaluation] = {}
        self.rows: list[dict[str, Any]] = []
        self.first = math.ceil(FIRST / block_size)  # blocks at each end
        least = (2 * self.first + MIN_BLOCKS) * block_size
        if question.max_n_rep < least:
            raise ConfigError(
                f"max_n_rep={question.max_n_rep} is too few for both ends of the bracket and one "
                f"round between them, in whole blocks of {block_size}; nearest that works: "
                f"max_n_rep={least}"
            )

    @property
    def n_rep(self) -> int:
        """The number of replicates drawn so far."""
        return sum(self.blocks.values()) * self.block_size

    def solve(self) -> Solution:
        """Draw until the interval is narrow enough or the budget is spent."""
        self._separate_ends()
        while n_blocks := self._blocks_wanted(crossing := self.locate()):
            self._draw(self._next_points(crossing, n_blocks))
        return self.solution(crossing)

    def _draw(self, further: Mapping[Number, int]) -> None:
        """Draw further blocks, by value of the factor, and record the evaluations."""
        for value, n in further.items():
            self.blocks[value] = self.blocks.get(value, 0) + n
        self.at |= self.read({value: self.blocks[value] for value in further})
        number = self.rows[-1]["round"] + 1 if self.rows else 0
        for value, n in further.items():
            found, so_far = self.at[value]._asdict(), {"n_rep_in_all": self.n_rep}
            shown = {name: found[name] for name in ("estimate", "mcse", "n_failed", "reason")}
            drawn = {"round": number, "at": value, "n_rep": n * self.block_size}
            self.rows.append(drawn | shown | dict.fromkeys(ANSWER, math.nan) | so_far)

    # ---- the ends
    def _separate_ends(self) -> None:
        """Draw at both ends until each differs from the target, on different sides of it.

        Raises
        ------
        StudyError
            If both ends are on one side of the target, or the budget cannot tell.
        """
        low, high = self.question.ends
        further = dict.fromkeys((low, high), self.first)
        while further:
            self._draw(further)
            sides = {end: self._side(end) for end in (low, high)}
            if sides[low] == sides[high] != 0:
                raise StudyError(
                    f"{self._described(low)} and {self._described(high)}: both on one side of the "
                    f"target {self.question.target:g}, so no crossing is known to lie between. "
                    "Choose low and high on either side of it."
                )
            further = {end: self.blocks[end] for end, side in sides.items() if side == 0}
            n_next = self.n_rep + sum(further.values()) * self.block_size
            if further and n_next > SHARE_OF_ENDS * self.question.max_n_rep:
                raise StudyError(
                    f"{self._described(next(iter(further)))}, which cannot be told from the target "
                    f"{self.question.target:g}: the answer may lie outside the bracket. Move that "
                    "end to a place where the measure is defined and further away, or raise "
                    "max_n_rep."
                )

    def _side(self, end: Number) -> int:
        """1 above the target, -1 below it, 0 while it is unclear."""
        height, error = self._height(end)
        distance = height - self.question.goal
        return int(np.sign(distance)) if abs(distance) > CLEAR * error else 0

    def _described(self, value: Number) -> str:
        """The measure at a value of the factor, as text."""
        reading, reason = self.at[value], self.at[value].reason
        why = f", {reason}" if reason else ""
        return (
            f"{self.question.measure} is {reading.estimate:.4g} (MCSE {reading.mcse:.2g}, "
            f"{reading.n_rep} replicates{why}) at {self.question.factor}={value:g}"
        )

    # ---- the curve
    def locate(self) -> Crossing:
        """Find the crossing from all evaluations, and record it for this round."""
        values = sorted(self.at)
        heights, errors = np.array([self._height(value) for value in values]).T
        places = np.array([self.question.unit(value) for value in values])
        known = np.isfinite(heights) & np.isfinite(errors)
        places, heights, errors = places[known], heights[known], errors[known]
        rise = abs(heights[-1] - heights[0])
        curve = Curve(places, heights, errors, rise=rise, roughness=self.roughness)
        found = cross(curve, self.question.goal, self.z)
        for row in self.rows:
            if row["round"] == self.rows[-1]["round"]:
                row |= self._interval(found)
        return found

    def _height(self, value: Number) -> tuple[float, float]:
        """An evaluation on the scale of the fit, with its standard error; NaN if undefined.

        For a proportion this is the empirical logit of Haldane (1956) and Anscombe (1956), from
        the Wilson interval of one standard error: it adds half a success and half a failure.
        """
        reading = self.at[value]
        if not self.question.proportion:
            return reading.estimate, reading.mcse or self._typical_error(reading.n_rep)
        share, half = (reading.lower + reading.upper) / 2, (reading.upper - reading.lower) / 2
        return float(special.logit(share)), half / (share * (1 - share))

    def _typical_error(self, n_rep: int) -> float:
        """The error for replicates that are all equal, from the spread at other points."""
        known = [other.mcse**2 * other.n_rep for other in self.at.values() if other.mcse > 0]
        if not known:
            raise StudyError(
                f"{self.question.measure} has a Monte Carlo error of 0 wherever it was simulated: "
                "nothing is random. Solve for it with a root finder such as "
                "scipy.optimize.brentq, or measure something that varies."
            )
        return math.sqrt(float(np.median(known)) / n_rep)

    # ---- the next round
    def _blocks_wanted(self, crossing: Crossing) -> int:
        """The number of blocks of the next round, within the budget; 0 to stop."""
        if self._is_reached(crossing) and self.question.tolerance is not None:
            return 0
        wanted = math.inf
        if self.question.tolerance is not None:
            narrow = crossing.half_width * self.question.tolerance / self._half_width(crossing)
            per_replicate = (self.z * self._spread_at(crossing) / crossing.slope) ** 2
            needed = MARGIN * per_replicate * (narrow**-2 - crossing.half_width**-2)
            wanted = max(needed, MIN_GROWTH * self.n_rep)
        wanted = min(wanted, max(self.n_rep, MIN_BLOCKS * self.block_size))
        left = (self.question.max_n_rep - self.n_rep) // self.block_size
        return min(math.ceil(wanted / self.block_size), left)

    def _spread_at(self, crossing: Crossing) -> float:
        """The standard deviation per replicate, at the evaluation nearest to the crossing."""
        known = [value for value in self.at if math.isfinite(self._height(value)[1])]
        nearest = min(known, key=lambda value: abs(self.question.unit(value) - crossing.place))
        return self._height(nearest)[1] * math.sqrt(self.at[nearest].n_rep)

    def _next_points(self, crossing: Crossing, n_blocks: int) -> dict[Number, int]:
        """The blocks of a round by value of the factor: at the crossing, and on both sides of it.

        Places are rounded to an eighth of the interval, in nested steps, so that rounds meet at
        the same values: a few values with many replicates each.
        """
        at_side = round(n_blocks * (1 - CENTRE) / 2)
        distance = SIDE * math.sqrt(crossing.half_width / 2)  # the bracket's half-width is 1/2
        left = crossing.place - min(distance, crossing.place / 2)
        right = crossing.place + min(distance, (1 - crossing.place) / 2)
        shares = ((crossing.place, n_blocks - 2 * at_side), (left, at_side), (right, at_side))
        step = 2.0 ** math.floor(math.log2(crossing.half_width / 4))
        points: dict[Number, int] = {}
        for place, n in shares:
            value = self.question.number(self.question.value(round(place / step) * step))
            points[value] = points.get(value, 0) + n
        return {value: n for value, n in sorted(points.items()) if n}

    # ---- the answer
    def solution(self, crossing: Crossing) -> Solution:
        """Return the answer with its trace."""
        question, answer = self.question, self._interval(crossing)
        return Solution(
            question.factor,
            question.measure,
            question.target,
            **answer,
            level=question.level,
            n_rep=self.n_rep,
            reached=self._is_reached(crossing),
            integer=math.ceil(answer["value"]) if question.integer else None,
            trace=pd.DataFrame(self.rows),
        )

    def _interval(self, crossing: Crossing) -> dict[str, float]:
        """A crossing as `value`, `lower` and `upper`, in units of the factor."""
        places = zip(ANSWER, crossing[:3], strict=True)
        return {name: self.question.value(place) for name, place in places}

    def _half_width(self, crossing: Crossing) -> float:
        """The half-width of the interval, in units of the factor."""
        found = self._interval(crossing)
        return (found["upper"] - found["lower"]) / 2

    def _is_reached(self, crossing: Crossing) -> bool:
        """Whether the interval is as narrow as requested."""
        tolerance = self.question.tolerance
        return tolerance is None or self._half_width(crossing) <= tolerance
