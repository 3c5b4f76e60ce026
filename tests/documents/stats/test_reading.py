"""Arguments of any type are read as the numbers they are, or refused by name."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from simstudy.documents.stats.accuracy import design, paired, t_tests
from simstudy.documents.stats.accuracy import two_binomials as tb
from simstudy.documents.stats.accuracy.noncentral import noncentral_t_cdf
from simstudy.documents.stats.accuracy.tails import difference_of_products
from simstudy.documents.stats.two_stage.law import TwoStageStatistic
from simstudy.errors import DesignError


def test_differences_of_products_are_exact_beyond_int64():
    counts = [2 * 10**9 - 10**5, 4 * 10**9, 2 * 10**9, 4 * 10**9 - 1]
    a, b, c, d = counts
    assert difference_of_products(*map(np.int64, counts)) == a * b - c * d


@pytest.mark.parametrize("n", [2_000, 2_100_000, 3_000_000, 4_000_000_000])
@pytest.mark.parametrize("test", ["z_pooled", "z_unpooled"])
def test_z_of_many_trials_is_that_of_fractions(test, n):
    x, y = n // 2, n // 2 - int(2 * n**0.5)
    first, second, both = Fraction(x, n), Fraction(y, n), Fraction(x + y, 2 * n)
    variance = (first * (1 - first) + second * (1 - second)) / n
    if test == "z_pooled":
        variance = both * (1 - both) * 2 / n
    expected = stats.norm.cdf(float(second - first) / float(variance) ** 0.5)
    assert tb.p_values(test, x, y, n, n) == pytest.approx(expected, rel=1e-12)


def test_squares_of_changes_are_exact_beyond_int64():
    n, losses, gains = 4_000_000_000, 3_000_100_000, 900_000_000
    squares = n * (losses + gains) - (gains - losses) ** 2
    t = (gains - losses) / (squares / (n - 1)) ** 0.5
    expected = special.stdtr(n - 1, t)
    assert paired.p_values("paired_t", losses, gains, n) == expected


@pytest.mark.parametrize("unit", [1e200, 1e-200])
@pytest.mark.parametrize(
    "p_value",
    [
        lambda unit: t_tests.p_value(unit, 2 * unit, unit, unit, 10),
        lambda unit: paired.paired_t(-unit, unit, 10),
    ],
)
def test_the_unit_of_scores_does_not_matter(p_value, unit):
    assert p_value(unit) == pytest.approx(p_value(1.0), rel=1e-12)


# ---------------------------------------------------------------- errors beyond half the digits
def test_tiny_errors_of_the_t_test_never_take_less_than_those_of_z():
    for beta in (1e-6, 1e-15, 1e-30):
        assert t_tests.sample_size(10, 0.05, beta, 50) >= design.sample_size(10, 0.05, beta, 50)


@pytest.mark.parametrize(("df", "delta", "t"), [(2, 1.0, -3.0), (100, 1.0, -4.0), (28950, 2.8, -5)])
def test_where_the_noncentral_series_cancels_it_is_a_plain_integral(df, delta, t):
    s = np.linspace(0, 1 + 40 / np.sqrt(2 * df), 2_000_001)[1:]
    density = stats.chi.pdf(s * np.sqrt(df), df) * np.sqrt(df)
    plain = np.trapezoid(density * special.ndtr(t * s - delta), s)
    df, delta, t = np.array([df, delta, t], float)[:, np.newaxis]
    assert noncentral_t_cdf(df, delta, t) == pytest.approx(plain, rel=1e-8)
    assert noncentral_t_cdf(df, -delta, -t) == pytest.approx(1 - plain, abs=s[0] ** 2)


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
        (lambda: TwoStageStatistic(1.0, 9, 9).sf(10**400), "x=10.* is not a number"),
        (
            lambda: TwoStageStatistic(1.0, 9, 9).logpdf(np.ma.array([1.0, 2], mask=[0, 1])),
            "1 of x are masked",
        ),
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


@pytest.mark.parametrize(("delta", "t"), [(0.5, 1.0), (4.0, 5.0), (10.0, 12.8), (-1.0, -2.0)])
def test_with_one_degree_of_freedom_the_noncentral_law_is_its_integral_too(delta, t):
    u = np.linspace(-60, np.log(45), 400_001)  # of the log of a half-normal
    weight = np.exp(u - np.exp(2 * u) / 2)
    plain = (weight * special.ndtr(t * np.exp(u) - delta)).sum() / weight.sum()
    assert noncentral_t_cdf(*map(np.asarray, (1.0, delta, t))) == pytest.approx(plain, rel=1e-12)
