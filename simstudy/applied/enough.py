"""How many scores an exact test needs: its power is computed as far as that is quick.

Power is a sum over counts of events, almost all of whose probability lies within some standard
deviations: rare events are counted exactly in however many scores, where formulas of normal laws
are wrong by tens of per cent.
"""

from collections.abc import Callable

import numpy as np

from simstudy.lazy import stats
from simstudy.shapes import Bool, Int
from simstudy.stats.accuracy import design, paired, two_binomials
from simstudy.stats.accuracy.tails import roundings
from simstudy.stats.classifier.trial import upper_tail
from simstudy.stats.integer_search import least_count

MOST_VARIANCE = 2_500  # of a count that is summed over: that of 10,000 answers, half of them right
MOST = 10**9  # scores of each model: the product of two numbers of them is an int64
LEFT_OUT = 1e-13  # probability beyond each end of a sum


def most_counted(share: float) -> int:
    """Scores of each model up to which power is summed, where events have that share."""
    variance = share * (1 - share)
    return int(min(MOST_VARIANCE / variance, MOST)) if variance > 0 else MOST


def power_of_counts(test: str, n: int, alpha: float, p_reference: float, p_check: float) -> float:
    """Power of a conditional or z test of two counts out of n, to `LEFT_OUT` at either end."""
    right, allowed = _likely(n, p_reference), alpha * (1 + roundings(2 * n))

    def passing(count: Int[np.ndarray, " reference"]) -> Bool[np.ndarray, " reference"]:
        return np.asarray(two_binomials.p_values(test, right, np.minimum(count, n), n, n) > allowed)

    failing = least_count(passing, np.zeros_like(right), np.full_like(right, n + 1)) - 1
    masses = stats.binom.pmf(right, n, p_reference)
    return float((masses * stats.binom.cdf(failing, n, p_check)).sum())


def power_of_changes(test: str, n: int, alpha: float, p_loss: float, p_gain: float) -> float:
    """Power of a test of changed answers to n prompts, to `LEFT_OUT` at either end."""
    gains, allowed = _likely(n, p_gain), alpha * (1 + roundings(n))
    rest = n - gains

    def failing(losses: Int[np.ndarray, " gains"]) -> Bool[np.ndarray, " gains"]:
        return np.asarray(paired.p_values(test, np.minimum(losses, rest), gains, n) <= allowed)

    critical = least_count(failing, np.zeros_like(gains), rest + 1)
    of_the_rest = min(p_loss / (1 - p_gain), 1.0) if p_gain < 1 else 0.0
    masses = stats.binom.pmf(gains, n, p_gain)
    return float((masses * upper_tail(critical, rest, of_the_rest)).sum())


def _likely(n: int, p: float) -> Int[np.ndarray, " count"]:
    """Counts of n that have all but a negligible part of the probability."""
    low, high = stats.binom.ppf(LEFT_OUT, n, p), stats.binom.isf(LEFT_OUT, n, p)
    return np.arange(max(int(low), 0), min(int(high), n) + 1)


def about_enough(effect: float, alpha: float, beta: float, sigma: float) -> int:
    """By the normal formula, at least 1; an effect without any spread is seen in one score.

    Parameters
    ----------
    sigma
        Of one score, at least 0: the difference of two means of n has variance 2 sigma² / n.
    """
    return int(design.sample_size(effect, alpha, beta, sigma)) if sigma > 0 else 1


def enough_scores(
    power_of: Callable[[int], float], target: float, about: int, most: int = MOST
) -> int:
    """An n whose power reaches the target while that of n - 1 does not.

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
