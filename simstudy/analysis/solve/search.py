"""The search, round by round: where the next replicates are drawn.

Every replicate goes where it says most about the answer. After a few at both ends of the bracket,
each round fits a curve to all that was simulated, puts most of the next replicates at the curve's
crossing with the target and the rest on either side of it, and stops when the interval for the
crossing is narrow enough.

The design. Two sides at a distance that shrinks with the fourth root of the number of replicates:
fast enough that curvature stays below the error, slowly enough that the slope becomes known. It
follows the sequential designs of Wu (1985), J. Am. Statist. Assoc. 80, 974-984.

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
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from simstudy.analysis.solve.crossing import Crossing, cross
from simstudy.analysis.solve.problem import FactorScale, Number, Question, Solution
from simstudy.analysis.solve.spline import ROUGHNESS, Curve
from simstudy.array_types import Float
from simstudy.errors import ConfigError, StudyError
from simstudy.lazy import pd, special
from simstudy.measures.intervals import critical_value

FIRST = 200  # replicates at each end before anything is concluded from them
SETTLED = 3.0  # standard errors that tell an end of the bracket from the target
SHARE_OF_ENDS = 0.25  # of all replicates, at most, to tell the ends from the target
CENTRE = 0.6  # share of a round that goes to the crossing itself
SIDE = 0.5  # distance of the two sides, in geometric means of interval and bracket
LEAST_BLOCKS = 4  # in a round: one for each side and two for the crossing
MARGIN = 1.1  # the replicates still needed are an estimate themselves
LEAST_GROWTH = 0.02  # of all replicates, in a last round that misses the tolerance by little


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


Read = Callable[[Mapping[Number, int]], Mapping[Number, Evaluation]]
"""From blocks wanted at each value of the factor (all, not further ones) to what they say."""


class Search:
    """The search: evaluate, fit, and choose the next points.

    Parameters
    ----------
    read
        Draws what is missing and measures.
    question
        What is solved for.
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
        self.blocks: dict[Number, int] = {}
        self.at: dict[Number, Evaluation] = {}
        self.scale = FactorScale(question.low, question.high)
        self.z = critical_value(question.level)
        self.roughness = roughness
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
        """The number of blocks that each end starts with."""
        return math.ceil(FIRST / self.block_size)

    @property
    def n_rep(self) -> int:
        """The number of replicates drawn so far."""
        return sum(self.blocks.values()) * self.block_size

    def solve(self) -> Solution:
        """Draw until the interval is narrow enough or the budget is spent.

        Returns
        -------
        Solution
            The value with its interval.
        """
        self.settle_ends()
        while True:
            found = self.locate()
            n_blocks = self.blocks_wanted(found)
            if not n_blocks:
                return self.solution(found)
            self.draw(self.next_points(found, n_blocks))

    def draw(self, further: Mapping[Number, int]) -> None:
        """Draw further blocks, and record the evaluations.

        Parameters
        ----------
        further
            Numbers of blocks, by value of the factor.
        """
        for value, n in further.items():
            self.blocks[value] = self.blocks.get(value, 0) + n
        self.at |= self.read({value: self.blocks[value] for value in further})
        number = self.rows[-1]["round"] + 1 if self.rows else 0
        for value, n in further.items():
            self.rows.append(self._row(number, value, n * self.block_size))

    def _row(self, number: int, value: Number, n_new: int) -> dict[str, Any]:
        reading = self.at[value]
        return {
            "round": number,
            "at": value,
            "n_rep": n_new,
            "estimate": reading.estimate,
            "mcse": reading.mcse,
            "n_failed": reading.n_failed,
            "reason": reading.reason,
            **dict.fromkeys(("value", "lower", "upper"), math.nan),
            "n_rep_in_all": self.n_rep,
        }

    # ---- the ends
    def settle_ends(self) -> None:
        """Draw at both ends until each differs from the target, on different sides of it.

        Raises
        ------
        StudyError
            If both ends are on one side of the target, or the budget cannot tell.
        """
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
        """Tell on which side of the target the measure is at an end of the bracket.

        Parameters
        ----------
        end
            The end, in units of the factor.

        Returns
        -------
        int
            1 above, -1 below, 0 while it cannot be told.
        """
        height, error = self._height(end)
        if not (math.isfinite(height) and math.isfinite(error)):
            return 0
        distance = height - self.question.goal
        return int(np.sign(distance)) if abs(distance) > SETTLED * error else 0

    def _refuse_unsettled(self, open_ends: Mapping[Number, int]) -> None:
        further = sum(open_ends.values()) * self.block_size
        if self.n_rep + further <= SHARE_OF_ENDS * self.question.max_n_rep:
            return
        question, end = self.question, next(iter(open_ends))
        reading = self.at[end]
        if reading.reason:
            raise StudyError(
                f"{question.measure} has no value at {question.factor}={end:g}: {reading.reason} "
                f"(of {reading.n_rep}). Without it the search has no bracket. Choose an end at "
                "which it is defined."
            )
        raise StudyError(
            f"{self._format_value(end)}, which cannot be told from the target "
            f"{question.target:g}: the answer may lie outside the bracket. Move that end further "
            "away, or raise max_n_rep."
        )

    def _not_bracketed(self) -> str:
        ends = " and ".join(map(self._format_value, (self.question.low, self.question.high)))
        return (
            f"{ends}: both on one side of the target {self.question.target:g}, so no crossing is "
            "known to lie between. Choose low and high on either side of it."
        )

    # ---- the next round
    def locate(self) -> Crossing:
        """Find the crossing by all evaluations, and record it for this round.

        Returns
        -------
        Crossing
            The crossing.
        """
        found = self._crossing()
        interval = self._interval(found)
        for row in reversed(self.rows):
            if row["round"] != self.rows[-1]["round"]:
                break
            row.update(interval)
        return found

    def blocks_wanted(self, crossing: Crossing) -> int:
        """The number of blocks of the next round, within the budget.

        Parameters
        ----------
        crossing
            The crossing, by all evaluations so far.

        Returns
        -------
        int
            Number of blocks; 0 to stop.
        """
        left = (self.question.max_n_rep - self.n_rep) // self.block_size
        if self.reached(crossing):
            return 0
        most = max(self.n_rep, LEAST_BLOCKS * self.block_size)
        n_rep = min(self._needed(crossing), most)
        return max(min(math.ceil(n_rep / self.block_size), left), 0)

    def reached(self, crossing: Crossing) -> bool:
        """Whether the interval is narrow enough.

        Parameters
        ----------
        crossing
            The crossing, by all evaluations so far.

        Returns
        -------
        bool
            False also where no tolerance was asked for.
        """
        tolerance = self.question.tolerance
        return tolerance is not None and self._half_width(crossing) <= tolerance

    def _needed(self, crossing: Crossing) -> float:
        """The replicates at the crossing that would narrow the interval enough."""
        if self.question.tolerance is None:
            return math.inf
        wanted = crossing.half_width * self.question.tolerance / self._half_width(crossing)
        per_replicate = (self.z * self._spread_at(crossing) / crossing.slope) ** 2
        needed = MARGIN * per_replicate * (wanted**-2 - crossing.half_width**-2)
        return max(needed, LEAST_GROWTH * self.n_rep)

    def next_points(self, crossing: Crossing, n_blocks: int) -> dict[Number, int]:
        """The next points: most blocks at the crossing, the rest on both sides of it.

        Places are rounded to an eighth of the interval, in nested steps, so that rounds meet at
        the same values: a few values with many replicates, none of them nearly equal.

        Parameters
        ----------
        crossing
            The crossing, by all evaluations so far.
        n_blocks
            Blocks of the round.

        Returns
        -------
        dict[Number, int]
            Numbers of blocks, by value of the factor.
        """
        at_side = round(n_blocks * (1 - CENTRE) / 2)
        distance = SIDE * math.sqrt(crossing.half_width / 2)  # the bracket's half-width is 1/2
        left = crossing.place - min(distance, crossing.place / 2)
        right = crossing.place + min(distance, (1 - crossing.place) / 2)
        shares = ((crossing.place, n_blocks - 2 * at_side), (left, at_side), (right, at_side))
        step = 2.0 ** math.floor(math.log2(crossing.half_width / 4))
        points: dict[Number, int] = {}
        for place, n in shares:
            value = self.question.number(self.scale.value(round(place / step) * step))
            points[value] = points.get(value, 0) + n
        return {value: n for value, n in sorted(points.items()) if n}

    def solution(self, crossing: Crossing) -> Solution:
        """Return the answer with its trace.

        Parameters
        ----------
        crossing
            The crossing, by all evaluations so far.

        Returns
        -------
        Solution
            The answer.
        """
        question, interval = self.question, self._interval(crossing)
        return Solution(
            factor=question.factor,
            measure=question.measure,
            target=question.target,
            **interval,
            level=question.level,
            n_rep=self.n_rep,
            reached=question.tolerance is None or self.reached(crossing),
            integer=math.ceil(interval["value"]) if question.integer else None,
            trace=pd.DataFrame(self.rows),
        )

    # ---- the curve
    def _format_value(self, value: Number) -> str:
        """The measure at a value of the factor, as text."""
        reading = self.at[value]
        return (
            f"{self.question.measure} is {reading.estimate:.4g} (MCSE {reading.mcse:.2g}, "
            f"{reading.n_rep} replicates) at {self.question.factor}={value:g}"
        )

    def _height(self, value: Number) -> tuple[float, float]:
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

    def _crossing(self) -> Crossing:
        """Where the fitted curve crosses the target, on the scale of the fit."""
        values, heights, errors = self._fitted()
        rise = abs(heights[-1] - heights[0])
        places = np.array([self.scale.unit(value) for value in values])
        curve = Curve(places, heights, errors, rise=rise, roughness=self.roughness)
        return cross(curve, self.question.goal, self.z)

    def _fitted(self) -> tuple[list[Number], np.ndarray, np.ndarray]:
        """The evaluations with a height and an error, in order."""
        values = sorted(self.at)
        heights, errors = np.array([self._height(value) for value in values]).T
        is_finite = np.isfinite(heights) & np.isfinite(errors)
        kept = [value for value, is_there in zip(values, is_finite, strict=True) if is_there]
        return kept, heights[is_finite], errors[is_finite]

    def _interval(self, crossing: Crossing) -> dict[str, float]:
        """A crossing as `value`, `lower` and `upper`, in units of the factor."""
        names = ("value", "lower", "upper")
        return {
            name: self.scale.value(unit) for name, unit in zip(names, crossing[:3], strict=True)
        }

    def _half_width(self, crossing: Crossing) -> float:
        """The half-width of the interval, in units of the factor."""
        interval = self._interval(crossing)
        return (interval["upper"] - interval["lower"]) / 2

    def _spread_at(self, crossing: Crossing) -> float:
        """The standard deviation per replicate, at the evaluation nearest to the crossing."""
        values, _, errors = self._fitted()
        distances = [abs(self.scale.unit(value) - crossing.place) for value in values]
        i = int(np.argmin(distances))
        return float(errors[i]) * math.sqrt(self.at[values[i]].n_rep)
