"""Tests on the same prompts against enumeration and scipy."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from simstudy.documents.stats.accuracy import paired

ALPHAS = (0.01, 0.05, 0.25, 0.4)


def table(n):
    """Every result: losses and gains."""
    return np.array([(b, c) for b in range(n + 1) for c in range(n + 1 - b)]).T


def differences(losses, gains, n):
    return np.repeat([-1.0, 1.0, 0.0], [losses, gains, n - losses - gains])


# ---------------------------------------------------------------- p-values, the slow way
def plain_mcnemar(losses, gains, n, *, mid=False):
    changed = losses + gains
    masses = [Fraction(math.comb(changed, k), 2**changed) for k in range(losses, changed + 1)]
    return float(sum(masses) - mid * masses[0] / 2)


def plain_z(losses, gains, n):
    z = (gains - losses) / math.sqrt(losses + gains) if losses + gains else 0.0
    return stats.norm.cdf(z)


def plain_t(losses, gains, n):
    """By scipy, but for equal differences, whose limits are stated."""
    scores = differences(losses, gains, n)
    if (scores == scores[0]).all():
        return {-1: 0.0, 0: 0.5, 1: 1.0}[scores[0]]
    return stats.ttest_1samp(scores, 0.0, alternative="less").pvalue


PLAIN = {
    "mcnemar": plain_mcnemar,
    "mcnemar_mid_p": lambda *result: plain_mcnemar(*result, mid=True),
    "paired_z": plain_z,
    "paired_t": plain_t,
}


@pytest.mark.parametrize("test", PLAIN)
@pytest.mark.parametrize("n", [2, 7, 20])
def test_p_values_are_the_plain_ones(test, n):
    losses, gains = table(n)
    plain = [PLAIN[test](int(b), int(c), n) for b, c in zip(losses, gains, strict=True)]
    np.testing.assert_allclose(paired.p_values(test, losses, gains, n), plain, rtol=1e-10)


def test_mcnemar_is_the_binomial_test_of_scipy_for_thousands():
    theirs = stats.binomtest(1070, 2000, alternative="greater").pvalue
    assert paired.p_values("mcnemar", 1070, 930, 5000) == pytest.approx(theirs, rel=1e-10)


# ---------------------------------------------------------------- critical counts
@pytest.mark.parametrize("test", paired.PAIRED_TESTS)
@pytest.mark.parametrize("n", [2, 9, 40])
def test_critical_losses_are_the_fewest_that_fail(test, n):
    losses, gains = table(n)
    p = paired.p_values(test, losses, gains, n)
    for alpha in ALPHAS:
        critical = paired.critical_losses(test, n, alpha)
        np.testing.assert_array_equal(p <= alpha * (1 + 1e-12), losses >= critical[gains])
        never = [c for c in range(n + 1) if not (p[gains == c] <= alpha * (1 + 1e-12)).any()]
        assert (critical[never] == n + 1).all()


def test_a_p_value_that_is_alpha_fails():
    """Four losses and no gain: 1/16."""
    assert paired.critical_losses("mcnemar", 10, 1 / 16)[0] == 4
    assert paired.critical_losses("mcnemar", 10, 1 / 16 - 1e-12)[0] == 5


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 100), st.floats(0.001, 0.5))
def test_mcnemar_holds_its_level_however_many_answers_change(n, alpha):
    critical = paired.critical_losses("mcnemar", n, alpha)
    p = np.linspace(0, 0.5, 401)
    assert paired.rejection_probability(critical, n, p, p).max() <= alpha * (1 + 1e-12)


def test_z_does_not_hold_it():
    critical = paired.critical_losses("paired_z", 100, 0.05)
    p = np.linspace(0, 0.5, 401)
    assert paired.rejection_probability(critical, 100, p, p).max() > 0.052


# ---------------------------------------------------------------- rejection probabilities
def plain_rejection(critical, n, loss, gain):
    laws = stats.multinomial(n, [loss, gain, 1 - loss - gain])
    return sum(laws.pmf([b, c, n - b - c]) for b, c in table(n).T if b >= critical[c])


@pytest.mark.parametrize("test", paired.PAIRED_TESTS)
@pytest.mark.parametrize("n", [2, 15])
def test_rejection_probabilities_are_plain_sums(test, n):
    critical = paired.critical_losses(test, n, 0.2)
    loss, gain = np.array([[0.0], [0.1], [0.5]]), np.array([0.0, 0.05, 0.5])
    found = paired.rejection_probability(critical, n, loss, gain)
    assert found.shape == (3, 3)
    for i, j in itertools.product(range(3), range(3)):
        plain = plain_rejection(critical, n, loss[i, 0], gain[j])
        assert found[i, j] == pytest.approx(plain, rel=1e-10, abs=1e-15)


def test_extremes_and_pieces():
    critical = paired.critical_losses("mcnemar", 10, 0.05)
    assert paired.rejection_probability(critical, 10, 0.0, 1.0) == 0
    assert paired.rejection_probability(critical, 10, 1.0, 0.0) == 1
    at_most_one_gain = 0.9**10 + 10 * 0.1 * 0.9**9
    found = paired.rejection_probability(critical, 10, 0.9, 0.1)
    assert found == pytest.approx(at_most_one_gain, rel=1e-12)
    many = paired.critical_losses("paired_z", 700, 0.05)
    p = np.linspace(0, 0.5, 4000)
    found = paired.rejection_probability(many, 700, p, p)
    pieces = [paired.rejection_probability(many, 700, each, each) for each in p[::800]]
    np.testing.assert_allclose(found[::800], pieces, rtol=1e-14)
    assert paired.rejection_probability(many, 700, p[:0], p[:0]).size == 0


# ---------------------------------------------------------------- scores of any kind
@pytest.mark.parametrize("lower_is_better", [False, True])
def test_t_of_scores_is_that_of_scipy(lower_is_better):
    rng = np.random.default_rng(2)
    reference, check = rng.normal(size=12), rng.normal(-0.3, size=12)
    gap = check - reference
    theirs = stats.ttest_rel(
        check, reference, alternative="greater" if lower_is_better else "less"
    ).pvalue
    found = paired.paired_t(gap.mean(), gap.std(ddof=1), 12, lower_is_better=lower_is_better)
    assert found == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("test", [paired.paired_t])
def test_differences_without_spread_are_decided_by_their_sign(test):
    assert test(np.array([-0.1, 0.0, 0.1]), 0.0, 5).tolist() == [0.0, 0.5, 1.0]
