"""Draws against the exact posterior; importance sampling against ArviZ and the exact answer."""

import itertools

import numpy as np
import pytest
from scipy import integrate

from simstudy.documents.stats.leave_one_out import importance
from simstudy.documents.stats.leave_one_out.priors import Prior, default_prior, wide_prior
from simstudy.documents.stats.leave_one_out.regression import decompose, exact_leave_one_out
from tests.documents.draws import rng_at
from tests.documents.stats.leave_one_out.plain import draw_data, standard_design
from tests.support import assert_caught, assert_within_mcse, critical_z

EPS = float(np.finfo(float).eps)
N_DRAW = 4000
ARVIZ_K = [-0.3710101998193393, -0.7986287638313592, 1.1838702322959804]
ARVIZ_SQUARES = [0.012530410678467396, 0.014298486035077003, 0.28625326195539175]
ARVIZ_LARGEST = [0.019494952868315898, 0.021373814353569616, 0.5068765517757872]


def log_posterior(log_sigma, design, response, rate):
    """Of log σ, up to a constant, by the covariance of the responses."""
    covariance = design @ design.T + np.exp(2 * log_sigma) * np.eye(len(response))
    square = response @ np.linalg.solve(covariance, response)
    return log_sigma - rate * np.exp(log_sigma) - (square + np.linalg.slogdet(covariance)[1]) / 2


@pytest.mark.parametrize(("n_obs", "n_feature"), [(30, 3), (8, 2), (6, 10)])
def test_quantiles_of_sigma_invert_its_distribution_function(n_obs, n_feature):
    features, y = draw_data(1, n_obs, n_feature)
    prior = default_prior(features, y)
    probability = np.array([0.001, 0.05, 0.3, 0.5, 0.9, 0.999])
    data = decompose(features[0], y[0], Prior(*(part[0] for part in prior)))
    found = np.log(importance.sigma_quantiles(data, probability))
    design, response = standard_design(features, prior, 0), y[0] - prior.intercept_mean[0]
    peak = log_posterior(found[3], design, response, prior.sigma_rate[0])

    def density(u):
        return np.exp(log_posterior(u, design, response, prior.sigma_rate[0]) - peak)

    ends = found[0] - 12, found[-1] + 2
    knots = [ends[0], *found, ends[1]]
    parts = [
        integrate.quad(density, a, b, epsabs=0, epsrel=1e-12, limit=500)[0]
        for a, b in itertools.pairwise(knots)
    ]
    # Below the lowest knot a tail as σ remains in the last case; its share is that of the ends.
    left_out = density(ends[0]) / sum(parts)
    cell = (ends[1] - ends[0] + 50) / importance.N_NODE
    tolerance = 10 * cell**4 + left_out  # of fourth order in a cell; densities here are below 10
    np.testing.assert_allclose(np.cumsum(parts)[:-1] / sum(parts), probability, atol=tolerance)


@pytest.mark.parametrize(("n_obs", "n_feature"), [(12, 2), (4, 6), (2, 1)])
def test_given_sigma_coefficients_have_the_posterior_mean_and_covariance(n_obs, n_feature):
    """Standardised by the factor of their own precision, they are standard normal."""
    features, y = draw_data(1, n_obs, n_feature)
    unit = np.eye(n_feature + 1)
    prior = wide_prior(features, y)
    draws = importance.posterior_draws(features, y, prior, rng_at(), n_draw=N_DRAW)
    design = standard_design(features, prior, 0)
    centred = y[0] - prior.intercept_mean[0]
    at_means = draws.intercept[0] + draws.coefficients[0] @ features[0].mean(axis=0)
    first = (at_means - prior.intercept_mean[0]) / prior.intercept_sd[0]
    scaled = np.column_stack([first, draws.coefficients[0] / prior.coefficient_sd[0]])
    z = np.empty_like(scaled)
    for s, (row, sigma) in enumerate(zip(scaled, draws.sigma[0], strict=True)):
        precision = design.T @ design / sigma**2 + unit
        mean = np.linalg.solve(precision, design.T @ centred / sigma**2)
        z[s] = np.linalg.cholesky(precision).T @ (row - mean)
    spread = np.sqrt((1 + unit) / N_DRAW)  # of squares and products of standard normals
    assert_within_mcse(z.T @ z / N_DRAW, unit, spread)
    assert_within_mcse(z.mean(axis=0), 0, 1 / np.sqrt(N_DRAW))
    # Caught: a spread that is a tenth too large.
    assert_caught(1.1**2 * (z.T @ z) / N_DRAW, unit, spread)


def log_ratios() -> np.ndarray:
    at = np.arange(1, 101)
    return np.stack([np.sqrt(at) / 4, np.sin(at), -2 * np.log(at)])


def test_smoothing_is_that_of_arviz():
    """`arviz.psislw` of ArviZ 0.23.4: k, sum of squared weights, and the largest weight."""
    log_weights, k = importance.smoothed_log_weights(log_ratios())
    weights = np.exp(log_weights)
    np.testing.assert_allclose(k, ARVIZ_K, rtol=1e-12)
    np.testing.assert_allclose((weights**2).sum(axis=1), ARVIZ_SQUARES, rtol=1e-12)
    np.testing.assert_allclose(weights.max(axis=1), ARVIZ_LARGEST, rtol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=100 * EPS)


@pytest.mark.parametrize("k", [-0.3, 0.2, 0.9])
def test_a_pareto_tail_is_fitted_to_its_own_quantiles(k):
    share = np.arange(0.5, 10_000) / 10_000
    found, scale = importance.pareto_fit(2.0 * np.expm1(-k * np.log1p(-share)) / k)
    # Of a fit to n values the error is about (1 + k) / √n; of their quantiles it is far less.
    assert found == pytest.approx(k, abs=0.2 * (1 + k) / 100)
    assert scale == pytest.approx(2.0, rel=0.2 * 2 / 100)


def test_importance_sampling_agrees_with_the_exact_answer():
    """To Monte Carlo error, by the spread of its own weights, where the tail is light."""
    features, y = draw_data(2, 30, 2)
    prior = default_prior(features, y)
    draws = importance.posterior_draws(features, y, prior, rng_at(), n_draw=N_DRAW)
    found = importance.importance_leave_one_out(features, y, draws)
    exact = exact_leave_one_out(features, y, prior).pointwise
    light = found.pareto_k < 0.5
    assert light.mean() > 0.9
    predictor = draws.intercept[:, None] + np.einsum("rok,rdk->rod", features, draws.coefficients)
    sigma = draws.sigma[:, np.newaxis]
    log_likelihood = -0.5 * ((y[:, :, None] - predictor) / sigma) ** 2 - np.log(sigma)
    weights = np.exp([importance.smoothed_log_weights(-each)[0] for each in log_likelihood])
    about = predictor - (weights * predictor).sum(axis=2, keepdims=True)
    mcse = np.sqrt((weights**2 * about**2).sum(axis=2))
    assert_within_mcse(found.pointwise.error[light], exact.error[light], mcse[light])
    # 1/p(y_i | others) is the mean of the raw ratios: the relative error of that mean.
    relative = np.sqrt((weights**2).sum(axis=2) - 1 / N_DRAW)
    gap = found.pointwise.log_density - exact.log_density
    assert (np.abs(gap) < critical_z(gap.size) * relative)[light].all()
