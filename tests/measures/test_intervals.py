"""Wilson intervals against their defining equation, enumeration and statsmodels."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from simstudy import measures as m
from simstudy.measures.intervals import wilson
from tests.measures import plain


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n", [1, 7, 1000])
def test_wilson_solves_its_equation(n, level):
    for k in sorted({0, 1, n // 2, n}):
        got = [float(limit) for limit in wilson(k / n, n, level=level)]
        np.testing.assert_allclose(got, plain.wilson(k, n, level), rtol=1e-7, atol=1e-9)
        other = proportion_confint(k, n, alpha=1 - level, method="wilson")
        np.testing.assert_allclose(got, other, rtol=1e-11, atol=1e-15)


def test_none_of_n_and_all_of_n_are_not_certain():
    n = 100
    z2 = stats.norm.ppf(0.975) ** 2
    for value, expected in ((0, (0, z2 / (n + z2))), (1, (n / (n + z2), 1))):
        result = m.rejection_rate("reject").estimate({"reject": np.full(n, bool(value))})
        assert result.estimate == value
        one_more = np.sqrt(1 / (n + 2) * (n + 1) / (n + 2) / n)  # either way
        assert result.mcse == pytest.approx(one_more, rel=1e-14)
        np.testing.assert_allclose((result.lower, result.upper), expected, rtol=1e-14)
        assert result.reason == ""


def test_the_denominator_of_a_conditional_proportion_is_its_condition():
    reject, given = np.array([1, 1, 0, 1, 0.0]), np.array([True, True, True, False, False])
    measure = m.power("reject", given="given")
    result = measure.estimate({"reject": reject, "given": given}, level=0.9)
    assert float(result.estimate) == pytest.approx(2 / 3)
    expected = proportion_confint(2, 3, alpha=0.1, method="wilson")
    np.testing.assert_allclose((result.lower, result.upper), expected, rtol=1e-12)
    assert result.n_rep == 5


def test_bias_eliminated_coverage_has_an_interval_as_wide_as_its_error():
    """Wilson with the number of trials that gives that error: not the number of replicates."""
    x = np.random.default_rng(1).standard_exponential(20_000)
    columns = {"x": x, "lower": x - 0.1, "upper": x + 0.5}
    result = m.bias_eliminated_coverage("x", "lower", "upper").estimate(columns)
    share = float(result.estimate)
    trials = share * (1 - share) / float(result.mcse) ** 2
    np.testing.assert_allclose(result[2:4], wilson(share, trials, level=0.95), rtol=1e-12)
    assert trials < 0.75 * len(x)  # 0.20/0.31 in theory: lopsided intervals follow the mean


def test_quantile_interval_covers_also_where_values_are_tied():
    """Woodruff's interval holds the median of a lattice variable; a density would not exist."""
    rng = np.random.default_rng(1)
    columns = {"x": rng.binomial(4, 0.5, (400, 300)).astype(float)}
    result = m.median("x").estimate(columns)
    assert (result.lower <= 2).all()
    assert (result.upper >= 2).all()


def test_interval_of_a_mean_is_that_of_student():
    result = m.bias("x", 0.0).estimate({"x": np.array([1.0, 2.0, 4.0])}, level=0.8)
    width = result.upper - result.lower
    assert float(width / (2 * result.mcse)) == pytest.approx(stats.t.ppf(0.9, 2))
