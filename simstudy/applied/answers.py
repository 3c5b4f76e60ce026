"""What the exact tests of right and wrong answers have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from simstudy.applied.scores import Scores
from simstudy.errors import DesignError
from simstudy.lazy import stats


@dataclass(frozen=True)
class OfAnswers(ABC):
    """A test of counts; effects are shares of answers here, times what a right answer scores.

    Parameters
    ----------
    test
        Its name among the statistics.
    """

    scores: Scores
    alpha: float
    test: str

    @property
    def name(self) -> str:
        return self.test

    @property
    @abstractmethod
    def largest_effect(self) -> float:
        """By how much worse, as a share, any candidate can be."""

    @property
    @abstractmethod
    def most_sized(self) -> int:
        """Scores of each model up to which `n_needed` is exact; beyond, by the normal formula."""

    @abstractmethod
    def power_of_share(self, effect: float) -> float:
        """Chance that a candidate fails of which so many fewer answers are right, as a share."""

    @abstractmethod
    def variance(self, effect: float) -> float:
        """Of the difference of the shares, where that is the effect."""

    def power(self, effect: float) -> float:
        return self.power_of_share(self.share(effect)) if effect == effect else math.nan

    def share(self, effect: float) -> float:
        """An effect in score units as a share of answers.

        Raises
        ------
        DesignError
            Where no candidate can be so much worse.
        """
        share = effect / self.scores.unit
        if share > self.largest_effect:
            raise DesignError(
                f"theta={effect:g}: with these scores no candidate is worse than the reference by "
                f"more than {self.largest_effect * self.scores.unit:.4g}. Give an effect that can "
                "be, in the units of the scores."
            )
        return share

    def detectable_effect(self, beta: float) -> float:
        from scipy.optimize import brentq

        most = self.largest_effect
        if most <= 0 or self.power_of_share(most) < 1 - beta:
            return math.nan
        if self.power_of_share(0.0) >= 1 - beta:
            return 0.0
        found = brentq(lambda share: self.power_of_share(share) - (1 - beta), 0.0, most)
        return float(found) * self.scores.unit

    def law(self, effect: float) -> Any:
        """The normal approximation."""
        variance = self.variance(effect / self.scores.unit)
        return stats.norm(effect, self.scores.unit * math.sqrt(variance)) if variance > 0 else None
