"""Sample sizes and power of a binomial trial against exact sums and statsmodels."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special
from scipy import stats as scipy_stats
from statsmodels.stats.power import normal_sample_size_one_tail
from statsmodels.stats.proportion import proportion_confint

from simstudy.documents.stats import classifier_trial as bt

GRID = np.meshgrid([0.85, 0.90, 0.95], [0.01, 0.03, 0.05], [0.10, 0.15, 0.20], indexing="ij")


def exact_tail(count, n_obs, p):
    p = Fraction(p)
    terms = (math.comb(n_obs, x) * p**x * (1 - p) ** (n_obs - x) for x in range(count, n_obs + 1))
    return float(sum(terms, Fraction(0)))


def plain_p_value(x, n_obs, null, rule):
    if rule == "score":
        return scipy_stats.norm.sf((x / n_obs - null) / math.sqrt(null * (1 - null) / n_obs))
    tail = exact_tail(x, n_obs, str(null))
    return tail if rule == "exact" else (tail + exact_tail(x + 1, n_obs, str(null))) / 2


@pytest.mark.parametrize("rule", bt.RULES)
@pytest.mark.parametrize("n_obs", [1, 2, 13, 40])
@pytest.mark.parametrize(("null", "alpha"), [("0.7", 0.05), ("0.2", 0.3), ("0.97", 0.001)])
def test_critical_count_size_and_power_are_plain_sums(rule, n_obs, null, alpha):
    l = float(null)  # noqa: E741
    plain = [plain_p_value(x, n_obs, l, rule) for x in range(n_obs + 1)]
    critical = min((x for x, p in enumerate(plain) if p < alpha), default=n_obs + 1)
    found = bt.trial_power(n_obs, 0.9, l, alpha, rule=rule)
    assert found.critical == critical
    assert found.size == pytest.approx(exact_tail(critical, n_obs, null), rel=1e-12, abs=0)
    assert found.power == pytest.approx(exact_tail(critical, n_obs, "0.9"), rel=1e-12, abs=0)


def test_lower_limits_are_those_of_statsmodels_and_turn_with_the_test():
    x = range(51)
    limits = np.array([bt.clopper_pearson_lower(successes, 50, 0.05) for successes in x])
    theirs, _ = proportion_confint(np.arange(1, 51), 50, alpha=0.1, method="beta")
    np.testing.assert_allclose(limits[1:], theirs, rtol=1e-10)
    assert limits[0] == 0
    for null in (0.1, 0.5, 0.9, 0.97):
        np.testing.assert_array_equal(limits > null, x >= bt.critical_count(50, null, 0.05))


def test_the_exact_margin_is_where_the_power_turns():
    for n_obs, k, power in [(300, 0.95, 0.9), (40, 0.8, 0.5)]:
        margin = bt.exact_margin(n_obs, k, power, 0.05)
        below, above = (
            bt.trial_power(n_obs, k, k - margin * (1 + step), 0.05).power for step in (-1e-6, 1e-6)
        )
        assert below < power <= above
    assert bt.exact_margin(1, 0.95, 0.99, 0.05) == 0.95  # no null is weak enough


def test_normal_sample_size_is_that_of_statsmodels():
    for k, margin, beta in zip(*map(np.ravel, GRID), strict=True):
        null = k - margin
        spreads = math.sqrt(null * (1 - null)), math.sqrt(k * (1 - k))
        theirs = normal_sample_size_one_tail(margin, 1 - beta, 0.05, *spreads)
        assert bt.normal_sample_size(k, margin, 1 - beta, 0.05) == pytest.approx(theirs, rel=1e-10)


@pytest.mark.parametrize("rule", bt.RULES)
@pytest.mark.parametrize(("k", "margin"), [(0.6, 0.05), (0.9, 0.1), (0.97, 0.3)])
def test_sample_sizes_are_those_of_every_n(rule, k, margin):
    n = np.arange(1, 30 * math.ceil(bt.normal_sample_size(k, margin, 0.8, 0.05)))
    reaches = bt.trial_power(n, k, k - margin, 0.05, rule=rule).power >= 0.8
    every = bt.SampleSizes(int(n[reaches].min()), int(n[~reaches].max()) + 1)
    assert bt.sample_sizes(k, margin, 0.8, 0.05, rule=rule) == every


def test_a_p_value_that_is_alpha_rejects_whatever_its_rounding():
    cases = [(n, hundredths) for n in range(1, 7) for hundredths in range(1, 100, 3)]
    missed = [
        (n, hundredths)
        for n, hundredths in cases
        if bt.critical_count(n, hundredths / 100, float(Fraction(hundredths, 100) ** n)) > n
    ]
    assert missed == []


def test_a_power_that_is_the_one_asked_for_is_reached_whatever_its_rounding():
    for hundredths in range(1, 100, 3):
        for n in range(1, 7):
            power = float(Fraction(hundredths, 100) ** n)
            margin = bt.exact_margin(n, hundredths / 100, power, 0.05)
            lower = bt.clopper_pearson_lower(n, n, 0.05)
            assert hundredths / 100 - margin == pytest.approx(lower, abs=1e-15)


@pytest.mark.parametrize(("rank", "n_test"), [(1, 50), (4, 60)])
def test_power_with_order_statistic_is_the_mean_over_its_beta(rank, n_test):
    critical = bt.critical_count(184, 0.9, 0.05, rule="score")

    def integrand(s):
        density = (
            s ** (n_test - rank) * (1 - s) ** (rank - 1) / special.beta(n_test + 1 - rank, rank)
        )
        return bt.upper_tail(critical, 184, s) * density

    mean, _ = integrate.quad(integrand, 0, 1, points=[0.9, 0.95], epsabs=1e-13)
    found = bt.power_with_order_statistic(rank, n_test, 184, critical)
    assert found == pytest.approx(mean, rel=1e-9)
