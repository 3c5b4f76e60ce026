"""How many scores are enough, where power rises in a saw."""

import math

import pytest
from scipy import stats

from simstudy.applied.count_tests import (
    MOST,
    MOST_VARIANCE,
    about_enough,
    enough_scores,
    most_counted,
    power_of_changes,
    power_of_counts,
)
from simstudy.stats.accuracy import paired, two_binomials


def saw(n):
    return n / 100 - (0.03 if n % 7 == 0 else 0.0)


@pytest.mark.parametrize("about", [1, 5, 40, 60, 65, 70, 120, 500])
def test_it_is_a_size_that_reaches_the_target_after_one_that_does_not(about):
    """However far the formula is off."""
    n = enough_scores(saw, 0.63, about)
    assert saw(n) >= 0.63 > saw(n - 1)


def test_one_may_be_enough():
    assert enough_scores(lambda _: 1.0, 0.8, 10) == 1


def test_beyond_the_most_the_formula_says_it():
    assert enough_scores(lambda _: math.nan, 0.8, MOST + 1) == MOST + 1


def test_the_formula_is_that_of_the_z_test():
    z = stats.norm.isf(0.05) + stats.norm.isf(0.2)
    assert about_enough(0.1, 0.05, 0.2, 0.5) == math.ceil(2 * (z * 0.5 / 0.1) ** 2)
    assert about_enough(0.1, 0.05, 0.2, 0.0) == 1


def test_where_the_most_is_too_few_more_is_said():
    assert enough_scores(saw, 0.63, about=30, most=50) == 51


def test_rare_events_are_counted_in_more_scores():
    assert most_counted(0.5) == 4 * MOST_VARIANCE
    assert most_counted(0.001) == pytest.approx(MOST_VARIANCE / 0.001 / 0.999, abs=1)
    assert most_counted(1.0) == most_counted(0.0) == MOST


@pytest.mark.parametrize("test", ["fisher", "fisher_mid_p", "z_pooled"])
@pytest.mark.parametrize("shares", [(0.7, 0.6), (1.0, 0.9), (0.02, 0.0)])
def test_power_of_counts_is_the_sum_over_all_of_them(test, shares):
    n = 300
    critical = two_binomials.critical_counts(test, n, n, 0.05)
    expected = two_binomials.rejection_probability(critical, n, n, *shares)
    assert power_of_counts(test, n, 0.05, *shares) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("test", ["mcnemar", "mcnemar_mid_p", "paired_z"])
@pytest.mark.parametrize("shares", [(0.1, 0.05), (0.03, 0.0), (0.0, 1.0), (0.6, 0.4)])
def test_power_of_changes_is_the_sum_over_all_of_them(test, shares):
    n = 300
    critical = paired.critical_losses(test, n, 0.05)
    expected = paired.rejection_probability(critical, n, *shares)
    found = power_of_changes(test, n, 0.05, *shares)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), [(0.05, 0.2), (0.3, 0.3)])
@pytest.mark.parametrize("test", ["fisher", "mcnemar"])
@pytest.mark.slow
def test_the_formula_leaves_out_two_over_theta_where_it_takes_over(test, alpha, beta):
    """One jump of a count, 1 / theta scores, more or less: it depends on where jumps fall."""
    share, n = 0.1, most_counted(0.1)
    theta = (stats.norm.isf(alpha) + stats.norm.isf(beta)) * math.sqrt(2 * 0.1 * 0.9 / n)
    shares = (share, share - theta) if test == "fisher" else (share + theta, share)
    power_of = power_of_counts if test == "fisher" else power_of_changes
    variances = (p * (1 - p) for p in shares) if test == "fisher" else (sum(shares) - theta**2,)
    about = about_enough(theta, alpha, beta, math.sqrt(sum(variances) / 2))
    exact = enough_scores(lambda n: power_of(test, n, alpha, *shares), 1 - beta, about)
    assert 1 < (exact - about) * theta < 3


@pytest.mark.parametrize("alpha", [0.05, 1e-3, 1e-4])
def test_few_losses_of_many_prompts_are_a_poisson_count(alpha):
    """Nothing gained: k losses fail where 2^-k is at most alpha, and k come at rate theta."""
    theta, target = 0.0005, 0.8
    fewest = math.ceil(-math.log2(alpha))
    n = enough_scores(lambda n: power_of_changes("mcnemar", n, alpha, theta, 0.0), target, 20_000)
    powers = [stats.binom.sf(fewest - 1, size, theta) for size in (n - 1, n)]
    assert powers[0] < target <= powers[1]
