"""Priors of a Bayesian linear regression: normal coefficients, exponential error scale.

    y_i = α + (x_i - mean of x)'β + σ ε_i,  α ~ N(m, s_α²),  β_j ~ N(0, s_j²),  σ ~ exponential(r)

The intercept's prior holds where features are at their means, as in rstanarm. Scales that come from
the data come from all of them, once: leaving an observation out changes neither prior nor centring.
"""

from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float

DEFAULT_SCALE = 2.5
WIDE_SD = 10.0


class Prior(NamedTuple):
    """m, s_α, s_j and r of each replicate (without the axis `rep`, of one data set)."""

    intercept_mean: Float[np.ndarray, " rep"]
    intercept_sd: Float[np.ndarray, " rep"]
    coefficient_sd: Float[np.ndarray, "rep feature"]
    sigma_rate: Float[np.ndarray, " rep"]


def default_prior(
    features: Float[np.ndarray, "rep obs feature"], y: Float[np.ndarray, "rep obs"]
) -> Prior:
    """Default of rstanarm's `stan_glm` for normal errors, since version 2.21.

    m = mean(y), s_α = 2.5 sd(y), s_j = 2.5 sd(y) / sd(x_j), r = 1 / sd(y); standard deviations have
    the divisor n - 1. A constant feature, which predicts nothing once it is centred, has sd 1.
    """
    spread, of_features = y.std(axis=1, ddof=1), features.std(axis=1, ddof=1)
    of_features = np.where(np.ptp(features, axis=1) == 0, 1.0, of_features)
    scale = DEFAULT_SCALE * spread
    return Prior(y.mean(axis=1), scale, scale[:, np.newaxis] / of_features, 1 / spread)


def wide_prior(
    features: Float[np.ndarray, "rep obs feature"], y: Float[np.ndarray, "rep obs"]
) -> Prior:
    """The default for intercept and σ, and N(0, 10²) for every coefficient."""
    prior = default_prior(features, y)
    return prior._replace(coefficient_sd=np.full_like(prior.coefficient_sd, WIDE_SD))
