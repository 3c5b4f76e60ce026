"""Exact tests for counts of right and wrong answers, unpaired and paired.

How many scores they need is computed from their power, a sum over counts of events, almost all of
whose probability lies within some standard deviations. Rare events are so counted exactly in
however many scores, where formulas of normal laws are wrong by tens of per cent.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Final

import numpy as np

from simstudy.array_types import Bool, Int
from simstudy.documents.stats.accuracy import paired, two_binomials
from simstudy.documents.stats.accuracy._of_scores.rule import Rule, about_enough, enough_scores
from simstudy.documents.stats.accuracy._of_scores.scores import Scores
from simstudy.documents.stats.accuracy.tails import roundings
from simstudy.documents.stats.classifier.trial import upper_tail
from simstudy.documents.stats.integer_search import least_count
from simstudy.errors import DesignError
from simstudy.lazy import stats

COUNT_TESTS: Final[Mapping[str, str]] = {
    "fisher": "Fisher's exact test",
    "fisher_mid_p": "Fisher's test with the mid-p-value",
    "boschloo": "Boschloo's exact test",
    "barnard": "Barnard's exact test",
    "z_pooled": "the pooled z test",
}  # right and wrong answers to different prompts
CHANGE_TESTS: Final[Mapping[str, str]] = {
    "mcnemar": "McNemar's exact test",
    "mcnemar_mid_p": "McNemar's test with the mid-p-value",
    "paired_z": "McNemar's z test",
}  # right and wrong answers to the same prompts
Shares = tuple[float, float]
SIZED_BY = {"boschloo": "fisher"}  # fails whatever that fails, so it needs no more scores
VARIANCE_LIMIT = 2_500  # variance of a summed count: 10,000 answers, half of them right
MOST = 10**9  # scores of each model: the product of two numbers of them is an int64
LEFT_OUT = 1e-13  # probability beyond each end of a sum


@dataclass(frozen=True)
class Counts:
    """Counts of answers, and the two shares that say what a candidate's answers do.

    These are the reference's and the candidate's share of right answers, or the shares of answers
    lost and gained.

    Parameters
    ----------
    statistics
        The p-values and powers of tests of such counts.
    counts, sizes
        The two counts, and the numbers of answers that they are of.
    critical
        The counts that fail of these sizes.
    unchanged
        The shares of a candidate that is as good as the reference.
    shares
        Function of an effect: the shares of candidates that are worse by it, which is a share too.
    variance
        From shares and sizes, that of the difference of means of right and wrong answers.
    power_of_size
        Function of scores of each model and the shares: the chance that a candidate fails.
    most_sized
        The largest number of scores for which that is summed.
    """

    statistics: ModuleType
    counts: tuple[int, int]
    sizes: tuple[int, ...]
    critical: Int[np.ndarray, " count"]
    unchanged: float
    shares: Callable[[float], Shares]
    variance: Callable[..., float]
    power_of_size: Callable[[int, Shares], float]
    most_sized: int


def two_proportions(scores: Scores, alpha: float, test: str) -> Rule:
    """A test of two counts of right answers to different prompts."""
    n, m = scores.sizes
    x, y = (int(side.sum()) for side in scores.right)
    share = x / n
    critical = two_binomials.critical_counts(test, n, m, alpha)
    sized = SIZED_BY.get(test, test)

    def power_of_size(n: int, shares: Shares) -> float:
        if test != "barnard":
            return power_of_counts(sized, n, alpha, *shares)
        each = two_binomials.critical_counts(test, n, n, alpha)
        return float(two_binomials.rejection_probability(each, n, n, *shares))

    counted = Counts(
        two_binomials,
        (x, y),
        (n, m),
        critical,
        unchanged=(x + y) / (n + m),
        shares=lambda effect: (share, max(share - effect, 0.0)),
        variance=_of_two,
        power_of_size=power_of_size,
        most_sized=min(
            most_counted(share), two_binomials.TRIAL_LIMIT // 2 if test == "barnard" else MOST
        ),
    )
    failing = int(critical[x])
    margin = share - failing / m if failing >= 0 else math.nan
    words = f"{COUNT_TESTS[test]}, {x:,} of {n:,} right against {y:,} of {m:,}"
    return _count_test(scores, alpha, test, words, counted, fails=y <= failing, margin=margin)


def _of_two(shares: Shares, *sizes: int) -> float:
    return sum(share * (1 - share) / n for share, n in zip(shares, sizes, strict=True))


def changed_answers(scores: Scores, alpha: float, test: str) -> Rule:
    """A test of the answers that changed: losses were right and are wrong, gains the reverse.

    Candidates that are worse by an effect gain what this one gained, and lose the effect more; or,
    where they cannot lose so much, lose all that was right and gain the less. The margin is that of
    so many changes.
    """
    reference, candidate = scores.right
    losses, gains = int((reference & ~candidate).sum()), int((candidate & ~reference).sum())
    n, changes, right = len(reference), losses + gains, float(reference.mean())

    def shares(effect: float) -> Shares:
        gained = min(gains / n, max(right - effect, 0.0))
        return gained + effect, gained

    critical = paired.critical_losses(test, n, alpha)
    counted = Counts(
        paired,
        (losses, gains),
        (n,),
        critical,
        unchanged=changes / (2 * n),
        shares=shares,
        variance=_of_changes,
        power_of_size=lambda n, shares: power_of_changes(test, n, alpha, *shares),
        most_sized=most_counted(gains / n),
    )
    possible = np.arange(changes + 1)
    failing = possible[possible >= critical[possible[::-1]]]
    margin = float(2 * failing[0] - changes) / n if len(failing) else math.nan
    words = f"{CHANGE_TESTS[test]} of {n:,} prompts, {losses:,} lost and {gains:,} gained"
    fails = losses >= int(critical[gains])
    return _count_test(scores, alpha, test, words, counted, fails=fails, margin=margin)


def _of_changes(shares: Shares, n: int) -> float:
    lost, gained = shares
    return (lost + gained - (lost - gained) ** 2) / n


def _count_test(
    scores: Scores, alpha: float, test: str, words: str, of: Counts, *, fails: bool, margin: float
) -> Rule:
    """The test of counts; its effects are shares of answers times the score of a right answer."""
    unit, most = scores.unit, float(scores.right[0].mean())

    def rejection(shares: Shares) -> float:
        return float(of.statistics.rejection_probability(of.critical, *of.sizes, *shares))

    def share_of(effect: float) -> float:
        """An effect in score units as a share of answers."""
        if effect / unit > most:
            raise DesignError(
                f"theta={effect:g}: with these scores no candidate is worse than the reference by "
                f"more than {most * unit:.4g}. Give an effect that can be, in the units of the "
                "scores."
            )
        return effect / unit

    def power(effect: float) -> float:
        return rejection(of.shares(share_of(effect))) if effect == effect else math.nan

    def detectable_effect(beta: float) -> float:
        from scipy.optimize import brentq

        def excess(share: float) -> float:
            return rejection(of.shares(share)) - (1 - beta)

        if most <= 0 or excess(most) < 0:
            return math.nan
        return 0.0 if excess(0.0) >= 0 else float(brentq(excess, 0.0, most)) * unit

    def n_needed(theta: float, beta: float) -> int:
        effect = share_of(theta)
        shares = of.shares(effect)
        sigma = math.sqrt(of.variance(shares, *(1 for _ in of.sizes)) / 2)
        about = about_enough(effect, alpha, beta, sigma)
        return enough_scores(
            lambda n: of.power_of_size(n, shares), 1 - beta, about, most=of.most_sized
        )

    found = of.counts[0] / of.sizes[0], of.counts[1] / of.sizes[-1]
    return Rule(
        test,
        words,
        standard_error=unit * math.sqrt(of.variance(found, *of.sizes)),
        p_value=float(of.statistics.p_values(test, *of.counts, *of.sizes)),
        fails=fails,
        margin=unit * margin,
        level=rejection((of.unchanged, of.unchanged)),
        power=power,
        detectable_effect=detectable_effect,
        n_needed=n_needed,
        most_sized=of.most_sized,
    )


# ---------------------------------------------------------------- power of a number of scores
def most_counted(share: float) -> int:
    """The largest n for which power is summed exactly."""
    variance = share * (1 - share)
    return int(min(VARIANCE_LIMIT / variance, MOST)) if variance > 0 else MOST


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
