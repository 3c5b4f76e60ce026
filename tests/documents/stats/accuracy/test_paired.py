"""Tests on the same prompts against enumeration and scipy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.stats.accuracy import paired


def table(n):
    return np.array([(b, c) for b in range(n + 1) for c in range(n + 1 - b)]).T


def plain_mcnemar(losses, gains, n, *, mid=False):
    changed = losses + gains
    masses = [Fraction(math.comb(changed, k), 2**changed) for k in range(losses, changed + 1)]
    return float(sum(masses) - mid * masses[0] / 2)


def plain_z(losses, gains, n):
    z = (gains - losses) / math.sqrt(losses + gains) if losses + gains else 0.0
    return stats.norm.cdf(z)


def plain_t(losses, gains, n):
    """By scipy, but for equal differences, whose limits are stated."""
    scores = np.repeat([-1.0, 1.0, 0.0], [losses, gains, n - losses - gains])
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


@pytest.mark.parametrize("test", paired.PAIRED_TESTS)
@pytest.mark.parametrize("n", [2, 9, 40])
def test_critical_losses_are_the_fewest_that_fail(test, n):
    losses, gains = table(n)
    p = paired.p_values(test, losses, gains, n)
    for alpha in (0.01, 0.05, 0.25, 0.4):
        fails, critical = p <= alpha * (1 + 1e-9), paired.critical_losses(test, n, alpha)
        np.testing.assert_array_equal(fails, losses >= critical[gains])
        never = [c for c in range(n + 1) if not fails[gains == c].any()]
        assert (critical[never] == n + 1).all()


def test_a_p_value_that_is_alpha_fails():
    """Four losses and no gain: 1/16."""
    assert paired.critical_losses("mcnemar", 10, 1 / 16)[0] == 4
    assert paired.critical_losses("mcnemar", 10, 1 / 16 - 1e-9)[0] == 5


@pytest.mark.parametrize("test", paired.PAIRED_TESTS)
@pytest.mark.parametrize("n", [2, 15])
@pytest.mark.parametrize(
    ("loss", "gain"), [(0.0, 0.05), (0.1, 0.0), (0.1, 0.5), (0.5, 0.5), (0.0, 1.0), (1.0, 0.0)]
)
def test_rejection_probabilities_are_plain_sums(test, n, loss, gain):
    critical, law = paired.critical_losses(test, n, 0.2), [loss, gain, 1 - loss - gain]
    plain = sum(
        stats.multinomial.pmf([b, c, n - b - c], n, law)
        for b, c in table(n).T.tolist()
        if b >= critical[c]
    )
    found = paired.rejection_probability(critical, n, loss, gain)
    assert found == pytest.approx(plain, rel=1e-10, abs=1e-15)
