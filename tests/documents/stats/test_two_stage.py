"""The law of the two-stage statistic by its definition, and designs that follow from it."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from simstudy.documents.stats.two_stage import (
    boundary_n2,
    boundary_power,
    cdf,
    critical_value,
    outcome_table,
    pdf,
    power,
    ppf,
    solve_design,
    unconditional_cdf,
)
from simstudy.errors import DesignError

NODES, WEIGHTS = special.roots_legendre(10)


def by_definition(x, null_is_false, k, ratio):
    """P(X <= x | state): the integral over y of P(z2 - r*y <= x) phi(y - k), in logs.

    By Gauss and Legendre in 2000 panels, from where the integrand lies exp(-80) below its largest.
    """
    s, r = (1 if null_is_false else -1), np.sqrt(ratio)

    def log_integrand(y):  # y is the distance from the bound, in the state's own direction
        return stats.norm.logpdf(y - s * k) + special.log_ndtr(x + s * r * y)

    far = abs(k) + abs(x) / r + 50
    mode = optimize.fminbound(lambda y: -log_integrand(y), 0, far, xtol=1e-9)
    floor = log_integrand(mode) - 80
    below = log_integrand(0.0) < floor
    low = optimize.brentq(lambda y: log_integrand(y) - floor, 0, mode) if below else 0.0
    high = optimize.brentq(lambda y: log_integrand(y) - floor, mode, far)
    ends = np.linspace(low, high, 2001)[:-1, np.newaxis]
    half = (high - low) / 4000
    terms = log_integrand(ends + half * (1 + NODES)) + np.log(half * WEIGHTS)
    return np.exp(special.logsumexp(terms) - special.log_ndtr(s * k))


@pytest.mark.parametrize("null_is_false", [True, False])
@pytest.mark.parametrize("k", [-30, -8, -1, 0, 1.5, 4, 8, 30])
def test_probabilities_to_nine_digits(k, null_is_false):
    s = 1 if null_is_false else -1
    mean_y = k + s * np.exp(stats.norm.logpdf(k) - special.log_ndtr(s * k))
    for ratio, z in itertools.product([1e-4, 0.1, 1, 3, 50], [-6, -2, -0.7, 0, 0.5, 2]):
        x = -np.sqrt(ratio) * mean_y + z * np.sqrt(1 + ratio)
        expected = by_definition(x, null_is_false, k, ratio)
        assert cdf(x, null_is_false, k, 1, ratio) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@settings(max_examples=100, deadline=None)
@given(k=st.floats(-5, 5), r=st.floats(0.01, 30), z=st.floats(-6, 6))
@example(k=0.0, r=1.0, z=0.0)
@example(k=2.0, r=1.0, z=0.0)
@example(k=1.0, r=1.0000000000000002, z=-1e-9)
def test_states_average_to_the_unconditional_law(k, r, z):
    x = -r * k + np.hypot(1, r) * z
    false, true = (cdf(x, state, k, 1, r * r) for state in (True, False))
    average = special.ndtr(k) * false + special.ndtr(-k) * true
    assert average == pytest.approx(special.ndtr(z), abs=1e-12)
    assert unconditional_cdf(x, k, 1, r * r) == pytest.approx(special.ndtr(z), rel=1e-9)


@pytest.mark.parametrize("null_is_false", [True, False])
def test_the_density_is_the_slope(null_is_false):
    x, k, step = np.linspace(-4, 2, 13), np.array([[-2.0], [0.0], [1.5]]), 1e-5
    ends = (cdf(x + side * step, null_is_false, k, 100, 300) for side in (1, -1))
    slope = -np.diff([*ends], axis=0)[0] / (2 * step)
    np.testing.assert_allclose(pdf(x, null_is_false, k, 100, 300), slope, atol=1e-9)


@pytest.mark.parametrize("null_is_false", [True, False])
def test_quantiles_invert_the_law(null_is_false):
    p, k = np.array([1e-6, 0.001, 0.05, 0.5, 0.9, 0.999]), np.array([[-30], [-1], [0], [1.5], [30]])
    for ratio in (1e-4, 1, 50):
        x = ppf(p, null_is_false, k, 1, ratio)
        again = cdf(x, null_is_false, k, 1, ratio)
        np.testing.assert_allclose(again, np.broadcast_to(p, x.shape), rtol=1e-8)


def test_states_of_many_statistics_are_taken_one_by_one():
    rng = np.random.default_rng(8)
    s2, state, k = rng.normal(-1, 3, 40), rng.random(40) < 0.5, rng.uniform(-1, 3, 40)
    one_by_one = [cdf(s2[i], state[i], k[i], 100, 300) for i in range(40)]
    np.testing.assert_array_equal(cdf(s2, state, k, 100, 300), one_by_one)


@pytest.mark.parametrize(("alpha", "k", "n1", "n2"), [(0.05, 1.5, 150, 399), (0.01, -1, 10, 50)])
def test_critical_value_and_power_by_definition(alpha, k, n1, n2):
    limit = optimize.brentq(lambda t: by_definition(t, False, k, n2 / n1) - alpha, -20, 20)
    assert critical_value(alpha, k, n1, n2) == pytest.approx(limit, rel=1e-9)
    assert power(alpha, k, n1, n2) == pytest.approx(by_definition(limit, True, k, n2 / n1))


def test_boundary_n2_is_the_least_that_reaches():
    n2 = boundary_n2(0.8, 0.05, 1.5, 150)
    assert n2 == 694
    limit = special.ndtri(0.05)
    reached = [by_definition(limit, True, 1.5, size / 150) for size in (n2 - 1, n2)]
    assert reached[0] < 0.8 <= reached[1]
    assert boundary_power(0.05, 1.5, 150, n2) == pytest.approx(reached[1], rel=1e-10)


def test_outcomes_are_states_and_decisions_given_them():
    table, share = outcome_table(0.1, 0.5, 100, 100), special.ndtr(0.5)
    reject = power(0.1, 0.5, 100, 100)
    known = {
        "reject_null_true": 0.1 * (1 - share),
        "keep_null_true": 0.9 * (1 - share),
        "reject_null_false": reject * share,
        "keep_null_false": (1 - reject) * share,
    }
    assert table._asdict() == pytest.approx(known, rel=1e-12)


def test_published_design():
    design = solve_design(n1=150, k=1.5, alpha=0.05, power=0.8)
    assert design.n2 == 399
    assert 398 < design.exact_n2 < 399
    assert design.achieved_power == power(0.05, 1.5, 150, 399) >= 0.8 > power(0.05, 1.5, 150, 398)
    assert design.critical_value == critical_value(0.05, 1.5, 150, 399)


@settings(max_examples=20, deadline=None)
@given(
    k=st.floats(0, 4), alpha=st.floats(0.001, 0.3), n1=st.integers(1, 500), n2=st.integers(2, 2000)
)
def test_each_follows_from_the_other_three(k, alpha, n1, n2):
    whole = {"n2": n2, "k": k, "alpha": alpha}
    whole["power"] = solve_design(n1=n1, **whole).power
    if not alpha * 1.01 < whole["power"] < 0.999999:  # flat there: power says nothing about n2
        return
    for name in whole:
        design = solve_design(n1=n1, **{key: v for key, v in whole.items() if key != name})
        if name == "n2":
            assert design.n2 == n2
            assert n2 - 1 <= design.exact_n2 <= n2
        assert design.achieved_power == pytest.approx(whole["power"], rel=1e-9)


def test_k_is_the_larger_of_the_two_roots():
    design = solve_design(n1=100, n2=100, alpha=0.05, power=0.6)
    roots = [
        optimize.brentq(lambda k: power(0.05, k, 100, 100) - 0.6, *ends)
        for ends in ((-8, -1), (0, 8))
    ]
    assert roots[0] < design.k == pytest.approx(roots[1], rel=1e-9)


@pytest.mark.parametrize(
    ("given", "about"),
    [
        ({"k": 1.5, "alpha": 0.05, "power": 0.04}, "between 0.05 and 1"),
        ({"k": 30.0, "alpha": 0.05, "power": 0.5}, "one observation already has"),
        ({"k": 0.0, "alpha": 1e-9, "power": 1 - 1e-12}, r"2\^53"),
        ({"n2": 400, "alpha": 0.05, "power": 0.1}, "the least power is"),
        ({"n2": 1, "alpha": 1e-9, "power": 0.999999}, "is reached at k=60"),
    ],
)
def test_what_no_trial_has_is_refused(given, about):
    with pytest.raises(DesignError, match=about):
        solve_design(n1=150, **given)
