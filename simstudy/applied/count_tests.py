"""Exact tests for counts of right and wrong answers, unpaired and paired.

How many scores they need is computed from their power, a sum over counts of events, almost all of
whose probability lies within some standard deviations. Rare events are so counted exactly in
however many scores, where formulas of normal laws are wrong by tens of per cent.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from simstudy.applied.base_test import BaseTest, about_enough, enough_scores
from simstudy.array_types import Bool, Int
from simstudy.errors import DesignError
from simstudy.lazy import stats
from simstudy.stats.accuracy import paired, two_binomials
from simstudy.stats.accuracy.tails import roundings
from simstudy.stats.classifier.trial import upper_tail
from simstudy.stats.integer_search import least_count

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
SIZED_BY = {"boschloo": "fisher"}  # fails whatever that fails, so it needs no more scores
MOST_VARIANCE = 2_500  # of a count that is summed over: that of 10,000 answers, half of them right
MOST = 10**9  # scores of each model: the product of two numbers of them is an int64
LEFT_OUT = 1e-13  # probability beyond each end of a sum


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

    @property
    def name(self) -> str:
        return self.test

    @property
    @abstractmethod
    def counts(self) -> tuple[int, ...]:
        """Two numbers of answers, then the sizes that they are of."""

    @property
    @abstractmethod
    def found(self) -> tuple[float, float]:
        """The two shares of this candidate."""

    @property
    @abstractmethod
    def unchanged(self) -> tuple[float, float]:
        """The two shares of a candidate that is as good as the reference."""

    @abstractmethod
    def shares(self, effect: float) -> tuple[float, float]:
        """The two shares of candidates that are worse by an effect, which is one too."""

    @property
    @abstractmethod
    def largest_effect(self) -> float:
        """By how much worse, as a share, any candidate can be."""

    @abstractmethod
    def rejection(self, shares: tuple[float, float]) -> float:
        """Chance that a candidate with these shares fails."""

    @abstractmethod
    def rejection_of_size(self, n: int, shares: tuple[float, float]) -> float:
        """The same with n scores of each model."""

    @staticmethod
    @abstractmethod
    def variance(shares: tuple[float, float], *sizes: int) -> float:
        """Of the difference of the means of so many right and wrong answers."""

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

    def _normal(self, effect: float, shares: tuple[float, float]) -> Any:
        variance = self.variance(shares, *self.counts[2:])
        return stats.norm(effect, self.scores.unit * math.sqrt(variance)) if variance > 0 else None


class TwoProportions(CountTest):
    """A test of two counts of right answers to different prompts."""

    @cached_property
    def counts(self) -> tuple[int, int, int, int]:
        """Right answers of reference and candidate, and answers of each."""
        reference, candidate = self.scores.right
        return int(reference.sum()), int(candidate.sum()), len(reference), len(candidate)

    @property
    def words(self) -> str:
        x, y, n, m = self.counts
        return f"{COUNT_TESTS[self.test]}, {x:,} of {n:,} right against {y:,} of {m:,}"

    @cached_property
    def _critical(self) -> Int[np.ndarray, " reference"]:
        return two_binomials.critical_counts(self.test, *self.counts[2:], self.alpha)

    @cached_property
    def p_value(self) -> float:
        return float(two_binomials.p_values(self.test, *self.counts))

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
    def found(self) -> tuple[float, float]:
        x, y, n, m = self.counts
        return x / n, y / m

    @property
    def unchanged(self) -> tuple[float, float]:
        x, y, n, m = self.counts
        return (x + y) / (n + m), (x + y) / (n + m)

    @property
    def largest_effect(self) -> float:
        """All that the reference has right."""
        return self.found[0]

    def shares(self, effect: float) -> tuple[float, float]:
        return self.largest_effect, max(self.largest_effect - effect, 0.0)

    @staticmethod
    def variance(shares: tuple[float, float], *sizes: int) -> float:
        return sum(share * (1 - share) / n for share, n in zip(shares, sizes, strict=True))

    def rejection(self, shares: tuple[float, float]) -> float:
        sizes = self.counts[2:]
        return float(two_binomials.rejection_probability(self._critical, *sizes, *shares))

    @property
    def most_sized(self) -> int:
        of_test = two_binomials.MOST_TRIALS // 2 if self.test == "barnard" else MOST
        return min(most_counted(self.largest_effect), of_test)

    def rejection_of_size(self, n: int, shares: tuple[float, float]) -> float:
        if self.test != "barnard":
            test = SIZED_BY.get(self.test, self.test)
            return power_of_counts(test, n, self.alpha, *shares)
        critical = two_binomials.critical_counts(self.test, n, n, self.alpha)
        return float(two_binomials.rejection_probability(critical, n, n, *shares))


class ChangedAnswers(CountTest):
    """A test of the answers that changed: losses were right and are wrong, gains the reverse.

    Candidates that are worse by an effect gain what this one gained, and lose the effect more; or,
    where they cannot lose so much, lose all that was right and gain the less.
    """

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

    @cached_property
    def _critical(self) -> Int[np.ndarray, " gains"]:
        return paired.critical_losses(self.test, self.counts[2], self.alpha)

    @cached_property
    def p_value(self) -> float:
        return float(paired.p_values(self.test, *self.counts))

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
    def found(self) -> tuple[float, float]:
        losses, gains, n = self.counts
        return losses / n, gains / n

    @property
    def unchanged(self) -> tuple[float, float]:
        """As many changes as were found, half of them losses."""
        losses, gains, n = self.counts
        return (losses + gains) / (2 * n), (losses + gains) / (2 * n)

    @property
    def largest_effect(self) -> float:
        """As many answers can be lost as were right."""
        return float(self.scores.right[0].mean())

    def shares(self, effect: float) -> tuple[float, float]:
        gained = min(self.found[1], max(self.largest_effect - effect, 0.0))
        return gained + effect, gained

    @staticmethod
    def variance(shares: tuple[float, float], *sizes: int) -> float:
        lost, gained = shares
        return (lost + gained - (lost - gained) ** 2) / sizes[0]

    def law(self, effect: float) -> Any:
        return super().law(effect) if effect else self._normal(effect, self.unchanged)

    def rejection(self, shares: tuple[float, float]) -> float:
        return float(paired.rejection_probability(self._critical, self.counts[2], *shares))

    @property
    def most_sized(self) -> int:
        return most_counted(self.found[1])

    def rejection_of_size(self, n: int, shares: tuple[float, float]) -> float:
        return power_of_changes(self.test, n, self.alpha, *shares)


# ---------------------------------------------------------------- how many scores are enough
def most_counted(share: float) -> int:
    """The largest n for which power is summed exactly."""
    variance = share * (1 - share)
    return int(min(MOST_VARIANCE / variance, MOST)) if variance > 0 else MOST


def power_of_counts(test: str, n: int, alpha: float, p_reference: float, p_check: float) -> float:
    """Power of a conditional or z test of two counts, to within `LEFT_OUT` at either end."""
    right, allowed = _likely(n, p_reference), alpha * (1 + roundings(2 * n))

    def passing(count: Int[np.ndarray, " reference"]) -> Bool[np.ndarray, " reference"]:
        return np.asarray(two_binomials.p_values(test, right, np.minimum(count, n), n, n) > allowed)

    failing = least_count(passing, np.zeros_like(right), np.full_like(right, n + 1)) - 1
    masses = stats.binom.pmf(right, n, p_reference)
    return float((masses * stats.binom.cdf(failing, n, p_check)).sum())


def power_of_changes(test: str, n: int, alpha: float, p_loss: float, p_gain: float) -> float:
    """Power of a test of changed answers, to within `LEFT_OUT` at either end."""
    gains, allowed = _likely(n, p_gain), alpha * (1 + roundings(n))
    rest = n - gains

    def failing(losses: Int[np.ndarray, " gains"]) -> Bool[np.ndarray, " gains"]:
        return np.asarray(paired.p_values(test, np.minimum(losses, rest), gains, n) <= allowed)

    critical = least_count(failing, np.zeros_like(gains), rest + 1)
    of_the_rest = min(p_loss / (1 - p_gain), 1.0) if p_gain < 1 else 0.0
    masses = stats.binom.pmf(gains, n, p_gain)
    return float((masses * upper_tail(critical, rest, of_the_rest)).sum())


def _likely(n: int, p: float) -> Int[np.ndarray, " count"]:
    """The range of counts with all but a negligible probability."""
    low, high = stats.binom.ppf(LEFT_OUT, n, p), stats.binom.isf(LEFT_OUT, n, p)
    return np.arange(max(int(low), 0), min(int(high), n) + 1)
