"""The rank-sum test against loops, enumeration and scipy; its interval against the test."""

import itertools

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.stats.two_sample import theory
from simstudy.documents.stats.two_sample.rank_sum import (
    p_values_of_u,
    rank_sum,
    rank_sum_law,
    rank_sum_size,
    rank_sum_statistic,
)
from tests.documents.stats.draws import samples
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

SIZES = [(2, 2), (3, 7), (9, 4), (20, 20), (12, 61)]


def slow_u(x, y) -> float:
    return sum((a > b) + (a == b) / 2 for a in x for b in y)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_u_is_a_count_over_pairs(sizes, ties):
    x, y = samples(*sizes, ties=ties)
    assert rank_sum_statistic(x, y).u.tolist() == [slow_u(*pair) for pair in zip(x, y, strict=True)]


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (2, 3), (4, 4), (5, 3)])
def test_the_law_of_u_is_that_of_all_orders(n1, n2):
    ranks = np.arange(n1 + n2)
    orders = [set(first) for first in itertools.combinations(ranks, n1)]
    u = [slow_u(first, set(ranks) - first) for first in orders]
    counts = np.bincount(np.array(u, int), minlength=n1 * n2 + 1)
    np.testing.assert_allclose(rank_sum_law(n1, n2), counts / len(orders), rtol=1e-14)


def test_the_law_of_u_sums_to_one_and_keeps_its_tails_in_large_samples():
    law = rank_sum_law(49, 49)
    assert law.sum() == pytest.approx(1, rel=1e-12)
    assert law[0] == pytest.approx(1 / float(stats.hypergeom(98, 49, 49).pmf(49) ** -1), rel=1e-9)


@pytest.mark.parametrize(
    ("sizes", "ties"),
    [*((sizes, False) for sizes in SIZES), *((sizes, True) for sizes in SIZES[1:])],
)
def test_p_is_that_of_scipy(sizes, ties):
    x, y = samples(*sizes, ties=ties)
    kind = "exact" if max(sizes) < 50 and not ties else "asymptotic"
    known = stats.mannwhitneyu(x, y, axis=1, method=kind).pvalue
    np.testing.assert_allclose(rank_sum(x, y).p, known, rtol=1e-9)


def test_replicates_with_and_without_ties_stand_side_by_side():
    x, y = samples(6, 8, 2)
    x[1, 0] = y[1, 0]
    kinds = [("exact", 0), ("asymptotic", 1)]
    known = [stats.mannwhitneyu(x[row], y[row], method=kind).pvalue for kind, row in kinds]
    np.testing.assert_allclose(rank_sum(x, y).p, known, rtol=1e-9)


@pytest.mark.parametrize("sizes", SIZES)
def test_the_estimate_is_the_median_of_all_differences(sizes):
    x, y = samples(*sizes)
    slow = [np.median(np.subtract.outer(*pair)) for pair in zip(x, y, strict=True)]
    assert rank_sum(x, y).estimate.tolist() == slow


@pytest.mark.parametrize("sizes", SIZES[1:])
def test_the_interval_holds_the_shifts_that_are_not_rejected(sizes):
    x, y = samples(*sizes)
    found = rank_sum(x, y, alpha=0.1)
    assert (found.lower < found.estimate).all()
    for end, outwards in ((found.lower, -1e-9), (found.upper, 1e-9)):
        inside = rank_sum(x - (end - outwards)[:, np.newaxis], y)
        outside = rank_sum(x - (end + outwards)[:, np.newaxis], y)
        assert (inside.p >= 0.1).all()
        assert (outside.p < 0.1).all()


def test_many_replicates_go_some_at_a_time(monkeypatch):
    x, y = samples(7, 5, 9)
    whole = rank_sum(x, y)
    monkeypatch.setattr("simstudy.documents.stats.two_sample.rank_sum.AT_ONCE", 80)
    np.testing.assert_array_equal(rank_sum(x, y), whole)


# ---------------------------------------------------------------- theory
@pytest.mark.parametrize("sizes", SIZES)
def test_the_size_is_the_probability_of_what_is_rejected(sizes):
    law, p = rank_sum_law(*sizes), p_values_of_u(*sizes)
    slow = sum(mass for mass, value in zip(law, p, strict=True) if value < 0.05)
    assert rank_sum_size(*sizes, 0.05) == pytest.approx(slow, rel=1e-12)
    assert rank_sum_size(*sizes, 0.05) <= 0.05


N1, N2, RATIO = 20, 60, 9.0
ERROR = 0.05  # of the variance of U, relative
N_REP = replicates_to_catch(ERROR, sd=np.sqrt(2))  # of a square of a normal, relative to its mean


def variance_of_u(ratio: float) -> float:
    rng = np.random.default_rng(3)
    x, y = np.sqrt(ratio) * rng.normal(size=(N_REP, N1)), rng.normal(size=(N_REP, N2))
    null = N1 * N2 * (N1 + N2 + 1) / 12
    return float(np.mean((rank_sum_statistic(x, y).u - N1 * N2 / 2) ** 2) / null)


def variance_by_theory(ratio: float) -> float:
    z = stats.norm.isf(0.025)
    size = theory.rank_sum_size_for_normals(N1, N2, ratio)
    return float((z / stats.norm.isf(size / 2)) ** 2)


def test_the_variance_of_u_for_normals_is_that_of_theory():
    known = variance_by_theory(RATIO)
    assert_within_mcse(variance_of_u(RATIO), known, known * np.sqrt(2 / N_REP))
    # Caught: the inverse ratio.
    known = variance_by_theory(1 / RATIO)
    assert_caught(variance_of_u(RATIO), known, known * np.sqrt(2 / N_REP))
