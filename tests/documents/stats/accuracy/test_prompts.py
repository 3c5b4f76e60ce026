"""Chances of a prompt's two scores, and exact rates, against sums over every table of counts."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.stats.accuracy import paired, two_binomials
from simstudy.documents.stats.accuracy.prompts import (
    Chances,
    CriticalCounts,
    binomial_law,
    chances,
    rejection,
    rejection_given,
    rejection_of_different,
)

CORRELATED = chances(0.8, 0.7, 0.3)
N = 9


def critical_at(n: int = N, alpha: float = 0.2) -> CriticalCounts:
    right = [two_binomials.critical_counts(test, n, n, alpha) for test in ("z_pooled", "fisher")]
    lost = [paired.critical_losses(test, n, alpha) for test in ("mcnemar", "paired_z")]
    return CriticalCounts(np.stack(right, axis=1), np.stack(lost, axis=1))


# ---------------------------------------------------------------- chances
@pytest.mark.parametrize(
    ("accuracy", "check", "correlation"),
    [(0.5, 0.5, 0.0), (0.8, 0.7, 0.3), (0.9, 0.6, 0.4), (0.5, 0.4, -0.5), (0.3, 0.3, 1.0)],
)
def test_chances_have_the_accuracies_and_the_correlation(accuracy, check, correlation):
    found = chances(accuracy, check, correlation)
    scores = np.array([(1, 1), (1, 0), (0, 1), (0, 0)])
    first, second = (np.array(found) @ scores).tolist()
    covariance = np.array(found) @ np.prod(scores, axis=1) - first * second
    assert sum(found) == pytest.approx(1, abs=1e-15)
    assert (first, second) == pytest.approx((accuracy, check), rel=1e-14)
    spread = math.sqrt(first * (1 - first) * second * (1 - second))
    assert covariance / spread == pytest.approx(correlation, abs=1e-14)


def test_of_the_largest_correlation_nothing_is_gained():
    most = math.sqrt(0.6 * 0.2 / (0.8 * 0.4))
    assert chances(0.8, 0.6, most).gained == pytest.approx(0, abs=1e-12)


# ---------------------------------------------------------------- laws
@pytest.mark.parametrize(("n", "p"), [(0, 0.3), (1, 0.5), (40, 0.01), (600, 0.8), (7, 0.0)])
def test_the_binomial_law_is_that_of_scipy(n, p):
    np.testing.assert_allclose(
        binomial_law(n, p), stats.binom.pmf(np.arange(n + 1), n, p), rtol=1e-10, atol=1e-300
    )


# ---------------------------------------------------------------- rates
def slow_tables(n: int):
    return ((a, b, c, n - a - b - c) for a, b, c in itertools.product(range(n + 1), repeat=3)
            if a + b + c <= n)  # fmt: skip


def slow_rejection(critical: CriticalCounts, chance: Chances, given=None) -> np.ndarray:
    """Over every table of n prompts, one at a time; of those with a reference, if it is given."""
    n, total, rate = len(critical.right) - 1, 0.0, 0.0
    for right, lost, gained, wrong in slow_tables(n):
        if given not in (None, right + lost):
            continue
        table = [right, lost, gained, wrong]
        ways = math.factorial(n) // math.prod(map(math.factorial, table))
        weight = ways * math.prod(p**k for p, k in zip(chance, table, strict=True))
        by_right = right + gained <= critical.right[right + lost]
        by_lost = lost >= critical.lost[gained]
        rate = rate + weight * np.concatenate([by_right, by_lost])
        total += weight
    return rate / total


@pytest.mark.parametrize("chance", [CORRELATED, chances(0.5, 0.5), chances(0.3, 0.3, 1.0)])
def test_rejection_is_the_sum_over_all_tables(chance):
    slow = slow_rejection(critical_at(), chance)
    np.testing.assert_allclose(rejection(critical_at(), chance), slow, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("count", [0, 4, N])
def test_rejection_given_a_reference_is_the_sum_over_its_tables(count):
    slow = slow_rejection(critical_at(), CORRELATED, given=count)
    found = rejection_given(critical_at(), count, CORRELATED)
    np.testing.assert_allclose(found, slow, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("n", [33, 300])
def test_rejection_is_that_of_two_binomials_and_of_pairs(n):
    critical, chance = critical_at(n, 0.05), chances(0.8, 0.72)
    right, lost = critical
    both = [two_binomials.rejection_probability(c, n, n, 0.8, 0.72) for c in right.T]
    both += [paired.rejection_probability(c, n, chance.lost, chance.gained) for c in lost.T]
    np.testing.assert_allclose(rejection(critical, chance), both, rtol=1e-11)
    np.testing.assert_allclose(rejection_of_different(critical, 0.8, 0.72), both, rtol=1e-11)
    given = [two_binomials.rejection_probability_given(c, 25, n, 0.72) for c in right.T]
    np.testing.assert_allclose(rejection_given(critical, 25, chance)[:2], given, rtol=1e-9)
