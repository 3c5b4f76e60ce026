"""Exact tests for counts of right and wrong answers, unpaired and paired.

How many scores they need is computed from their power, a sum over all counts. Where that is more
than `MOST_SIZED`, the normal formula says about how many.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar, Final

import numpy as np

from simstudy.applied.base_test import BaseTest, about_enough, enough_scores
from simstudy.array_types import Int
from simstudy.errors import DesignError
from simstudy.lazy import stats
from simstudy.stats.accuracy import paired, two_binomials

COUNT_TESTS: Final[Mapping[str, str]] = {
    "fisher": "Fisher's exact test",
    "fisher_mid_p": "Fisher's test with the mid-p-value",
    "boschloo": "Boschloo's exact test",
    "barnard": "Barnard's exact test",
    "z_pooled": "the pooled z test",
}  # of right and wrong answers to different prompts
CHANGE_TESTS: Final[Mapping[str, str]] = {
    "mcnemar": "McNemar's exact test",
    "mcnemar_mid_p": "McNemar's test with the mid-p-value",
    "paired_z": "McNemar's z test",
}  # of right and wrong answers to the same prompts
Shares = tuple[float, float]
SIZED_BY = {"boschloo": "fisher"}  # fails whatever that fails, so it needs no more scores
MOST_SIZED = two_binomials.MOST_TRIALS // 2  # scores of each model, for which power is summed


@dataclass(frozen=True)
class CountTest(BaseTest):
    """A test of counts; effects are shares of answers times the score of a right answer.

    What a candidate's answers do is said by two shares: of the reference's right answers and the
    candidate's, or of answers lost and gained.

    Parameters
    ----------
    test
        Its name among the statistics.
    """

    test: str

    statistics: ClassVar[ModuleType]
    find_critical: ClassVar[Callable[..., Int[np.ndarray, " count"]]]
    most_sized = MOST_SIZED

    @property
    def name(self) -> str:
        return self.test

    @property
    @abstractmethod
    def counts(self) -> tuple[int, ...]:
        """Two numbers of answers, then the sizes that they are of."""

    @property
    @abstractmethod
    def found(self) -> Shares:
        """The two shares of this candidate."""

    @property
    @abstractmethod
    def unchanged(self) -> Shares:
        """The two shares of a candidate that is as good as the reference."""

    @abstractmethod
    def shares(self, effect: float) -> Shares:
        """The two shares of candidates that are worse by an effect, which is one too."""

    @property
    def largest_effect(self) -> float:
        """By how much worse, as a share, any candidate can be: by all that was right."""
        return float(self.scores.right[0].mean())

    def rejection(self, shares: Shares) -> float:
        """Chance that a candidate with these shares fails."""
        sizes = self.counts[2:]
        return float(self.statistics.rejection_probability(self._critical, *sizes, *shares))

    def rejection_of_size(self, n: int, shares: Shares) -> float:
        """The same with n scores of each model."""
        sizes = [n for _ in self.counts[2:]]
        critical = self.find_critical(SIZED_BY.get(self.test, self.test), *sizes, self.alpha)
        return float(self.statistics.rejection_probability(critical, *sizes, *shares))

    @staticmethod
    @abstractmethod
    def variance(shares: Shares, *sizes: int) -> float:
        """Of the difference of the means of so many right and wrong answers."""

    @cached_property
    def _critical(self) -> Int[np.ndarray, " count"]:
        return self.find_critical(self.test, *self.counts[2:], self.alpha)

    @cached_property
    def p_value(self) -> float:
        return float(self.statistics.p_values(self.test, *self.counts))

    @property
    def standard_error(self) -> float:
        return self.scores.unit * math.sqrt(self.variance(self.found, *self.counts[2:]))

    @property
    def level(self) -> float:
        return self.rejection(self.unchanged)

    def power(self, effect: float) -> float:
        return self.power_of_share(self.share(effect)) if effect == effect else math.nan

    def power_of_share(self, effect: float) -> float:
        """Chance that a candidate fails of which so many fewer answers are right, as a share."""
        return self.rejection(self.shares(effect))

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

    def n_needed(self, theta: float, beta: float) -> int:
        effect = self.share(theta)
        shares = self.shares(effect)
        of_one = self.variance(shares, *(1 for _ in self.counts[2:]))
        return enough_scores(
            lambda n: self.rejection_of_size(n, shares),
            1 - beta,
            about_enough(effect, self.alpha, beta, math.sqrt(of_one / 2)),
            most=self.most_sized,
        )

    def law(self, effect: float) -> Any:
        """The normal approximation."""
        return self._normal(effect, self.shares(effect / self.scores.unit))

    def _normal(self, effect: float, shares: Shares) -> Any:
        variance = self.variance(shares, *self.counts[2:])
        return stats.norm(effect, self.scores.unit * math.sqrt(variance)) if variance > 0 else None


class TwoProportions(CountTest):
    """A test of two counts of right answers to different prompts."""

    statistics = two_binomials
    find_critical = staticmethod(two_binomials.critical_counts)

    @cached_property
    def counts(self) -> tuple[int, int, int, int]:
        """Right answers of reference and candidate, and answers of each."""
        reference, candidate = self.scores.right
        return int(reference.sum()), int(candidate.sum()), len(reference), len(candidate)

    @property
    def words(self) -> str:
        x, y, n, m = self.counts
        return f"{COUNT_TESTS[self.test]}, {x:,} of {n:,} right against {y:,} of {m:,}"

    @property
    def _largest_failing(self) -> int:
        return int(self._critical[self.counts[0]])

    @property
    def fails(self) -> bool:
        return self.counts[1] <= self._largest_failing

    @property
    def margin(self) -> float:
        x, _, n, m = self.counts
        failing = self._largest_failing
        return self.scores.unit * (x / n - failing / m) if failing >= 0 else math.nan

    @property
    def found(self) -> Shares:
        x, y, n, m = self.counts
        return x / n, y / m

    @property
    def unchanged(self) -> Shares:
        x, y, n, m = self.counts
        return (x + y) / (n + m), (x + y) / (n + m)

    def shares(self, effect: float) -> Shares:
        return self.largest_effect, max(self.largest_effect - effect, 0.0)

    @staticmethod
    def variance(shares: Shares, *sizes: int) -> float:
        return sum(share * (1 - share) / n for share, n in zip(shares, sizes, strict=True))


class ChangedAnswers(CountTest):
    """A test of the answers that changed: losses were right and are wrong, gains the reverse.

    Candidates that are worse by an effect gain what this one gained, and lose the effect more; or,
    where they cannot lose so much, lose all that was right and gain the less.
    """

    statistics = paired
    find_critical = staticmethod(paired.critical_losses)

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """Losses, gains, prompts."""
        reference, candidate = self.scores.right
        lost, gained = (reference & ~candidate).sum(), (candidate & ~reference).sum()
        return int(lost), int(gained), len(reference)

    @property
    def words(self) -> str:
        losses, gains, n = self.counts
        return f"{CHANGE_TESTS[self.test]} of {n:,} prompts, {losses:,} lost and {gains:,} gained"

    @property
    def fails(self) -> bool:
        losses, gains, _ = self.counts
        return losses >= int(self._critical[gains])

    @property
    def margin(self) -> float:
        """Given how many answers changed."""
        losses, gains, n = self.counts
        possible = np.arange(losses + gains + 1)
        failing = possible[possible >= self._critical[possible[::-1]]]
        if not len(failing):
            return math.nan
        return self.scores.unit * float(2 * failing[0] - losses - gains) / n

    @property
    def found(self) -> Shares:
        losses, gains, n = self.counts
        return losses / n, gains / n

    @property
    def unchanged(self) -> Shares:
        """As many changes as were found, half of them losses."""
        losses, gains, n = self.counts
        return (losses + gains) / (2 * n), (losses + gains) / (2 * n)

    def shares(self, effect: float) -> Shares:
        gained = min(self.found[1], max(self.largest_effect - effect, 0.0))
        return gained + effect, gained

    @staticmethod
    def variance(shares: Shares, *sizes: int) -> float:
        lost, gained = shares
        return (lost + gained - (lost - gained) ** 2) / sizes[0]

    def law(self, effect: float) -> Any:
        return super().law(effect) if effect else self._normal(effect, self.unchanged)
