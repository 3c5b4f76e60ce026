"""Exact tests for counts of right and wrong answers, unpaired and paired.

How many scores they need is computed from their power, a sum over counts of events, almost all of
whose probability lies within some standard deviations. Rare events are so counted exactly in
however many scores, where formulas of normal laws are wrong by tens of per cent.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from simstudy.applied.base_test import BaseTest
from simstudy.array_types import Bool, Int
from simstudy.errors import DesignError
from simstudy.lazy import stats
from simstudy.stats.accuracy import design, paired, two_binomials
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
    def largest_effect(self) -> float:
        """By how much worse, as a share, any candidate can be."""

    @abstractmethod
    def shares(self, effect: float) -> tuple[float, float]:
        """The two shares of candidates that are worse by an effect, which is one too."""

    @abstractmethod
    def rejection(self, shares: tuple[float, float]) -> float:
        """Chance that a candidate with these shares fails."""

    @abstractmethod
    def rejection_of_size(self, n: int, shares: tuple[float, float]) -> float:
        """The same with n scores of each model."""

    @abstractmethod
    def variance(self, effect: float) -> float:
        """Of the difference of the shares, where that is the effect."""

    @abstractmethod
    def variance_of_one(self, shares: tuple[float, float]) -> float:
        """The same, of one score of each model."""

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
        sigma = math.sqrt(self.variance_of_one(shares) / 2)
        about = about_enough(effect, self.alpha, beta, sigma)
        return enough_scores(
            lambda n: self.rejection_of_size(n, shares), 1 - beta, about, int(self.most_sized)
        )

    def law(self, effect: float) -> Any:
        """The normal approximation."""
        variance = self.variance(effect / self.scores.unit)
        return stats.norm(effect, self.scores.unit * math.sqrt(variance)) if variance > 0 else None


class TwoProportions(CountTest):
    """A test of two counts of right answers to different prompts."""

    @cached_property
    def _counts(self) -> tuple[int, int, int, int]:
        """Right answers of reference and candidate, and answers of each."""
        reference, candidate = self.scores.right
        return int(reference.sum()), int(candidate.sum()), len(reference), len(candidate)

    @property
    def words(self) -> str:
        x, y, n, m = self._counts
        return f"{COUNT_TESTS[self.test]}, {x:,} of {n:,} right against {y:,} of {m:,}"

    @cached_property
    def _critical(self) -> Int[np.ndarray, " reference"]:
        _, _, n, m = self._counts
        return two_binomials.critical_counts(self.test, n, m, self.alpha)

    @property
    def standard_error(self) -> float:
        x, y, n, m = self._counts
        return self.scores.unit * math.sqrt(_binomial(x / n, n) + _binomial(y / m, m))

    def variance(self, effect: float) -> float:
        _, _, n, m = self._counts
        share, now = self.shares(effect)
        return _binomial(share, n) + _binomial(now, m)

    def variance_of_one(self, shares: tuple[float, float]) -> float:
        return sum(_binomial(share, 1) for share in shares)

    @cached_property
    def p_value(self) -> float:
        return float(two_binomials.p_values(self.test, *self._counts))

    @property
    def _largest_failing(self) -> int:
        return int(self._critical[self._counts[0]])

    @property
    def fails(self) -> bool:
        return self._counts[1] <= self._largest_failing

    @property
    def margin(self) -> float:
        x, _, n, m = self._counts
        failing = self._largest_failing
        return self.scores.unit * (x / n - failing / m) if failing >= 0 else math.nan

    @property
    def level(self) -> float:
        x, y, n, m = self._counts
        share = (x + y) / (n + m)
        return self.rejection((share, share))

    @property
    def largest_effect(self) -> float:
        """All that the reference has right."""
        x, _, n, _ = self._counts
        return x / n

    def shares(self, effect: float) -> tuple[float, float]:
        return self.largest_effect, max(self.largest_effect - effect, 0.0)

    def rejection(self, shares: tuple[float, float]) -> float:
        _, _, n, m = self._counts
        return float(two_binomials.rejection_probability(self._critical, n, m, *shares))

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
    def _counts(self) -> tuple[int, int, int]:
        """Losses, gains, prompts."""
        reference, candidate = self.scores.right
        lost, gained = (reference & ~candidate).sum(), (candidate & ~reference).sum()
        return int(lost), int(gained), len(reference)

    @property
    def words(self) -> str:
        losses, gains, n = self._counts
        return f"{CHANGE_TESTS[self.test]} of {n:,} prompts, {losses:,} lost and {gains:,} gained"

    @cached_property
    def _critical(self) -> Int[np.ndarray, " gains"]:
        return paired.critical_losses(self.test, self._counts[2], self.alpha)

    @property
    def standard_error(self) -> float:
        losses, gains, n = self._counts
        return self.scores.unit * math.sqrt(_of_changes(losses / n, gains / n, n))

    def variance(self, effect: float) -> float:
        """With no effect, as many changes as were found, half of them losses."""
        losses, gains, n = self._counts
        return (losses + gains) / n**2 if effect == 0 else _of_changes(*self.shares(effect), n)

    def variance_of_one(self, shares: tuple[float, float]) -> float:
        return _of_changes(*shares, 1)

    def shares(self, effect: float) -> tuple[float, float]:
        """Of prompts that a candidate loses and gains that is worse by an effect."""
        _, gains, n = self._counts
        gained = min(gains / n, max(self.largest_effect - effect, 0.0))
        return gained + effect, gained

    @cached_property
    def p_value(self) -> float:
        return float(paired.p_values(self.test, *self._counts))

    @property
    def fails(self) -> bool:
        losses, gains, _ = self._counts
        return losses >= int(self._critical[gains])

    @property
    def margin(self) -> float:
        """Given how many answers changed."""
        losses, gains, n = self._counts
        possible = np.arange(losses + gains + 1)
        failing = possible[possible >= self._critical[possible[::-1]]]
        if not len(failing):
            return math.nan
        return self.scores.unit * float(2 * failing[0] - losses - gains) / n

    @property
    def level(self) -> float:
        losses, gains, n = self._counts
        each = (losses + gains) / (2 * n)
        return self.rejection((each, each))

    @property
    def largest_effect(self) -> float:
        """As many answers can be lost as were right."""
        return float(self.scores.right[0].mean())

    def rejection(self, shares: tuple[float, float]) -> float:
        return float(paired.rejection_probability(self._critical, self._counts[2], *shares))

    @property
    def most_sized(self) -> int:
        return most_counted(self._counts[1] / self._counts[2])

    def rejection_of_size(self, n: int, shares: tuple[float, float]) -> float:
        return power_of_changes(self.test, n, self.alpha, *shares)


def _binomial(share: float, n: int) -> float:
    """Variance of a binomial share."""
    return share * (1 - share) / n


def _of_changes(p_loss: float, p_gain: float, n: int) -> float:
    """Variance of the difference of two paired shares."""
    return (p_loss + p_gain - (p_loss - p_gain) ** 2) / n


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


def about_enough(effect: float, alpha: float, beta: float, sigma: float) -> int:
    """The sample size by the normal formula, at least 1.

    Parameters
    ----------
    sigma
        Of one score, at least 0: the difference of two means of n has variance 2 sigma² / n.
    """
    return int(design.sample_size(effect, alpha, beta, sigma)) if sigma > 0 else 1


def enough_scores(
    power_of: Callable[[int], float], target: float, about: int, most: int = MOST
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
    most
        The largest n that `power_of` is asked for. Where even that is too few, the answer is the
        next: more is not known.
    """
    if about > most:
        return about

    def reaches(n: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        return np.array([power_of(int(size)) >= target for size in n.flat]).reshape(n.shape)

    low, high = max(about // 2, 1), about
    while power_of(high) < target:
        if high == most:
            return most + 1
        low, high = high, min(high + max(about // 4, 1), most)
    if low < about and power_of(low) >= target:
        low = 1
    return int(least_count(reaches, np.array(low), np.array(high)))
