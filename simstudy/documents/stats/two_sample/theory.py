"""How often two-sample tests reject: exactly for the t tests of normal data, else in large samples.

Everything is for a true difference in standard errors of the difference of means (0 under equal
means), and for a ratio of variances, first over second.
"""

import functools
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.accuracy.checks import check_positive
from simstudy.documents.stats.arguments import check_count, check_proportion
from simstudy.documents.stats.reading import reading
from simstudy.documents.stats.two_sample.samples import fewest_as_extreme
from simstudy.lazy import special

N_NODES = 200  # nodes for a smooth integrand: doubling them changes only roundings


class _Shares(NamedTuple):
    """Nodes and weights of B, the share of the first sample in all squares over their variances."""

    share: Float[np.ndarray, " node"]
    weight: Float[np.ndarray, " node"]


# ---------------------------------------------------------------- normal data, any size
@reading
def welch_rejection(
    n1: int, n2: int, variance_ratio: float, *, effect: float = 0.0, alpha: float = 0.05
) -> float:
    """Compute the probability that Welch's test rejects, for normal data.

    Given how the squares are shared among the samples, both the degrees of freedom and the ratio
    of the squared standard error to the sum of squares are fixed, and the statistic is a
    noncentral t on n1 + n2 - 2 degrees of freedom times a constant.

    Parameters
    ----------
    n1, n2
        Observations of the two samples.
    variance_ratio
        Variance of the first sample over that of the second.
    effect
        First mean less second, in standard errors of the difference of sample means.
    alpha
        Level of the two-sided test, in (0, 1).

    Returns
    -------
    float
        A probability.

    References
    ----------
    Fenstad (1983), Biometrika 70, 300-302, compares such levels; the condition is that of Wang
    (1971), J. Am. Stat. Assoc. 66, 605-608.
    """
    _check_design(n1, n2, variance_ratio, alpha)
    shares = _shares(n1, n2, N_NODES)
    first, second = _mean_variances(n1, n2, variance_ratio, shares.share)
    df = (first + second) ** 2 / (first**2 / (n1 - 1) + second**2 / (n2 - 1))
    return _rejection(n1, n2, shares, first + second, df, effect, alpha)


@reading
def student_rejection(
    n1: int, n2: int, variance_ratio: float, *, effect: float = 0.0, alpha: float = 0.05
) -> float:
    """Compute the probability that Student's pooled test rejects, for normal data.

    Parameters
    ----------
    n1, n2
        Observations of the two samples.
    variance_ratio
        Variance of the first sample over that of the second.
    effect
        First mean less second, in standard errors of the difference of sample means.
    alpha
        Level of the two-sided test, in (0, 1).

    Returns
    -------
    float
        A probability.
    """
    _check_design(n1, n2, variance_ratio, alpha)
    shares, df = _shares(n1, n2, N_NODES), n1 + n2 - 2
    first, second = _mean_variances(n1, n2, variance_ratio, shares.share)
    squares = first * n1 * (n1 - 1) + second * n2 * (n2 - 1)
    pooled = squares / df * (1 / n1 + 1 / n2)
    return _rejection(n1, n2, shares, pooled, np.full(N_NODES, float(df)), effect, alpha)


@functools.lru_cache(maxsize=64)
def _shares(n1: int, n2: int, n_nodes: int) -> _Shares:
    """Gauss-Jacobi nodes for B, which is Beta((n1 - 1) / 2, (n2 - 1) / 2).

    From the eigenvectors of the recurrence: the weights of `scipy.special.roots_jacobi` overflow
    from some 2000 observations on.

    References
    ----------
    Golub & Welsch (1969), Math. Comput. 23, 221-230.
    """
    b, a = (n1 - 3) / 2, (n2 - 3) / 2
    k = np.arange(1, n_nodes)
    s = 2 * k + a + b
    center = np.append((b - a) / (a + b + 2), (b**2 - a**2) / (s * (s + 2)))
    first = 4 * (1 + a) * (1 + b) / ((2 + a + b) ** 2 * (3 + a + b))  # the next line may have 0 / 0
    later = (4 * k * (k + a) * (k + b) * (k + a + b))[1:] / (s**2 * (s**2 - 1))[1:]
    beside = np.append(first, later)
    matrix = np.diag(center) + np.diag(np.sqrt(beside), 1) + np.diag(np.sqrt(beside), -1)
    nodes, vectors = np.linalg.eigh(matrix)
    return _Shares((1 + nodes) / 2, vectors[0] ** 2)


def _check_design(n1: int, n2: int, variance_ratio: float, alpha: float) -> None:
    check_count("n1", n1, least=2, meaning="a variance of the first sample")
    check_count("n2", n2, least=2, meaning="a variance of the second sample")
    check_positive("variance_ratio", variance_ratio, "a spread of the first sample")
    check_proportion("alpha", alpha, "a test of that level")


def _mean_variances(
    n1: int, n2: int, variance_ratio: float, share: Float[np.ndarray, " node"]
) -> tuple[Float[np.ndarray, " node"], Float[np.ndarray, " node"]]:
    """Estimated variances of both means, for a sum of squares of n1 + n2 - 2.

    In units of the variance of their difference.
    """
    first, second = variance_ratio / n1, 1 / n2
    df, true = n1 + n2 - 2, first + second
    return first / true * share * df / (n1 - 1), second / true * (1 - share) * df / (n2 - 1)


def _rejection(
    n1: int,
    n2: int,
    shares: _Shares,
    variance: Float[np.ndarray, " node"],
    df: Float[np.ndarray, " node"],
    effect: float,
    alpha: float,
) -> float:
    reach = special.stdtrit(df, 1 - alpha / 2) * np.sqrt(variance)
    all_df = n1 + n2 - 2
    above = special.nctdtr(all_df, -effect, -reach)
    below = special.nctdtr(all_df, effect, -reach)
    return float(shares.weight @ (above + below))


# ---------------------------------------------------------------- equal distributions
@reading
def permutation_size(n_perm: int, alpha: float) -> float:
    """Compute the probability that a permutation test rejects (p <= alpha).

    For identical continuous distributions: the rank of the statistic among the drawn ones is
    uniform. Partitions that repeat the samples, one in binomial(n1 + n2, n1), are left aside.

    Parameters
    ----------
    n_perm
        Random partitions of each replicate.
    alpha
        Level of the two-sided test, in (0, 1).

    Returns
    -------
    float
        A probability.
    """
    return fewest_as_extreme(n_perm, alpha) / (n_perm + 1)


# ---------------------------------------------------------------- large samples
@reading
def pooled_size(n1: int, n2: int, variance_ratio: float, *, alpha: float = 0.05) -> float:
    """Compute the size in large samples of the plain permutation test, and of Student's pooled t.

    Both compare the difference of means with σ1²/n2 + σ2²/n1, where its variance is σ1²/n1 +
    σ2²/n2.

    Parameters
    ----------
    n1, n2
        Observations of the two samples.
    variance_ratio
        Variance of the first sample over that of the second.
    alpha
        Level of the two-sided test, in (0, 1).

    Returns
    -------
    float
        A probability.

    References
    ----------
    Romano (1990), J. Am. Stat. Assoc. 85, 686-692; Scheffé (1959), The Analysis of Variance,
    chapter 10.
    """
    _check_design(n1, n2, variance_ratio, alpha)
    true, taken = variance_ratio / n1 + 1 / n2, variance_ratio / n2 + 1 / n1
    return _size(taken / true, alpha)


@reading
def rank_sum_size_for_normals(
    n1: int, n2: int, variance_ratio: float, *, alpha: float = 0.05
) -> float:
    """Compute the size in large samples of the rank-sum test for normal data with equal means.

    U is asymptotically normal about its null mean, with a variance that follows from the
    probabilities that two observations of one sample are both larger than one of the other; these
    are orthants of a bivariate normal.

    Parameters
    ----------
    n1, n2
        Observations of the two samples.
    variance_ratio
        Variance of the first sample over that of the second.
    alpha
        Level of the two-sided test, in (0, 1).

    Returns
    -------
    float
        A probability.

    References
    ----------
    Pratt (1964), J. Am. Stat. Assoc. 59, 665-680; the variance of U: Lehmann (1975),
    Nonparametrics, chapter 2.
    """
    _check_design(n1, n2, variance_ratio, alpha)
    first = _both_larger(1 / (1 + variance_ratio))  # two of the first above one of the second
    second = _both_larger(variance_ratio / (1 + variance_ratio))
    variance = n1 * n2 * (0.25 + (n1 - 1) * (first - 0.25) + (n2 - 1) * (second - 0.25))
    return _size(n1 * n2 * (n1 + n2 + 1) / 12 / variance, alpha)


def _both_larger(correlation: float) -> float:
    """P(both of a bivariate normal are above their means), by Sheppard's formula."""
    return 0.25 + float(np.arcsin(correlation)) / (2 * np.pi)


def _size(variance_taken_over_true: float, alpha: float) -> float:
    z = float(special.ndtri(1 - alpha / 2))
    return 2 * float(special.ndtr(-z * np.sqrt(variance_taken_over_true)))
