import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from simstudy.stats.two_stage import _kernels as kernels
from simstudy.stats.two_stage.law import TwoStageStatistic, conditional_p_value
from tests.support import FALSE_ALARM, assert_caught, assert_within_mcse, replicates_to_catch

ACCURACY = 1e-10

# k, n2/n1, x, null is true, log cdf, log sf: `log_tail` below at 30 digits, rounded to doubles.
# Of two tails the one near 1 is the complement of the other.
TABLE: tuple[tuple[float, float, float, bool, float, float], ...] = (
    (8, 1, -1.0, True, -2.019514369581093, -0.14239328892531877),
    (-30, 0.1, -0.5105, False, -1.1758604956128527, -0.36896929153544583),
    (-30, 3, 39.96, True, -20.74146269635417, -9.819677042311785e-10),
    (-30, 50, 20.31, False, -9.040445042084725e-93, -211.93870524493482),
    (-8, 0.0001, 2.08, True, -0.023018434268592777, -3.7829470343543137),
    (-8, 1, 0.3822, False, -0.369118855268176, -1.1755254148834864),
    (-8, 6.8, 15.28, True, -3.7795753584644713, -0.023097080698074816),
    (-8, 10000, -252.3, False, -23.62907930151701, -5.470427251094928e-11),
    (-1, 0.1, 6.593, True, -1.2867978989316912e-09, -20.471108953993852),
    (-1, 3, 1.618, False, -0.01571118472624132, -4.161227724650139),
    (-1, 50, 6.255, True, -1.0451296776669796, -0.433318768280877),
    (0, 0.0001, -6.008, False, -20.736219997863937, -9.871293835756315e-10),
    (0, 1, 24.15, True, -2.2155564536792064e-65, -148.8725274520438),
    (0, 6.8, 9.098, False, -1.5094240526713213e-21, -47.94255879688),
    (0, 10000, 109.9, True, -0.31716860278773645, -1.3027180892528327),
    (1.5, 0.1, -2.594, False, -3.774393287494666, -0.023218486010232648),
    (1.5, 3, -23.31, True, -278.8243885446103, -8.092945859222361e-122),
    (1.5, 50, 114.3, False, -0.0, -6546.570772138783),
    (4, 0.0001, 2.002, True, -0.023027318906604727, -3.782565554847743),
    (4, 1, -4.707, False, -1.1757939341182053, -0.3689989955789285),
    (4, 6.8, -6.298, True, -24.226988748093866, -3.008517025683412e-11),
    (4, 10000, -2400.0, False, -203.89707594858507, -2.809474142365673e-89),
    (8, 0.1, 6.043, True, -9.889523858894387e-10, -20.73437492965042),
    (8, 3, -12.86, False, -0.3698620890138753, -1.1738626882574263),
    (8, 50, -1.762, True, -4.367999694547294, -0.012757605527042),
    (30, 0.0001, -6.3, False, -20.734921587661592, -9.884119148846208e-10),
    (30, 1, 20.04, True, -3.667318837488858e-89, -203.63061244338618),
    (30, 6.8, -72.64, False, -0.022919447518122225, -3.7872073285301937),
    (30, 10000, 1.591, True, -1.0233580728302882, -0.44532829209021835),
)  # fmt: skip


def log_tail(x, k, ratio, null, *, upper):
    """Log tail by its definition: the integral over y of P(z2 - r*y <= x) phi(y - k)."""
    x, k, r = mp.mpf(x), mp.mpf(k), mp.sqrt(mp.mpf(ratio))
    state, side = (-1 if null else 1), (-1 if upper else 1)

    def integrand(y):  # y is the distance from the bound, in the state's own direction
        return mp.npdf(y - state * k) * mp.ncdf(side * (x + state * r * y))

    low, mode, high = _support(lambda y: mp.log(integrand(y)))
    inside = [low + (high - low) * mp.mpf(i) / 8 for i in range(1, 8)]
    inside += [-state * x / r + mp.mpf(j) / r for j in (-8, -4, 0, 4, 8)]
    points = [low, *sorted(point for point in inside if low < point < high), high]
    scale = integrand(mode) * (high - low) / 1000  # mpmath stops at an absolute error
    total = mp.quad(lambda y: integrand(y) / scale, points, method="gauss-legendre", maxdegree=6)
    return mp.log(total * scale) - mp.log(mp.ncdf(state * k))


def _support(log_integrand):
    """Mode on [0, inf) of a concave function, and where it lies 80 below."""
    mode = _last(lambda y: mp.diff(log_integrand, y, h=mp.mpf(10) ** -12) > 0, mp.mpf(0))
    floor = log_integrand(mode) - 80
    high = _last(lambda y: log_integrand(y) > floor, mode)
    low = mode - _last(lambda d: d < mode and log_integrand(mode - d) > floor, mp.mpf(0))
    return max(low, mp.mpf(0)), mode, high


def _last(holds, start):
    """Where a condition that holds up to some point beyond `start` ends, to a thousandth."""
    if not holds(start):
        return start
    step = mp.mpf(10) ** -9
    while holds(start + step):
        step *= 2
    low, high = start + step / 2, start + step
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def relative_error(log_found, log_true):
    """Of a probability whose logarithm is given; of the logarithm itself where that is harder."""
    on_probability = abs(np.expm1(log_found - log_true))
    return on_probability if log_true == 0 else max(on_probability, abs(log_found / log_true - 1))


def bivariate_route(x, k, ratio, null):
    """The textbook cdf: a bivariate normal probability over Phi(s*k)."""
    r, s = np.sqrt(ratio), -1 if null else 1
    rho = s * r / np.hypot(1, r)
    law = stats.multivariate_normal(mean=[0, 0], cov=[[1, rho], [rho, 1]])
    return law.cdf([s * k, (x + r * k) / np.hypot(1, r)]) / special.ndtr(s * k)


# ---------------------------------------------------------------- accuracy
def statistic(row):
    return TwoStageStatistic(row[0], 1, row[1], null=row[3])


@pytest.mark.parametrize("row", TABLE[::5], ids=str)
def test_table_is_what_the_definition_gives(row):
    k, ratio, x, null, log_cdf, log_sf = row
    with mp.workdps(30):
        for upper, tabulated in ((False, log_cdf), (True, log_sf)):
            recomputed = float(log_tail(x, k, ratio, null, upper=upper))
            assert tabulated == pytest.approx(recomputed, rel=1e-14, abs=1e-17)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_both_tails_to_ten_digits(row):
    _, _, x, _, log_cdf, log_sf = row
    law = statistic(row)
    assert relative_error(law.logcdf(x), log_cdf) < ACCURACY
    assert relative_error(law.logsf(x), log_sf) < ACCURACY
    np.testing.assert_allclose(law.cdf(x), np.exp(log_cdf), rtol=ACCURACY, atol=1e-300)
    np.testing.assert_allclose(law.sf(x), np.exp(log_sf), rtol=ACCURACY, atol=1e-300)


def test_table_rejects_the_bivariate_route():
    k, ratio, x, null, log_cdf, _ = next(row for row in TABLE if row[:4] == (8.0, 1.0, -1.0, True))
    assert relative_error(np.log(bivariate_route(x, k, ratio, null)), log_cdf) > 0.3


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
    with mp.workdps(50):
        expected = float(log_tail(x, k, ratio, False, upper=upper))
    assert (law.logsf(x) if upper else law.logcdf(x)) == pytest.approx(expected, rel=ACCURACY)


@pytest.mark.parametrize("null", [False, True])
def test_nothing_breaks_far_out(null):
    law = TwoStageStatistic(np.array([[-1000], [-8], [0], [8], [1000]]), 1, 3, null=null)
    x = np.r_[-np.logspace(99, -9, 28), 0, np.logspace(-9, 99, 28)]
    log_cdf, log_sf = law.logcdf(x), law.logsf(x)
    slack = 1e-9 * np.maximum(1, abs(log_cdf[:, 1:]))
    assert (np.diff(log_cdf) >= -slack).all()
    assert (np.diff(log_sf) <= 1e-9 * np.maximum(1, abs(log_sf[:, 1:]))).all()
    np.testing.assert_allclose(np.exp(log_cdf) + np.exp(log_sf), 1, rtol=1e-9)


def test_against_owens_t():
    """Owen (1956): where Phi(s*k) is not small, two of his T functions give the law as well."""
    k, r = 0.7, 1.3
    x = np.linspace(-6, 3, 50)
    scale = np.hypot(1, r)
    h = (x + r * k) / scale
    joint = (special.ndtr(h) + special.ndtr(k)) / 2 - np.where(h * k < 0, 0.5, 0)
    joint -= special.owens_t(h, (k / h - r / scale) * scale)
    joint -= special.owens_t(k, (h / k - r / scale) * scale)
    found = TwoStageStatistic(k, 1, r * r, null=False).cdf(x)
    np.testing.assert_allclose(found, joint / special.ndtr(k), atol=1e-14)


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


@pytest.mark.parametrize("null", [False, True, None])
def test_quantile_of_a_probability_below_any_float(null):
    law = TwoStageStatistic(K, 1, RATIO, null=null)
    log_p = np.array([-1e5, -2000.0, -1.0, -1e-5, -1e-20])
    expected = np.broadcast_to(log_p, (7, 6, 5))
    np.testing.assert_allclose(law.logcdf(law.ilogcdf(log_p)), expected, rtol=ACCURACY)
    np.testing.assert_allclose(law.logsf(law.ilogsf(log_p)), expected, rtol=ACCURACY)


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
