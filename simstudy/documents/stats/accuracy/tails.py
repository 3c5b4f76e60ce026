"""Probabilities of counts, many at a time: binomial masses, tails of the hypergeometric law."""

from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.lazy import special

Real = Float[np.ndarray, "..."]
Count = Int[np.ndarray, "..."]
EPS = float(np.finfo(float).eps)
HALF_OF_INT64 = 2**62  # a product of counts; a difference of two such has room too


class Tail(NamedTuple):
    """A tail of a distribution of counts.

    Attributes
    ----------
    below
        Probability of less than a count.
    at
        Probability of the count itself.
    """

    below: Real
    at: Real


def roundings(n_trials: int) -> float:
    """Bound the relative error of probabilities: nine log factorials in the exponent, twice.

    p-values that agree so far are ties: of tables that mirror each other, or of a p-value that is
    alpha itself (1/20, the least of three trials against three).

    Parameters
    ----------
    n_trials
        Trials in all.

    Returns
    -------
    float
        Relative error below which two p-values are ties.
    """
    return 18 * EPS * float(1 + special.gammaln(n_trials + 2))


def log_choose(n: Count, k: Count) -> Real:
    """Compute the log of the binomial coefficient.

    Parameters
    ----------
    n, k
        Whole numbers with 0 ≤ k ≤ n; broadcast.

    Returns
    -------
    Real
        log(n over k).
    """
    ways = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.asarray(ways)


def difference_of_products(a: Any, b: Any, c: Any, d: Any) -> np.ndarray:
    """Compute a·b − c·d of counts, exact until it is rounded once.

    Parameters
    ----------
    a, b, c, d
        Whole numbers; broadcast. Where int64 would overflow, Python's integers are used.

    Returns
    -------
    np.ndarray
        The differences.
    """
    factors = [np.asarray(each) for each in (a, b, c, d)]
    largest = max((int(np.abs(each).max(initial=0)) for each in factors), default=0)
    if largest**2 <= HALF_OF_INT64:
        a, b, c, d = factors
        return np.asarray(a * b - c * d)
    a, b, c, d = (each.astype(object) for each in factors)
    return np.asarray(a * b - c * d, np.float64)


def over_root(difference: np.ndarray, variance: np.ndarray) -> Real:
    """Divide a difference by its standard error: infinite where that is 0, and 0 for 0.

    Parameters
    ----------
    difference
        A difference of means.
    variance
        Its variance.

    Returns
    -------
    Real
        The difference in standard errors.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0, 0.0, difference / np.sqrt(variance))


def student_cdf(df: np.ndarray, t: np.ndarray) -> Real:
    """Compute the distribution function of Student's law, also at infinity.

    Parameters
    ----------
    df
        Degrees of freedom.
    t
        Points of evaluation.

    Returns
    -------
    Real
        Probabilities.
    """
    return np.asarray(np.where(np.isinf(t), t > 0, special.stdtr(df, t)))


def binomial_masses(n: int, p: Float[np.ndarray, " point"]) -> Float[np.ndarray, "point successes"]:
    """Compute P(Binomial(n, p) = k) for every k = 0, …, n.

    Parameters
    ----------
    n
        Trials.
    p : float array (point,)
        Success probabilities; 0 and 1 are allowed.

    Returns
    -------
    float array (point, successes)
        Probabilities, a row for each p.
    """
    k, p = np.arange(n + 1), p[:, np.newaxis]
    with np.errstate(under="ignore"):
        mass = np.exp(
            log_choose(np.asarray(n), k) + special.xlogy(k, p) + special.xlog1py(n - k, -p)
        )
    return np.asarray(mass)


def hypergeometric_tail(k: Count, successes: Count, n: Count, n_check: Count) -> Tail:
    """Tail probability of the check's successes, given those of both, at one success probability.

    Parameters
    ----------
    k
        Successes of the check; possible ones.
    successes
        Number of reference and check together.
    n, n_check
        Trials of each.

    Returns
    -------
    Tail
        Summed from the count outwards, from the side of the mode where masses fall, with their
        exact ratios: as many steps as nine standard deviations have counts.
    """
    k, successes, n, n_check = np.broadcast_arrays(k, successes, n, n_check)
    with np.errstate(under="ignore"):
        at = np.exp(
            log_choose(n_check, k)
            + log_choose(n, successes - k)
            - log_choose(n + n_check, successes)
        )
        above_mean = difference_of_products(k, n + n_check, successes, n_check) > 0
        count = np.where(above_mean, n_check - k, k)
        of_all = np.where(above_mean, n + n_check - successes, successes)
        outwards = at * _sum_of_ratios(count, of_all, n, n_check)
    return Tail(np.where(above_mean, np.maximum(1 - at - outwards, 0.0), outwards), at)


def _sum_of_ratios(k: Count, successes: Count, n: Count, n_check: Count) -> Real:
    """Sum of all masses below that of k, over it; k is at most the mean, so that they fall."""
    term, total, step = np.ones(k.shape), np.zeros(k.shape), 0
    while (term > EPS / 1024 * total).any():  # the rest is some multiples of the last term
        at = np.maximum(k - step, 0)
        down = at * np.maximum(n - successes + at, 0.0)
        term = term * down / ((n_check - at + 1.0) * (successes - at + 1.0))
        total, step = total + term, step + 1
    return total
