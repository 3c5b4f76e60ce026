"""The Neyman-Pearson umbrella against exact rationals, enumeration and quadrature."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import integrate, special

from simstudy.documents.stats import umbrella as um

K, J = "0.95", "0.8"


def exact_violation(rank, n_obs, sensitivity):
    """P(Binomial(n, 1−k) <= r − 1) in rationals."""
    k = Fraction(sensitivity)
    terms = (math.comb(n_obs, i) * (1 - k) ** i * k ** (n_obs - i) for i in range(rank))
    return sum(terms, Fraction(0))


def exact_rank(n_obs, sensitivity, confidence):
    risk = 1 - Fraction(confidence)
    safe = (r for r in range(n_obs + 1) if exact_violation(r, n_obs, sensitivity) <= risk)
    return max(safe)


@pytest.mark.parametrize("sensitivity", ["0.5", "0.75", "0.9", K])
@pytest.mark.parametrize("confidence", ["0.25", "0.5", "0.75", J, "0.875", "0.99"])
def test_rank_is_that_of_exact_rationals(sensitivity, confidence):
    """Among them n = 1, k = 1/2, j = 1/2 and other cases that meet the risk with equality."""
    n = np.arange(1, 41)
    expected = [exact_rank(int(i), sensitivity, confidence) for i in n]
    ours = um.umbrella_rank(n, float(sensitivity), float(confidence))
    np.testing.assert_array_equal(ours, expected)


def test_a_table_has_the_law_of_every_rank():
    table = um.rank_table(50, 0.95)
    np.testing.assert_array_equal(table.rank, np.arange(51))
    exact = np.array([exact_violation(rank, 50, K) for rank in range(52)])  # fractions
    np.testing.assert_allclose(table.violation, exact[:-1].astype(float), rtol=1e-11)
    np.testing.assert_allclose(table.coverage, (1 - exact[:-1]).astype(float), atol=1e-15)
    np.testing.assert_allclose(table.probability, np.diff(exact).astype(float), rtol=1e-11)


@pytest.mark.parametrize(("sensitivity", "confidence"), [("0.5", "0.75"), ("0.9", "0.9"), (K, J)])
def test_least_feasible_n_is_that_of_exact_rationals(sensitivity, confidence):
    n = int(um.least_feasible_n(float(sensitivity), float(confidence)))
    assert exact_rank(n, sensitivity, confidence) >= 1
    assert n == 1 or exact_rank(n - 1, sensitivity, confidence) == 0


@pytest.mark.parametrize("n_obs", [1_000, 10_000])
def test_rank_of_a_large_sample_brackets_the_risk(n_obs):
    rank = int(um.umbrella_rank(n_obs, 0.95, 0.8))
    with mpmath.workdps(40):
        here, after = (
            mpmath.betainc(n_obs - r + 1, r, 0, mpmath.mpf(K), regularized=True)
            for r in (rank, rank + 1)
        )
        assert here <= mpmath.mpf("0.2") < after
        assert um.violation(rank, n_obs, 0.95) == pytest.approx(float(here), rel=1e-9)


@pytest.mark.parametrize(("rank", "n_obs"), [(1, 2), (1, 50), (2, 50), (5, 30), (9, 200)])
@pytest.mark.parametrize("weight", [0.0, 0.02, 0.3, 0.7, 1.0])
def test_interpolated_violation_is_that_of_adaptive_quadrature(rank, n_obs, weight):
    """By conditioning on the upper order statistic instead of the lower."""
    miss = 0.05

    def reaches(upper):
        need = (miss - weight * upper) / (1 - weight) if weight < 1 else 0.0
        density = upper**rank * (1 - upper) ** (n_obs - rank - 1)
        return (1 - min(max(need / upper, 0.0), 1.0) ** rank) * density

    kinks = [miss, min(miss / weight, 1.0)] if weight else [miss]
    parts = sorted({miss, *kinks, 1.0})
    total = sum(
        integrate.quad(reaches, a, b, epsabs=0, epsrel=1e-11, limit=200)[0]
        for a, b in itertools.pairwise(parts)
    )
    total /= special.beta(rank + 1, n_obs - rank)
    assert um.interpolated_violation(rank, weight, n_obs, miss) == pytest.approx(total, rel=1e-8)


def test_interpolation_weight_ends():
    rank, weight = um.interpolation_weight(50, 0.95, 0.8)
    assert rank == 1
    assert um.interpolated_violation(rank, weight, 50, 0.05) == pytest.approx(0.2, abs=1e-12)
    assert um.interpolation_weight(1, 0.1, 0.2) == (1, 0.0)
    assert um.interpolation_weight(31, 0.95, 0.8) == (0, 0.0)
