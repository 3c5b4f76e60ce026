"""Combined p-values against scipy where these do not underflow, and mpmath beyond."""

import mpmath
import numpy as np
import pytest
from scipy import stats

from simstudy.documents.stats.compatible.combining import COMBINERS, stouffer
from simstudy.errors import DesignError

SCIPY = {"fisher": "fisher", "stouffer": "stouffer", "minimum": "tippett"}
MP = mpmath.mp.clone()
MP.dps = 60


def lists(n: int) -> np.ndarray:
    p = np.random.default_rng(n).random((6, n))
    p[1] **= 8
    p[2] = 1 - p[2] ** 8
    return p


@pytest.mark.parametrize("n", [1, 2, 168])
@pytest.mark.parametrize("name", SCIPY)
def test_scipy_agrees_where_it_does_not_underflow(name, n):
    p = lists(n)
    known = stats.combine_pvalues(p, method=SCIPY[name], axis=1).pvalue
    np.testing.assert_allclose(np.exp(COMBINERS[name](np.log(p))), known, rtol=1e-9, atol=1e-300)


def test_weighted_stouffer_is_scipys():
    p, weights = lists(5), np.array([1.0, 2.0, 3.0, 0.5, 1.0])
    known = stats.combine_pvalues(p, method="stouffer", axis=1, weights=weights).pvalue
    found = np.exp(stouffer(np.log(p), weights=weights))
    np.testing.assert_allclose(found, known, rtol=1e-9)


# ---------------------------------------------------------------- with 60 digits
def mp_fisher(log_p):
    half = -sum(log_p)
    return sum(MP.exp(k * MP.log(half) - MP.loggamma(k + 1)) for k in range(len(log_p))) * MP.exp(
        -half
    )


def mp_cauchy(log_p):
    total = sum(MP.cot(MP.pi * MP.exp(value)) for value in log_p) / len(log_p)
    return MP.acot(total) / MP.pi if total > 0 else 1 + MP.acot(total) / MP.pi


def mp_minimum(log_p):
    return -MP.expm1(len(log_p) * MP.log1p(-MP.exp(min(log_p))))


def mp_harmonic_mean(log_p):
    """Landau's tail as the integral of a Laplace transform, for inverses far above its center."""
    n = len(log_p)
    inverse = sum(MP.exp(-value) for value in log_p) / n
    at = inverse - MP.log(n) - 1 + MP.euler

    def integrand(u):
        t = u / at
        return MP.exp(-u - t * MP.log(t)) * MP.sin(MP.pi * t) / u

    return MP.quad(integrand, [0, 1e-6, 1e-3, 1, 10, 40, 100]) / MP.pi


MPMATH = {
    "fisher": mp_fisher,
    "cauchy": mp_cauchy,
    "minimum": mp_minimum,
    "harmonic_mean": mp_harmonic_mean,
}
SMALL = {
    "168 of 1e-12": [np.log(1e-12)] * 168,
    "mixed": [-1e-3, -2.0, -50.0, -1000.0],
    "far beyond": [-1e5, -0.5, -3e5],
}


@pytest.mark.parametrize("case", SMALL)
@pytest.mark.parametrize("name", MPMATH)
def test_mpmath_agrees_where_p_itself_would_underflow(name, case):
    log_p = SMALL[case]
    known = MP.log(MPMATH[name]([MP.mpf(value) for value in log_p]))
    assert float(COMBINERS[name](np.array(log_p))) == pytest.approx(float(known), rel=1e-10)


def test_stouffer_far_beyond_is_a_normal_tail():
    """168 equal scores z make √168 z; both tails by the asymptotic series of Mills' ratio."""
    z = 20.0
    log_p = float(stats.norm.logsf(z))
    known = stats.norm.logsf(np.sqrt(168) * z)
    assert known < -30_000
    assert float(stouffer(np.full(168, log_p))) == pytest.approx(known, rel=1e-10)


@pytest.mark.parametrize("name", COMBINERS)
class TestAll:
    def test_one_p_value_is_itself(self, name):
        log_p = np.array([[-1e-5], [-0.5], [-40.0], [-1e4]])
        np.testing.assert_allclose(COMBINERS[name](log_p), log_p[:, 0], rtol=1e-9)

    def test_a_zero_gives_zero_and_nothing_warns(self, name):
        assert COMBINERS[name](np.array([-np.inf, -0.5, -1.0])) == -np.inf

    def test_all_ones_give_one(self, name):
        # The harmonic mean's law is one of a limit: its own tail there is not 1.
        near = 0.1 if name == "harmonic_mean" else 1e-12
        assert float(COMBINERS[name](np.zeros(50))) == pytest.approx(0, abs=near)

    def test_leading_axes_do_not_matter(self, name):
        log_p = np.log(lists(4))
        together = COMBINERS[name](log_p)
        np.testing.assert_array_equal(COMBINERS[name](log_p.reshape(2, 3, 4)).ravel(), together)
        assert COMBINERS[name](log_p[1]) == together[1]

    def test_a_missing_one_costs_its_list_alone(self, name):
        log_p = np.log(lists(4))
        log_p[3, 1] = np.nan
        assert np.isnan(COMBINERS[name](log_p)).tolist() == [i == 3 for i in range(6)]

    def test_p_itself_is_refused(self, name):
        with pytest.raises(DesignError, match=r"log_p=0\.5 is above 0.*give np\.log\(p\)"):
            COMBINERS[name](np.array([0.5, 0.1]))


@pytest.mark.parametrize("n", [2, 5, 40])
def test_near_1_fishers_p_keeps_its_digits(n):
    log_p = np.full(n, np.log1p(-1e-3))
    half = -mpmath.mpf(float(log_p.sum()))
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.gammainc(n, half, mpmath.inf, regularized=True))
    assert COMBINERS["fisher"](log_p) == pytest.approx(float(exact), rel=1e-12)
