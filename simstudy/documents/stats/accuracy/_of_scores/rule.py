"""The rule by which a candidate fails, and how many scores it needs."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simstudy.array_types import Bool, Int
from simstudy.documents.stats.accuracy import design
from simstudy.documents.stats.integer_search import least_count


@dataclass(frozen=True)
class Rule:
    """A test of a candidate against a reference, with what it says of their scores.

    Effects and margins are "worse by", in the units of the scores.

    Parameters
    ----------
    name
        Name of the test in the settings.
    words
        The test and what it was given, as after "by".
    standard_error
        Standard error of the difference of the means.
    p_value
        Chance of a candidate as bad as this one, or worse, where nothing changed.
    fails
        Whether the candidate is shown to be worse.
    margin
        How much worse than the reference's mean a candidate fails; NaN where none can.
    level
        Chance that an unchanged candidate fails: alpha, or less where scores are counts.
    power
        Function of an effect: the chance that a candidate with this loss fails.
    detectable_effect
        Function of beta: the effect of which such a share passes; NaN where even the worst would.
    n_needed
        From theta and beta, scores of each model that miss theta at most at rate beta.
    most_sized
        Scores of each model up to which `n_needed` is exact; beyond, by the normal formula.
    """

    name: str
    words: str
    standard_error: float
    p_value: float
    fails: bool
    margin: float
    level: float
    power: Callable[[float], float]
    detectable_effect: Callable[[float], float]
    n_needed: Callable[[float, float], int | None]
    most_sized: float = math.inf


UNCHANGED = Rule(
    "none",
    "no test: there is no difference, and no spread",
    standard_error=0.0,
    p_value=1.0,
    fails=False,
    margin=math.nan,
    level=math.nan,
    power=lambda _: math.nan,
    detectable_effect=lambda _: math.nan,
    n_needed=lambda *_: None,
)
"""Of scores that are all equal: the candidate passes."""


# ---------------------------------------------------------------- how many scores are enough
def about_enough(effect: float, alpha: float, beta: float, sigma: float) -> int:
    """The sample size by the normal formula, at least 1.

    Parameters
    ----------
    sigma
        For one score, at least 0; the difference of two means of n has variance 2 sigma² / n.
    """
    return int(design.sample_size(effect, alpha, beta, sigma)) if sigma > 0 else 1


def enough_scores(
    power_of: Callable[[int], float],
    target: float,
    about: int,
    *,
    least: int = 1,
    most: float = math.inf,
) -> int:
    """The smallest n found whose power reaches the target while that of n - 1 does not.

    The power of a test of counts rises in a saw, so a smaller n may reach it as well, and a
    larger one may fall short of it by a tooth.

    Parameters
    ----------
    power_of
        Function of a number of scores; it comes to be above the target.
    about
        The number by the normal formula, which is the answer if it is more than `most`.
    least, most
        Numbers for which `power_of` is evaluated. Where even the largest is too few, the answer is
        the next: more is not known.
    """
    if about > most:
        return about

    def reaches(n: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        return np.array([power_of(int(size)) >= target for size in n.flat]).reshape(n.shape)

    high = max(about, least)
    low = max(high // 2, least)
    while power_of(high) < target:
        if high == most:
            return high + 1
        low, high = high, int(min(high + max(about // 4, 1), most))
    if low < about and power_of(low) >= target:
        low = least
    return int(least_count(reaches, np.array(low), np.array(high)))
