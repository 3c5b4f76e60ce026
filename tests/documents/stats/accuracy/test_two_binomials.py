"""Tests of two binomial counts against enumeration, scipy and statsmodels."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from simstudy.documents.stats.accuracy import design
from simstudy.documents.stats.accuracy import two_binomials as tb
from simstudy.documents.stats.accuracy.two_binomials import ABOVE_HALF, PRECISION, largest_rate

SIZES = [(1, 1), (3, 3), (7, 5), (3, 12)]
EXACT = ("fisher", "boschloo", "barnard")
P_GRID = np.sin(np.linspace(0, np.pi / 2, 20_001)) ** 2


def table(n, m):
    """Every result: counts of the reference and of the check."""
    return np.array(list(itertools.product(range(n + 1), range(m + 1)))).T


# ---------------------------------------------------------------- p-values, the slow way
def plain_fisher(x, y, n, m, *, mid=False):
    masses = [
        Fraction(math.comb(m, k) * math.comb(n, x + y - k), math.comb(n + m, x + y))
        for k in range(max(0, x + y - n), y + 1)
    ]
    return sum(masses) - mid * masses[-1] / 2


def plain_squared_z(x, y, n, m, *, pooled):
    """With its sign, in fractions: ordered as z is."""
    first, second, both = Fraction(x, n), Fraction(y, m), Fraction(x + y, n + m)
    variance = first * (1 - first) / n + second * (1 - second) / m
    if pooled:
        variance = both * (1 - both) * (Fraction(1, n) + Fraction(1, m))
    sign = (second > first) - (second < first)
    if not variance:
        return sign * math.inf if sign else Fraction(0)
    return sign * (second - first) ** 2 / variance


def plain_z_p_value(x, y, n, m, *, pooled):
    squared = plain_squared_z(x, y, n, m, pooled=pooled)
    return stats.norm.cdf(math.copysign(math.sqrt(abs(squared)), squared))


PLAIN = {
    "z_pooled": lambda *result: plain_z_p_value(*result, pooled=True),
    "fisher": plain_fisher,
    "fisher_mid_p": lambda *result: plain_fisher(*result, mid=True),
}
ORDER = {"boschloo": plain_fisher, "barnard": lambda *result: plain_squared_z(*result, pooled=True)}


@pytest.mark.parametrize("test", PLAIN)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_p_values_are_plain_sums(test, n, m):
    x, y = table(n, m)
    plain = [float(PLAIN[test](int(i), int(j), n, m)) for i, j in zip(x, y, strict=True)]
    np.testing.assert_allclose(tb.p_values(test, x, y, n, m), plain, rtol=1e-12)


def plain_unconditional(order, n, m, p):
    """For every result the sum over all that the order puts as low, at the worst probability."""
    results = table(n, m).T.tolist()
    masses = np.array([stats.binom.pmf(x, n, p) * stats.binom.pmf(y, m, p) for x, y in results])
    places = [order(x, y, n, m) for x, y in results]
    as_low = [[other <= place for other in places] for place in places]
    return [masses[chosen].sum(axis=0).max() for chosen in as_low]


@pytest.mark.parametrize("test", ORDER)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_unconditional_p_values_are_suprema_of_plain_sums(test, n, m):
    plain = np.array(plain_unconditional(ORDER[test], n, m, P_GRID))
    found = tb.p_values(test, *table(n, m), n, m)
    allowed = np.where(plain > 0.5, ABOVE_HALF, PRECISION)
    between_grid_points = 5 * (n + m) * (np.pi / P_GRID.size) ** 2 / 8
    assert (found >= plain * (1 - allowed)).all()
    assert (found <= plain * (1 + between_grid_points)).all()


# ---------------------------------------------------------------- independent libraries
def as_table(x, y, n, m):
    """As scipy wants it: the check in the first column, which is tested for less."""
    return [[y, x], [m - y, n - x]]


LARGER = [(20, 20, 19, 12), (20, 20, 15, 10), (5, 40, 5, 25), (30, 12, 21, 4), (50, 50, 40, 33)]


@pytest.mark.parametrize(("n", "m", "x", "y"), LARGER)
def test_p_values_are_those_of_scipy(n, m, x, y):
    counts = as_table(x, y, n, m)
    fisher = stats.fisher_exact(counts, alternative="less").pvalue
    assert tb.p_values("fisher", x, y, n, m) == pytest.approx(fisher, rel=1e-11)
    boschloo = stats.boschloo_exact(counts, alternative="less").pvalue
    assert tb.p_values("boschloo", x, y, n, m) == pytest.approx(boschloo, rel=1e-7)
    barnard = stats.barnard_exact(counts, alternative="less", pooled=True).pvalue
    assert tb.p_values("barnard", x, y, n, m) == pytest.approx(barnard, rel=1e-7)


def test_results_that_tie_in_z_count_together_where_scipy_tells_them_apart_by_a_rounding():
    """(3, 1) and (2, 0) of three have one z: (1 + 3 + 3)/64 at p = 1/2."""
    assert tb.p_values("barnard", 3, 1, 3, 3) == pytest.approx(7 / 64, rel=1e-12)
    apart = stats.barnard_exact(as_table(3, 1, 3, 3), alternative="less").pvalue
    assert apart < 7 / 64 - 0.01


def test_hypergeometric_tails_of_thousands_are_those_of_scipy():
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 3001, 200), rng.integers(0, 2001, 200)
    theirs = stats.hypergeom.cdf(y, 5000, x + y, 2000)
    np.testing.assert_allclose(tb.p_values("fisher", x, y, 3000, 2000), theirs, rtol=1e-9, atol=0)


# ---------------------------------------------------------------- critical counts
@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("test", tb.TESTS)
def test_critical_counts_are_the_largest_that_fail(test, n, m):
    p = tb.p_values(test, *table(n, m), n, m).reshape(n + 1, m + 1)
    for alpha in (0.01, 0.05, 0.2, 0.45):
        fails = p <= alpha * (1 + 1e-8)
        critical = tb.critical_counts(test, n, m, alpha)
        np.testing.assert_array_equal(fails, np.arange(m + 1) <= critical[:, np.newaxis])
        assert (np.diff(critical) >= 0).all()


def test_a_p_value_that_is_alpha_fails():
    """Fisher: one of C(6, 3) = 20; unconditionally 1/4 at p = 1/2."""
    assert tb.critical_counts("fisher", 3, 3, 1 / 20).tolist() == [-1, -1, -1, 0]
    assert tb.critical_counts("fisher", 3, 3, np.nextafter(1 / 20 - 1e-12, 0)).max() == -1
    assert tb.critical_counts("boschloo", 1, 1, 0.25).tolist() == [-1, 0]
    assert tb.critical_counts("barnard", 1, 1, 0.25).tolist() == [-1, 0]


@pytest.mark.parametrize("test", tb.ORDERED_BY)
@pytest.mark.parametrize("alpha", [0.003, 0.05])
def test_the_search_between_regions_ends_at_the_last_that_holds_the_level(test, alpha):
    n, m = 150, 90  # more results than are ordered one by one
    critical = tb.critical_counts(test, n, m, alpha)
    base = tb._P[tb.ORDERED_BY[test]]
    assert tb.size(critical, n, m) <= alpha
    x, y = table(n, m)
    outside = y > critical[x]
    least = base(x[outside], y[outside], np.asarray(n), np.asarray(m)).min()
    assert tb.size(tb._counts_up_to(base, float(least), n, m), n, m) > alpha


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.001, 0.5), st.sampled_from(EXACT))
def test_exact_tests_hold_their_level_at_every_probability(n, m, alpha, test):
    critical = tb.critical_counts(test, n, m, alpha)
    p = np.linspace(0, 1, 501)
    rates = tb.rejection_probability(critical, n, m, p, p)
    assert rates.max() <= alpha * (1 + 1e-8)
    assert rates.max() <= tb.size(critical, n, m) * (1 + PRECISION)


# ---------------------------------------------------------------- the largest rate
@pytest.mark.parametrize(
    ("n", "m"), [(8, 8), (40, 25), pytest.param(200, 200, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("test", tb.TESTS)
def test_no_probability_has_a_rate_above_the_size(test, n, m):
    critical = tb.critical_counts(test, n, m, 0.05)
    found = tb.size(critical, n, m)
    near = P_GRID[np.argmax(tb.rejection_probability(critical, n, m, P_GRID, P_GRID))]
    p = np.clip(np.append(P_GRID, np.linspace(near - 1e-4, near + 1e-4, 2001)), 0, 1)
    largest = tb.rejection_probability(critical, n, m, p, p).max()
    assert largest <= found * (1 + PRECISION)
    assert found == pytest.approx(largest, rel=1e-6)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 30), st.integers(1, 30), st.randoms(use_true_random=False))
def test_the_largest_rate_of_any_region_is_found(n, m, random):
    critical = np.sort([random.randint(-1, m) for _ in range(n + 1)])
    rates = tb.rejection_probability(critical, n, m, P_GRID[::10], P_GRID[::10])
    assert rates.max() <= tb.size(critical, n, m) * (1 + ABOVE_HALF)
    assert tb.size(critical, n, m) <= 1


def test_a_question_of_enough_is_answered_like_the_size():
    critical = tb.critical_counts("z_pooled", 60, 60, 0.05)
    size = tb.size(critical, 60, 60)
    assert largest_rate(critical, 60, enough=size * 0.999) > size * 0.999
    assert largest_rate(critical, 60, enough=size * 1.001) <= size * 1.001


def test_a_narrow_peak_is_not_missed():
    """Failing at one result alone: its rate is p^2 (1 − p)^400 at its largest."""
    critical = np.array([-1, -1, 0])
    expected = (2 / 402) ** 2 * (400 / 402) ** 400
    assert tb.size(critical, 2, 400) == pytest.approx(expected, rel=1e-8)


# ---------------------------------------------------------------- rejection probabilities
def plain_rejection(critical, n, m, p, q):
    return sum(
        stats.binom.pmf(x, n, p) * stats.binom.pmf(y, m, q)
        for x in range(n + 1)
        for y in range(critical[x] + 1)
    )


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_rejection_probabilities_are_plain_sums(n, m):
    critical = tb.critical_counts("z_pooled", n, m, 0.2)
    p, q = np.array([[0.0], [0.3], [1.0]]), np.array([0.0, 0.2, 0.9, 1.0])
    found = tb.rejection_probability(critical, n, m, p, q)
    assert found.shape == (3, 4)
    for (i, j), value in np.ndenumerate(found):
        plain = plain_rejection(critical, n, m, p[i, 0], q[j])
        assert value == pytest.approx(plain, rel=1e-12, abs=1e-15)


def test_given_the_reference_it_is_a_binomial_tail_and_averages_to_the_whole():
    n, m, p, q = 30, 20, 0.8, 0.7
    critical, x = tb.critical_counts("fisher_mid_p", n, m, 0.05), np.arange(n + 1)
    given_counts = tb.rejection_probability_given(critical, x, m, q)
    np.testing.assert_allclose(given_counts, stats.binom.cdf(critical, m, q), rtol=1e-12)
    mean = stats.binom.pmf(x, n, p) @ given_counts
    assert mean == pytest.approx(tb.rejection_probability(critical, n, m, p, q), rel=1e-12)


def test_many_probabilities_are_taken_in_pieces():
    critical = tb.critical_counts("z_pooled", 300, 300, 0.05)
    p = np.linspace(0, 1, 5000)
    found = tb.rejection_probability(critical, 300, 300, p, p)
    pieces = [tb.rejection_probability(critical, 300, 300, each, each) for each in p[::500]]
    np.testing.assert_allclose(found[::500], pieces, rtol=1e-14)
    assert tb.rejection_probability(critical, 300, 300, p[:0], p[:0]).size == 0


# ---------------------------------------------------------------- tests that take them for means
@pytest.mark.parametrize("strictly", [False, True])
@pytest.mark.parametrize(("n", "m", "alpha"), [(1, 1, 0.05), (30, 30, 0.05), (9, 25, 0.3)])
def test_counts_of_a_known_sigma_are_those_that_the_design_fails(n, m, alpha, strictly):
    critical = tb.known_sigma_critical_counts(n, m, alpha, 0.5, strictly=strictly)
    for x in range(n + 1):
        gamma = design.threshold(x / n, alpha, 0.5, n, m)
        failing = [y for y in range(m + 1) if design.fails(y / m, gamma, strictly=strictly)]
        assert critical[x] == max(failing, default=-1)


@pytest.mark.filterwarnings("ignore:Precision loss")  # one constant sample, which is meant
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize(("n", "m", "alpha"), [(2, 2, 0.05), (12, 12, 0.05), (5, 17, 0.2)])
def test_t_counts_are_those_of_scipy(n, m, alpha, pooled):
    critical = tb.t_critical_counts(n, m, alpha, pooled=pooled)
    for x in range(n + 1):
        reference = np.repeat([1.0, 0.0], [x, n - x])
        failing = [
            y
            for y in range(m + 1)
            if t_p_value(np.repeat([1.0, 0.0], [y, m - y]), reference, pooled) <= alpha
        ]
        assert critical[x] == max(failing, default=-1)


def t_p_value(check, reference, pooled):
    """Constant samples have the limits that are stated."""
    if check.std() == reference.std() == 0:
        return {-1: 0.0, 0: 0.5, 1: 1.0}[np.sign(check[0] - reference[0])]
    return stats.ttest_ind(check, reference, equal_var=pooled, alternative="less").pvalue
