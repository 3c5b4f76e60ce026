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
tail: 0.03³ is at most 0.000027, and a power of 0.9² at least 0.81. Power as a function of whole n
is a sawtooth: a case more can raise the critical count and lose power. So there are two sample
sizes: the least n that reaches the power, and the least from which the power never falls below it
again. Arguments broadcast.

Sources: Chernick & Liu (2002), American Statistician 56(2), 149-155, for the sawtooth; Agresti &
Coull (1998), American Statistician 52(2), 119-126, for the intervals.
"""

from typing import Any, NamedTuple

import numpy as np

from simstudy.errors import DesignError
from simstudy.lazy import special, stats
from simstudy.validation import ROUNDING

Numbers = float | np.ndarray
"""One number, or an array of them: such arguments broadcast."""

RULES = ("score", "exact", "mid_p")


class TrialPower(NamedTuple):
    """The fewest true positives that reject (n + 1 for never), exact size and exact power."""

    critical: Any
    size: Any
    power: Any


class SampleSizes(NamedTuple):
    """Least n that reaches the power, and least n from which it never falls below again."""

    first: int
    forever: int


def upper_tail(count: Numbers, n_obs: Numbers, p: Numbers) -> Any:
    """P(Binomial(n, p) >= count); the exact p-value of a count, if p is the null."""
    return stats.binom.sf(np.subtract(count, 1), n_obs, p)


def critical_count(n_obs: Numbers, null: Numbers, alpha: Numbers, *, rule: str = "exact") -> Any:
    """The fewest true positives with p <= alpha; n + 1 where all have a larger p-value."""
    n, null, alpha = np.asarray(n_obs), np.asarray(null), np.asarray(alpha) * (1 + ROUNDING)
    if rule == "score":
        critical = np.ceil(n * null - special.ndtri(alpha) * np.sqrt(n * null * (1 - null)))
        return np.clip(critical, 0, n + 1).astype(np.int64)[()]
    critical = stats.binom.isf(alpha, n, null) + 1
    if rule == "mid_p":  # between the p-values of one count less and of this one
        mid = (upper_tail(critical - 1, n, null) + upper_tail(critical, n, null)) / 2
        critical = critical - (mid <= alpha)
    return critical.astype(np.int64)[()]


def trial_power(
    n_obs: Numbers,
    sensitivity: Numbers,
    null: Numbers,
    alpha: Numbers,
    *,
    rule: str = "exact",
) -> TrialPower:
    """Exact size and power of the rule; the size of "score" and "mid_p" may exceed alpha."""
    critical = critical_count(n_obs, null, alpha, rule=rule)
    return TrialPower(
        critical, upper_tail(critical, n_obs, null), upper_tail(critical, n_obs, sensitivity)
    )


def power_with_order_statistic(rank: int, n_test: int, n_trial: int, critical: int) -> float:
    """Mean power when the threshold is X_(rank) of positive test scores, of any continuous law.

    The sensitivity is then beta(n_test + 1 − rank, rank), and the count of positives beta-binomial.
    """
    counts = np.arange(critical, n_trial + 1)
    return float(stats.betabinom.pmf(counts, n_trial, n_test + 1 - rank, rank).sum())


def refuse_no_null(sensitivity: float, margin: float) -> None:
    """Refuse a null outside (0, sensitivity); asked where a user names a margin."""
    if not 0 < margin < sensitivity:
        raise DesignError(
            f"margin={margin:g} with sensitivity {sensitivity:g} puts the null outside (0, "
            "sensitivity): at margin 0 the null is true and no sample size rejects it. Give 0 < "
            "margin < sensitivity."
        )


# ---------------------------------------------------------------- what a number of cases can show
def clopper_pearson_lower(successes: int, n_obs: int, alpha: float) -> float:
    """Lower limit at one-sided level 1 − alpha: the null at which the exact rule turns.

    Clopper & Pearson (1934), Biometrika 26(4), 404-413.
    """
    if not successes:
        return 0.0
    return float(special.betaincinv(successes, n_obs - successes + 1, alpha))


def exact_margin(n_obs: int, sensitivity: float, power: float, alpha: float) -> float:
    """The infimum of the margins at which `n_obs` cases have the power by the exact rule.

    The count that is reached with the required power is the critical one, and the null just
    rejected there is its lower limit: 0 where no count but 0 is reached with that power.
    """
    reached = int(stats.binom.isf(power * (1 - ROUNDING), n_obs, sensitivity))
    return sensitivity - clopper_pearson_lower(reached, n_obs, alpha)


# ---------------------------------------------------------------- sample sizes
def normal_sample_size(
    sensitivity: Numbers, margin: Numbers, power: Numbers, alpha: Numbers
) -> Any:
    """Real-valued n of the normal approximation; round up for a trial.

    [(√(k(1−k))·Φ⁻¹(power) + √(l(1−l))·Φ⁻¹(1−alpha)) / (k − l)]²: Fleiss, Levin & Paik (2003),
    Statistical Methods for Rates and Proportions, section 2.4.
    """
    k = np.asarray(sensitivity)
    null = k - margin
    reach = np.sqrt(k * (1 - k)) * special.ndtri(power)
    return (((reach - np.sqrt(null * (1 - null)) * special.ndtri(alpha)) / margin) ** 2)[()]


def normal_power(n_obs: Numbers, sensitivity: Numbers, margin: Numbers, alpha: Numbers) -> Any:
    """`normal_sample_size` solved for the power."""
    k = np.asarray(sensitivity)
    null = k - margin
    shift = np.sqrt(n_obs) * margin + np.sqrt(null * (1 - null)) * special.ndtri(alpha)
    return special.ndtr(shift / np.sqrt(k * (1 - k)))[()]


def sample_sizes(
    sensitivity: float, margin: float, power: float, alpha: float, *, rule: str = "exact"
) -> SampleSizes:
    """Both whole sample sizes of a rule, by its power at every n that could matter."""
    n = np.arange(1, int(proven_sample_size(sensitivity, margin, power, alpha)) + 1)
    found = trial_power(n, sensitivity, sensitivity - margin, alpha, rule=rule).power
    enough = np.append(found >= power * (1 - ROUNDING), True)
    return SampleSizes(int(enough.argmax()) + 1, len(enough) - int(enough[::-1].argmin()) + 1)


def proven_sample_size(sensitivity: float, margin: float, power: float, alpha: float) -> float:
    """A sample size from which every rule has the power, by Chernoff's bound.

    A share of successes of at least m > l has probability exp(−n·KL(m, l)) at most under the null,
    and one below m < k exp(−n·KL(m, k)) under the true sensitivity. So every rule rejects from n·m
    successes, and reaches as many, once n exceeds three bounds, for the best m between l and k.
    Chernoff (1952), Annals of Mathematical Statistics 23(4), 493-507.
    """
    null = sensitivity - margin
    m = np.linspace(null, sensitivity, 202)[1:-1]
    from_null, from_true = (
        special.rel_entr(m, p) + special.rel_entr(1 - m, 1 - p) for p in (null, sensitivity)
    )
    score = special.ndtri(alpha) ** 2 * null * (1 - null) / (m - null) ** 2
    bounds = [-np.log(alpha) / from_null, -np.log1p(-power) / from_true, score]
    return float(np.ceil(np.max(bounds, axis=0).min()))
