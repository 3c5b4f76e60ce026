"""Smooth functions of means: exact gradients, and no digits lost to a large mean."""

import math

import mpmath
import numpy as np
import pytest

from simstudy import measures as m
from simstudy.measures.moments import gradient

N_REP = 40
SPREAD = {
    "variance": m.variance("x"),
    "empirical_se": m.empirical_se("x"),
    "relative_error": m.relative_error_model_se("x", "se"),
    "standardised_bias": m.standardised_bias("x", "truth"),
    "relative_precision": m.relative_precision("pair"),
}
FAR = 1e9  # mean, in standard deviations: its square has 18 digits


def far_columns():
    rng = np.random.default_rng(1)
    pair = FAR + np.round(rng.standard_normal((N_REP, 2)) * 2**10) / 2**10  # exact as doubles
    return {"x": pair[:, 0], "pair": pair, "se": np.ones(N_REP), "truth": np.array(FAR - 1)}


def near(columns):
    return {name: column - FAR * (name != "se") for name, column in columns.items()}


@pytest.mark.parametrize("name", SPREAD)
def test_a_mean_far_above_the_spread_costs_no_digits(name):
    columns = far_columns()
    one, two = (SPREAD[name].estimate(data) for data in (columns, near(columns)))
    np.testing.assert_allclose(one[:4], two[:4], rtol=1e-7)  # rounding of the mean: 1e-16 * FAR


def test_the_one_pass_formula_would_fail_that_test():
    x = far_columns()["x"]
    assert (x * x).mean() - x.mean() ** 2 != pytest.approx(x.var(), rel=1e-2)


def test_the_gradient_is_exact():
    """Complex steps against mpmath, where differences would keep half of the digits."""

    def value(means, n):
        return np.sqrt(means[1] - means[0] * means[0]) / means[2] * (n / (n - 1.0))

    point = (0.3, 1.7, 0.9)
    slopes = gradient(value, tuple(np.asarray(v) for v in point), np.asarray(10))
    mpmath.mp.dps = 40

    def exact(a, b, c):
        return mpmath.sqrt(b - a * a) / c * mpmath.mpf(10) / 9

    for k, slope in enumerate(slopes):
        order = tuple(int(j == k) for j in range(3))
        assert float(slope) == pytest.approx(float(mpmath.diff(exact, point, order)), rel=1e-14)


def test_a_measure_of_ones_own_is_its_terms_and_its_value():
    """Skewness, with the delta-method error of its three means."""

    def terms(columns):
        x = columns[m.centred("x")]
        return x, x**2, x**3

    def skewness(means, n):
        a, b, c = means
        return m.ratio(c - 3 * a * b + 2 * a * a * a, (b - a * a) * np.sqrt(b - a * a))

    measure = m.MomentMeasure(
        name="skewness", reads=("x",), terms=terms, value=skewness, centred_columns=("x",)
    )
    x = np.random.default_rng(1).standard_exponential(500)
    z = (x - x.mean()) / x.std()
    value = (z**3).mean()
    psi = z**3 - value - 3 * z - 1.5 * value * (z**2 - 1)
    result = measure.estimate({"x": x + 1e6})
    assert float(result.estimate) == pytest.approx(value, rel=1e-8)
    assert float(result.mcse) == pytest.approx(psi.std(ddof=1) / math.sqrt(500), rel=1e-8)
