"""Arguments of any type are read as the numbers they are, or refused by name."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from simstudy.documents.stats.accuracy import design, paired, t_tests
from simstudy.documents.stats.accuracy import two_binomials as tb
from simstudy.documents.stats.accuracy.tails import difference_of_products
from simstudy.errors import DesignError


def test_differences_of_products_are_exact_beyond_int64():
    counts = [2 * 10**9 - 10**5, 4 * 10**9, 2 * 10**9, 4 * 10**9 - 1]
    a, b, c, d = counts
    assert difference_of_products(*map(np.int64, counts)) == a * b - c * d


@pytest.mark.parametrize("n", [2_000, 2_100_000, 3_000_000, 4_000_000_000])
def test_z_of_many_trials_is_that_of_fractions(n):
    x, y = n // 2, n // 2 - int(2 * n**0.5)
    first, second, both = Fraction(x, n), Fraction(y, n), Fraction(x + y, 2 * n)
    variance = both * (1 - both) * 2 / n
    expected = stats.norm.cdf(float(second - first) / float(variance) ** 0.5)
    assert tb.p_values("z_pooled", x, y, n, n) == pytest.approx(expected, rel=1e-12)


def test_squares_of_changes_are_exact_beyond_int64():
    n, losses, gains = 4_000_000_000, 3_000_100_000, 900_000_000
    squares = n * (losses + gains) - (gains - losses) ** 2
    t = (gains - losses) / (squares / (n - 1)) ** 0.5
    expected = special.stdtr(n - 1, t)
    assert paired.p_values("paired_t", losses, gains, n) == expected


# ---------------------------------------------------------------- errors beyond half the digits
def test_tiny_errors_of_the_t_test_never_take_less_than_those_of_z():
    for beta in (1e-6, 1e-15, 1e-30):
        assert t_tests.sample_size(10, 0.05, beta, 50) >= design.sample_size(10, 0.05, beta, 50)


# ---------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("call", "about"),
    [
        (lambda: design.threshold(70, 10**400, 50, 100), r"alpha=10+\.\.\. .* doubles"),
        (lambda: design.threshold(70, np.array(["0.5"], object), 50, 100), r"alpha=array\(\['0.5"),
        (lambda: design.threshold(70, [0.1, [1]], 50, 100), "is not a number or an array of them"),
        (lambda: tb.p_values("fisher", 1, 1, np.inf, 10), r"n=inf .* beyond 9e\+15"),
        (lambda: tb.p_values("fisher", 1, 1, 2**60, 10), r"n=1.* beyond 9e\+15"),
        (lambda: tb.critical_counts("fisher", [9, 8], 9, 0.05), r"n has shape \(2,\)"),
    ],
)
def test_what_is_no_number_is_refused(call, about):
    with pytest.raises(DesignError, match=about):
        call()


def test_refusals_are_one_line_of_bounded_length_whatever_came():
    for many in (pd.Series(["a"] * 10_000), ["a"] * 10_000, "a\nb" * 10_000):
        with pytest.raises(DesignError, match=r"^alpha=.*0.05, not") as refused:
            design.threshold(70, many, 50, 100)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 500


def test_foreign_numbers_are_the_doubles_they_stand_for():
    expected = design.threshold(70, 0.25, 50, 100)
    for same in (Fraction(1, 4), Decimal("0.25"), np.array(0.25, object), np.array(0.25, ">f8")):
        assert design.threshold(70, same, 50, 100) == expected
