"""One-sided t tests from summaries against scipy, statsmodels and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestIndPower

from simstudy.documents.stats.accuracy import design, t_tests
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("sizes", [(2, 2), (9, None), (40, 12)])
def test_p_values_are_those_of_scipy(sizes, pooled, lower_is_better):
    n, m = sizes
    found = t_tests.p_value(
        0.3, 0.9, 1.5, 0.8, n, m, pooled=pooled, lower_is_better=lower_is_better
    )
    theirs = stats.ttest_ind_from_stats(
        0.3, 1.5, m or n, 0.9, 0.8, n,
        equal_var=pooled, alternative="greater" if lower_is_better else "less",
    ).pvalue  # fmt: skip
    assert found == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("pooled", [False, True])
def test_constant_scores_are_decided_by_their_sign(pooled):
    check = np.array([0.2, 0.5, 0.7])
    assert t_tests.p_value(check, 0.5, 0.0, 0.0, 8, pooled=pooled).tolist() == [0.0, 0.5, 1.0]
    one_constant = t_tests.p_value(0.2, 0.5, 0.0, 0.3, 8, 5, pooled=pooled)
    assert 0 < one_constant < 0.05


# ---------------------------------------------------------------- power and sample size
@pytest.mark.parametrize("sizes", [(2, None), (30, None), (100, 40), (20_000, None)])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.4])
def test_power_is_that_of_statsmodels(sizes, alpha):
    n, m = sizes
    theta = 2.0 / math.sqrt(n)
    theirs = TTestIndPower().power(theta, n, alpha, ratio=(m or n) / n, alternative="larger")
    found = t_tests.power(3 * theta, alpha, 3.0, n, m)
    assert found == pytest.approx(theirs, rel=1e-9)
    assert t_tests.type_2_error(3 * theta, alpha, 3.0, n, m) == pytest.approx(1 - found)


@settings(deadline=None, max_examples=10)
@given(st.floats(0.3, 5), st.floats(0.001, 0.3), st.floats(0.01, 0.5))
def test_the_least_n_is_that_of_a_scan(theta, alpha, beta):
    found = t_tests.sample_size(theta, alpha, beta, 1.0)
    n = np.arange(2, found + 1)
    assert n[t_tests.power(theta, alpha, 1.0, n) >= 1 - beta].tolist() == [found]
    assert found >= design.sample_size(theta, alpha, beta, 1.0)


# ---------------------------------------------------------------- a threshold on record
N_REP, N, M = replicates_to_catch(0.01, sd=math.sqrt(0.05 * 0.95)), 6, 9


def simulated_level(threshold_of):
    """How often checks of unchanged quality fail at thresholds from their references' scores."""
    rng = np.random.default_rng(4)
    references, checks = rng.normal(size=(N_REP, N)), rng.normal(size=(N_REP, M)).mean(axis=1)
    gamma = threshold_of(references.mean(axis=1), 0.05, references.std(axis=1, ddof=1), N, M)
    return np.mean(design.fails(checks, gamma))


def test_a_threshold_from_the_reference_s_own_spread_has_its_level():
    error = math.sqrt(0.05 * 0.95 / N_REP)
    assert_within_mcse(simulated_level(t_tests.threshold), 0.05, error)
    # Caught: z used for t.
    assert_caught(simulated_level(design.threshold), 0.05, error)


def test_thresholds_lie_on_the_worse_side_and_tend_to_those_of_a_known_spread():
    low = t_tests.threshold(80, 0.05, 50.0, 10**7)
    assert low == pytest.approx(design.threshold(80, 0.05, 50.0, 10**7), rel=1e-9)
    high = t_tests.threshold(80, 0.05, 50.0, 10, lower_is_better=True)
    assert high - 80 == pytest.approx(80 - t_tests.threshold(80, 0.05, 50.0, 10))
    assert t_tests.threshold(80, 0.05, 0.0, 10) == 80
