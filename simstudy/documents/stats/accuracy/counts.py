"""Right or wrong, on different prompts: tests of two binomial counts with one unknown probability.

The reference has x successes of n, the check y of m. Each test has a p-value for "the check is
worse" that rises with y, so at a level it is a list of critical counts: the largest y that fails,
for each x, -1 for none. A test fails at p ≤ α.

============  =====================================================================
test          p-value
============  =====================================================================
z_pooled      Φ of the difference of shares over its standard error, both pooled
fisher        P(Y ≤ y) given x + y: hypergeometric
fisher_mid_p  the same less half of P(Y = y)
boschloo      largest P(a Fisher p-value as small) over the common probability
============  =====================================================================

References
----------
Fisher (1935), J. R. Stat. Soc. 98, 39-82; Lancaster (1961), J. Am. Stat. Assoc. 56, 223-234: mid-p;
Boschloo (1970), Stat. Neerl. 24, 1-9.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.documents.stats.accuracy.design import ROOT_EPS, standard_error, threshold
from simstudy.documents.stats.integer_search import least_count
from simstudy.lazy import special, stats

TESTS = ("z_pooled", "fisher", "fisher_mid_p", "boschloo")
TIE = 1e-9  # relative: p-values that agree so far are equal
GRID = 2001  # common probabilities at which Boschloo's rates are compared, in arcsine steps

Count = Int[np.ndarray, "..."]
Critical = Int[np.ndarray, " reference"]


# ---------------------------------------------------------------- p-values
def p_values(test: str, x: Any, y: Any, n: int, m: int) -> Any:
    """One-sided p-values for "the check is worse"; 1/2 of z where both shares are 0 or 1.

    Boschloo's are of one result at a time.
    """
    if test == "z_pooled":
        share = (x + y) / (n + m)
        error = np.sqrt(share * (1 - share)) * standard_error(1.0, n, m)
        return special.ndtr(over_error(y / m - x / n, error))
    if test == "boschloo":
        p = fisher_table(n, m)
        return largest_rates(n, m)((p <= p[x, y] * (1 + TIE)).sum(axis=1) - 1)
    below, at = hypergeometric(y, x + y, n, m)
    return np.minimum(below + at, 1.0) if test == "fisher" else below + at / 2


def over_error(difference: Any, error: Any) -> Any:
    """A difference in standard errors: infinite where there is none, and 0 for no difference."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0, 0.0, difference / error)


def log_choose(n: Any, k: Any) -> Any:
    """The log of the binomial coefficient."""
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


def hypergeometric(y: Any, successes: Any, n: int, m: int) -> tuple[Any, Any]:
    """P(Y < y) and P(Y = y) of the check's successes, given those of both.

    Masses are summed outwards from y, on the side of the mode where they fall, by their ratios.
    This is some ten times as fast as `scipy.stats.hypergeom` for thousands of trials.
    """
    at = np.exp(log_choose(m, y) + log_choose(n, successes - y) - log_choose(n + m, successes))
    is_high = y * (n + m) > successes * m
    k = np.where(is_high, m - y, y)
    both = np.where(is_high, n + m - successes, successes)
    term, total = np.ones(k.shape), np.zeros(k.shape)
    while (term > 1e-19 * total).any():
        term = term * k * np.maximum(n - both + k, 0.0) / ((m - k + 1.0) * (both - k + 1.0))
        total, k = total + term, np.maximum(k - 1, 0)
    outwards = at * total
    return np.where(is_high, np.maximum(1 - at - outwards, 0.0), outwards), at


@lru_cache(maxsize=1)
def fisher_table(n: int, m: int) -> Float[np.ndarray, "reference check"]:
    """Fisher's p-values of all results: sums of hypergeometric masses along equal x + y."""
    x, y = np.arange(n + 1)[:, np.newaxis], np.arange(m + 1)
    p = np.exp(log_choose(n, x) + log_choose(m, y) - log_choose(n + m, x + y))
    for row in range(n - 1, -1, -1):
        p[row, 1:] += p[row + 1, :-1]
    return np.asarray(p)


# ---------------------------------------------------------------- critical counts
def critical_counts(test: str, n: int, m: int, alpha: float, x: Count | None = None) -> Critical:
    """The largest count of the check that fails, for each count of the reference or for some."""
    if test == "boschloo":
        return _boschloo_counts(n, m, alpha)
    some = np.arange(n + 1) if x is None else x
    limit = alpha * (1 + TIE)
    return _largest_failing(some, m, lambda y: p_values(test, some, y, n, m) <= limit)


def _largest_failing(x: Count, m: int, fails: Callable[[Count], Any]) -> Critical:
    found = least_count(lambda y: ~fails(y), np.zeros_like(x), np.full_like(x, m + 1))
    return np.asarray(found - 1)


def _boschloo_counts(n: int, m: int, alpha: float) -> Critical:
    """The largest of the regions that Fisher's p-value orders whose size is at most alpha."""
    p, rate = fisher_table(n, m), largest_rates(n, m)
    limits = np.unique(p)

    def region(i: int) -> Critical:
        return np.asarray((p <= limits[i] * (1 + TIE)).sum(axis=1) - 1)

    low, high = -1, len(limits)  # the region of `low` holds the level, that of `high` does not
    while high - low > 1:
        middle = (low + high) // 2
        holds = rate(region(middle)) <= alpha * (1 + TIE)
        low, high = (middle, high) if holds else (low, middle)
    return region(low) if low >= 0 else np.full(n + 1, -1)


@lru_cache(maxsize=1)
def largest_rates(n: int, m: int) -> Callable[[Critical], float]:
    """Largest rejection rate of critical counts over a common probability, on a grid."""
    share = np.sin(np.linspace(0, np.pi / 2, GRID))[:, np.newaxis] ** 2
    reference = stats.binom.pmf(np.arange(n + 1), n, share)
    check = np.insert(stats.binom.pmf(np.arange(m + 1), m, share), 0, 0.0, axis=1).cumsum(axis=1)
    return lambda critical: float((reference * check[:, critical + 1]).sum(axis=1).max())


def known_sigma_counts(
    n: int, m: int, alpha: float, sigma: float, *, strictly: bool = False, rounded: bool = False
) -> Critical:
    """Critical counts of the z test with a known σ of one score.

    `strictly`: a check at the threshold passes. `rounded`: the threshold is rounded to a number of
    right answers, halves upwards.
    """
    exactly = m * threshold(np.arange(n + 1) / n, alpha, standard_error(sigma, n, m))
    whole = np.floor(exactly + 0.5)
    tied = rounded | (np.abs(whole - exactly) <= ROOT_EPS * np.abs(exactly))
    found = np.where(tied, whole - strictly, np.floor(exactly))
    return np.asarray(np.clip(found, -1, m), np.int64)


def welch_counts(n: int, m: int, alpha: float) -> Critical:
    """Critical counts of Welch's t test that takes 0 and 1 for measurements.

    If neither sample varies, t is 0 or infinite.
    """
    x = np.arange(n + 1)
    first = x / n * (1 - x / n) / (n - 1)

    def fails(y: Count) -> Any:
        second = y / m * (1 - y / m) / (m - 1)
        variance = first + second
        t = over_error(y / m - x / n, np.sqrt(variance))
        with np.errstate(invalid="ignore"):
            df = variance**2 / (first**2 / (n - 1) + second**2 / (m - 1))
        p = np.where(variance > 0, special.stdtr(df, t), (1 + np.sign(t)) / 2)
        return p <= alpha

    return _largest_failing(x, m, fails)


# ---------------------------------------------------------------- what a list of counts does
def rejection_probability(critical: Critical, n: int, m: int, p: float, q: float) -> float:
    """The probability that the check fails, with success probabilities p before and q now."""
    masses = stats.binom.pmf(np.arange(n + 1), n, p)
    return float(masses @ stats.binom.cdf(critical, m, q))
