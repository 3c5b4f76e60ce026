"""Predictive distributions against scipy, mpmath, integrals and counts; p-values; calibration."""

from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from simstudy.documents.stats.predictive.bootstrap import centered, fitted
from simstudy.documents.stats.predictive.calibration import coverage, covers, pit_distance
from simstudy.documents.stats.predictive.distributions import Normal, StudentT
from simstudy.documents.stats.predictive.p_values import log_p_value, p_value

Y = np.array([-30.0, -2.5, -0.1, 0.0, 0.7, 4.0, 25.0])
OURS = {
    "normal": (Normal(0.5, 2.0), stats.norm(0.5, 2.0)),
    "t": (StudentT(0.5, 2.0, 4.5), stats.t(4.5, 0.5, 2.0)),
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


# ---------------------------------------------------------------- p-values
def test_it_is_twice_the_smaller_tail():
    y = np.linspace(-4, 5, 19)
    known = [2 * min(stats.norm.cdf(v, 1, 2), 1 - stats.norm.cdf(v, 1, 2)) for v in y]
    np.testing.assert_allclose(p_value(Normal(1.0, 2.0), y), known, rtol=1e-10)


def test_tails():
    upper, lower = (p_value(Normal(0.0, 1.0), 1.0, tail=tail) for tail in ("upper", "lower"))
    assert upper == pytest.approx(stats.norm.sf(1))
    assert lower == pytest.approx(stats.norm.cdf(1))


def test_it_does_not_underflow():
    found = log_p_value(Normal(0.0, 1.0), [50.0, -50.0])
    assert found[0] == found[1] == pytest.approx(np.log(2) + stats.norm.logsf(50))
    assert p_value(Normal(0.0, 1.0), 50.0) == 0


# ---------------------------------------------------------------- bootstrap predictions
PREDICTIONS = np.random.default_rng(1).normal(size=(3, 20, 5))
CENTER = np.arange(15.0).reshape(3, 5)


def test_mean_and_unbiased_spread():
    found = fitted(PREDICTIONS)
    np.testing.assert_allclose(found.mean, PREDICTIONS.mean(axis=1))
    np.testing.assert_allclose(found.sd, PREDICTIONS.std(axis=1, ddof=1))


def test_residual_noise_adds_its_variance():
    for found in (
        fitted(PREDICTIONS, residual_sd=2.0),
        centered(PREDICTIONS, CENTER, residual_sd=2.0),
    ):
        np.testing.assert_allclose(found.sd**2, fitted(PREDICTIONS).sd ** 2 + 4)
    each = np.full((3, 1), 2.0)
    np.testing.assert_array_equal(
        fitted(PREDICTIONS, residual_sd=each).sd, fitted(PREDICTIONS, residual_sd=2.0).sd
    )


# ---------------------------------------------------------------- calibration
OBSERVED = np.random.default_rng(1).normal(size=(4, 30))
MODEL = Normal(0.2, 1.1)


def test_coverage_counts_values_between_the_quantiles():
    lower, upper = MODEL.quantile(0.1), MODEL.quantile(0.9)
    inside = (lower <= OBSERVED) & (upper >= OBSERVED)
    np.testing.assert_array_equal(covers(MODEL, OBSERVED, level=0.8), inside)
    np.testing.assert_allclose(coverage(MODEL, OBSERVED, level=0.8), inside.mean(axis=1))


def test_coverage_is_unknown_where_a_value_is_missing():
    found = coverage(Normal(0.0, 1.0), np.array([[0.1, np.nan], [0.1, 9.0]]), level=0.9)
    np.testing.assert_array_equal(found, [np.nan, 0.5])


def test_distance_from_uniform_is_kolmogorovs():
    values = np.exp(MODEL.log_cdf(OBSERVED))
    known = [stats.kstest(row, "uniform").statistic for row in values]
    np.testing.assert_allclose(pit_distance(values), known, rtol=1e-12)
