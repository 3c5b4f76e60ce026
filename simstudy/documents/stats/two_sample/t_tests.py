"""Comparing two means by Student's t: with its own standard error for each, or pooled."""

import numpy as np

from simstudy.documents.stats.reading import reading
from simstudy.documents.stats.two_sample.samples import (
    Comparison,
    First,
    PerRep,
    Second,
    checked,
    moments,
)
from simstudy.lazy import special


@reading
def welch(x: First, y: Second, *, alpha: float = 0.05) -> Comparison:
    """Welch's t test of equal means, and its interval for their difference.

    Parameters
    ----------
    x, y
        One replicate per row, in the same units; at least two observations each.
    alpha
        Level of the two-sided test, in (0, 1); the interval's nominal coverage is 1 - alpha.

    Returns
    -------
    Comparison
        NaN, but for the estimate, where both samples are constant: there is no standard error.

    References
    ----------
    Welch (1938), Biometrika 29, 350-362; degrees of freedom by Satterthwaite (1946), Biometrics
    Bulletin 2(6), 110-114.
    """
    x, y = checked(x, y, alpha)
    found = moments(x, y)
    df = satterthwaite(found.first, found.second, x.shape[1] - 1, y.shape[1] - 1)
    return _by_t(found.difference, found.std_error, df, alpha)


@reading
def satterthwaite(first: PerRep, second: PerRep, df1: int, df2: int) -> PerRep:
    """Compute degrees of freedom of a sum of two variances of means.

    Parameters
    ----------
    first, second
        Variances of the two means.
    df1, df2
        Degrees of freedom of each.

    Returns
    -------
    PerRep
        Degrees of freedom; NaN where both variances are 0.

    References
    ----------
    Satterthwaite (1946), Biometrics Bulletin 2(6), 110-114.
    """
    with np.errstate(invalid="ignore"):
        share = first / (first + second)
        return np.asarray(1 / (share**2 / df1 + (1 - share) ** 2 / df2))


@reading
def student(x: First, y: Second, *, alpha: float = 0.05) -> Comparison:
    """Test equal means by Student's pooled t test, with its interval: for equal variances.

    Parameters
    ----------
    x, y
        One replicate per row, in the same units; at least two observations each.
    alpha
        Level of the two-sided test, in (0, 1); the interval's nominal coverage is 1 - alpha.

    Returns
    -------
    Comparison
        Estimate, interval and p-value of each replicate.

    References
    ----------
    Student (1908), Biometrika 6(1), 1-25; Fisher (1925), Metron 5, 90-104.
    """
    x, y = checked(x, y, alpha)
    (n1, n2), found = (x.shape[1], y.shape[1]), moments(x, y)
    squares = found.first * n1 * (n1 - 1) + found.second * n2 * (n2 - 1)
    df = n1 + n2 - 2
    variance = squares / df * (1 / n1 + 1 / n2)
    std_error = np.sqrt(np.where(variance > 0, variance, np.nan))
    return _by_t(found.difference, std_error, np.full(len(x), float(df)), alpha)


def _by_t(difference: PerRep, std_error: PerRep, df: PerRep, alpha: float) -> Comparison:
    half_width = special.stdtrit(df, 1 - alpha / 2) * std_error
    p = 2 * special.stdtr(df, -np.abs(difference) / std_error)
    return Comparison(difference, difference - half_width, difference + half_width, np.asarray(p))
