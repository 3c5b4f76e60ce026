"""Tests of two binomial counts against enumeration and scipy."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.stats.accuracy import counts
from simstudy.documents.stats.accuracy.design import standard_error, threshold

SIZES = [(1, 1), (3, 3), (7, 5), (3, 12)]
P_GRID = np.sin(np.linspace(0, np.pi / 2, 20_001)) ** 2


def table(n, m):
    return np.array(list(itertools.product(range(n + 1), range(m + 1)))).T


def plain_fisher(x, y, n, m, *, mid=False):
    masses = [
        Fraction(math.comb(m, k) * math.comb(n, x + y - k), math.comb(n + m, x + y))
        for k in range(max(0, x + y - n), y + 1)
    ]
    return sum(masses) - mid * masses[-1] / 2


def plain_z(x, y, n, m):
    both, difference = Fraction(x + y, n + m), Fraction(y, m) - Fraction(x, n)
    variance = both * (1 - both) * (Fraction(1, n) + Fraction(1, m))
    return stats.norm.cdf(float(difference) / math.sqrt(variance)) if variance else 0.5


PLAIN = {
    "z_pooled": plain_z,
    "fisher": plain_fisher,
    "fisher_mid_p": lambda *result: plain_fisher(*result, mid=True),
}


@pytest.mark.parametrize("test", PLAIN)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_p_values_are_plain_sums(test, n, m):
    x, y = table(n, m)
    plain = [float(PLAIN[test](int(i), int(j), n, m)) for i, j in zip(x, y, strict=True)]
    np.testing.assert_allclose(counts.p_values(test, x, y, n, m), plain, rtol=1e-12)


@pytest.mark.parametrize(
    ("n", "m", "x", "y"), [(20, 20, 15, 10), (5, 40, 5, 25), (30, 12, 21, 4), (50, 50, 40, 33)]
)
def test_boschloos_p_value_is_that_of_scipy(n, m, x, y):
    theirs = stats.boschloo_exact([[y, x], [m - y, n - x]], alternative="less", n=64).pvalue
    assert counts.p_values("boschloo", x, y, n, m) == pytest.approx(theirs, rel=2e-6)


def test_hypergeometric_tails_of_thousands_are_those_of_scipy():
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 3001, 200), rng.integers(0, 2001, 200)
    theirs = stats.hypergeom.cdf(y, 5000, x + y, 2000)
    np.testing.assert_allclose(counts.p_values("fisher", x, y, 3000, 2000), theirs, rtol=1e-9)


@pytest.mark.parametrize(("n", "m"), [*SIZES, (60, 37)])
def test_the_table_of_fishers_p_values_has_each_of_them(n, m):
    x, y = table(n, m)
    one_by_one = counts.p_values("fisher", x, y, n, m).reshape(n + 1, m + 1)
    np.testing.assert_allclose(counts.fisher_table(n, m), one_by_one, rtol=1e-12)


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("test", counts.TESTS)
def test_critical_counts_are_the_largest_that_fail(test, n, m):
    p = [counts.p_values(test, x, y, n, m) for x, y in table(n, m).T.tolist()]
    for alpha in (0.01, 0.05, 0.2, 0.45):
        fails = np.reshape(p, (n + 1, m + 1)) <= alpha * (1 + 1e-8)
        critical = counts.critical_counts(test, n, m, alpha)
        np.testing.assert_array_equal(fails, np.arange(m + 1) <= critical[:, np.newaxis])
        assert (np.diff(critical) >= 0).all()


def test_a_p_value_that_is_alpha_fails():
    """Fisher: one of C(6, 3) = 20; unconditionally 1/4 at p = 1/2."""
    assert counts.critical_counts("fisher", 3, 3, 1 / 20).tolist() == [-1, -1, -1, 0]
    assert counts.critical_counts("fisher", 3, 3, 1 / 20 - 1e-8).max() == -1
    assert counts.critical_counts("boschloo", 1, 1, 0.25).tolist() == [-1, 0]


def rates(critical, n, m, p):
    masses = stats.binom.pmf(np.arange(n + 1), n, p[:, np.newaxis])
    return (masses * stats.binom.cdf(critical, m, p[:, np.newaxis])).sum(axis=1)


@pytest.mark.parametrize(("n", "m", "alpha"), [(40, 25, 0.05), (150, 90, 0.003)])
def test_boschloos_region_is_the_last_that_holds_the_level(n, m, alpha):
    critical, p = counts.critical_counts("boschloo", n, m, alpha), counts.fisher_table(n, m)
    outside = np.arange(m + 1) > critical[:, np.newaxis]
    larger = (p <= p[outside].min() * (1 + 1e-9)).sum(axis=1) - 1
    grid = P_GRID[::10]
    assert rates(critical, n, m, grid).max() <= alpha < rates(larger, n, m, grid).max()


@pytest.mark.parametrize("strictly", [False, True])
@pytest.mark.parametrize(("n", "m", "alpha"), [(1, 1, 0.05), (30, 30, 0.05), (9, 25, 0.3)])
def test_counts_of_a_known_sigma_lie_below_its_threshold(n, m, alpha, strictly):
    critical = counts.known_sigma_counts(n, m, alpha, 0.5, strictly=strictly)
    gamma = threshold(np.arange(n + 1) / n, alpha, standard_error(0.5, n, m))
    failing = np.arange(m + 1) / m < gamma[:, np.newaxis]  # γ lies on no count
    np.testing.assert_array_equal(critical, failing.sum(axis=1) - 1)


@pytest.mark.parametrize("shift", [0.0, 1e-12, -1e-12])
def test_a_count_at_the_threshold_fails_unless_strictly(shift):
    """α = 1/4 and the σ that puts γ ten answers below; but for roundings."""
    sigma = (1 + shift) * 10 / 100 / -stats.norm.ppf(0.25) / math.sqrt(2 / 100)
    at, below = (
        counts.known_sigma_counts(100, 100, 0.25, sigma, strictly=strictly)[50:]
        for strictly in (False, True)
    )
    assert (at == np.arange(40, 91)).all()
    assert (below == np.arange(39, 90)).all()


@pytest.mark.filterwarnings("ignore:Precision loss")  # one constant sample, which is meant
@pytest.mark.parametrize(("n", "m", "alpha"), [(2, 2, 0.05), (12, 12, 0.05), (20, 3, 0.1)])
def test_counts_of_welchs_test_are_those_of_scipy(n, m, alpha):
    p = [welch_p_value(x, y, n, m) for x, y in table(n, m).T.tolist()]
    failing = np.reshape(p, (n + 1, m + 1)) <= alpha
    np.testing.assert_array_equal(counts.welch_counts(n, m, alpha), failing.sum(axis=1) - 1)


def welch_p_value(x, y, n, m):
    """Constant samples have the limits that are stated."""
    if x in (0, n) and y in (0, m):
        return (1 + np.sign(y / m - x / n)) / 2
    check, reference = np.repeat([1.0, 0.0], [y, m - y]), np.repeat([1.0, 0.0], [x, n - x])
    return stats.ttest_ind(check, reference, equal_var=False, alternative="less").pvalue


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize(("p", "q"), [(0.0, 0.2), (0.3, 0.9), (1.0, 0.0), (0.6, 1.0)])
def test_rejection_probabilities_are_plain_sums(n, m, p, q):
    critical = counts.critical_counts("z_pooled", n, m, 0.2)
    plain = sum(
        stats.binom.pmf(x, n, p) * stats.binom.pmf(y, m, q)
        for x, y in table(n, m).T.tolist()
        if y <= critical[x]
    )
    found = counts.rejection_probability(critical, n, m, p, q)
    assert found == pytest.approx(plain, rel=1e-12, abs=1e-15)
