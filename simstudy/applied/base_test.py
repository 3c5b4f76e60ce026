"""The base class of regression tests, and the test for scores that are all equal.

Effects and margins are "worse by", in the units of the scores.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from simstudy.applied.scores import Scores
from simstudy.array_types import Bool, Int
from simstudy.stats.accuracy import design
from simstudy.stats.integer_search import least_count


@dataclass(frozen=True)
class BaseTest(ABC):
    """A test of a candidate against a reference, with its scores."""

    scores: Scores
    alpha: float

    most_sized: ClassVar[float] = math.inf
    """Scores of each model up to which `n_needed` is exact; beyond, by the normal formula."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As one asks for it."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The test and what it was given, as after "by"."""

    @property
    @abstractmethod
    def standard_error(self) -> float:
        """Of the difference of the means."""

    @property
    @abstractmethod
    def p_value(self) -> float:
        """Chance of a candidate as bad as this one, or worse, where nothing changed."""

    @property
    def fails(self) -> bool:
        """Whether the candidate is shown to be worse."""
        return self.p_value <= self.alpha

    @property
    @abstractmethod
    def margin(self) -> float:
        """How much worse than the reference's mean a candidate fails; NaN where none can."""

    @property
    def level(self) -> float:
        """Chance that an unchanged candidate fails: alpha, or less where scores are counts."""
        return self.alpha

    @abstractmethod
    def power(self, effect: float) -> float:
        """Chance that a candidate fails that is worse by `effect`."""

    @abstractmethod
    def detectable_effect(self, beta: float) -> float:
        """The effect of which a share `beta` passes; NaN where even the worst would."""

    @abstractmethod
    def n_needed(self, theta: float, beta: float) -> int | None:
        """Scores of each model with which `theta` is missed at most at rate `beta`, or None."""

    @abstractmethod
    def law(self, effect: float) -> Any:
        """Of how much worse the candidate is found, where it is worse by `effect`; None if none."""


class Unchanged(BaseTest):
    """The test for scores that are all equal: passes with p = 1."""

    name = "none"
    words = "no test: there is no difference, and no spread"
    standard_error = 0.0
    p_value = 1.0
    fails = False
    margin = math.nan
    level = math.nan

    def power(self, effect: float) -> float:  # noqa: ARG002
        return math.nan

    def detectable_effect(self, beta: float) -> float:  # noqa: ARG002
        return math.nan

    def n_needed(self, theta: float, beta: float) -> int | None:  # noqa: ARG002
        return None

    def law(self, effect: float) -> Any:  # noqa: ARG002
        return None


# ---------------------------------------------------------------- how many scores are enough
def about_enough(effect: float, alpha: float, beta: float, sigma: float) -> int:
    """The sample size by the normal formula, at least 1.

    Parameters
    ----------
    sigma
        Of one score, at least 0: the difference of two means of n has variance 2 sigma² / n.
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
        Of a number of scores; it comes to be above the target.
    about
        The number by the normal formula, which is the answer if it is more than `most`.
    least, most
        The numbers that `power_of` is asked for. Where even the largest is too few, the answer is
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
