"""The closed forms of an accuracy test against statsmodels, each other, scans and simulation."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import NormalIndPower

from simstudy.documents.stats.accuracy import design
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

GRID = [
    {"sigma": 50.0, "n": 512},
    {"sigma": 0.3, "n": 17},
    {"sigma": 7.0, "n": 100, "n_check": 40},
    {"sigma": 50.0, "n": 512, "correlation": 0.8},
    {"sigma": 2.0, "n": 9, "correlation": -0.5},
]
RATES = [(0.05, 0.2), (0.001, 0.01), (0.3, 0.6)]


# ---------------------------------------------------------------- published numbers
def test_numbers_of_the_document():
    assert design.standard_error(50, 512) == pytest.approx(50 * math.sqrt(2 / 512))
    margin = 80 - design.threshold(80, 0.05, 50, 512)
    assert margin == pytest.approx(1.6448536269514722 * 3.125, rel=1e-12)
    theta = design.detectable_effect(0.05, 0.2, 50, 512)
    assert theta == pytest.approx((1.6448536269514722 + 0.8416212335729143) * 3.125, rel=1e-12)


# ---------------------------------------------------------------- independent libraries
@pytest.mark.parametrize("sizes", [(512, None), (30, None), (100, 40)])
@pytest.mark.parametrize(("alpha", "beta"), RATES)
def test_power_level_and_effect_are_those_of_statsmodels(sizes, alpha, beta):
    n, m = sizes
    theirs = partial(NormalIndPower().power, nobs1=n, ratio=(m or n) / n, alternative="larger")
    assert design.power(3.0, alpha, 10.0, n, m) == pytest.approx(theirs(0.3, alpha=alpha))
    effect = design.detectable_effect(alpha, beta, 10.0, n, m) / 10
    assert theirs(effect, alpha=alpha) == pytest.approx(1 - beta, rel=1e-12)


# ---------------------------------------------------------------- one equation
@pytest.mark.parametrize("given_sizes", GRID)
@pytest.mark.parametrize(("alpha", "beta"), RATES)
def test_any_one_follows_from_the_others(given_sizes, alpha, beta):
    sigma = given_sizes["sigma"]
    sizes = {name: value for name, value in given_sizes.items() if name != "sigma"}
    theta = design.detectable_effect(alpha, beta, **given_sizes)
    assert design.type_2_error(theta, alpha, **given_sizes) == pytest.approx(beta, rel=1e-12)
    assert design.power(theta, alpha, **given_sizes) == pytest.approx(1 - beta, rel=1e-12)
    assert design.level(theta, beta, **given_sizes) == pytest.approx(alpha, rel=1e-10)
    assert design.largest_sigma(theta, alpha, beta, **sizes) == pytest.approx(sigma, rel=1e-12)


@pytest.mark.parametrize("given_sizes", GRID)
@pytest.mark.parametrize("lower_is_better", [False, True])
def test_the_threshold_has_its_level_and_is_where_the_p_value_is_it(given_sizes, lower_is_better):
    knobs = given_sizes | {"lower_is_better": lower_is_better}
    gamma = design.threshold(80, 0.03, **knobs)
    assert (gamma > 80) == lower_is_better
    assert design.p_value(gamma, 80, **knobs) == pytest.approx(0.03, rel=1e-10)
    worse = gamma + (1 if lower_is_better else -1)
    assert design.p_value(worse, 80, **knobs) < 0.03
    assert design.fails(worse, gamma, lower_is_better=lower_is_better)


@pytest.mark.parametrize("size", [design.sample_size, design.doubled_sample_size])
def test_sizes_broadcast(size):
    found = size(np.array([[1.0], [3.0]]), 0.05, np.array([0.1, 0.2]), 10.0)
    assert found.shape == (2, 2)
    assert found[1, 0] == size(3.0, 0.05, 0.1, 10.0)


# ---------------------------------------------------------------- least sizes
@settings(deadline=None, max_examples=30)
@given(
    st.floats(0.5, 50),
    st.sampled_from(RATES),
    st.floats(0.1, 10),
    st.sampled_from([0.0, 0.9, -0.4]),
)
def test_the_least_n_is_that_of_a_scan(theta, rates, sigma, correlation):
    found = design.sample_size(theta, *rates, sigma, correlation=correlation)
    n = np.arange(1, found + 1)
    effects = design.detectable_effect(*rates, sigma, n, correlation=correlation)
    assert n[effects <= theta].tolist() == [found]


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 10**9), st.sampled_from(RATES), st.floats(0.1, 100))
def test_the_effect_of_n_scores_takes_n_scores_and_one_a_rounding_smaller_takes_more(n, rates, s):
    effect = design.detectable_effect(*rates, s, n)
    assert design.sample_size(effect, *rates, s) <= n
    if design.detectable_effect(*rates, s, n - 1 or 1) > effect:
        assert design.sample_size(effect, *rates, s) == n
        assert design.sample_size(np.nextafter(effect, 0), *rates, s) > n


@settings(deadline=None, max_examples=30)
@given(st.floats(0.01, 50), st.sampled_from(RATES), st.integers(1, 100))
def test_doubling_stops_at_the_first_that_is_enough(theta, rates, start):
    n = start
    while design.detectable_effect(*rates, 10.0, n) > theta:
        n *= 2
    assert design.doubled_sample_size(theta, *rates, 10.0, start=start) == n


# ---------------------------------------------------------------- at the threshold
def test_a_check_at_the_threshold_fails_unless_strictly():
    assert design.fails(61.25, 61.25)
    assert not design.fails(61.25, 61.25, strictly=True)
    assert design.fails(61.0, 61.25, strictly=True)
    assert not design.fails(61.5, 61.25)


def test_a_check_that_misses_the_threshold_by_roundings_is_at_it():
    scores = np.full(30, 0.1)
    low, high = 0.3, 0.1 + 0.2
    assert low < high
    for check, gamma in [(low, high), (high, low), (scores.mean(), 0.1), (0.1, scores.mean())]:
        assert design.fails(check, gamma)
        assert not design.fails(check, gamma, strictly=True)


@pytest.mark.parametrize("n", [3, 1000, 9_999_999])
def test_neighbours_on_the_lattice_are_never_tied(n):
    count = np.unique(np.linspace(1, n, 1000).astype(int))
    assert design.fails((count - 1) / n, count / n, strictly=True).all()
    assert not design.fails(count / n, (count - 1) / n).any()


# ---------------------------------------------------------------- given a reference
def test_the_level_given_a_typical_and_an_unlucky_reference():
    assert design.level_given_reference(0.05, 0.0) == pytest.approx(0.01001, abs=1e-5)
    unlucky = stats.norm.isf(0.05)
    assert design.level_given_reference(0.05, unlucky) == pytest.approx(0.2478, abs=1e-4)
    assert design.level_given_reference(0.05, -unlucky) < 0.0001


N_REP = replicates_to_catch(0.01, sd=0.5, comparisons=2)


def simulated_rates(n, m, delta, *, correlation=0.0):
    """How often checks of unchanged quality fail against one reference, and against new ones."""
    rng = np.random.default_rng(3)
    sigma, luck = 2.0, np.array([[delta], [np.nan]])
    luck = np.where(np.isnan(luck), rng.standard_normal(N_REP), luck)
    same = correlation * luck * sigma / np.sqrt(n)
    noise = rng.standard_normal((2, N_REP)) * sigma * np.sqrt((1 - correlation**2) / m)
    knobs = {"correlation": correlation} if correlation else {"n_check": m}
    gamma = design.threshold(luck * sigma / np.sqrt(n), 0.3, sigma, n, **knobs)
    return design.fails(same + noise, gamma).mean(axis=1)


@pytest.mark.parametrize(("n", "m", "rho"), [(10, 10, 0.0), (40, 10, 0.0), (10, 10, 0.6)])
def test_simulated_checks_fail_as_often_as_they_should(n, m, rho):
    sizes = (n, m if m != n else None)
    expected = [design.level_given_reference(0.3, 1.0, *sizes, correlation=rho), 0.3]
    assert_within_mcse(simulated_rates(n, m, 1.0, correlation=rho), expected, _mcse(expected))


def test_that_test_catches_a_level_taken_for_that_of_every_reference():
    assert_caught(simulated_rates(10, 10, 1.0), [0.3, 0.3], _mcse([0.3, 0.3]))


def _mcse(rates):
    rates = np.asarray(rates)
    return np.sqrt(rates * (1 - rates) / N_REP)


def test_a_true_error_other_than_the_assumed_one_moves_the_level():
    assert design.rejection_probability(0.05, 3.0, 3.0) == pytest.approx(0.05)
    paired = design.standard_error(50, 512, correlation=0.9)
    found = design.rejection_probability(0.05, design.standard_error(50, 512), paired)
    assert found == pytest.approx(stats.norm.cdf(stats.norm.ppf(0.05) / math.sqrt(0.1)))
    theta = np.array([0.0, 3.0])
    expected = design.power(theta, 0.05, 50, 512)
    np.testing.assert_allclose(design.rejection_probability(0.05, 3.125, 3.125, theta), expected)
