"""No estimate is certain by luck: intervals of shares near 1, ties, few replicates."""

import numpy as np
import pytest
from scipy import special

from simstudy import measures as m
from simstudy.measures import intervals
from simstudy.measures.core import standard_error
from tests.support import critical_z

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


def test_short_intervals_have_a_warning():
    skew = np.exp(2 * special.ndtri(uniforms(200)))
    warnings = m.mse("x", 0.0).estimate({"x": skew}).warning
    assert np.mean([str(text).startswith("few replicates") for text in warnings]) > 0.9
    few = m.mse("x", 0.0).estimate({"x": uniforms(5)[:, 0]}).warning
    assert str(few).startswith("fewer than 10 replicates")
    alike = m.mean("x").estimate({"x": np.ones(60)}).warning
    assert "rarer than 1 in 20" in str(alike)
    same = m.paired(m.mean("x"), {"x": uniforms(60)}, {"x": uniforms(60)}).warning
    assert all("agree in all 60 pairs" in text for text in same)
    assert m.mean("x").estimate({"x": special.ndtri(uniforms(1000)[:, 0])}).warning is None


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
    limits = intervals.wilson(share, trials, level=0.95, df=10)
    np.testing.assert_allclose(found.lower, low + (high - low) * limits.lower, rtol=1e-12)
    np.testing.assert_allclose(found.upper, low + (high - low) * limits.upper, rtol=1e-12)
