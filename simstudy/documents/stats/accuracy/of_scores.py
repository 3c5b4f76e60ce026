"""Tests of the scores of a candidate against those of a reference, for `applied.accuracy_check`.

Each test is a `Rule`: how it decides, its power, and how many scores it needs. Power of exact tests
of right and wrong answers is summed over the likely counts, also in however many scores where
events are rare: formulas of normal laws are wrong by tens of per cent there.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.accuracy import counts, design, paired
from simstudy.documents.stats.integer_search import least_count
from simstudy.errors import DesignError
from simstudy.lazy import optimize, special, stats

Values = Float[np.ndarray, " score"]
RIGHT = (1.0, 100.0)  # scores of right answers if wrong ones score 0


@dataclass(frozen=True)
class Scores:
    """Scores of two models, in the metric's own units; if paired, a place is a prompt."""

    reference: Float[np.ndarray, " reference"]
    candidate: Float[np.ndarray, " candidate"]
    paired: bool
    lower_is_better: bool = False

    @property
    def sign(self) -> float:
        """1, or -1 where lower is better: times a score it is larger for the better."""
        return -1.0 if self.lower_is_better else 1.0

    @property
    def sizes(self) -> tuple[int, int]:
        return len(self.reference), len(self.candidate)

    @cached_property
    def reference_mean(self) -> float:
        return float(self.reference.mean())

    @cached_property
    def candidate_mean(self) -> float:
        return float(self.candidate.mean())

    @property
    def worse_by(self) -> float:
        """How much worse the candidate's mean is; negative where it is better."""
        return self.sign * (self.reference_mean - self.candidate_mean)

    @property
    def losses(self) -> Values:
        """How much worse the candidate is on each prompt, of paired scores."""
        return np.asarray(self.sign * (self.reference - self.candidate))

    @cached_property
    def correlation(self) -> float:
        """Correlation of paired scores; NaN if either is constant."""
        if self.reference.std() == 0 or self.candidate.std() == 0:
            return math.nan
        return float(np.corrcoef(self.reference, self.candidate)[0, 1])

    @cached_property
    def unit(self) -> float:
        """Score of a right answer, 1 or 100, if the others score 0; 0 for other scores."""
        both = np.union1d(self.reference, self.candidate)
        return next((unit for unit in RIGHT if np.isin(both, (0.0, unit)).all()), 0.0)

    @property
    def is_right_or_wrong(self) -> bool:
        return self.unit > 0

    @property
    def right(self) -> tuple[Bool[np.ndarray, " reference"], Bool[np.ndarray, " candidate"]]:
        """Which answers are the better ones, of the reference and the candidate."""
        best = 0.0 if self.lower_is_better else self.unit
        return self.reference == best, self.candidate == best

    @property
    def are_all_alike(self) -> bool:
        """Whether there is no spread to learn from: of differences in pairs, else of scores.

        Differences that are equal in decimals may differ by a rounding of the scores.
        """
        if not self.paired:
            return bool(np.ptp(self.reference) == 0 and np.ptp(self.candidate) == 0)
        rounding = np.spacing(np.abs([self.reference, self.candidate]).max())
        return bool(np.ptp(self.losses) <= rounding)


# ---------------------------------------------------------------- rules
@dataclass(frozen=True)
class Rule:
    """A test of a candidate against a reference; effects are "worse by", in units of the scores."""

    name: str  # its name in the settings
    words: str  # the test and what it was given, as after "by"
    standard_error: float  # that belongs to the difference of the means
    p_value: float
    fails: bool  # whether the candidate is shown to be worse
    margin: float  # how much worse than the reference a candidate fails; NaN where none can
    level: float  # chance that an unchanged candidate fails: alpha, or less for counts
    power: Callable[[float], float]  # a function of the effect
    detectable_effect: Callable[[float], float]  # for beta; NaN if all would pass
    n_needed: Callable[[float, float], int | None]  # scores of each model for theta and beta
    most_sized: float = math.inf  # `n_needed` up to which it is exact, not by the normal formula


UNCHANGED = Rule(
    "none", "no test: there is no difference, and no spread",
    standard_error=0.0, p_value=1.0, fails=False, margin=math.nan, level=math.nan,
    power=lambda _: math.nan, detectable_effect=lambda _: math.nan, n_needed=lambda *_: None,
)  # fmt: skip
"""Of scores that are all equal: the candidate passes."""


# ---------------------------------------------------------------- how many scores are enough
def about_enough(effect: float, alpha: float, beta: float, sigma: float) -> int:
    """The sample size by the normal formula, at least 1; sigma is of one score, at least 0."""
    return int(design.sample_size(effect, alpha, beta, sigma)) if sigma > 0 else 1


def enough_scores(
    power_of: Callable[[int], float],
    target: float,
    about: int,
    *,
    least: int = 1,
    most: float = math.inf,
) -> int:
    """The smallest n found, from `least` on, whose power reaches the target while n - 1's does not.

    The power of a test of counts rises in a saw, so a smaller n may reach it too. `about` is n by
    the normal formula, and the answer beyond `most`; where even `most` is too few, it is the next.
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


# ---------------------------------------------------------------- z and t tests of two means
MIN_SCORES = 2  # scores of each model, for a spread
FURTHEST = 1e8  # standard errors beyond which t tests find every effect: SciPy's law ends there
Spread = Callable[[float, float], tuple[float, float]]
"""Of two numbers of scores, the standard error of their means' difference, and its df."""


def known_sigma(scores: Scores, alpha: float, sigma: float, correlation: float = 0.0) -> Rule:
    """The z test of two means; a correlation of 0 takes their scores for different prompts'."""
    error = float(design.standard_error(sigma, *scores.sizes, correlation=correlation))
    margin = -float(design.threshold(0.0, alpha, error))

    def n_needed(theta: float, beta: float) -> int:
        return int(design.sample_size(theta, alpha, beta, sigma, correlation=correlation))

    pairs = f", correlation {correlation:g} in pairs" if correlation else ""
    return Rule(
        "z",
        f"z test with sigma {sigma:g}{pairs}",
        error,
        p_value=float(special.ndtr(-scores.worse_by / error)),
        fails=scores.worse_by >= margin * (1 - design.ROOT_EPS),
        margin=margin,
        level=alpha,
        power=lambda effect: float(design.power(effect, alpha, error)),
        detectable_effect=lambda beta: float(design.detectable_effect(alpha, beta, error)),
        n_needed=n_needed,
    )


def paired_t(scores: Scores, alpha: float) -> Rule:
    """The t test of paired differences."""
    sd = scores.losses.std(ddof=1)
    words = f"paired t test of {len(scores.losses):,} differences"
    return _t_test(scores, alpha, lambda n, _: (sd / math.sqrt(n), n - 1), words)


def welch(scores: Scores, alpha: float) -> Rule:
    """The t test of two means with unequal variances."""
    variances = scores.reference.var(ddof=1), scores.candidate.var(ddof=1)

    def spread(n: float, m: float) -> tuple[float, float]:
        first, second = variances[0] / n, variances[1] / m
        squares = first**2 / (n - 1) + second**2 / (m - 1)
        return math.sqrt(first + second), (first + second) ** 2 / squares

    return _t_test(scores, alpha, spread, "Welch's t test ({df:.4g} degrees of freedom)")


def pooled_t(scores: Scores, alpha: float) -> Rule:
    """The t test of two means with equal variances."""
    size, size_check = scores.sizes
    squares = scores.reference.var() * size + scores.candidate.var() * size_check
    pooled = squares / (size + size_check - 2)

    def spread(n: float, m: float) -> tuple[float, float]:
        return math.sqrt(pooled * (1 / n + 1 / m)), n + m - 2

    words = "t test with a pooled variance ({df:,.0f} degrees of freedom)"
    return _t_test(scores, alpha, spread, words, "pooled_t")


def _t_test(scores: Scores, alpha: float, spread: Spread, words: str, name: str = "t") -> Rule:
    """The t test with this spread."""
    error, df = spread(*scores.sizes)
    margin = float(-special.stdtrit(df, alpha)) * error
    p_value = float(special.stdtr(df, -scores.worse_by / error))

    def power(effect: float, error: float = error, df: float = df) -> float:
        """Noncentral t beyond the critical value."""
        with np.errstate(over="ignore"):
            distance = np.minimum(effect / error, FURTHEST)
        return float(stats.nct.sf(-special.stdtrit(df, alpha), df, distance))

    def detectable_effect(beta: float) -> float:
        step = margin
        while power(step) < 1 - beta:
            step *= 2
        xtol = 2e-12 * min(1.0, error)
        return float(optimize.brentq(lambda effect: power(effect) - (1 - beta), 0, step, xtol=xtol))

    def n_needed(theta: float, beta: float) -> int:
        sigma = spread(2, 2)[0]  # since 2/n is 1 for two scores of each
        about = about_enough(theta, alpha, beta, sigma)
        return enough_scores(
            lambda n: power(theta, *spread(n, n)), 1 - beta, about, least=MIN_SCORES
        )

    return Rule(
        name,
        words.format(df=df),
        error,
        p_value,
        fails=p_value <= alpha,
        margin=margin,
        level=alpha,
        power=power,
        detectable_effect=detectable_effect,
        n_needed=n_needed,
    )


# ---------------------------------------------------------------- exact tests of counts
COUNT_TESTS: Final[Mapping[str, str]] = {
    "fisher": "Fisher's exact test",
    "fisher_mid_p": "Fisher's test with the mid-p-value",
    "boschloo": "Boschloo's exact test",
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
    """Two counts of answers, and the two shares that say what a candidate's answers do.

    These are the reference's and the candidate's share of right answers, or the shares of answers
    lost and gained.
    """

    shares_found: Shares
    p_value: float
    fails: bool
    margin: float  # a share of answers
    unchanged: float  # both shares of a candidate that is as good as the reference
    shares: Callable[[float], Shares]  # for candidates worse by an effect, a share too
    sizes: tuple[int, ...]  # numbers of answers that the counts are of
    variance: Callable[..., float]  # from shares and sizes, of the difference of means
    rejection: Callable[..., float]  # chance that a candidate with these shares fails
    rejection_of: Callable[..., float]  # the same with so many scores of each model
    most_sized: int  # scores of each model up to which that is summed


def two_proportions(scores: Scores, alpha: float, test: str) -> Rule:
    """A test of two counts of right answers to different prompts."""
    n, m = scores.sizes
    x, y = (int(side.sum()) for side in scores.right)
    share, critical = x / n, counts.critical_counts(test, n, m, alpha)
    failing = int(critical[x])
    sized = SIZED_BY.get(test, test)
    counted = Counts(
        (share, y / m),
        float(counts.p_values(test, x, y, n, m)),
        fails=y <= failing,
        margin=share - failing / m if failing >= 0 else math.nan,
        unchanged=(x + y) / (n + m),
        shares=lambda effect: (share, max(share - effect, 0.0)),
        sizes=(n, m),
        variance=lambda p, q, n, m: p * (1 - p) / n + q * (1 - q) / m,
        rejection=lambda p, q: counts.rejection_probability(critical, n, m, p, q),
        rejection_of=lambda n, p, q: power_of_counts(sized, n, alpha, p, q),
        most_sized=most_counted(share),
    )
    words = f"{COUNT_TESTS[test]}, {x:,} of {n:,} right against {y:,} of {m:,}"
    return _count_test(scores, alpha, test, words, counted)


def changed_answers(scores: Scores, alpha: float, test: str) -> Rule:
    """A test of the answers that changed: losses were right and are wrong, gains the reverse.

    Candidates that are worse by an effect gain what this one gained, and lose the effect more; or,
    where they cannot lose so much, lose all that was right and gain the less. The margin is that of
    so many changes.
    """
    reference, candidate = scores.right
    losses, gains = int((reference & ~candidate).sum()), int((candidate & ~reference).sum())
    n, changes, right = len(reference), losses + gains, float(reference.mean())
    critical, possible = paired.critical_losses(test, n, alpha), np.arange(changes + 1)
    failing = possible[possible >= critical[possible[::-1]]]

    def shares(effect: float) -> Shares:
        gained = min(gains / n, max(right - effect, 0.0))
        return gained + effect, gained

    counted = Counts(
        (losses / n, gains / n),
        float(paired.p_values(test, losses, gains, n)),
        fails=losses >= int(critical[gains]),
        margin=float(2 * failing[0] - changes) / n if len(failing) else math.nan,
        unchanged=changes / (2 * n),
        shares=shares,
        sizes=(n,),
        variance=lambda lost, gained, n: (lost + gained - (lost - gained) ** 2) / n,
        rejection=lambda lost, gained: paired.rejection_probability(critical, n, lost, gained),
        rejection_of=lambda n, lost, gained: power_of_changes(test, n, alpha, lost, gained),
        most_sized=most_counted(gains / n),
    )
    words = f"{CHANGE_TESTS[test]} of {n:,} prompts, {losses:,} lost and {gains:,} gained"
    return _count_test(scores, alpha, test, words, counted)


def _count_test(scores: Scores, alpha: float, test: str, words: str, of: Counts) -> Rule:
    """The test of counts; its effects are shares of answers times the score of a right answer."""
    unit, most = scores.unit, float(scores.right[0].mean())

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
        return of.rejection(*of.shares(share_of(effect))) if effect == effect else math.nan

    def detectable_effect(beta: float) -> float:
        def excess(share: float) -> float:
            return of.rejection(*of.shares(share)) - (1 - beta)

        if most <= 0 or excess(most) < 0:
            return math.nan
        return 0.0 if excess(0.0) >= 0 else float(optimize.brentq(excess, 0.0, most)) * unit

    def n_needed(theta: float, beta: float) -> int:
        effect = share_of(theta)
        shares = of.shares(effect)
        sigma = math.sqrt(of.variance(*shares, *(1 for _ in of.sizes)) / 2)
        about = about_enough(effect, alpha, beta, sigma)
        return enough_scores(
            lambda n: of.rejection_of(n, *shares), 1 - beta, about, most=of.most_sized
        )

    return Rule(
        test,
        words,
        unit * math.sqrt(of.variance(*of.shares_found, *of.sizes)),
        of.p_value,
        fails=of.fails,
        margin=unit * of.margin,
        level=of.rejection(of.unchanged, of.unchanged),
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


def power_of_counts(test: str, n: int, alpha: float, p: float, q: float) -> float:
    """Power of a conditional or z test of two counts of n, over the likely counts of the first."""
    right = _likely(n, p)
    failing = counts.critical_counts(test, n, n, alpha, right)
    return float(stats.binom.pmf(right, n, p) @ stats.binom.cdf(failing, n, q))


def power_of_changes(test: str, n: int, alpha: float, p_loss: float, p_gain: float) -> float:
    """Power of a test of changed answers, over the likely numbers of gains."""
    gains = _likely(n, p_gain)
    critical = paired.critical_losses(test, n, alpha, gains)
    return paired.rejection_probability(critical, n, p_loss, p_gain, gains)


def _likely(n: int, p: float) -> Int[np.ndarray, " count"]:
    """The range of counts with all but a negligible probability."""
    low, high = stats.binom.ppf(LEFT_OUT, n, p), stats.binom.isf(LEFT_OUT, n, p)
    return np.arange(max(int(low), 0), min(int(high), n) + 1)
