"""Intervals against their equations and statsmodels, and as a guard against certainty by luck."""

import numpy as np
import pytest
from scipy import special, stats
from statsmodels.stats.proportion import proportion_confint

from simstudy import measures as m
from simstudy.measures import intervals
from simstudy.measures.core import standard_error
from simstudy.measures.intervals import wilson
from tests.measures import plain
from tests.support import critical_z


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
    assert intervals.cautious_binomial_error(0.3, n) == pytest.approx(plain.cautious_error(0.3, n))
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


# ---------------------------------------------------------------- no certainty by luck
N_STUDIES = 2000
LEAST = 0.9 - critical_z(40) * np.sqrt(0.9 * 0.1 / N_STUDIES)


def uniforms(n, seed=1):
    return np.random.default_rng(seed).random((n, N_STUDIES))


def flags(n, rate, seed=1):
    return {"r": uniforms(n, seed) < rate}


POWER = m.power("r")
CASES = {
    **{
        f"shares {p} and {q} of common numbers, n = {n}": (
            lambda p=p, q=q, n=n: m.paired(POWER, flags(n, p), flags(n, q)), p - q,
        )
        for n, p, q in [(20, 0.9, 0.85), (200, 0.95, 0.947), (1000, 0.95, 0.949), (999, 0.5, 0.497)]
    },
    **{
        f"{'ratio' if by == 'ratio' else 'difference'} of independent shares, n = {n}": (
            lambda n=n, by=by: m.unpaired(POWER, flags(n, 0.999), flags(n, 0.99, 3), scale=by),
            0.999 / 0.99 if by == "ratio" else 0.009,
        )
        for n in (20, 200) for by in ("ratio", "difference")
    },
    "correlation of rejections, n = 200": (
        lambda: m.correlation("x", "y").estimate(
            {"x": flags(200, 0.95)["r"] * 1.0, "y": flags(200, 0.94)["r"] * 1.0}
        ),
        (0.94 - 0.95 * 0.94) / np.sqrt(0.95 * 0.05 * 0.94 * 0.06),
    ),
    **{
        f"quantile {p}, n = {n}": (
            lambda n=n, p=p: m.quantile("r", p).estimate({"r": uniforms(n)}), p,
        )
        for n, p in [(20, 0.05), (100, 0.01), (1000, 0.001), (1000, 0.997)]
    },
    **{
        f"mean, n = {n}": (
            lambda n=n: m.mean("r").estimate({"r": special.ndtri(uniforms(n))}), 0.0,
        )
        for n in (2, 5, 20)
    },
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_intervals_cover_and_no_error_is_0(case):
    estimate, truth = CASES[case]
    found = estimate()
    known = found.reason == ""
    assert (found.mcse[known] > 0).all()
    assert np.mean((found.lower <= truth) & (truth <= found.upper)) >= LEAST


def test_that_test_catches_the_spread_of_influences_alone():
    first, second = flags(1000, 0.95), flags(1000, 0.949)
    left, right = (POWER.influence(columns) for columns in (first, second))
    apart = left._replace(estimate=left.estimate - right.estimate, psi=left.psi - right.psi)
    plain = intervals.normal(apart.estimate, standard_error(apart), level=0.95)
    assert np.mean((plain.lower <= 0.001) & (plain.upper >= 0.001)) < 0.7


def test_limits_stay_within_what_the_measure_can_be():
    for found, (low, high) in [
        (m.paired(POWER, flags(20, 0.99), flags(20, 0.1)), (-1, 1)),
        (m.variance("x").estimate({"x": np.exp(5 * special.ndtri(uniforms(5)))}), (0, np.inf)),
        (m.correlation("x", "y").estimate({"x": uniforms(5), "y": uniforms(5, 3)}), (-1, 1)),
    ]:
        known = ~np.isnan(found.lower)
        assert known.any()
        assert (found.lower[known] >= low).all()
        assert (found.upper[known] <= high).all()


@pytest.mark.parametrize(
    "measure", [m.variance("x"), m.empirical_se("x"), m.correlation("x", "y")], ids=str
)
def test_two_replicates_say_nothing_of_a_spread(measure):
    found = measure.estimate({"x": np.array([1.0, 2.0]), "y": np.array([3.0, 1.0])})
    assert np.isnan([found.mcse, found.lower, found.upper]).all()
    assert str(found.reason) == "fewer than 3 replicates say nothing of its Monte Carlo error"


def test_ratios_of_normal_sides_have_fieller_intervals():
    first, second, z = 3.0, -2.0, intervals.critical_value(0.95)
    sides = (intervals.normal(first, 0.3, level=0.95), intervals.normal(second, 0.2, level=0.95))
    found = intervals.of_ratio(first, second, *sides, 0.4)
    roots = np.roots(
        [4 - 0.04 * z**2, -2 * first * second + 2 * z**2 * 0.4 * 0.06, 9 - 0.09 * z**2]
    )
    np.testing.assert_allclose(found, sorted(roots), rtol=1e-12)
    unknown = intervals.of_ratio(1.0, 0.1, sides[0], intervals.normal(0.1, 1.0, level=0.95))
    assert unknown.upper == np.inf


def test_a_difference_is_as_unknown_as_its_sides():
    """Two order statistics of few replicates do not bound a high quantile."""
    columns = {"x": uniforms(15)[:, 0]}
    side = m.quantile("x", 0.99).estimate(columns)
    assert side.upper == np.inf
    for first, second in ((columns, columns), (columns, {"x": uniforms(5000)[:, 0]})):
        found = m.unpaired(m.quantile("x", 0.99), first, second)
        assert not np.isnan(found.lower)
        assert found.upper == np.inf


def test_a_share_within_a_condition_that_one_replicate_meets_has_no_error():
    """The one trial is no estimate of a spread: without a second there is a reason instead."""
    columns = {"r": np.array([True, False, True, False]), "e": np.arange(4) == 2}
    found = m.rejection_rate("r", given="e").estimate(columns)
    assert found.estimate == 1.0
    assert np.isnan(found.mcse)
    assert str(found.reason) == "fewer than two replicates: no Monte Carlo error"
    columns["e"] = np.arange(4) >= 2
    two = m.rejection_rate("r", given="e").estimate(columns)
    assert two.mcse == pytest.approx(0.5 / np.sqrt(2), rel=1e-12)
    assert two.reason == ""


def test_a_scaled_interval_is_wilsons_with_two_degrees_of_freedom_less():
    measure = m.correlation("x", "y")
    x = uniforms(12)[:, 0]
    y = x + 0.3 * uniforms(12, 2)[:, 0]
    found = measure.estimate({"x": x, "y": y})
    low, high = measure.interval.low, measure.interval.high
    share = (found.estimate - low) / (high - low)
    trials = share * (1 - share) * ((high - low) / found.mcse) ** 2
    limits = wilson(share, trials, level=0.95, df=10)
    np.testing.assert_allclose(found.lower, low + (high - low) * limits.lower, rtol=1e-12)
    np.testing.assert_allclose(found.upper, low + (high - low) * limits.upper, rtol=1e-12)
