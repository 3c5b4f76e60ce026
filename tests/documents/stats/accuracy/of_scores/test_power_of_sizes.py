"""Power of tests of counts in any number of scores, as a sum over the likely counts."""

import math

import pytest
from scipy import stats

from simstudy.documents.stats.accuracy import paired, two_binomials
from simstudy.documents.stats.accuracy._of_scores import (
    MOST,
    VARIANCE_LIMIT,
    enough_scores,
    most_counted,
    power_of_changes,
    power_of_counts,
)


def test_rare_events_are_counted_in_more_scores():
    assert most_counted(0.5) == 4 * VARIANCE_LIMIT
    assert most_counted(0.001) == pytest.approx(VARIANCE_LIMIT / 0.001 / 0.999, abs=1)
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


@pytest.mark.parametrize("alpha", [0.05, 1e-3, 1e-4])
def test_few_losses_of_many_prompts_are_a_poisson_count(alpha):
    """Nothing gained: k losses fail where 2^-k is at most alpha, and k come at rate theta."""
    theta, target = 0.0005, 0.8
    fewest = math.ceil(-math.log2(alpha))
    n = enough_scores(lambda n: power_of_changes("mcnemar", n, alpha, theta, 0.0), target, 20_000)
    powers = [stats.binom.sf(fewest - 1, size, theta) for size in (n - 1, n)]
    assert powers[0] < target <= powers[1]
