"""Priors of a Bayesian linear regression: normal coefficients, exponential error scale.

    y_i = α + (x_i - mean of x)'β + σ ε_i,  α ~ N(m, s_α²),  β_j ~ N(0, s_j²),  σ ~ exponential(r)

The intercept's prior holds where features are at their means, as in rstanarm. Scales that come from
the data come from all of them, once: leaving an observation out changes neither prior nor centring.
Importance sampling from the full posterior estimates it. A refit from scratch would scale
its priors anew to n - 1 observations, which is another model, and not offered.
"""

from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError

DEFAULT_SCALE = 2.5
MIN_SCALE = float(np.sqrt(np.finfo(float).tiny) / np.finfo(float).eps)  # squares keep all digits


class Prior(NamedTuple):
    """Parameters of the prior, one set per replicate.

    Means and standard deviations are in the units of the response, or in those per unit of a
    feature.

    Attributes
    ----------
    intercept_mean : float array (rep,)
        Mean of α, the intercept at the features' means.
    intercept_sd : float array (rep,)
        Standard deviation of α.
    coefficient_sd : float array (rep, feature)
        Standard deviation of each β_j; its mean is 0.
    sigma_rate : float array (rep,)
        Rate of the exponential prior of σ, per unit of the response.
    """

    intercept_mean: Float[np.ndarray, " rep"]
    intercept_sd: Float[np.ndarray, " rep"]
    coefficient_sd: Float[np.ndarray, "rep feature"]
    sigma_rate: Float[np.ndarray, " rep"]


@reading
def default_prior(
    features: Float[np.ndarray, "rep obs feature"], y: Float[np.ndarray, "rep obs"]
) -> Prior:
    """Return the default prior of rstanarm's `stan_glm` for normal errors, since version 2.21.

    m = mean(y), s_α = 2.5 sd(y), s_j = 2.5 sd(y) / sd(x_j), r = 1 / sd(y); standard deviations have
    the divisor n - 1. A constant feature, which predicts nothing once it is centred, has sd 1.

    Parameters
    ----------
    features : float array (rep, obs, feature)
        One replicate per matrix.
    y : float array (rep, obs)
        Responses.

    Returns
    -------
    Prior
        A prior for each replicate.

    Raises
    ------
    DesignError
        For a response that is constant: every scale would be 0.

    References
    ----------
    Goodrich, Gabry, Ali & Brilleman, rstanarm, vignette "Prior Distributions for rstanarm Models",
    section on default priors and scale adjustments.
    """
    check_training(features, y)
    spread = _response_sd(y)
    of_features = features.std(axis=1, ddof=1)
    of_features = np.where(np.ptp(features, axis=1) == 0, 1.0, of_features)
    return Prior(
        y.mean(axis=1),
        DEFAULT_SCALE * spread,
        DEFAULT_SCALE * spread[:, np.newaxis] / of_features,
        1 / spread,
    )


@reading
def wide_prior(
    features: Float[np.ndarray, "rep obs feature"],
    y: Float[np.ndarray, "rep obs"],
    *,
    coefficient_sd: float = 10.0,
) -> Prior:
    """Return the default for intercept and σ, with one standard deviation for every coefficient.

    Parameters
    ----------
    features, y
        See `default_prior`.
    coefficient_sd
        s_j, whatever the scale of the features: as `prior = normal(0, coefficient_sd)` in rstanarm.

    Returns
    -------
    Prior
        A prior for each replicate.

    Raises
    ------
    DesignError
        If `coefficient_sd` is not positive and finite, or a response is constant.
    """
    if not 0 < coefficient_sd < np.inf:
        raise DesignError(
            f"coefficient_sd={coefficient_sd:g} is no standard deviation of a prior. Use a finite "
            "number above 0; 10 is wide for features and responses near 1."
        )
    prior = default_prior(features, y)
    return prior._replace(coefficient_sd=np.full_like(prior.coefficient_sd, coefficient_sd))


def _response_sd(y: Float[np.ndarray, "rep obs"]) -> Float[np.ndarray, " rep"]:
    constant = np.ptp(y, axis=1) == 0
    if constant.any():
        rep = int(np.argmax(constant))
        raise DesignError(
            f"y of replicate {rep} is constant ({y[rep, 0]:g}), so its standard deviation, which "
            "scales every prior, is 0. Leave the replicate out: a constant needs no regression."
        )
    return np.asarray(y.std(axis=1, ddof=1))


# ---------------------------------------------------------------- what is refused
def check_training(features: Float[np.ndarray, "..."], y: Float[np.ndarray, "..."]) -> None:
    """Raise an error for data of which no observation can be left out and predicted.

    Parameters
    ----------
    features : float array (...)
        One replicate per matrix.
    y : float array (...)
        Responses.

    Raises
    ------
    DesignError
        If shapes do not match, there are fewer than two observations, or a value is not finite.
    """
    if features.ndim != 3 or features.shape[:2] != y.shape:
        raise DesignError(
            f"features have shape {features.shape} and y {y.shape}, so observations cannot be "
            "matched with responses. Give (replicate, observation, feature) and (replicate, "
            "observation)."
        )
    if y.shape[1] < 2:
        raise DesignError(
            f"n_obs={y.shape[1]} observations leave nothing to learn from once one is left out. "
            "Give at least 2."
        )
    n_bad = np.count_nonzero(~np.isfinite(features)) + np.count_nonzero(~np.isfinite(y))
    if n_bad:
        raise DesignError(
            f"{n_bad} features or responses are not finite, so there is no posterior. Drop those "
            "observations, or report their replicates as failed."
        )


def check_prior(prior: Prior, n_rep: int, n_feature: int) -> None:
    """Raise an error for a prior that does not belong to the data, or is none.

    Parameters
    ----------
    prior
        A prior.
    n_rep
        Replicates of the data.
    n_feature
        Features of the data.

    Raises
    ------
    DesignError
        If shapes do not match, or a scale is not positive and finite.
    """
    if prior.coefficient_sd.shape != (n_rep, n_feature):
        raise DesignError(
            f"coefficient_sd has shape {prior.coefficient_sd.shape}, and the data have {n_rep} "
            f"replicates of {n_feature} features. Give one prior per replicate and feature."
        )
    scales = [prior.intercept_sd, prior.coefficient_sd.ravel(), prior.sigma_rate]
    scale = np.concatenate(scales)
    good = (scale >= MIN_SCALE) & (scale <= 1 / MIN_SCALE)
    if not (good.all() and np.isfinite(prior.intercept_mean).all()):
        worst = scale[~good][0] if not good.all() else np.nan
        raise DesignError(
            f"a prior has the scale {worst:g}, or a mean that is not finite. Use finite means, and "
            f"scales from {MIN_SCALE:.0e} to {1 / MIN_SCALE:.0e}, whose squares are numbers "
            "(other units help); a large one stands for a flat prior."
        )
