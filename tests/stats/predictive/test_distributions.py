"""Predictive distributions against scipy, mpmath, integrals and plain counting."""

from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from simstudy.stats.predictive.distributions import Custom, Empirical, Normal, StudentT

Y = np.array([-30.0, -2.5, -0.1, 0.0, 0.7, 4.0, 25.0])
OURS = {
    "normal": (Normal(0.5, 2.0), stats.norm(0.5, 2.0)),
    "t": (StudentT(0.5, 2.0, 4.5), stats.t(4.5, 0.5, 2.0)),
    "custom": (
        Custom(stats.logistic(0.5, 2.0).cdf, stats.logistic(0.5, 2.0).sf),
        stats.logistic(0.5, 2.0),
    ),
}


@pytest.mark.parametrize(("ours", "scipys"), OURS.values(), ids=OURS)
class TestScipy:
    def test_tails(self, ours, scipys):
        np.testing.assert_allclose(ours.log_cdf(Y), scipys.logcdf(Y), rtol=1e-10)
        np.testing.assert_allclose(ours.log_sf(Y), scipys.logsf(Y), rtol=1e-10)

    def test_mean_and_quantiles(self, ours, scipys):
        q = np.array([0.001, 0.3, 0.5, 0.999])
        np.testing.assert_allclose(ours.quantile(q), scipys.ppf(q), rtol=1e-9)
        np.testing.assert_allclose(ours.mean, scipys.mean(), rtol=1e-8)

    def test_crps_is_its_integral(self, ours, scipys):
        for y in (-3.0, 0.5, 1.0, 12.0):
            below = integrate.quad(lambda x: scipys.cdf(x) ** 2, -np.inf, y, limit=200)[0]
            above = integrate.quad(lambda x: scipys.sf(x) ** 2, y, np.inf, limit=200)[0]
            assert float(ours.crps(y)) == pytest.approx(below + above, rel=1e-6)


# ---------------------------------------------------------------- far tails
MP = mpmath.mp.clone()
MP.dps = 50


def mp_log_t_below(t: float, df: float) -> float:
    x = MP.mpf(df) / (MP.mpf(df) + MP.mpf(t) ** 2)
    a = MP.mpf(df) / 2
    # The incomplete beta function by its hypergeometric series, which converges for x < 1.
    series = MP.hyp2f1(a, MP.mpf(1) / 2, a + 1, x)
    return float(a * MP.log(x) - MP.log(a) - MP.log(MP.beta(a, 0.5)) + MP.log(series) - MP.log(2))


@pytest.mark.parametrize(
    ("t", "df"), [(-1e100, 5.0), (-1e200, 1.5), (-1e30, 40.0), (-60.0, 1e5), (-300.0, 300.0)]
)
def test_t_tails_beyond_doubles_are_those_of_mpmath(t, df):
    known = mp_log_t_below(t, df)
    assert known < -300
    assert float(StudentT(0.0, 1.0, df).log_cdf(t)) == pytest.approx(known, rel=1e-11)
    assert float(StudentT(0.0, 1.0, df).log_sf(-t)) == pytest.approx(known, rel=1e-11)


def test_both_ways_to_a_t_tail_meet_where_they_change():
    df, t = 30.0, -np.geomspace(1e9, 1e10, 500)  # 1e-263 to 1e-293
    found = StudentT(0.0, 1.0, df).log_cdf(t)
    slope = np.diff(found) / np.diff(np.log(-t))
    np.testing.assert_allclose(slope, -df, rtol=1e-9)  # a power law, with no step in it


def test_normal_tails_beyond_doubles():
    """By Mills' ratio: 1/z (1 - 1/z²) below, 1/z above."""
    z = 1e4
    near = -(z**2) / 2 - 0.5 * np.log(2 * np.pi) - np.log(z)
    assert near - 2 / z**2 < float(Normal(0.0, 1.0).log_sf(z)) < near + 1e-9 * abs(near)


# ---------------------------------------------------------------- parameters that broadcast
@pytest.mark.parametrize("kind", [Normal, lambda mean, sd: StudentT(mean, sd, 7.0)])
def test_parameters_broadcast(kind):
    mean, sd, y = np.arange(3.0), np.array([[1.0], [2.0]]), np.linspace(-1, 3, 3)
    together = kind(mean, sd)
    for i, j in product(range(2), range(3)):
        alone = kind(mean[j], sd[i, 0])
        for ask in ("log_cdf", "log_sf", "crps"):
            assert getattr(together, ask)(y)[i, j] == getattr(alone, ask)(y[j])
        assert together.quantile(0.9)[i, j] == alone.quantile(0.9)


def test_no_spread_is_a_point():
    point = Normal(1.0, 0.0)
    np.testing.assert_allclose(np.exp(point.log_cdf([0.0, 1.0, 2.0])), [0, 0.5, 1])
    np.testing.assert_allclose(point.crps([0.0, 1.0, 3.0]), [1, 0, 2])


@pytest.mark.parametrize("df", [1e8, 1e10, 1e14, 1e18])
@pytest.mark.parametrize("t", [-40.0, -100.0, -1e4])
def test_far_tails_of_many_degrees_of_freedom(df, t):
    """Against the integral of the density beyond t, in units of its fall there."""
    with mpmath.workdps(60):
        at, n = mpmath.mpf(t), mpmath.mpf(df)
        log_height = mpmath.loggamma((n + 1) / 2) - mpmath.loggamma(n / 2)
        log_density = log_height - mpmath.log(n * mpmath.pi) / 2

        def beside(u):
            ratio = (1 + (at - u / abs(at)) ** 2 / n) / (1 + at**2 / n)
            return mpmath.exp(-(n + 1) / 2 * mpmath.log(ratio)) / abs(at)

        beyond = mpmath.log(mpmath.quad(beside, [0, 1, 5, 20, 80, 200]))
        exact = float(log_density - (n + 1) / 2 * mpmath.log(1 + at**2 / n) + beyond)
    assert float(StudentT(0.0, 1.0, df).log_cdf(t)) == pytest.approx(exact, rel=1e-13, abs=2e-9)


def test_heavy_tails_have_no_finite_score():
    assert StudentT(0.0, 1.0, [1.0, 0.4]).crps(0.0).tolist() == [np.inf, np.inf]


def test_a_distribution_function_that_is_missing_has_no_quantile():
    found = Custom(stats.norm([0.0, np.nan], 1.0).cdf).quantile(0.5)
    assert found[0] == pytest.approx(0, abs=1e-9)
    assert np.isnan(found[1])


# ---------------------------------------------------------------- draws
DRAWS = np.array([3.0, 1.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("y", "below"), [(0.0, 0), (1.0, 1), (1.5, 2), (2.0, 2.5), (3.0, 3.5), (9.0, 4)]
)
def test_ties_of_draws_count_half(y, below):
    plain = Empirical(DRAWS)
    assert np.exp(plain.log_cdf(y)) == pytest.approx(below / 4)
    assert np.exp(plain.log_sf(y)) == pytest.approx(1 - below / 4)


@pytest.mark.parametrize("y", [0.0, 1.0, 1.5, 2.0, 3.0, 9.0])
def test_a_value_among_the_draws_counts_whole_as_in_a_permutation_test(y):
    own, pooled = Empirical(DRAWS, with_value=True), [*DRAWS, y]
    assert np.exp(own.log_cdf(y)) == pytest.approx(sum(draw <= y for draw in pooled) / 5)
    assert np.exp(own.log_sf(y)) == pytest.approx(sum(draw >= y for draw in pooled) / 5)


def test_draws_have_the_mean_score_and_quantiles_of_plain_loops():
    draws, y = np.random.default_rng(1).normal(size=(3, 2, 11)), np.array([0.3, -2.0])
    ours = Empirical(draws)
    for i, j in product(range(3), range(2)):
        row = draws[i, j]
        apart = np.mean([abs(first - second) for first in row for second in row])
        assert ours.mean[i, j] == pytest.approx(row.mean())
        assert ours.crps(y)[i, j] == pytest.approx(np.abs(row - y[j]).mean() - apart / 2)
        for q in (0.01, 3 / 11, 0.5, 7 / 11, 0.99):
            known = min(value for value in row if (row <= value).sum() >= 11 * q - 1e-9)
            assert ours.quantile(q)[i, j] == known
