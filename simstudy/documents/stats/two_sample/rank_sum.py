"""The rank-sum test of Wilcoxon, Mann and Whitney, with the shift that Hodges and Lehmann estimate.

U counts the pairs in which the first sample's observation is the larger, ties as halves. Its null
distribution is that of identical distributions: under unequal variances or shapes neither the
variance of U nor, where they are skewed, its mean is what the test takes it for. Likewise the
estimate is of the median of X - Y, which is the difference of means only under symmetry or a pure
shift.
"""

import functools
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import check_count
from simstudy.documents.stats.reading import reading
from simstudy.documents.stats.two_sample.samples import (
    Comparison,
    First,
    PerRep,
    Sample,
    Second,
    checked,
    is_rejected,
    no_answer,
)
from simstudy.lazy import special

EXACT_BELOW = 50  # observations in each sample, as in R's wilcox.test
AT_ONCE = 1 << 18  # differences held at a time: 2 MB


class RankSum(NamedTuple):
    """Mann and Whitney's U of each replicate.

    Attributes
    ----------
    u
        U of the first sample.
    variance
        Variance of U given the ties.
    """

    u: PerRep
    variance: PerRep


@reading
def rank_sum(x: First, y: Second, *, alpha: float = 0.05) -> Comparison:
    """Wilcoxon's rank-sum test, and the estimate and interval that go with it.

    The null distribution is exact where both samples have fewer than 50 observations and no two
    are equal; else it is the normal approximation, corrected for ties and for continuity. The
    interval is of the differences that the test without ties does not reject.

    Parameters
    ----------
    x, y
        One replicate per row, in the same units; at least two observations each.
    alpha
        Level of the two-sided test, in (0, 1); the interval's nominal coverage is 1 - alpha.

    Returns
    -------
    Comparison
        `estimate` is the median of all pairwise differences. `p` is NaN where all observations
        are equal; the limits are infinite where samples are too small for the level.

    References
    ----------
    Wilcoxon (1945), Biometrics Bulletin 1(6), 80-83; Mann & Whitney (1947), Ann. Math. Statist.
    18, 50-60; Hodges & Lehmann (1963), Ann. Math. Statist. 34, 598-611; the interval after
    Moses, in Lehmann (1975), Nonparametrics, chapter 2.
    """
    x, y = checked(x, y, alpha)
    found = rank_sum_statistic(x, y)
    p = _p_values(found, x.shape[1], y.shape[1])
    kept = least_kept(x.shape[1], y.shape[1], alpha)
    estimate, lower, upper = _differences(x, y, kept)
    lost = no_answer(x, y)
    return Comparison(*(np.where(lost, np.nan, part) for part in (estimate, lower, upper, p)))


# ---------------------------------------------------------------- the statistic
@reading
def rank_sum_statistic(x: First, y: Second) -> RankSum:
    """Compute U from midranks, and its variance given the ties.

    Parameters
    ----------
    x, y
        One replicate per row, in the same units.

    Returns
    -------
    RankSum
        U and its variance, which is 0 where all observations are equal.

    References
    ----------
    Lehmann (1975), Nonparametrics, chapter 1: the variance under ties.
    """
    (n1, n2), n = (x.shape[1], y.shape[1]), x.shape[1] + y.shape[1]
    pooled = np.concatenate([x, y], axis=1)
    order = np.argsort(pooled, axis=1, kind="stable")
    first, last = _runs(np.take_along_axis(pooled, order, axis=1))
    ranks = np.where(order < n1, (first + last) / 2 + 1, 0.0).sum(axis=1)
    # An observation among t equal ones adds t² - 1 to the sum of t³ - t over the sets of ties.
    ties = ((last - first + 1) ** 2 - 1).sum(axis=1)
    variance = n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1)))
    return RankSum(ranks - n1 * (n1 + 1) / 2, variance)


def _runs(ordered: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Places, from 0, of the first and the last of those that equal each observation."""
    places = np.broadcast_to(np.arange(ordered.shape[1]), ordered.shape)
    steps = ordered[:, 1:] != ordered[:, :-1]
    edge = np.ones((len(ordered), 1), bool)
    begins, ends = np.hstack([edge, steps]), np.hstack([steps, edge])
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
    last = np.where(ends, places, ordered.shape[1])[:, ::-1]
    return first, np.minimum.accumulate(last, axis=1)[:, ::-1]


# ---------------------------------------------------------------- its null distribution
@reading
@functools.lru_cache(maxsize=64)
def rank_sum_law(n1: int, n2: int) -> Float[np.ndarray, " u"]:
    """Compute probabilities of U = 0, ..., n1·n2 for identical continuous distributions.

    The largest of all observations is the first sample's with probability n1 / (n1 + n2), and
    then adds n2 to U. All terms are positive, so nothing cancels.

    Parameters
    ----------
    n1, n2
        Observations of the two samples.

    Returns
    -------
    float array (u,)
        Probabilities.

    References
    ----------
    Mann & Whitney (1947), Ann. Math. Statist. 18, 50-60, equation 1.
    """
    _check_sizes(n1, n2, least=0)
    rows = [np.ones(1)] * (n2 + 1)
    for i in range(1, n1 + 1):
        above, rows = rows, [np.ones(1)]
        for j in range(1, n2 + 1):
            law = np.zeros(i * j + 1)
            law[j:] += above[j] * (i / (i + j))
            law[: i * (j - 1) + 1] += rows[j - 1] * (j / (i + j))
            rows.append(law)
    rows[n2].flags.writeable = False
    return rows[n2]


@reading
def is_exact(n1: int, n2: int) -> bool:
    """Whether samples of these sizes, without ties, are compared with the exact distribution.

    Parameters
    ----------
    n1, n2
        Observations of the two samples.

    Returns
    -------
    bool
        True where both are small.
    """
    return max(n1, n2) < EXACT_BELOW


@reading
def p_values_of_u(n1: int, n2: int) -> Float[np.ndarray, " u"]:
    """Compute the two-sided p-value of each U = 0, ..., n1·n2 where there are no ties.

    Parameters
    ----------
    n1, n2
        Observations of the two samples.

    Returns
    -------
    float array (u,)
        p-values.
    """
    _check_sizes(n1, n2, least=1)
    u = np.arange(n1 * n2 + 1)
    if is_exact(n1, n2):
        upto = np.cumsum(rank_sum_law(n1, n2))
        return np.asarray(np.minimum(1.0, 2 * upto[np.minimum(u, n1 * n2 - u)]))
    untied = np.full(u.shape, n1 * n2 * (n1 + n2 + 1) / 12)
    return _normal_p_values(RankSum(u.astype(float), untied), n1, n2)


@reading
def least_kept(n1: int, n2: int, alpha: float) -> int:
    """Find the smallest U that is not rejected (p > alpha), where the interval begins.

    Parameters
    ----------
    n1, n2
        Observations of the two samples.
    alpha
        Level of the two-sided test, in (0, 1).

    Returns
    -------
    int
        The smallest U.
    """
    return int(np.argmax(~is_rejected(p_values_of_u(n1, n2), alpha)))


@reading
def rank_sum_size(n1: int, n2: int, alpha: float) -> float:
    """Compute the exact probability of p <= alpha for identical continuous distributions.

    Parameters
    ----------
    n1, n2
        Observations of the two samples.
    alpha
        Level of the two-sided test, in (0, 1).

    Returns
    -------
    float
        The size.
    """
    return float(rank_sum_law(n1, n2)[is_rejected(p_values_of_u(n1, n2), alpha)].sum())


def _check_sizes(n1: int, n2: int, *, least: int) -> None:
    check_count("n1", n1, least=least, meaning="a sum of ranks")
    check_count("n2", n2, least=least, meaning="a sum of ranks")


def _p_values(found: RankSum, n1: int, n2: int) -> PerRep:
    approximate = _normal_p_values(found, n1, n2)
    if not is_exact(n1, n2):
        return approximate
    untied = np.isclose(found.variance, n1 * n2 * (n1 + n2 + 1) / 12, rtol=1e-12, atol=0)
    return np.where(untied, p_values_of_u(n1, n2)[np.floor(found.u).astype(int)], approximate)


def _normal_p_values(found: RankSum, n1: int, n2: int) -> PerRep:
    """NaN where all observations are equal."""
    spread = np.sqrt(np.where(found.variance > 0, found.variance, np.nan))
    z = (np.abs(found.u - n1 * n2 / 2) - 0.5) / spread
    return np.asarray(np.minimum(1.0, 2 * special.ndtr(-z)))


# ---------------------------------------------------------------- estimate and interval
def _differences(x: First, y: Second, kept: int) -> tuple[PerRep, PerRep, PerRep]:
    """Median of all pairwise differences, and the `kept`-th from either end (infinite for 0)."""
    n = x.shape[1] * y.shape[1]
    rows = max(1, AT_ONCE // n)
    starts = range(0, max(len(x), 1), rows)
    parts = [_some_differences(x[at : at + rows], y[at : at + rows], kept) for at in starts]
    estimate, lower, upper = (np.concatenate(part) for part in zip(*parts, strict=True))
    return estimate, lower, upper


def _some_differences(x: First, y: Second, kept: int) -> tuple[PerRep, PerRep, PerRep]:
    n = x.shape[1] * y.shape[1]
    with np.errstate(invalid="ignore"):  # infinite observations: no answer
        all_pairs = (x[:, :, np.newaxis] - y[:, np.newaxis, :]).reshape(len(x), n)
    ends = [kept - 1, n - kept] if kept else []
    all_pairs.partition([*ends, (n - 1) // 2, n // 2], axis=1)
    median = (all_pairs[:, (n - 1) // 2] + all_pairs[:, n // 2]) / 2
    if not kept:
        return median, np.full(len(x), -np.inf), np.full(len(x), np.inf)
    return median, all_pairs[:, kept - 1].copy(), all_pairs[:, n - kept].copy()
