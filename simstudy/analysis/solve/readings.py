"""What was simulated so far, and the curve through it that crosses the target.

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
from typing import NamedTuple

import numpy as np

from simstudy.analysis.solve.question import FactorScale, Number, Question
from simstudy.errors import StudyError
from simstudy.lazy.scipy import special
from simstudy.measures.intervals import critical_value
from simstudy.shapes import Float
from simstudy.stats.smoothing.crossing import Crossing, cross
from simstudy.stats.smoothing.spline import ROUGHNESS, Curve


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


class Readings:
    """Readings at values of the factor, and what a fit of them says.

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
        self.at: dict[Number, Reading] = {}

    def in_words(self, value: Number) -> str:
        """What the measure is at a value of the factor."""
        reading = self.at[value]
        return (
            f"{self.question.measure} is {reading.estimate:.4g} (MCSE {reading.mcse:.2g}, "
            f"{reading.n_rep} replicates) at {self.question.factor}={value:g}"
        )

    def height(self, value: Number) -> tuple[float, float]:
        """A reading on the scale of the fit, with its standard error; NaN where there is none.

        For a proportion the empirical logit of Haldane (1956) and Anscombe (1956), from the
        Wilson interval of one standard error: it adds half a success and half a failure.
        """
        reading = self.at[value]
        if not self.question.proportion:
            error = reading.mcse if reading.mcse > 0 else self._typical_error(reading)
            return reading.estimate, error
        share, half = (reading.lower + reading.upper) / 2, (reading.upper - reading.lower) / 2
        return float(special.logit(share)), half / (share * (1 - share))

    def _typical_error(self, reading: Reading) -> float:
        """Of replicates that happen to be all equal: the error by the spread at other points."""
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
        """Where a curve through all readings meets the target, on the scale of the fit."""
        values, heights, errors = self._fitted()
        rise = abs(heights[-1] - heights[0])
        places = np.array([self.scale.unit(value) for value in values])
        curve = Curve(places, heights, errors, rise=rise, roughness=self.roughness)
        return cross(curve, self.question.goal, self.z)

    def _fitted(self) -> tuple[list[Number], np.ndarray, np.ndarray]:
        """Values in order, heights and errors of the readings that have both."""
        values = sorted(self.at)
        heights, errors = np.array([self.height(value) for value in values]).T
        there = np.isfinite(heights) & np.isfinite(errors)
        kept = [value for value, is_there in zip(values, there, strict=True) if is_there]
        return kept, heights[there], errors[there]

    def interval(self, found: Crossing) -> dict[str, float]:
        """A crossing as `value`, `lower` and `upper`, in units of the factor."""
        names = ("value", "lower", "upper")
        return {name: self.scale.value(unit) for name, unit in zip(names, found[:3], strict=True)}

    def half_width(self, found: Crossing) -> float:
        """Of the interval, in units of the factor."""
        interval = self.interval(found)
        return (interval["upper"] - interval["lower"]) / 2

    def spread_at(self, found: Crossing) -> float:
        """Standard deviation per replicate, at the reading nearest to the crossing."""
        values, _, errors = self._fitted()
        distances = [abs(self.scale.unit(value) - found.place) for value in values]
        i = int(np.argmin(distances))
        return float(errors[i]) * math.sqrt(self.at[values[i]].n_rep)
