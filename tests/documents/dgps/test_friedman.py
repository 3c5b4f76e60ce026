"""Friedman's function against a plain loop, and the noise about it."""

import numpy as np

from simstudy.documents.dgps.friedman import Friedman
from tests.support import assert_within_mcse


def test_it_is_the_published_function():
    features = np.random.default_rng(1).random((3, 4, 6))
    found = Friedman(n_feature=6).mean_of(features)
    for rep, obs in np.ndindex(3, 4):
        a, b, c, d, e, _ = features[rep, obs]
        expected = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
        np.testing.assert_allclose(found[rep, obs], expected, rtol=4 * np.finfo(float).eps)


def test_noise_is_about_the_mean_of_the_features():
    process = Friedman(n_feature=5, noise_sd=3.0)
    drawn = process.sample(np.random.default_rng(4), 400, 50)
    noise = (drawn.y - process.mean_of(drawn.features)) / 3.0
    assert_within_mcse((noise**2).mean(), 1.0, np.sqrt(2 / noise.size))
