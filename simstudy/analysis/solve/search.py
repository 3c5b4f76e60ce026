"""The search, round by round: where the next replicates are drawn.

Every replicate goes where it says most about the answer. After a few at both ends of the bracket,
each round fits a curve to all that was simulated, puts most of the next replicates at the curve's
crossing with the target and the rest on either side of it, and stops when the interval for the
crossing is narrow enough.

The design. Two sides at a distance that shrinks with the fourth root of the number of replicates:
fast enough that curvature stays below the error, slowly enough that the slope becomes known. It
follows the sequential designs of Wu (1985), J. Am. Statist. Assoc. 80, 974-984.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from simstudy.analysis.solve.evaluations import Evaluation, Evaluations
from simstudy.analysis.solve.problem import Number, Question, Solution
from simstudy.array_types import Float
from simstudy.errors import ConfigError, StudyError
from simstudy.lazy import pd
from simstudy.stats.smoothing.crossing import Crossing
from simstudy.stats.smoothing.spline import ROUGHNESS

FIRST = 200  # replicates at each end before anything is concluded from them
SETTLED = 3.0  # standard errors that tell an end of the bracket from the target
SHARE_OF_ENDS = 0.25  # of all replicates, at most, to tell the ends from the target
CENTRE = 0.6  # share of a round that goes to the crossing itself
SIDE = 0.5  # distance of the two sides, in geometric means of interval and bracket
LEAST_BLOCKS = 4  # in a round: one for each side and two for the crossing
MARGIN = 1.1  # the replicates still needed are an estimate themselves
LEAST_GROWTH = 0.02  # of all replicates, in a last round that misses the tolerance by little


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
        self.readings = Evaluations(question, roughness)
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
        self.readings.at |= self.read({value: self.blocks[value] for value in further})
        number = self.rows[-1]["round"] + 1 if self.rows else 0
        for value, n in further.items():
            self.rows.append(self._row(number, value, n * self.block_size))

    def _row(self, number: int, value: Number, n_new: int) -> dict[str, Any]:
        reading = self.readings.at[value]
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
        height, error = self.readings.height(end)
        if not (math.isfinite(height) and math.isfinite(error)):
            return 0
        distance = height - self.question.goal
        return int(np.sign(distance)) if abs(distance) > SETTLED * error else 0

    def _refuse_unsettled(self, open_ends: Mapping[Number, int]) -> None:
        further = sum(open_ends.values()) * self.block_size
        if self.n_rep + further <= SHARE_OF_ENDS * self.question.max_n_rep:
            return
        question, end = self.question, next(iter(open_ends))
        reading = self.readings.at[end]
        if reading.reason:
            raise StudyError(
                f"{question.measure} has no value at {question.factor}={end:g}: {reading.reason} "
                f"(of {reading.n_rep}). Without it the search has no bracket. Choose an end at "
                "which it is defined."
            )
        raise StudyError(
            f"{self.readings.format_value(end)}, which cannot be told from the target "
            f"{question.target:g}: the answer may lie outside the bracket. Move that end further "
            "away, or raise max_n_rep."
        )

    def _not_bracketed(self) -> str:
        ends = " and ".join(
            map(self.readings.format_value, (self.question.low, self.question.high))
        )
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
        found = self.readings.crossing()
        interval = self.readings.interval(found)
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
        return tolerance is not None and self.readings.half_width(crossing) <= tolerance

    def _needed(self, crossing: Crossing) -> float:
        """The replicates at the crossing that would narrow the interval enough."""
        if self.question.tolerance is None:
            return math.inf
        wanted = crossing.half_width * self.question.tolerance / self.readings.half_width(crossing)
        per_replicate = (self.readings.z * self.readings.spread_at(crossing) / crossing.slope) ** 2
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
            value = self.question.number(self.readings.scale.value(round(place / step) * step))
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
        question, interval = self.question, self.readings.interval(crossing)
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
