"""Draws against the exact posterior, and importance sampling against ArviZ and the exact answer."""

import itertools
import sys

import numpy as np
import pytest
from scipy import integrate

from simstudy.documents.stats.leave_one_out.importance import (
    importance_leave_one_out,
    smoothed_log_weights,
)
from simstudy.documents.stats.leave_one_out.posterior import (
    N_NODE,
    posterior_draws,
    sigma_quantiles,
)
from simstudy.documents.stats.leave_one_out.priors import default_prior, wide_prior
from simstudy.documents.stats.leave_one_out.regression import decompose, exact_leave_one_out
from simstudy.errors import SimstudyError
from tests.documents.stats.draws import rng_at
from tests.documents.stats.leave_one_out.plain import draw_data, standard_design
from tests.support import assert_caught, assert_within_mcse, critical_z

EPS = float(np.finfo(float).eps)
N_DRAW = 4000


# ---------------------------------------------------------------- σ
def log_posterior(log_sigma, design, response, rate):
    """Of log σ, up to a constant, by the covariance of the responses."""
    covariance = design @ design.T + np.exp(2 * log_sigma) * np.eye(len(response))
    square = response @ np.linalg.solve(covariance, response)
    return log_sigma - rate * np.exp(log_sigma) - (square + np.linalg.slogdet(covariance)[1]) / 2


@pytest.mark.parametrize(("n_obs", "n_feature"), [(30, 3), (8, 2), (6, 10)])
def test_quantiles_of_sigma_invert_its_distribution_function(n_obs, n_feature):
    features, y = draw_data(1, n_obs, n_feature)
    prior = default_prior(features, y)
    probability = np.array([[0.001, 0.05, 0.3, 0.5, 0.9, 0.999]])
    found = np.log(sigma_quantiles(decompose(features, y, prior), prior, probability))[0]
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
    cell = (ends[1] - ends[0] + 50) / N_NODE
    tolerance = 10 * cell**4 + left_out  # of fourth order in a cell; densities here are below 10
    np.testing.assert_allclose(np.cumsum(parts)[:-1] / sum(parts), probability[0], atol=tolerance)


# ---------------------------------------------------------------- coefficients
@pytest.mark.parametrize(("n_obs", "n_feature"), [(12, 2), (4, 6), (2, 1)])
def test_given_sigma_coefficients_have_the_posterior_mean_and_covariance(n_obs, n_feature):
    """Standardised by the factor of their own precision, they are standard normal."""
    features, y = draw_data(1, n_obs, n_feature)
    unit = np.eye(n_feature + 1)
    prior = wide_prior(features, y, coefficient_sd=2.0)
    draws = posterior_draws(features, y, prior, rng_at(), n_draw=N_DRAW)
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


# ---------------------------------------------------------------- importance sampling
@pytest.fixture(scope="module")
def sampled():
    pytest.importorskip("arviz", reason="the optional extra `loo` is not installed")
    features, y = draw_data(2, 30, 2)
    prior = default_prior(features, y)
    draws = posterior_draws(features, y, prior, rng_at(), n_draw=N_DRAW)
    return features, y, prior, draws, importance_leave_one_out(features, y, draws)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter:UserWarning")
def test_arviz_says_the_same_of_the_same_draws(sampled):
    import arviz

    features, y, _, draws, found = sampled
    for rep in range(2):
        error = y[rep] - draws.predict(features)[rep]
        sigma = draws.sigma[rep][:, np.newaxis]
        log_likelihood = -0.5 * (error / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))
        data = arviz.from_dict(
            posterior={"sigma": draws.sigma[rep][np.newaxis]},
            log_likelihood={"y": log_likelihood[np.newaxis]},
        )
        oracle = arviz.loo(data, pointwise=True, reff=1.0)
        rounding = 1e3 * EPS * N_DRAW  # a sum of exponentials of rounded logs
        np.testing.assert_allclose(found.log_density[rep], oracle.loo_i.values, atol=rounding)
        np.testing.assert_allclose(found.pareto_k[rep], oracle.pareto_k.values, atol=rounding)


def test_importance_sampling_agrees_with_the_exact_answer(sampled):
    """To Monte Carlo error, by the spread of its own weights, where the tail is light."""
    features, y, prior, draws, found = sampled
    exact = exact_leave_one_out(features, y, prior)
    light = found.pareto_k < 0.5
    assert light.mean() > 0.9
    predictor = draws.predict(features).transpose(0, 2, 1)
    sigma = draws.sigma[:, np.newaxis]
    log_likelihood = -0.5 * ((y[:, :, None] - predictor) / sigma) ** 2 - np.log(sigma)
    weights = np.exp(smoothed_log_weights(-log_likelihood)[0])
    about = predictor - (weights * predictor).sum(axis=2, keepdims=True)
    mcse = np.sqrt((weights**2 * about**2).sum(axis=2))
    assert_within_mcse(found.error[light], exact.error[light], mcse[light])
    # 1/p(y_i | others) is the mean of the raw ratios: the relative error of that mean.
    relative = np.sqrt((weights**2).sum(axis=2) - 1 / N_DRAW)
    gap = found.log_density - exact.log_density
    assert (np.abs(gap) < critical_z(gap.size) * relative)[light].all()


def test_without_arviz_the_way_on_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)  # as Python notes what cannot be imported
    with pytest.raises(SimstudyError, match=r"not installed.*simstudy\[loo\].*exact_leave_one_out"):
        smoothed_log_weights(np.zeros((1, 100)))
