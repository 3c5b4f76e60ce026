import itertools

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from simstudy.documents.stats.two_stage import _kernels as kernels
from simstudy.documents.stats.two_stage.law import TwoStageStatistic, conditional_p_value
from tests.support import FALSE_ALARM, assert_caught, assert_within_mcse, replicates_to_catch

ACCURACY = 1e-10

NODES, WEIGHTS = special.roots_legendre(10)


def log_tail(x, k, ratio, null, *, upper):
    """Log tail by its definition: the integral over y of P(z2 - r*y <= x) phi(y - k), in logs.

    By Gauss and Legendre in 2000 panels, from where the integrand lies exp(-80) below its largest.
    """
    state, side, r = (-1 if null else 1), (-1 if upper else 1), np.sqrt(ratio)

    def log_integrand(y):  # y is the distance from the bound, in the state's own direction
        return stats.norm.logpdf(y - state * k) + special.log_ndtr(side * (x + state * r * y))

    far = abs(k) + abs(x) / r + 50
    mode = optimize.fminbound(lambda y: -log_integrand(y), 0, far, xtol=1e-9)
    floor = log_integrand(mode) - 80
    below = log_integrand(0.0) < floor
    low = optimize.brentq(lambda y: log_integrand(y) - floor, 0, mode) if below else 0.0
    high = optimize.brentq(lambda y: log_integrand(y) - floor, mode, far)
    ends = np.linspace(low, high, 2001)[:-1, np.newaxis]
    half = (high - low) / 4000
    terms = log_integrand(ends + half * (1 + NODES)) + np.log(half * WEIGHTS)
    return special.logsumexp(terms) - special.log_ndtr(state * k)


def held_to(log_found, log_true):
    """To ten digits of the probability, and of the logarithm itself."""
    np.testing.assert_allclose(np.exp(log_found), np.exp(log_true), rtol=ACCURACY, atol=1e-300)
    np.testing.assert_allclose(log_found, log_true, rtol=ACCURACY)


# ---------------------------------------------------------------- accuracy
@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("k", [-30, -8, -1, 0, 1.5, 4, 8, 30])
def test_both_tails_to_ten_digits(k, null):
    """In the tail that is the smaller; the other is its complement."""
    for ratio, z in itertools.product([1e-4, 0.1, 1, 3, 50, 1e4], [-25, -6, -0.7, 0.5, 6, 25]):
        law = TwoStageStatistic(k, 1, ratio, null=null)
        x = float(law.mean() + z * law.std())
        tails = [log_tail(x, k, ratio, null, upper=upper) for upper in (False, True)]
        smaller = int(np.argmin(tails))
        tails[1 - smaller] = np.log1p(-np.exp(tails[smaller]))
        held_to([law.logcdf(x), law.logsf(x)], tails)
        np.testing.assert_allclose([law.cdf(x), law.sf(x)], np.exp(tails), ACCURACY, 1e-300)


def test_that_test_catches_the_bivariate_route():
    """The textbook's bivariate normal probability over Phi(-k) loses its digits at k = 8."""
    law = stats.multivariate_normal(mean=[0, 0], cov=[[1, -(0.5**0.5)], [-(0.5**0.5), 1]])
    by_textbook = law.cdf([-8, (8 - 1) / 2**0.5]) / special.ndtr(-8)
    with pytest.raises(AssertionError):
        held_to(np.log(by_textbook), log_tail(-1.0, 8, 1, True, upper=False))


wide_k = st.floats(-30, 30)
wide_r = st.floats(-2, 2).map(lambda exponent: 10.0**exponent)
deviation = st.floats(-30, 30)  # from the mean, in standard deviations


@settings(max_examples=150, deadline=None)
@given(k=wide_k, r=wide_r, z=deviation)
@example(k=0.0, r=1.0, z=0.0)
@example(k=-2.0, r=1.0, z=-1.0)
@example(k=-25.0, r=100.0, z=-0.5)
@example(k=1.0, r=1.0000000000000002, z=-1e-9)
def test_states_average_to_the_unconditional_law(k, r, z):
    """P(false) F(x | false) + P(true) F(x | true) is normal, in both tails, to ten digits."""
    laws = [TwoStageStatistic(k, 1, r * r, null=null) for null in (False, True, None)]
    x = laws[2].mean() + laws[2].std() * z
    weights = special.log_ndtr([k, -k])
    for tail in ("logcdf", "logsf"):
        false, true, both = (getattr(law, tail)(x) for law in laws)
        average = np.logaddexp(weights[0] + false, weights[1] + true)
        assert abs(average - both) < ACCURACY


REACH = kernels.MAX_DISTANCE


@settings(max_examples=150, deadline=None)
@given(k=st.floats(-REACH, REACH), r=st.floats(0.01, kernels.MAX_RATIO), z=st.floats(-REACH, REACH))
@example(k=-REACH, r=kernels.MAX_RATIO, z=-2.5)
@example(k=-REACH, r=kernels.MAX_RATIO, z=0.5)
@example(k=REACH, r=kernels.MAX_RATIO, z=REACH)
def test_quick_and_careful_integrals_agree(k, r, z):
    law = TwoStageStatistic(k, 1, r * r, null=False)
    x = float(law.mean() + law.std() * z)
    careful = kernels._log_tail(x, k, float(law.r), False), kernels._log_tail(x, k, law.r, True)
    assert abs(law.logcdf(x) - careful[0]) < ACCURACY
    assert abs(law.logsf(x) - careful[1]) < ACCURACY


@pytest.mark.parametrize("k", [-24.0, -3.0, 0.0, 0.7, 5.0, 24.0])
def test_mass_of_a_strip_however_thin(k):
    for width in np.logspace(-14, 1, 61):
        y = width / (abs(k) + 1)
        with mp.workdps(60):
            expected = float(mp.ncdf(mp.mpf(y) - k) - mp.ncdf(-k))
        assert kernels._between(y, k) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("k", "ratio", "x", "upper"),
    [(1.5, 4, -2.3e6, False), (1.5, 4, -2.2e6, False), (-8, 0.1, 1.001e6, True)],
)
def test_tails_so_distant_that_only_the_exponent_counts(k, ratio, x, upper):
    law = TwoStageStatistic(k, 1, ratio)
    found = law.logsf(x) if upper else law.logcdf(x)
    assert found == pytest.approx(log_tail(x, k, ratio, False, upper=upper), rel=ACCURACY)


@pytest.mark.parametrize("null", [False, True])
def test_nothing_breaks_far_out(null):
    law = TwoStageStatistic(np.array([[-1000], [-8], [0], [8], [1000]]), 1, 3, null=null)
    x = np.r_[-np.logspace(99, -9, 28), 0, np.logspace(-9, 99, 28)]
    log_cdf, log_sf = law.logcdf(x), law.logsf(x)
    slack = 1e-9 * np.maximum(1, abs(log_cdf[:, 1:]))
    assert (np.diff(log_cdf) >= -slack).all()
    assert (np.diff(log_sf) <= 1e-9 * np.maximum(1, abs(log_sf[:, 1:]))).all()
    np.testing.assert_allclose(np.exp(log_cdf) + np.exp(log_sf), 1, rtol=1e-9)


def test_mirror_image():
    """Changing the sign of X, of k and of the state together changes nothing."""
    x, k = np.linspace(-9, 9, 19), np.array([[-3.0], [0.5], [8.0]])
    true, false = TwoStageStatistic(k, 2, 3, null=True), TwoStageStatistic(-k, 2, 3, null=False)
    np.testing.assert_array_equal(true.logcdf(x), false.logsf(-x))
    np.testing.assert_allclose(true.logpdf(x), false.logpdf(-x), rtol=1e-13)
    np.testing.assert_allclose(true.ppf(0.05), -false.isf(0.05), rtol=1e-13)


# ---------------------------------------------------------------- density and moments
@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize(("k", "ratio", "x"), [(0, 1, 0.3), (8, 1, -1), (-5, 9, 4), (1.5, 0.1, -2)])
def test_density_is_the_integral_of_the_joint_density(k, ratio, x, null):
    state, r = (-1 if null else 1), mp.sqrt(ratio)

    def joint(y):
        return mp.npdf(y - state * k) * mp.npdf(x + state * r * y)

    with mp.workdps(30):
        density = mp.quad(joint, [0, 1, 3, 6, 12, 30]) / mp.ncdf(state * k)
    found = TwoStageStatistic(k, 1, ratio, null=null).pdf(x)
    assert found == pytest.approx(float(density), rel=1e-12)


def test_unconditional_law_is_normal():
    law, k, r = TwoStageStatistic(1.5, 100, 300, null=None), 1.5, np.sqrt(3)
    normal = stats.norm(-r * k, 2)
    x, p = np.linspace(-30, 20, 11), np.array([1e-90, 0.05, 0.5, 0.99])
    for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"):
        np.testing.assert_allclose(getattr(law, name)(x), getattr(normal, name)(x), rtol=1e-12)
    np.testing.assert_allclose(law.ppf(p), normal.ppf(p), rtol=1e-12)
    np.testing.assert_allclose(law.isf(p), normal.isf(p), rtol=1e-12)
    assert law.mean() == pytest.approx(normal.mean())
    assert law.var() == pytest.approx(normal.var())


def exact_moments(k, ratio, null):
    """Mean and variance at 50 digits, where the textbook formulas have digits to lose."""
    with mp.workdps(50):
        k, state = mp.mpf(k), -1 if null else 1
        hazard = mp.npdf(k) / mp.ncdf(state * k)
        mean = k + state * hazard
        return -mp.sqrt(ratio) * mean, 1 + ratio * (1 - state * hazard * mean)


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("k", [-1000, -8, -3.001, -2.999, 0, 2.999, 3.001, 30])
def test_moments_of_a_truncated_normal(k, null):
    law = TwoStageStatistic(k, 1, 10_000, null=null)
    mean, variance = exact_moments(k, 10_000, null)
    assert float(law.mean()) == pytest.approx(float(mean), rel=1e-13)
    assert float(law.var()) == pytest.approx(float(variance), rel=1e-12)
    assert law.std() == np.sqrt(law.var())


# ---------------------------------------------------------------- quantiles
K = np.array([-30, -8, -1, 0, 1.5, 8, 30])[:, np.newaxis, np.newaxis]
RATIO = np.array([1e-4, 0.1, 1, 3, 50, 1e4])[:, np.newaxis]


@pytest.mark.parametrize("null", [False, True, None])
def test_quantile_inverts_each_tail(null):
    law = TwoStageStatistic(K, 1, RATIO, null=null)
    p = np.array([1e-300, 1e-90, 1e-10, 0.05, 0.5, 0.632, 0.9, 1 - 1e-12])
    np.testing.assert_allclose(law.cdf(law.ppf(p)), np.broadcast_to(p, (7, 6, 8)), rtol=ACCURACY)
    np.testing.assert_allclose(law.sf(law.isf(p)), np.broadcast_to(p, (7, 6, 8)), rtol=ACCURACY)


def test_ends_of_the_quantile_function():
    law = TwoStageStatistic([-3, 3], 1, 2, null=True)
    np.testing.assert_array_equal(law.ppf(0), [-np.inf, -np.inf])
    np.testing.assert_array_equal(law.ppf(1), [np.inf, np.inf])
    np.testing.assert_array_equal(law.isf(0), [np.inf, np.inf])
    assert np.isnan(law.ppf(np.nan)).all()
    low, high = law.interval(0.9)
    np.testing.assert_allclose(law.cdf(high) - law.cdf(low), 0.9)
    np.testing.assert_allclose(law.cdf(law.median()), 0.5)


# ---------------------------------------------------------------- draws
@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("k", [-8.0, 0.0, 1.5, 8.0])
def test_draws_invert_a_truncated_normal(k, null):
    draws = TwoStageStatistic(k, 1, 4, null=null).rvs(500, rng=np.random.default_rng(5))
    rng, state = np.random.default_rng(5), -1 if null else 1
    z2, u = rng.standard_normal(500), rng.random(500)
    y = stats.truncnorm.isf(1 - u, -state * k, np.inf, loc=state * k)
    np.testing.assert_allclose(draws, z2 - 2 * state * y, rtol=1e-9, atol=1e-9)


def test_unconditional_draws_are_the_two_normals():
    draws = TwoStageStatistic(1.5, 1, 4, null=None).rvs((3, 5), rng=np.random.default_rng(5))
    rng = np.random.default_rng(5)
    z2, z1 = rng.standard_normal((3, 5)), rng.standard_normal((3, 5))
    np.testing.assert_allclose(draws, z2 - 2 * (z1 + 1.5))


# ---------------------------------------------------------------- a trial
P_SD = np.sqrt(1 / 12)  # of a uniform p-value
N_TRIAL = replicates_to_catch(0.02, sd=P_SD)
FARTHEST = np.sqrt(np.log(2 / FALSE_ALARM) / 2 / N_TRIAL)  # Dvoretzky, Kiefer & Wolfowitz (1956)


def p_values_of_trials(swap):
    """Simulate both stages from raw normals; the bound falls on either side of the mean."""
    rng, n1, n2, sd, mu = np.random.default_rng(3), 5, 15, np.sqrt(2), 3.0
    stage1 = mu + sd * rng.standard_normal((N_TRIAL, n1))
    stage2 = mu + sd * rng.standard_normal((N_TRIAL, n2))
    mu0 = stage1.mean(axis=1) + 0.5 * sd / np.sqrt(n1)
    s2 = (stage2.mean(axis=1) - mu0) / (sd / np.sqrt(n2))
    return conditional_p_value(s2, (mu0 > mu) ^ swap, 0.5, n1, n2)


def test_p_values_of_simulated_trials_are_uniform():
    p = p_values_of_trials(swap=False)
    assert_within_mcse(p.mean(), 0.5, P_SD / np.sqrt(N_TRIAL))
    assert stats.kstest(p, "uniform").statistic < FARTHEST
    # Caught: the states exchanged.
    p = p_values_of_trials(swap=True)
    assert_caught(p.mean(), 0.5, P_SD / np.sqrt(N_TRIAL))
    assert stats.kstest(p, "uniform").statistic > FARTHEST


def test_p_values_are_the_cdf_of_each_state():
    rng = np.random.default_rng(8)
    s2, false = rng.normal(-1, 3, 40), rng.random(40) < 0.5
    k = rng.uniform(-1, 3, 40)
    one_by_one = [
        TwoStageStatistic(k[i], 100, 300, null=not false[i]).cdf(s2[i]) for i in range(40)
    ]
    np.testing.assert_array_equal(conditional_p_value(s2, false, k, 100, 300), one_by_one)
