"""The t tests of an accuracy regression: as the z test, with the spread estimated from scores.

One-sided for "the check is worse", from means and standard deviations (divisor n − 1). Where no
spread is seen in either sample, a difference is infinitely many standard errors and none is none:
p is 0, 1/2 or 1, never NaN. For two-sided tests of raw samples see
`simstudy.documents.stats.two_sample`.

References
----------
Student (1908), Biometrika 6(1), 1-25; Welch (1938), Biometrika 29, 350-362; degrees of freedom by
Satterthwaite (1946), Biometrics Bulletin 2(6), 110-114; power: Johnson & Welch (1940), Biometrika
31, 362-389.
"""

from typing import Any

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.accuracy import design
from simstudy.documents.stats.accuracy.checks import (
    check_finite,
    check_not_negative,
    check_sizes,
    sign_of_better,
)
from simstudy.documents.stats.accuracy.tails import over_root, student_cdf
from simstudy.documents.stats.arguments import Numbers, check_proportion, plain
from simstudy.documents.stats.integer_search import least_count
from simstudy.documents.stats.reading import reading
from simstudy.lazy import special

Real = Float[np.ndarray, "..."]


@reading
def p_value(
    check: Numbers,
    reference: Numbers,
    sd_check: Numbers,
    sd_reference: Numbers,
    n: Numbers,
    n_check: Numbers | None = None,
    *,
    pooled: bool = False,
    lower_is_better: bool = False,
) -> Any:
    """Compute the one-sided p-value of Welch's test, or of Student's.

    Parameters
    ----------
    check, reference
        Means.
    sd_check, sd_reference
        Standard deviations of the scores, divisor n − 1, ≥ 0, in the units of the means.
    n, n_check
        Scores in the reference and in the check, at least 2; `n_check=None`: as many.
    pooled
        Student's test with one variance; else Welch's with two.
    lower_is_better
        For perplexity, error rates.

    Returns
    -------
    float or array
        p-values.

    References
    ----------
    Welch (1938), Biometrika 29, 350-362; Satterthwaite (1946), Biometrics Bulletin 2(6),
    110-114.
    """
    check_sizes(n, n_check, least=2)
    check_finite("check", check, "its distance from the reference")
    check_finite("reference", reference, "the distance from it")
    check_not_negative("sd_check", sd_check, "the spread of its mean")
    check_not_negative("sd_reference", sd_reference, "the spread of its mean")
    m = np.asarray(n if n_check is None else n_check)
    better = sign_of_better(lower_is_better) * np.subtract(check, reference)
    first, second = np.square(sd_reference), np.square(sd_check)
    return plain(one_sided(better, first, second, np.asarray(n), m, pooled=pooled))


def one_sided(
    difference: Any, first: Any, second: Any, n: Any, n_check: Any, *, pooled: bool
) -> Real:
    """Compute the p-value of a difference of means, check less reference, from variances of scores.

    Parameters
    ----------
    difference
        Mean of the check less that of the reference, with the sign by which lower is worse.
    first, second
        Variances of the reference's and of the check's scores.
    n, n_check
        Scores in the reference and in the check, at least 2.
    pooled
        Student's test with one variance; else Welch's with two.

    Returns
    -------
    Real
        One-sided p-values.
    """
    df1, df2 = n - 1, n_check - 1
    if pooled:
        df = df1 + df2
        variance = (first * df1 + second * df2) / df * (1 / n + 1 / n_check)
    else:
        variance = first / n + second / n_check
        share = np.divide(first / n, variance, out=np.ones_like(variance), where=variance > 0)
        df = 1 / (share**2 / df1 + (1 - share) ** 2 / df2)
    return student_cdf(np.asarray(df), over_root(np.asarray(difference), np.asarray(variance)))


@reading
def threshold(
    reference: Numbers,
    alpha: Numbers,
    sd_reference: Numbers,
    n: Numbers,
    n_check: Numbers | None = None,
    *,
    lower_is_better: bool = False,
) -> Any:
    """Compute a γ that can be recorded with the reference, whose own scores give the spread.

    reference ± t(α, n − 1)·s·√(1/n + 1/m): exact for normal scores whose spread in the check is
    that of the reference. A test that takes the check's spread too has no threshold beforehand.

    Parameters
    ----------
    reference
        Mean of the reference.
    alpha
        Chance that a check of unchanged quality fails, in (0, 1).
    sd_reference
        Standard deviation of the reference's scores, divisor n − 1, ≥ 0.
    n, n_check
        n at least 2, n_check at least 1; `n_check=None`: as many.
    lower_is_better
        For perplexity, error rates: the threshold then lies above the reference.

    Returns
    -------
    float or array
        In the units of the scores.
    """
    check_finite("reference", reference, "a threshold beside it")
    check_proportion("alpha", alpha, "a test of that level")
    check_sizes(n, None, least=2)
    check_not_negative("sd_reference", sd_reference, "the spread of a mean")
    error = np.asarray(sd_reference) * design.standard_error(1.0, n, n_check)
    margin = special.stdtrit(np.asarray(n) - 1, alpha) * error
    return plain(np.asarray(reference) + sign_of_better(lower_is_better) * margin)


# ---------------------------------------------------------------- power and sample size
@reading
def power(
    theta: Numbers, alpha: Numbers, sigma: Numbers, n: Numbers, n_check: Numbers | None = None
) -> Any:
    """Compute the chance that Student's pooled test finds an effect in normal scores of one spread.

    Parameters
    ----------
    theta
        Loss of the check: reference mean less check mean, positive if it is worse.
    alpha
        Chance that a check of unchanged quality fails, in (0, 1).
    sigma
        Standard deviation of one score, > 0, which the test does not know.
    n, n_check
        At least 2.

    Returns
    -------
    Any
        A tail of the noncentral t law on n + m − 2 degrees of freedom.
    """
    effect, df, t = _noncentral(theta, alpha, sigma, n, n_check)
    return plain(special.nctdtr(df, -effect, t))


@reading
def type_2_error(
    theta: Numbers, alpha: Numbers, sigma: Numbers, n: Numbers, n_check: Numbers | None = None
) -> Any:
    """Compute the chance that Student's pooled test misses an effect, without cancellation.

    Parameters
    ----------
    theta
        Loss of the check: reference mean less check mean, positive if it is worse.
    alpha
        Chance that a check of unchanged quality fails, in (0, 1).
    sigma
        Standard deviation of one score, > 0, which the test does not know.
    n, n_check
        At least 2.

    Returns
    -------
    float or array
        A tail of the noncentral t law on n + m − 2 degrees of freedom.
    """
    effect, df, t = _noncentral(theta, alpha, sigma, n, n_check)
    return plain(special.nctdtr(df, effect, -t))


def _noncentral(
    theta: Numbers, alpha: Numbers, sigma: Numbers, n: Numbers, n_check: Numbers | None
) -> tuple[Real, Real, Real]:
    """The effect in standard errors, degrees of freedom, and the t at or below which it fails."""
    check_finite("theta", theta, "the chance to find that effect")
    check_proportion("alpha", alpha, "a test of that level")
    check_sizes(n, n_check, least=2)
    effect = np.asarray(theta) / design.standard_error(sigma, n, n_check)
    df = np.asarray(n) + np.asarray(n if n_check is None else n_check) - 2
    t = special.stdtrit(df, alpha)
    return np.asarray(effect), np.asarray(df, float), np.asarray(t)


@reading
def sample_size(theta: Numbers, alpha: Numbers, beta: Numbers, sigma: Numbers) -> Any:
    """Find the least n, at least 2, of the reference and as many of the check, with power 1 − β.

    Parameters
    ----------
    theta
        Effect to be detected, > 0.
    alpha, beta
        Rates of the two errors, each in (0, 1) and together less than 1.
    sigma
        Standard deviation of one score, > 0, which the test does not know.

    Returns
    -------
    Any
        Whole numbers, from 2 on and never below those of a known spread: one or two above them at
        levels such as 0.05, more at tiny ones, where few scores leave a spread unknown (at
        alpha = 1e-15 twelve instead of two, for an effect of ten standard deviations).
    """
    known = np.asarray(design.sample_size(theta, alpha, beta, sigma))

    def enough(n: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        return np.asarray(type_2_error(theta, alpha, sigma, n) <= np.asarray(beta))

    high = np.maximum(known, 2)
    while not enough(high).all():
        high = np.where(enough(high), high, 2 * high)
    return plain(least_count(enough, np.full_like(high, 2), high))
