"""Tests of the scores of a candidate against those of a reference, for `applied.accuracy_check`.

Each test is a `Rule`: how it decides, its power, and how many scores it needs. The exact tests of
counts of right and wrong answers, unpaired and paired, sum their power over counts of events,
almost all of whose probability lies within some standard deviations. Rare events are so counted
exactly in however many scores, where formulas of normal laws are wrong by tens of per cent.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, Final

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.accuracy import design, paired, two_binomials
from simstudy.documents.stats.accuracy.tails import roundings
from simstudy.documents.stats.classifier.trial import upper_tail
from simstudy.documents.stats.integer_search import least_count
from simstudy.errors import DesignError
from simstudy.lazy import special, stats

Values = Float[np.ndarray, " score"]
RIGHT = (1.0, 100.0)  # scores of right answers if wrong ones score 0


@dataclass(frozen=True)
class Scores:
    """Scores of two models, in the metric's own units.

    Parameters
    ----------
    reference, candidate
        One for each prompt that the model answered.
    paired
        Whether scores in the same place are of the same prompt.
    lower_is_better
        Whether a smaller score is the better one, as of a perplexity.
    """

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
        """Numbers of scores of the reference and the candidate."""
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
            return float("nan")
        return float(np.corrcoef(self.reference, self.candidate)[0, 1])

    @cached_property
    def unit(self) -> float:
        """Score of a right answer, 1 or 100, if the others score 0; 0 for other scores."""
        both = np.union1d(self.reference, self.candidate)
        return next((unit for unit in RIGHT if np.isin(both, (0.0, unit)).all()), 0.0)

    @property
    def is_right_or_wrong(self) -> bool:
        """Whether each answer is right or wrong, and nothing between."""
        return self.unit > 0

    @property
    def right(self) -> tuple[np.ndarray, np.ndarray]:
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


# ---------------------------------------------------------------- z and t tests of two means
MIN_SCORES = 2  # scores of each model, for a spread
# Standard errors, beyond which every t test finds an effect: SciPy's law ends there.
FURTHEST = 1e8
Spread = Callable[[Any, Any], tuple[Any, Any]]
"""Of two numbers of scores, the standard error of their means' difference, and its df."""


def known_sigma(scores: Scores, alpha: float, sigma: float, correlation: float = 0.0) -> Rule:
    """The z test of two means.

    Parameters
    ----------
    sigma
        Standard deviation of one score, in its units.
    correlation
        Correlation of the two scores of a prompt; 0 takes them for different prompts.
    """
    n, n_check = scores.sizes
    sizes = {"n": n, "n_check": None if n == n_check else n_check}
    given: dict[str, Any] = {"sigma": sigma, "correlation": correlation, **sizes}
    standard_error = float(design.standard_error(**given))
    margin = -float(design.threshold(0.0, alpha, **given))

    def n_needed(theta: float, beta: float) -> int:
        return int(design.sample_size(theta, alpha, beta, sigma, correlation=correlation))

    pairs = f", correlation {correlation:g} in pairs" if correlation else ""
    return Rule(
        "z",
        f"z test with sigma {sigma:g}{pairs}",
        standard_error,
        p_value=float(design.p_value(-scores.worse_by, 0.0, **given)),
        fails=bool(design.fails(-scores.worse_by, -margin)),
        margin=margin,
        level=alpha,
        power=lambda effect: float(design.power(effect, alpha, **given)),
        detectable_effect=lambda beta: float(design.detectable_effect(alpha, beta, **given)),
        n_needed=n_needed,
    )


# ---------------------------------------------------------------- t tests
def paired_t(scores: Scores, alpha: float) -> Rule:
    """The t test of paired differences."""
    sd = scores.losses.std(ddof=1)
    words = f"paired t test of {len(scores.losses):,} differences"
    return _t_test(scores, alpha, lambda n, _: (sd / np.sqrt(n), n - 1), words)


def welch(scores: Scores, alpha: float) -> Rule:
    """The t test of two means with unequal variances."""
    variances = scores.reference.var(ddof=1), scores.candidate.var(ddof=1)

    def spread(n: Any, m: Any) -> tuple[Any, Any]:
        first, second = variances[0] / n, variances[1] / m
        squares = first**2 / (n - 1) + second**2 / (m - 1)
        return np.sqrt(first + second), (first + second) ** 2 / squares

    return _t_test(scores, alpha, spread, "Welch's t test ({df:.4g} degrees of freedom)")


def pooled_t(scores: Scores, alpha: float) -> Rule:
    """The t test of two means with equal variances."""
    size, size_check = scores.sizes
    squares = scores.reference.var() * size + scores.candidate.var() * size_check
    pooled = squares / (size + size_check - 2)

    def spread(n: Any, m: Any) -> tuple[Any, Any]:
        return np.sqrt(pooled * (1 / n + 1 / m)), n + m - 2

    words = "t test with a pooled variance ({df:,.0f} degrees of freedom)"
    return _t_test(scores, alpha, spread, words, "pooled_t")


def _t_test(scores: Scores, alpha: float, spread: Spread, words: str, name: str = "t") -> Rule:
    """The t test with this spread."""
    standard_error, df = map(float, spread(*np.asarray(scores.sizes, dtype=float)))
    margin = float(-special.stdtrit(df, alpha)) * standard_error
    p_value = float(special.stdtr(df, -scores.worse_by / standard_error))

    def power(effect: float, error: Any = standard_error, df: Any = df) -> float:
        """Noncentral t beyond the critical value."""
        with np.errstate(over="ignore"):
            distance = np.minimum(effect / error, FURTHEST)
        return float(stats.nct.sf(-special.stdtrit(df, alpha), df, distance))

    def detectable_effect(beta: float) -> float:
        from scipy.optimize import brentq

        step = margin
        while power(step) < 1 - beta:
            step *= 2
        xtol = 2e-12 * min(1.0, standard_error)
        return float(brentq(lambda effect: power(effect) - (1 - beta), 0.0, step, xtol=xtol))

    def n_needed(theta: float, beta: float) -> int:
        sigma = float(spread(2.0, 2.0)[0])  # since 2/n is 1 for two scores of each
        about = about_enough(theta, alpha, beta, sigma)
        return enough_scores(
            lambda n: power(theta, *spread(float(n), float(n))), 1 - beta, about, least=MIN_SCORES
        )

    return Rule(
        name,
        words.format(df=df),
        standard_error,
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
