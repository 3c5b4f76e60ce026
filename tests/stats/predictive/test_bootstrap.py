"""Distributions from bootstrap predictions, by loops; too narrow without the residual noise."""

import numpy as np
import pytest

from simstudy.stats.predictive.bootstrap import centered, fitted
from simstudy.stats.predictive.calibration import coverage
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
