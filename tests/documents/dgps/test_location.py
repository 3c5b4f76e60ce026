"""Draws around a mean: chunks change nothing, sufficient statistics follow the same law."""

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.dgps.location import (
    CHUNK,
    Bernoulli,
    ContaminatedNormal,
    Gamma,
    Gaussian,
    Lognormal,
    StudentT,
    sample_means,
    sample_moments,
)
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

ALL = [Gaussian(), StudentT(), Lognormal(), Gamma(), ContaminatedNormal(), Bernoulli()]
WITH_MEANS = [Gaussian(), Gamma(shape=0.5), Bernoulli(0.8)]
WITH_MOMENTS = [Gaussian(), Bernoulli(0.8)]
N_OBS = 7


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def plain_loop(dgp, n_rep: int, n_obs: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each sample, a cacheful of replicates at a time."""
    stream, means, variances = rng(), [], []
    left = n_rep
    while left:
        rows = min(left, max(1, CHUNK // n_obs))
        for x in dgp.draw(stream, rows, n_obs):
            mean = sum(x) / n_obs
            means.append(mean)
            variances.append(sum((value - mean) ** 2 for value in x) / (n_obs - 1))
        left -= rows
    return np.array(means), np.array(variances)


@pytest.mark.parametrize("dgp", ALL, ids=lambda d: type(d).__name__)
@pytest.mark.parametrize("n_obs", [2, 9000])
def test_sample_moments_are_those_of_a_plain_loop(dgp, n_obs):
    n_rep = CHUNK // n_obs + 3 if n_obs > 2 else 50
    mean, variance = plain_loop(dgp, n_rep, n_obs)
    got = sample_moments(dgp, rng(), n_rep, n_obs)
    np.testing.assert_allclose(got.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(got.variance, variance, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(sample_means(dgp, rng(), n_rep, n_obs), mean, rtol=1e-12)


def test_a_gaussian_sample_larger_than_a_chunk_is_drawn():
    assert sample_means(Gaussian(), rng(), 2, CHUNK + 5).shape == (2,)


ERROR = 0.02  # of a standard deviation of what is compared
N_REP = replicates_to_catch(ERROR, sd=1.0, comparisons=2)


@pytest.mark.parametrize("dgp", WITH_MEANS, ids=lambda d: type(d).__name__)
def test_sufficient_means_have_the_law_of_means(dgp):
    means = dgp.draw_means(rng(), N_REP, N_OBS)
    sd = np.sqrt(dgp.variance / N_OBS)
    assert_within_mcse(means.mean(), dgp.mean, sd / np.sqrt(N_REP), comparisons=2)
    raw = sample_means(dgp, rng(2), N_REP, N_OBS)
    below = raw < dgp.mean + sd, means < dgp.mean + sd
    share = below[0].mean()
    mcse = np.sqrt(2 * share * (1 - share) / N_REP)
    assert_within_mcse(below[1].mean(), share, mcse, comparisons=2)


@pytest.mark.parametrize("dgp", WITH_MOMENTS, ids=lambda d: type(d).__name__)
def test_sufficient_variances_have_the_law_of_variances(dgp):
    raw, law = (
        sample_moments(dgp, rng(3), N_REP, N_OBS).variance,
        dgp.draw_moments(rng(4), N_REP, N_OBS).variance,
    )
    spread = np.sqrt(2 * raw.var() / N_REP)
    assert_within_mcse(law.mean(), raw.mean(), spread, comparisons=2)
    share = (raw < dgp.variance).mean()
    mcse = np.sqrt(2 * share * (1 - share) / N_REP)
    assert_within_mcse((law < dgp.variance).mean(), share, mcse, comparisons=2)


def test_that_test_catches_the_wrong_degrees_of_freedom():
    shares = stats.chi2.cdf([N_OBS - 1, N_OBS], [N_OBS - 1, N_OBS])
    sd = np.sqrt(2 * shares[0] * (1 - shares[0]))
    n_rep = replicates_to_catch(shares[0] - shares[1], sd=sd, comparisons=2)
    raw = sample_moments(Gaussian(), rng(3), n_rep, N_OBS).variance
    wrong = Gaussian().variance * rng(4).chisquare(N_OBS, n_rep) / N_OBS  # n, not n - 1
    share = (raw < Gaussian().variance).mean()
    mcse = np.sqrt(2 * share * (1 - share) / n_rep)
    assert_caught((wrong < Gaussian().variance).mean(), share, mcse, comparisons=2)
