"""How many scores are enough, where power rises in a saw."""

import math

import numpy as np
import pytest
from scipy import stats

from simstudy.applied.enough import MOST, about_enough, enough_scores
from simstudy.stats.accuracy import two_binomials


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


def test_the_formula_is_right_to_a_per_cent_where_it_takes_over():
    """The exact power at its n is off by less than a hundredth of n would move it."""
    shares = np.array([0.7, 0.6825])
    n = about_enough(0.0175, 0.05, 0.2, np.sqrt((shares * (1 - shares)).mean()))
    assert 0.8 * MOST < n < MOST
    critical = two_binomials.critical_counts("z_pooled", n, n, 0.05)
    power = two_binomials.rejection_probability(critical, n, n, *shares)
    z_alpha, z_beta = stats.norm.isf([0.05, 0.2])
    per_log_n = stats.norm.pdf(z_beta) * (z_alpha + z_beta) / 2  # slope of power
    assert abs(power - 0.8) < 0.01 * per_log_n
