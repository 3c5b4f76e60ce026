"""Distributions from bootstrap predictions, too narrow without the residual noise; calibration."""

import numpy as np
import pytest
from scipy import stats

from simstudy.stats.predictive.bootstrap import centered, fitted
from simstudy.stats.predictive.calibration import coverage, covers, mean_crps, pit, pit_distance
from simstudy.stats.predictive.distributions import Empirical, Normal
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

DRAWS = np.random.default_rng(1).normal(size=(3, 20, 5))
CENTER = np.arange(15.0).reshape(3, 5)


def test_mean_and_unbiased_spread():
    found = fitted(DRAWS)
    for rep in range(3):
        for obs in range(5):
            values = DRAWS[rep, :, obs].tolist()
            mean = sum(values) / 20
            variance = sum((value - mean) ** 2 for value in values) / 19
            assert found.mean[rep, obs] == pytest.approx(mean)
            assert found.sd[rep, obs] == pytest.approx(variance**0.5)


def test_residual_noise_adds_its_variance():
    for found in (fitted(DRAWS, residual_sd=2.0), centered(DRAWS, CENTER, residual_sd=2.0)):
        np.testing.assert_allclose(found.sd**2, fitted(DRAWS).sd ** 2 + 4)
    each = np.full((3, 1), 2.0)
    np.testing.assert_array_equal(
        fitted(DRAWS, residual_sd=each).sd, fitted(DRAWS, residual_sd=2.0).sd
    )


# ---------------------------------------------------------------- coverage
ERROR, LEVEL = 0.02, 0.9
SD = np.sqrt(LEVEL * (1 - LEVEL))
N = replicates_to_catch(ERROR, sd=SD)
RESIDUAL, FUNCTION = 1.0, 0.5  # standard deviations of an observation, and of what is trained


def covered(residual_sd: float) -> float:
    """Of observations about a function that the trained and the bootstrap models miss alike."""
    rng, n_boot = np.random.default_rng(2), 400
    draws = FUNCTION * rng.normal(size=(n_boot, N))
    center = FUNCTION * rng.normal(size=N)
    y = RESIDUAL * rng.normal(size=N)
    return float(coverage(centered(draws, center, residual_sd=residual_sd), y, level=LEVEL))


def test_with_the_residual_noise_intervals_cover():
    assert_within_mcse(covered(RESIDUAL), LEVEL, SD / np.sqrt(N))
    # Caught: no residual noise.
    assert_caught(covered(0.0), LEVEL, SD / np.sqrt(N))


# ---------------------------------------------------------------- calibration
Y = np.random.default_rng(1).normal(size=(4, 30))
MODEL = Normal(0.2, 1.1)


def test_distance_from_uniform_is_kolmogorovs():
    values = pit(MODEL, Y)
    known = [stats.kstest(row, "uniform").statistic for row in values]
    np.testing.assert_allclose(pit_distance(values), known, rtol=1e-12)


def test_coverage_counts_values_between_the_quantiles():
    lower, upper = MODEL.quantile(0.1), MODEL.quantile(0.9)
    inside = (lower <= Y) & (upper >= Y)
    np.testing.assert_array_equal(covers(MODEL, Y, level=0.8), inside)
    np.testing.assert_allclose(coverage(MODEL, Y, level=0.8), inside.mean(axis=1))


def test_many_draws_score_as_their_law():
    """The score of n draws is that of the law and E|X - X'| / (2 n) more, here 1/(n √π)."""
    n = 20_001
    draws = stats.norm.ppf((np.arange(n) + 0.5) / n)  # no chance in them
    found, known = (mean_crps(each, Y) for each in (Empirical(draws), Normal(0.0, 1.0)))
    np.testing.assert_allclose(found, known, atol=1 / n)


def test_coverage_is_unknown_where_a_value_is_missing():
    found = coverage(Normal(0.0, 1.0), np.array([[0.1, np.nan], [0.1, 9.0]]), level=0.9)
    np.testing.assert_array_equal(found, [np.nan, 0.5])
