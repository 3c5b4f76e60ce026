"""Exact means of estimated proportions: order statistics, enumeration, and simulation."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.dgps.p_values import ScoredPredictions
from simstudy.documents.stats.compatible import theory
from simstudy.documents.stats.compatible.null_proportion import ESTIMATORS
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

HARMONIC = np.cumsum(1 / np.arange(1, 169))


def mean_capped(n: int) -> np.ndarray:
    """E min(n U(i) / i, 1) of the order statistics of n uniforms, Beta(i, n - i + 1)."""
    i = np.arange(1, n + 1)
    below = stats.beta.cdf(i / n, i + 1, n - i + 1) * n / (n + 1)
    return below + stats.beta.sf(i / n, i, n - i + 1)


def uniform(n: int) -> theory.Mixture:
    return theory.Mixture(n, 0, lambda s: s)


def mixture(lists: ScoredPredictions) -> theory.Mixture:
    return theory.Mixture(lists.n_null, lists.n_prediction - lists.n_null, lists.cdf_of_others)


@pytest.mark.parametrize("n", [1, 2, 5, 168])
def test_uniform_p_values_have_the_means_of_beta_variables(n):
    known = mean_capped(n)
    found = theory.mean_cfdr_proportion(uniform(n))
    assert found == pytest.approx((HARMONIC[:n] * known).mean(), rel=1e-10)
    later = np.floor(1.6 * np.arange(1, n + 1) + 0.5).astype(int)
    beyond = (later > n).sum()
    assert theory.mean_rfdr_proportion(uniform(n)) == pytest.approx(
        (known[later[later <= n] - 1].sum() + beyond) / n, rel=1e-10
    )


def test_of_168_the_printed_mean_is_4_55_and_the_clipped_one_0_996():
    i, n = np.arange(1, 169), 168
    ends = i / (n * HARMONIC)
    below = stats.beta.cdf(ends, i + 1, n - i + 1) * i / (n + 1) / ends
    clipped = (below + stats.beta.sf(ends, i, n - i + 1)).mean()
    assert theory.mean_cfdr_proportion(uniform(n), clipped=True) == pytest.approx(clipped)
    assert theory.mean_cfdr_proportion(uniform(n)) == pytest.approx(4.5546, abs=5e-5)
    assert clipped == pytest.approx(0.99607, abs=5e-6)


@pytest.mark.parametrize("lists", [(2, 1), (1, 3), (0, 4)])
def test_counts_are_those_of_every_way_to_be_below(lists):
    n_null, n_other = lists
    mixed = theory.Mixture(n_null, n_other, lambda s: np.sqrt(s))
    law = mixed.counts(np.array([0.3, 0.0, 1.0]))
    for place, row in zip((0.3, 0.0, 1.0), law, strict=True):
        known = np.zeros(n_null + n_other + 1)
        chances = [place] * n_null + [place**0.5] * n_other
        for below in product((0, 1), repeat=len(chances)):
            known[sum(below)] += np.prod(
                [c if b else 1 - c for b, c in zip(below, chances, strict=True)]
            )
        np.testing.assert_allclose(row, known, atol=1e-14)


def test_storeys_moments_are_those_of_a_binomial():
    count = np.arange(31)
    estimate, law = np.minimum(count / 30 / 0.4, 1), stats.binom.pmf(count, 30, 0.4)
    found = theory.storey_moments(uniform(30), lam=0.6)
    assert found.mean == pytest.approx(law @ estimate)
    assert found.sd == pytest.approx(np.sqrt(law @ estimate**2 - (law @ estimate) ** 2))


ERROR = 0.01
THEORY = {
    "cfdr_by_p": theory.mean_cfdr_proportion,
    "cfdr_by_p_clipped": lambda mixed: theory.mean_cfdr_proportion(mixed, clipped=True),
    "rfdr_by_p": theory.mean_rfdr_proportion,
    "storey": lambda mixed: theory.storey_moments(mixed).mean,
}
LISTS = ScoredPredictions(12, null_share=0.5, shift=2.0)
N_REP = replicates_to_catch(ERROR, sd=1.0, comparisons=len(THEORY))


def test_simulated_means_are_those_of_theory():
    """Estimates of 12 values spread by less than 1."""
    p = np.exp(LISTS.draw(np.random.default_rng(4), N_REP))
    found = [ESTIMATORS[name](p).mean() for name in THEORY]
    known = [mean(mixture(LISTS)) for mean in THEORY.values()]
    assert_within_mcse(found, known, 1 / np.sqrt(N_REP))
    off = [mean(mixture(ScoredPredictions(12, 0.5, 2.2))) for mean in THEORY.values()]
    assert_caught(found, off, 1 / np.sqrt(N_REP))
