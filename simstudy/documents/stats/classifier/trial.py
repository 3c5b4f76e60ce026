"""A trial that must show a sensitivity above a null: its sample size, exactly and approximately.

The true sensitivity is k, the null hypothesis says it is at most l = k − margin, and `n` positive
cases are tested. Three rules reject for a count x of true positives:

======  ======================================  ====================================
rule    p-value                                 the same as: this lower limit > l
======  ======================================  ====================================
score   1 − Φ((x/n − l)/√(l(1−l)/n))            Wilson
exact   P(Binomial(n, l) >= x)                  Clopper-Pearson
mid_p   the same less half of P(... = x)        mid-p
======  ======================================  ====================================

each where the p-value is at most alpha, as is one that equals it but for the rounding of its
tail: 0.03³ is at most 0.000027, and a power of 0.9² at least 0.81. "normal" represents the
approximation of the score rule by two normal distributions, in which n need not be whole. Power as
a function of whole n is a sawtooth: a case more can raise the critical count and lose power. So
there are two sample sizes: the least n that reaches the power, and the least from which the power
never falls below it again.

Sources: Chernick & Liu (2002), American Statistician 56(2), 149-155, for the sawtooth; Agresti &
Coull (1998), American Statistician 52(2), 119-126, for the intervals. Arguments broadcast.
"""

from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.arguments import (
    ROUNDING,
    Fractional,
    Numbers,
    check_choice,
    check_count,
    check_proportion,
    check_size,
)
from simstudy.documents.stats.integer_search import least_count
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

RULES = ("score", "exact", "mid_p")
PIECES = 8
"""Into which sample sizes are split, of which some may reach a power and others not."""
NEAR = 4
"""Cases within which the normal approximation of a critical count is tried first."""
CASE_LIMIT = 10**8
"""Of a sample size that is searched for: beyond, the search takes minutes and tails lose digits."""

Real = Float[np.ndarray, "..."]
Count = Int[np.ndarray, "..."]


class TrialPower(NamedTuple):
    """The power of a trial that rejects at `critical` true positives or more.

    Attributes
    ----------
    critical
        Fewest true positives with which the test rejects; n + 1 for never.
    size
        Probability of rejecting under the null sensitivity.
    power
        Probability of rejecting under the true sensitivity.
    """

    critical: Numbers
    size: Any
    power: Numbers


class SampleSizes(NamedTuple):
    """Least n that reaches the power, and least n from which it never falls below again.

    Attributes
    ----------
    first
        Least n that reaches the power.
    forever
        Least n from which the power never falls below again.
    """

    first: int
    forever: int


@reading
def p_value(successes: Numbers, n_obs: Numbers, null: Numbers, *, rule: str = "exact") -> Any:
    """Compute the p-value of true positives against the null sensitivity.

    Parameters
    ----------
    successes
        True positives, 0 to `n_obs`.
    n_obs
        Positive cases in the trial, at least 1.
    null
        Sensitivity under the null hypothesis, in (0, 1).
    rule
        "exact", "score" or "mid_p".

    Returns
    -------
    float or array
        One-sided p-values.

    Raises
    ------
    DesignError
        If the null is outside (0, 1), n < 1, or a count outside 0..n.
    """
    check_choice("rule", rule, RULES)
    check_proportion("null", null, "a test against it")
    check_count("n_obs", n_obs, least=1, meaning="a trial")
    check_count("successes", successes, least=0, meaning="a result")
    _check_within(successes, n_obs)
    return _p_value(np.asarray(successes), np.asarray(n_obs), np.asarray(null), rule)[()]


@reading
def wilson_lower(successes: Fractional, n_obs: Fractional, alpha: Numbers) -> Any:
    """Compute the lower limit at one-sided level 1 − alpha: the null at which the score rule turns.

    Parameters
    ----------
    successes
        True positives; may be fractional.
    n_obs
        Positive cases in the trial, at least 1.
    alpha
        Level of the test, in (0, 1).

    Returns
    -------
    float or array
        Limits in [0, 1].

    References
    ----------
    Wilson (1927), J. Am. Stat. Assoc. 22(158), 209-212.
    """
    check_proportion("alpha", alpha, "a limit of that level")
    _check_within(successes, n_obs)
    z2 = special.ndtri(alpha) ** 2
    share = np.asarray(successes) / n_obs
    spread = np.sqrt(z2 / n_obs * (share * (1 - share) + z2 / (4 * np.asarray(n_obs))))
    sign = -np.sign(special.ndtri(alpha))
    return ((share + z2 / (2 * np.asarray(n_obs)) - sign * spread) / (1 + z2 / n_obs))[()]


@reading
def clopper_pearson_lower(successes: Numbers, n_obs: Numbers, alpha: Numbers) -> Any:
    """Compute the lower limit at one-sided level 1 − alpha: the null at which the exact rule turns.

    Parameters
    ----------
    successes
        True positives.
    n_obs
        Positive cases in the trial, at least 1.
    alpha
        Level of the test, in (0, 1).

    Returns
    -------
    float or array
        Limits; 0 at no success.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26(4), 404-413.
    """
    check_proportion("alpha", alpha, "a limit of that level")
    _check_within(successes, n_obs)
    x, n, a = np.broadcast_arrays(successes, n_obs, alpha)
    some = x > 0
    limit = special.betaincinv(np.where(some, x, 1), np.where(some, n - x + 1, 1), a)
    return np.where(some, limit, 0.0)[()]


@reading
def mid_p_lower(successes: Numbers, n_obs: Numbers, alpha: Numbers) -> Any:
    """Compute the lower limit at one-sided level 1 − alpha: the null at which the mid-p rule turns.

    Bisection between 0 and 1.

    Parameters
    ----------
    successes
        True positives.
    n_obs
        Positive cases in the trial, at least 1.
    alpha
        Level of the test, in (0, 1).

    Returns
    -------
    float or array
        Limits; 0 where even the null 0 is not rejected, as at no success.

    References
    ----------
    Lancaster (1961), JASA 56(294), 223-234.
    """
    check_proportion("alpha", alpha, "a limit of that level")
    _check_within(successes, n_obs)
    x, n, a = np.broadcast_arrays(successes, n_obs, alpha)
    low, high = np.zeros(x.shape), np.ones(x.shape)
    for _ in range(60):
        middle = np.asarray(0.5 * (low + high))
        rejects = _p_value(x, n, middle, "mid_p") < a
        low, high = np.where(rejects, middle, low), np.where(rejects, high, middle)
    return np.where(x > 0, low, 0.0)[()]


@reading
def critical_count(n_obs: Numbers, null: Numbers, alpha: Numbers, *, rule: str = "exact") -> Any:
    """Find the fewest true positives with p <= alpha, roundings aside.

    Parameters
    ----------
    n_obs
        Positive cases in the trial, at least 1.
    null
        Sensitivity under the null hypothesis, in (0, 1).
    alpha
        Level of the test, in (0, 1).
    rule
        "exact", "score" or "mid_p".

    Returns
    -------
    int or array
        Counts; n + 1 where all have a larger p-value.
    """
    check_choice("rule", rule, RULES)
    check_count("n_obs", n_obs, least=1, meaning="a trial")
    check_proportion("null", null, "a test against it")
    check_proportion("alpha", alpha, "a test at that level")
    n, null, alpha = np.broadcast_arrays(n_obs, null, alpha)
    return _critical(n, null, alpha, rule)[()]


@reading
def trial_power(
    n_obs: Numbers,
    sensitivity: Numbers,
    null: Numbers,
    alpha: Numbers,
    *,
    rule: str = "exact",
) -> TrialPower:
    """Exact size and power of the rule, with the critical count that gives them.

    Parameters
    ----------
    n_obs
        Positive cases, whole, at least 1.
    sensitivity
        The true one; any in (0, 1), also below the null.
    null, alpha
        Null sensitivity and nominal level, in (0, 1).
    rule
        "score", "exact" or "mid_p".

    Returns
    -------
    TrialPower
        Binomial tails, exact up to rounding. The size of "score" and "mid_p" may exceed alpha.
    """
    check_proportion("sensitivity", sensitivity, "the power of a trial")
    critical = critical_count(n_obs, null, alpha, rule=rule)
    n = np.asarray(n_obs)
    return TrialPower(critical, upper_tail(critical, n, null), upper_tail(critical, n, sensitivity))


@reading
def power_at_sensitivities(critical: Numbers, n_obs: Numbers, sensitivities: Numbers) -> Any:
    """Compute the chance of at least `critical` true positives for each of several sensitivities.

    The mean over thresholds set on random test sets is the unconditional power of the trial,
    without drawing a trial.

    Parameters
    ----------
    critical
        Fewest true positives with which the test rejects.
    n_obs
        Positive cases in the trial, at least 1.
    sensitivities
        True sensitivities, in [0, 1]; broadcast.

    Returns
    -------
    float or array
        Probabilities.
    """
    return upper_tail(critical, n_obs, sensitivities)


@reading
def power_with_order_statistic(
    rank: int,
    n_test: int,
    n_trial: Numbers,
    null: Numbers,
    alpha: Numbers,
    *,
    rule: str = "exact",
) -> Any:
    """Compute the unconditional power when the threshold is X_(rank) of positive test scores.

    The sensitivity is then beta(n_test + 1 − rank, rank) for any continuous scores, so the count
    of true positives is beta-binomial: the power does not depend on the scores' distribution.

    Parameters
    ----------
    rank
        Rank of the threshold, 1 to `n_test`.
    n_test
        Positive scores in the test set.
    n_trial
        Positive cases in the trial.
    null
        Sensitivity under the null hypothesis, in (0, 1).
    alpha
        Level of the test, in (0, 1).
    rule
        "exact", "score" or "mid_p".

    Returns
    -------
    float or array
        Probabilities.
    """
    check_count("rank", rank, least=1, meaning="an order statistic")
    check_count("n_test", n_test, least=rank, meaning=f"order statistic {rank}")
    critical = critical_count(n_trial, null, alpha, rule=rule)
    nodes = np.broadcast_arrays(critical, n_trial)
    a, b = n_test + 1.0 - rank, float(rank)
    values = [
        _beta_binomial_tail(int(c), int(n), a, b)
        for c, n in zip(*map(np.ravel, nodes), strict=True)
    ]
    return np.reshape(values, nodes[0].shape)[()]


@reading
def upper_tail(count: Numbers, n_obs: Numbers, p: Numbers) -> Any:
    """Compute P(Binomial(n, p) >= count).

    Parameters
    ----------
    count
        Counts; broadcast.
    n_obs
        Trials n, at least 0.
    p
        Success probabilities, in [0, 1].

    Returns
    -------
    float or array
        1 at count <= 0 and 0 beyond n; NaN where p is.
    """
    check_count("n_obs", n_obs, least=0, meaning="a number of trials")
    _check_probability(p)
    return _upper_tail(count, n_obs, p)


def _upper_tail(count: Numbers, n_obs: Numbers, p: Numbers) -> Any:
    count, n, p = np.broadcast_arrays(count, n_obs, p)
    inside = (count > 0) & (count <= n)
    a = np.where(inside, count, 1)
    b = np.where(inside, n - count + 1, 1)
    outside = np.where(np.isnan(p), np.nan, np.where(count <= 0, 1.0, 0.0))
    return np.where(inside, special.betainc(a, b, p), outside)[()]


@reading
def normal_sample_size(
    sensitivity: Numbers, margin: Numbers, power: Numbers, alpha: Numbers
) -> Any:
    """Real-valued n of the normal approximation; round up for a trial.

    Parameters
    ----------
    sensitivity
        True sensitivity k.
    margin
        k − l, in (0, k).
    power, alpha
        Required power and nominal level; their normal quantiles must not cancel, power > alpha.

    Returns
    -------
    Any
        [(√(k(1−k))·Φ⁻¹(power) + √(l(1−l))·Φ⁻¹(1−alpha)) / (k − l)]².

    References
    ----------
    Fleiss, Levin & Paik (2003), Statistical Methods for Rates and Proportions, section 2.4.
    """
    k, null = _hypotheses(sensitivity, margin)
    _check_errors(power, alpha)
    numerator = np.sqrt(k * (1 - k)) * special.ndtri(power)
    numerator = numerator - np.sqrt(null * (1 - null)) * special.ndtri(alpha)
    _refuse_no_size(numerator)
    return ((numerator / np.asarray(margin)) ** 2)[()]


@reading
def normal_power(n_obs: Fractional, sensitivity: Numbers, margin: Numbers, alpha: Numbers) -> Any:
    """Compute the power of the normal approximation: `normal_sample_size` solved for the power.

    Parameters
    ----------
    n_obs
        Positive cases in the trial, at least 1.
    sensitivity
        True sensitivity k, in (0, 1).
    margin
        True sensitivity less the null sensitivity.
    alpha
        Level of the test, in (0, 1).

    Returns
    -------
    float or array
        Probabilities.
    """
    check_size("n_obs", n_obs, "a trial")
    k, null = _hypotheses(sensitivity, margin)
    check_proportion("alpha", alpha, "a test at that level")
    shift = np.sqrt(n_obs) * np.asarray(margin) + np.sqrt(null * (1 - null)) * special.ndtri(alpha)
    return special.ndtr(shift / np.sqrt(k * (1 - k)))[()]


@reading
def exact_margin(
    n_obs: Numbers,
    sensitivity: Numbers,
    power: Numbers,
    alpha: Numbers,
    *,
    rule: str = "exact",
) -> Any:
    """Compute the infimum of the margins at which `n_obs` cases have the power.

    Every larger margin has it too. The count that is reached with the required power is the
    critical one, and the null just rejected there is the rule's lower limit. NaN where no count
    of at least 1 is reached with that power: no null is weak enough. Negative where even a null
    above the true sensitivity would be rejected that often.

    Parameters
    ----------
    n_obs
        Positive cases in the trial, at least 1.
    sensitivity
        True sensitivity k, in (0, 1).
    power
        Power that is required, in (0, 1).
    alpha
        Level of the test, in (0, 1).
    rule
        "exact", "score" or "mid_p".

    Returns
    -------
    float or array
        Margins.
    """
    check_choice("rule", rule, RULES)
    _check_errors(power, alpha)
    reached = reached_count(n_obs, sensitivity, power)
    limits = {"score": wilson_lower, "exact": clopper_pearson_lower, "mid_p": mid_p_lower}
    margin = np.asarray(sensitivity) - limits[rule](reached, n_obs, alpha)
    return np.where(reached > 0, margin, np.nan)[()]


@reading
def reached_count(n_obs: Numbers, sensitivity: Numbers, power: Numbers) -> Any:
    """Find the largest count c with P(Binomial(n, k) >= c) >= power, roundings aside.

    Parameters
    ----------
    n_obs
        Positive cases in the trial, at least 1.
    sensitivity
        True sensitivity k, in (0, 1).
    power
        Power that is required, in (0, 1).

    Returns
    -------
    int or array
        Counts.
    """
    check_count("n_obs", n_obs, least=1, meaning="a trial")
    check_proportion("sensitivity", sensitivity, "a trial that should show it")
    check_proportion("power", power, "a requirement")
    n, k, wanted = np.broadcast_arrays(n_obs, sensitivity, power)

    def lost(count: Count) -> Bool[np.ndarray, "..."]:
        return ~_at_least(_upper_tail(count, n, k), wanted)

    return (least_count(lost, np.zeros(n.shape, np.int64), n + 1) - 1)[()]


@reading
def sample_sizes(
    sensitivity: float, margin: float, power: float, alpha: float, *, rule: str = "exact"
) -> SampleSizes:
    """Both whole sample sizes of a rule, with every n that could matter accounted for.

    Parameters
    ----------
    sensitivity, margin
        k and k − l, with 0 < l < k < 1.
    power, alpha
        Required power and nominal level, in (0, 1).
    rule
        "score", "exact" or "mid_p".

    Returns
    -------
    SampleSizes
        `first` <= `forever`. The search ends at a sample size beyond which Hoeffding's inequality
        (1963, JASA 58(301), 13-30) rules out a loss of power, so `forever` is proved. Refused where
        that is more than `CASE_LIMIT`.

    Notes
    -----
    A larger n has a critical count at least as large. So in a range from a to b no power is above
    that of n = b with the critical count of a, or below that of n = a with the count of b: most
    ranges are settled by these two, and the others are split.
    """
    enough = proven_sample_size(sensitivity, margin, power, alpha)
    _refuse_too_long(enough, margin)
    low, high = np.array([1]), np.array([enough])
    first, forever = enough, 1
    while low.size:
        counts = (critical_count(n, sensitivity - margin, alpha, rule=rule) for n in (low, high))
        at_low, at_high = counts
        all_reach = _at_least(_upper_tail(at_high, low, sensitivity), power)
        some_reach = _at_least(_upper_tail(at_low, high, sensitivity), power)
        first = int(low[all_reach].min(initial=first))
        forever = int(high[~some_reach].max(initial=forever - 1)) + 1
        low, high = _split(low[some_reach & ~all_reach], high[some_reach & ~all_reach])
    return SampleSizes(first, forever)


def _split(low: Count, high: Count) -> tuple[Count, Count]:
    """Split each range in `PIECES`, as equal as may be; ranges of one stay."""
    cuts = low[:, np.newaxis] + (high + 1 - low)[:, np.newaxis] * np.arange(PIECES + 1) // PIECES
    starts, ends = cuts[:, :-1].ravel(), cuts[:, 1:].ravel() - 1
    return starts[starts <= ends], ends[starts <= ends]


def _refuse_too_long(enough: float, margin: float) -> None:
    if enough > CASE_LIMIT:
        raise DesignError(
            f"margin={margin:g} may take {enough:.2g} cases, and beyond {CASE_LIMIT:.0g} the exact "
            "search lasts minutes and its tails lose digits. Use rule='normal', which agrees with "
            "the exact rules to all digits of interest there, or give a wider margin."
        )


@reading
def proven_sample_size(sensitivity: float, margin: float, power: float, alpha: float) -> int:
    """Compute a sample size from which every rule here has the power, by Hoeffding's inequality.

    The critical count is at most n·l + √(n·log(1/α)/2) + 1, and fewer than that many successes
    have probability at most 1 − power once n·margin exceeds that excess by √(n·log(1/β)/2).

    Parameters
    ----------
    sensitivity
        True sensitivity k, in (0, 1).
    margin
        True sensitivity less the null sensitivity.
    power
        Power that is required, in (0, 1).
    alpha
        Level of the test, in (0, 1).

    Returns
    -------
    int
        A number of positive cases.

    Raises
    ------
    DesignError
        If an argument is out of range, or the number is too large for a double.

    References
    ----------
    Hoeffding (1963), J. Am. Stat. Assoc. 58, 13-30.
    """
    _hypotheses(sensitivity, margin)
    _check_errors(power, alpha)
    slope = np.sqrt(-np.log(alpha) / 2) + np.sqrt(-np.log1p(-power) / 2)
    with np.errstate(over="ignore"):  # refused
        root = np.float64(slope + np.sqrt(slope**2 + 4 * margin)) / (2 * margin)
        enough = np.ceil(root**2)
    if not np.isfinite(enough):
        _refuse_too_long(enough, margin)
    return int(enough)


def _p_value(successes: Count, n_obs: Count, null: Real, rule: str) -> Real:
    if rule == "score":
        excess = (successes / n_obs - null) / np.sqrt(null * (1 - null) / n_obs)
        return np.asarray(special.ndtr(-excess))
    tail = _upper_tail(successes, n_obs, null)
    if rule == "exact":
        return np.asarray(tail)
    return np.asarray(0.5 * (tail + _upper_tail(successes + 1, n_obs, null)))


def _critical(n_obs: Count, null: Real, alpha: Real, rule: str) -> Count:
    def rejects(count: Count) -> Bool[np.ndarray, "..."]:
        p = _p_value(count, n_obs, null, rule)
        return np.asarray(p <= alpha * (1 + ROUNDING))

    guess = n_obs * null - special.ndtri(alpha) * np.sqrt(n_obs * null * (1 - null))
    below, above = (np.clip(np.rint(guess + step), 0, n_obs + 1) for step in (-NEAR, NEAR))
    below, above = below.astype(np.int64), above.astype(np.int64)
    low = np.where(rejects(below), 0, below)  # if the guess is off, from end to end
    return least_count(rejects, low, np.where(rejects(above), above, n_obs + 1))


def _beta_binomial_tail(critical: int, n_obs: int, a: float, b: float) -> float:
    """P(count >= critical) for Binomial(n, S) with S ~ beta(a, b)."""
    x = np.arange(critical, n_obs + 1)
    log_choose = -special.betaln(x + 1, n_obs - x + 1) - np.log(n_obs + 1)
    logs = log_choose + special.betaln(x + a, n_obs - x + b) - special.betaln(a, b)
    return float(np.exp(logs).sum())


def _at_least(power: Real, wanted: Numbers) -> Bool[np.ndarray, "..."]:
    """Whether a tail reaches a power, but for the roundings of the tail."""
    return np.asarray(power >= np.asarray(wanted) * (1 - ROUNDING))


def _check_within(successes: Numbers, n_obs: Numbers) -> None:
    """Refuse more successes than there are cases, and fewer than none."""
    x, n = np.broadcast_arrays(np.asarray(successes, float), n_obs)
    bad = ~((x >= 0) & (x <= n))
    if bad.any():
        raise DesignError(
            f"successes={x[bad].flat[0]:g} of n_obs={n[bad].flat[0]:g} cases is no result. Give "
            "successes from 0 to n_obs."
        )


def _check_probability(p: Numbers) -> None:
    outside = (np.asarray(p) < 0) | (np.asarray(p) > 1)
    if outside.any():
        raise DesignError(
            f"p={np.asarray(p)[outside].flat[0]:g} is not a probability, so no count has one. "
            "Give p from 0 to 1 (0.2, not 20)."
        )


def _hypotheses(sensitivity: Numbers, margin: Numbers) -> tuple[Real, Real]:
    """Both hypotheses, k and l, as arrays; refused unless 0 < l < k < 1."""
    check_proportion("sensitivity", sensitivity, "a trial that should show it")
    k, gap = np.broadcast_arrays(np.asarray(sensitivity, float), np.asarray(margin, float))
    bad = ~((gap > 0) & (gap < k))
    if bad.any():
        raise DesignError(
            f"margin={gap[bad].flat[0]:g} with sensitivity {k[bad].flat[0]:g} puts the null "
            "outside (0, sensitivity): at margin 0 the null is true and no sample size rejects "
            "it. Give 0 < margin < sensitivity."
        )
    return k, np.asarray(k - gap)


def _check_errors(power: Numbers, alpha: Numbers) -> None:
    check_proportion("power", power, "a requirement")
    check_proportion("alpha", alpha, "a test at that level")


def _refuse_no_size(numerator: Numbers) -> None:
    if (np.asarray(numerator) <= 0).any():
        raise DesignError(
            "power is so low for this alpha that the normal approximation reaches it at any "
            "sample size, so no least one exists. Ask for a power clearly above alpha."
        )
