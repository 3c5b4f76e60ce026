"""Friedman's function: a plain loop, its mean by theory, and what is refused."""

import numpy as np
import pytest
from scipy import special

from simstudy.dgps.friedman import Friedman
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch


def test_it_is_the_published_function():
    features = np.random.default_rng(1).random((3, 4, 6))
    found = Friedman(n_feature=6).mean_of(features)
    for rep, obs in np.ndindex(3, 4):
        a, b, c, d, e, _ = features[rep, obs]
        expected = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
        np.testing.assert_allclose(found[rep, obs], expected, rtol=4 * np.finfo(float).eps)


def mean_and_variance(noise_sd):
    """By integrals: of sin(πuv) over the square, and of its square by a fine midpoint rule."""
    sine = (np.euler_gamma + np.log(np.pi) - special.sici(np.pi)[1]) / np.pi
    middle = (np.arange(2000) + 0.5) / 2000
    square = (np.sin(np.pi * np.outer(middle, middle)) ** 2).mean()
    variance = 100 * (square - sine**2) + 400 / 180 + 100 / 12 + 25 / 12 + noise_sd**2
    return 10 * sine + 20 / 12 + 5 + 2.5, variance


@pytest.mark.parametrize("off", [0.0, 0.1])
def test_its_mean_is_that_of_theory(off):
    mean, variance = mean_and_variance(noise_sd=2.0)
    n = replicates_to_catch(0.1, sd=np.sqrt(variance))
    y = Friedman(noise_sd=2.0).sample(np.random.default_rng(3), n // 50, 50).y
    mcse = np.sqrt(variance / y.size)
    if not off:
        assert_within_mcse(y.mean(), mean, mcse)
        return
    assert_caught(y.mean(), mean + 2 * off, mcse)


def test_noise_is_about_the_mean_of_the_features():
    process = Friedman(n_feature=5, noise_sd=3.0)
    drawn = process.sample(np.random.default_rng(4), 400, 50)
    noise = (drawn.y - process.mean_of(drawn.features)) / 3.0
    assert_within_mcse((noise**2).mean(), 1.0, np.sqrt(2 / noise.size))
