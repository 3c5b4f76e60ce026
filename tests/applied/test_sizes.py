"""How many scores are enough, where power rises in a saw."""

import math

import pytest
from scipy import stats

from simstudy.applied.base_test import about_enough, enough_scores


def saw(n):
    return n / 100 - (0.03 if n % 7 == 0 else 0.0)


@pytest.mark.parametrize("about", [1, 5, 40, 60, 65, 70, 120, 500])
def test_it_is_a_size_that_reaches_the_target_after_one_that_does_not(about):
    """However far the formula is off."""
    n = enough_scores(saw, 0.63, about)
    assert saw(n) >= 0.63 > saw(n - 1)


def test_the_least_may_be_enough_and_the_most_too_few():
    assert enough_scores(lambda _: 1.0, 0.8, 10) == 1
    assert enough_scores(lambda _: 1.0, 0.8, 1, least=2) == 2
    assert enough_scores(saw, 0.63, about=30, most=50) == 51


def test_beyond_the_most_the_formula_of_the_z_test_says_it():
    assert enough_scores(lambda _: math.nan, 0.8, 51, most=50) == 51
    z = stats.norm.isf(0.05) + stats.norm.isf(0.2)
    assert about_enough(0.1, 0.05, 0.2, 0.5) == math.ceil(2 * (z * 0.5 / 0.1) ** 2)
    assert about_enough(0.1, 0.05, 0.2, 0.0) == 1
