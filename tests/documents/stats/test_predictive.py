"""Normal predictive distributions against SciPy, integrals and Mills' ratio."""

import numpy as np
import pytest
from scipy import integrate, stats

from simstudy.documents.stats.predictive import (
    Normal,
    centered,
    fitted,
    log_p_value,
    mean_crps,
    pit_distance,
)

LAW, SCIPYS = Normal(0.5, 2.0), stats.norm(0.5, 2.0)
DRAWS, CENTER = np.random.default_rng(1).normal(size=(20, 5)), np.arange(5.0)


def test_p_values_are_twice_the_smaller_tail_or_one_of_them():
    y = np.linspace(-4, 5, 19)
    lower, upper = SCIPYS.cdf(y), SCIPYS.sf(y)
    known = {"both": 2 * np.minimum(lower, upper), "lower": lower, "upper": upper}
    for tail, p in known.items():
        np.testing.assert_allclose(np.exp(log_p_value(LAW, y, tail)), p, rtol=1e-10)
    np.testing.assert_array_equal(np.exp(log_p_value(LAW, y)), np.exp(log_p_value(LAW, 1 - y)))


def test_p_values_far_out_are_those_of_mills_ratio():
    """1/z (1 - 1/z²) below, 1/z above."""
    z = 1e4
    near = np.log(2) - z**2 / 2 - 0.5 * np.log(2 * np.pi) - np.log(z)
    found = log_p_value(Normal(0.0, 1.0), [z, -z])
    assert found[0] == found[1]
    assert near - 2 / z**2 < found[0] < near + 1e-9 * abs(near)


@pytest.mark.parametrize("y", [-3.0, 0.5, 1.0, 12.0])
def test_crps_is_its_integral(y):
    below = integrate.quad(lambda x: SCIPYS.cdf(x) ** 2, -np.inf, y, limit=200)[0]
    above = integrate.quad(lambda x: SCIPYS.sf(x) ** 2, y, np.inf, limit=200)[0]
    assert mean_crps(LAW, [y]) == pytest.approx(below + above, rel=1e-6)


def test_no_spread_is_a_point():
    point = Normal(np.ones(3), 0.0)
    np.testing.assert_allclose(np.exp(log_p_value(point, [0.0, 1.0, 2.0], "lower")), [0, 0.5, 1])
    assert mean_crps(point, [0.0, 1.0, 3.0]) == 1.0  # the mean absolute error


def test_bootstrap_predictions_give_mean_and_unbiased_spread_and_noise_its_variance():
    np.testing.assert_allclose(fitted(DRAWS).mean, DRAWS.mean(axis=0))
    np.testing.assert_array_equal(centered(DRAWS, CENTER).mean, CENTER)
    for plain, noisy in (
        (fitted(DRAWS), fitted(DRAWS, 2.0)),
        (centered(DRAWS, CENTER), centered(DRAWS, CENTER, 2.0)),
    ):
        np.testing.assert_allclose(plain.sd, DRAWS.std(axis=0, ddof=1))
        np.testing.assert_allclose(np.square(noisy.sd), np.square(plain.sd) + 4)


def test_distance_from_uniform_is_kolmogorovs():
    values = np.random.default_rng(1).random(30)
    assert pit_distance(values) == pytest.approx(stats.kstest(values, "uniform").statistic)
