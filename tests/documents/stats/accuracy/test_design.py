"""The closed forms of an accuracy test against statsmodels, each other, scans and quadrature."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import NormalIndPower

from simstudy.documents.stats.accuracy import design
from simstudy.errors import DesignError

RATES = [(0.05, 0.2), (0.001, 0.01), (0.3, 0.6)]


def test_numbers_of_the_document():
    error = design.standard_error(50, 512)
    assert error == pytest.approx(50 * math.sqrt(2 / 512))
    assert design.standard_error(50, 512, correlation=0.75) == pytest.approx(error / 2)
    assert 80 - design.threshold(80, 0.05, error) == pytest.approx(1.6448536269514722 * 3.125)
    theta = design.detectable_effect(0.05, 0.2, error)
    assert theta == pytest.approx((1.6448536269514722 + 0.8416212335729143) * 3.125, rel=1e-12)


@pytest.mark.parametrize("sizes", [(512, None), (30, None), (100, 40)])
@pytest.mark.parametrize(("alpha", "beta"), RATES)
def test_power_level_and_effect_are_those_of_statsmodels(sizes, alpha, beta):
    n, m = sizes
    theirs = partial(NormalIndPower().power, nobs1=n, ratio=(m or n) / n, alternative="larger")
    error = design.standard_error(10.0, n, m)
    assert design.power(3.0, alpha, error) == pytest.approx(theirs(0.3, alpha=alpha))
    effect = design.detectable_effect(alpha, beta, error) / 10
    assert theirs(effect, alpha=alpha) == pytest.approx(1 - beta, rel=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), RATES)
def test_any_one_follows_from_the_others(alpha, beta):
    error = np.array([3.125, 0.1])
    theta = design.detectable_effect(alpha, beta, error)
    np.testing.assert_allclose(design.type_2_error(theta, alpha, error), beta, rtol=1e-12)
    np.testing.assert_allclose(design.power(theta, alpha, error), 1 - beta, rtol=1e-12)
    np.testing.assert_allclose(design.level(theta, beta, error), alpha, rtol=1e-10)


@settings(deadline=None, max_examples=30)
@given(st.floats(0.5, 50), st.sampled_from(RATES), st.sampled_from([0.0, 0.9, -0.4]))
def test_the_least_n_is_that_of_a_scan(theta, rates, correlation):
    found = design.sample_size(theta, *rates, 9.0, correlation=correlation)
    n = np.arange(1, found + 1)
    errors = design.standard_error(9.0, n, correlation=correlation)
    assert n[design.detectable_effect(*rates, errors) <= theta].tolist() == [found]


@settings(deadline=None, max_examples=30)
@given(st.floats(0.01, 50), st.sampled_from(RATES), st.integers(1, 100))
def test_doubling_stops_at_the_first_that_is_enough(theta, rates, start):
    n = start
    while design.detectable_effect(*rates, design.standard_error(10.0, n)) > theta:
        n *= 2
    assert design.doubled_sample_size(theta, *rates, 10.0, start=start) == n


def test_more_scores_than_can_be_counted_are_refused():
    with pytest.raises(DesignError, match="theta=1e-07 takes some"):
        design.sample_size(1e-7, 0.05, 0.2, 50.0)


@pytest.mark.parametrize("ratio", [0.25, 1.0, 3.0])
def test_over_all_references_a_check_fails_at_its_level(ratio):
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)  # of luck, which is standard normal
    mean = weights @ design.level_given_reference(0.3, nodes, ratio) / weights.sum()
    assert mean == pytest.approx(0.3, abs=1e-9)


def test_the_level_given_a_typical_and_a_lucky_reference():
    found = design.level_given_reference(0.05, np.array([0.0, stats.norm.isf(0.05)]))
    np.testing.assert_allclose(found, [0.01001, 0.2478], atol=1e-4)
