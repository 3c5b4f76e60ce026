"""Calibration: probability integral transforms, coverage and scores."""

import numpy as np
from scipy import stats

from simstudy.stats.predictive.calibration import coverage, covers, mean_crps, pit, pit_distance
from simstudy.stats.predictive.distributions import Empirical, Normal

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
