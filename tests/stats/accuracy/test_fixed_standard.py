"""Tests against a standard: scipy, statsmodels, scans, and what guarded thresholds promise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import binom_test
from statsmodels.stats.weightstats import DescrStatsW

from simstudy.errors import DesignError
from simstudy.stats.accuracy import design, two_binomials
from simstudy.stats.accuracy import fixed_standard as fs
from tests.support import assert_within_mcse, replicates_to_catch

ALPHAS = (0.01, 0.05, 0.3)


# ---------------------------------------------------------------- right and wrong
@pytest.mark.parametrize("n", [1, 13, 300])
@pytest.mark.parametrize("standard", [0.1, 0.8, 0.95])
def test_binomial_p_values_are_those_of_scipy_and_statsmodels(n, standard):
    for successes in {0, n // 2, n - 1, n}:
        found = fs.binomial_p_value(successes, n, standard)
        theirs = stats.binomtest(successes, n, standard, alternative="less").pvalue
        assert found == pytest.approx(theirs, rel=1e-10)
        theirs = binom_test(successes, n, standard, alternative="smaller")
        assert found == pytest.approx(theirs, rel=1e-10)
        mid = theirs - stats.binom.pmf(successes, n, standard) / 2
        found = fs.binomial_p_value(successes, n, standard, rule="mid_p")
        assert found == pytest.approx(mid, rel=1e-10)


@pytest.mark.parametrize("rule", ["exact", "mid_p", "score"])
@pytest.mark.parametrize("n", [1, 13, 60])
def test_critical_counts_and_power_are_plain(n, rule):
    successes = np.arange(n + 1)
    for alpha in ALPHAS:
        p = fs.binomial_p_value(successes, n, 0.8, rule=rule)
        critical = fs.binomial_critical_count(n, 0.8, alpha, rule=rule)
        np.testing.assert_array_equal(p <= alpha, successes <= critical)
        plain = stats.binom.pmf(successes, n, 0.7)[p <= alpha].sum()
        found = fs.binomial_power(n, 0.8, 0.7, alpha, rule=rule)
        assert found == pytest.approx(plain, rel=1e-10, abs=1e-15)


def test_a_p_value_that_is_alpha_fails():
    """Four wrong of four at one half: 1/16."""
    assert fs.binomial_critical_count(4, 0.5, 1 / 16) == 0
    assert fs.binomial_critical_count(4, 0.5, 1 / 16 - 1e-12) == -1


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 500), st.floats(0.01, 0.99), st.floats(0.001, 0.5))
def test_the_exact_test_holds_its_level(n, standard, alpha):
    better = np.linspace(standard, 1, 50)
    assert (fs.binomial_power(n, standard, better, alpha) <= alpha * (1 + 1e-9)).all()


# ---------------------------------------------------------------- scores
@pytest.mark.parametrize("lower_is_better", [False, True])
def test_t_is_that_of_scipy_and_z_the_normal_tail(lower_is_better):
    scores = np.random.default_rng(1).normal(0.7, 1.0, size=15)
    mean, sd = scores.mean(), scores.std(ddof=1)
    side = "greater" if lower_is_better else "less"
    found = fs.t_p_value(mean, 1.0, sd, 15, lower_is_better=lower_is_better)
    theirs = stats.ttest_1samp(scores, 1.0, alternative=side).pvalue
    assert found == pytest.approx(theirs, rel=1e-12)
    _, theirs = DescrStatsW(scores).ztest_mean(
        1.0, alternative="larger" if lower_is_better else "smaller"
    )
    found = fs.z_p_value(mean, 1.0, sd, 15, lower_is_better=lower_is_better)
    assert found == pytest.approx(theirs, rel=1e-12)


def test_an_error_of_the_standard_counts():
    assert fs.standard_error(3.0, 9) == 1.0
    assert fs.standard_error(3.0, 9, error=math.sqrt(3)) == pytest.approx(2.0)
    assert fs.standard_error(5.0, 40, error=5.0 / math.sqrt(60)) == pytest.approx(
        design.standard_error(5.0, 60, 40)
    )
    df = (1.0 + 0.25) ** 2 * 8
    found = fs.t_p_value(0.0, 1.0, 3.0, 9, error=0.5)
    assert found == pytest.approx(stats.t.cdf(-1 / math.sqrt(1.25), df), rel=1e-12)
    known = fs.t_p_value(0.0, 1.0, 0.0, 9, error=0.5)
    assert known == pytest.approx(stats.norm.cdf(-2.0), rel=1e-12)


def test_scores_without_spread_are_decided_by_their_sign():
    check = np.array([0.9, 1.0, 1.1])
    assert fs.t_p_value(check, 1.0, 0.0, 5).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize("error", [0.0, 0.7])
def test_threshold_p_value_and_power_agree(error, lower_is_better):
    knobs = {"error": error, "lower_is_better": lower_is_better}
    gamma = fs.threshold(10.0, 0.03, 4.0, 25, **knobs)
    assert fs.z_p_value(gamma, 10.0, 4.0, 25, **knobs) == pytest.approx(0.03, rel=1e-10)
    theta = fs.detectable_effect(0.03, 0.1, 4.0, 25, error=error)
    assert fs.power(theta, 0.03, 4.0, 25, error=error) == pytest.approx(0.9, rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.floats(0.5, 20), st.sampled_from([(0.05, 0.2), (0.01, 0.4)]), st.floats(0, 0.1))
def test_the_least_n_is_that_of_a_scan(theta, rates, error):
    n = np.arange(1, 4000)
    effects = fs.detectable_effect(*rates, 5.0, n, error=error)
    assert fs.sample_size(theta, *rates, 5.0, error=error) == n[effects <= theta][0]


def test_a_stated_standard_takes_half_the_scores_of_a_reference():
    for theta in (0.3, 1.0, 2.0):
        of_both = design.sample_size(theta, 0.05, 0.2, 10.0)
        alone = fs.sample_size(theta, 0.05, 0.2, 10.0)
        assert of_both in (2 * alone, 2 * alone - 1)
    sizes = fs.sample_size(np.array([[0.3], [1.0]]), 0.05, np.array([0.1, 0.2]), 10.0)
    assert sizes.shape == (2, 2)


# ---------------------------------------------------------------- guarded thresholds
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("sizes", [(100, None), (400, 50)])
def test_the_rate_is_alpha_at_the_least_lucky_reference_that_counts(sizes, confidence):
    """With the reference at its quantile, better than its truth by that much."""
    n, m = sizes
    luck = stats.norm.ppf(confidence) * 2.0 / math.sqrt(n)
    gamma = fs.guarded_threshold(7.0 + luck, 0.05, confidence, 2.0, n, m)
    rate = stats.norm.cdf((gamma - 7.0) / (2.0 / math.sqrt(m or n)))
    assert rate == pytest.approx(0.05, rel=1e-10)
    mirrored = fs.guarded_threshold(7.0 - luck, 0.05, confidence, 2.0, n, m, lower_is_better=True)
    assert mirrored - 7.0 == pytest.approx(7.0 - gamma)


def test_guarded_power_is_that_of_a_z_test_at_its_threshold():
    gamma = fs.guarded_threshold(0.0, 0.05, 0.9, 2.0, 100, 40)
    level = design.level_of_threshold(gamma, 0.0, 2.0, 100, 40)
    assert fs.guarded_power(0.0, 0.05, 0.9, 2.0, 100, 40) == pytest.approx(level, rel=1e-10)
    expected = design.power(0.6, level, 2.0, 100, 40)
    assert fs.guarded_power(0.6, 0.05, 0.9, 2.0, 100, 40) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("p", [0.5, 0.83, 0.97])
def test_guarded_counts_keep_their_promise_for_any_probability(p):
    n, m, alpha, confidence = 120, 60, 0.05, 0.9
    critical = fs.guarded_critical_counts(n, m, alpha, confidence)
    rates = two_binomials.rejection_probability_given(critical, np.arange(n + 1), m, p)
    kept = stats.binom.pmf(np.arange(n + 1), n, p)[rates <= alpha].sum()
    assert kept >= confidence
    plain = two_binomials.critical_counts("fisher_mid_p", n, m, alpha)
    rates = two_binomials.rejection_probability_given(plain, np.arange(n + 1), m, p)
    assert stats.binom.pmf(np.arange(n + 1), n, p)[rates <= alpha].sum() < confidence
    assert (critical <= plain).all()


N_REP = replicates_to_catch(0.03, sd=math.sqrt(0.9 * 0.1))


def simulated_confidence(threshold_of):
    """Share of references whose rate of false alarms is at most alpha."""
    references = np.random.default_rng(6).normal(scale=2.0 / math.sqrt(50), size=N_REP)
    rates = stats.norm.cdf(threshold_of(references) / (2.0 / math.sqrt(20)))
    return np.mean(rates <= 0.05)


def test_the_promise_holds_for_the_share_of_references_that_is_named():
    found = simulated_confidence(lambda x: fs.guarded_threshold(x, 0.05, 0.9, 2.0, 50, 20))
    assert_within_mcse(found, 0.9, math.sqrt(0.09 / N_REP))


def test_that_test_catches_a_threshold_that_is_not_guarded():
    found = simulated_confidence(lambda x: design.threshold(x, 0.05, 2.0, 50, 20))
    with pytest.raises(AssertionError, match="suspect the code"):
        assert_within_mcse(found, 0.9, math.sqrt(0.09 / N_REP))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fs.binomial_p_value(1, 3, 95), "standard=95 is not a proportion"),
        (lambda: fs.binomial_critical_count(0, 0.5, 0.05), "n=0 is not a whole number"),
        (lambda: fs.standard_error(1.0, 5, error=-1.0), "error=-1 is negative or not finite"),
        (
            lambda: fs.sample_size(0.5, 0.05, 0.2, 1.0, error=0.5),
            r"theta=0.5 is within what the standard's own error=0.5 hides: .* than 1.243",
        ),
        (lambda: fs.t_p_value(1.0, 1.0, 1.0, 1), "n=1 is not a whole number of at least 2"),
        (lambda: fs.guarded_threshold(1.0, 0.05, 95, 1.0, 5), "confidence=95 is not a proportion"),
        (lambda: fs.guarded_critical_counts(5, 0, 0.05, 0.9), "n_check=0 is not a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(DesignError, match=message):
        call()
