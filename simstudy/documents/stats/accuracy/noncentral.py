"""The noncentral t law where its usual series cancels.

T = (Z + δ)/S has the law, with Z standard normal and S² a χ² over its degrees of freedom ν, and

    P(T ≤ t) = E Φ(t·S − δ).

Series around δ lose all digits for t < 0 < δ, a test that is to fail though the check is better:
there the mean is integrated as it stands, over u = ln S. All its terms are positive, so small
probabilities are as good as others.
"""

import numpy as np

from simstudy.array_types import Float
from simstudy.lazy import special

Real = Float[np.ndarray, "..."]

POINTS = 512
"""Of the trapezoid rule: a quarter of a standard deviation apart, which is right to all digits."""
DEVIATIONS, FOLDS = 10, 40
"""Reach of the integral: exp(−50) to both sides, or exp(−40) where the left tail is exponential."""
LOWEST, HALVINGS = -700.0, 64
"""Of ln S, as far as doubles go; and how often that is halved to find the mode."""


def noncentral_t_cdf(df: Real, noncentrality: Real, t: Real) -> Real:
    """Compute the distribution function of the noncentral t law, P(T ≤ t).

    Parameters
    ----------
    df
        Degrees of freedom, at least 1.
    noncentrality
        Mean of the normal numerator.
    t
        Points of evaluation; all three are broadcast.

    Returns
    -------
    Real
        Probabilities.
    """
    df, noncentrality, t = np.broadcast_arrays(
        *(np.asarray(each, float) for each in (df, noncentrality, t))
    )
    found = np.array(special.nctdtr(df, noncentrality, t))
    low = (t < 0) & (noncentrality > 0)
    high = (t > 0) & (noncentrality < 0)
    found[low] = _integrated(df[low], noncentrality[low], t[low])
    found[high] = 1 - _integrated(df[high], -noncentrality[high], -t[high])
    return found


def _integrated(df: Real, noncentrality: Real, t: Real) -> Real:
    """Integral for t < 0 < δ, whose integrand has one mode, at or below u = 0."""
    df, noncentrality, t = (each[:, np.newaxis] for each in (df, noncentrality, t))
    right = DEVIATIONS / np.sqrt(df)
    around = np.linspace(-right - FOLDS / df, right, POINTS, axis=-1)[:, 0]
    u = _mode(df, noncentrality, t) + around
    tail = special.log_ndtr(t * np.exp(u) - noncentrality)
    with np.errstate(under="ignore"):
        return np.asarray(
            np.exp(_log_density(df, u) + tail).sum(axis=1)
            / np.exp(_log_density(df, around)).sum(axis=1)
        )


def _log_density(df: Real, u: Real) -> Real:
    """Log density of ln S, up to a constant; 0 at its mode, u = 0."""
    return np.asarray(df * (u - np.expm1(2 * u) / 2))


def _mode(df: Real, noncentrality: Real, t: Real) -> Real:
    """Mode of the integrand, by bisection."""
    low, high = np.full(df.shape, LOWEST), np.zeros(df.shape)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rises = _slope(df, noncentrality, t, middle) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    return high


def _slope(df: Real, noncentrality: Real, t: Real, u: Real) -> Real:
    z = t * np.exp(u) - noncentrality
    hazard = np.sqrt(2 / np.pi) / special.erfcx(-z / np.sqrt(2))
    return np.asarray(-df * np.expm1(2 * u) + t * np.exp(u) * hazard)
