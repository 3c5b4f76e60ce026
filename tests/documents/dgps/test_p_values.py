"""Lists of p-values: which are compatible, what their law is, and how they depend on each other."""

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.dgps.normals import standard_normals
from simstudy.documents.dgps.p_values import ScoredPredictions
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

SHIFTED = ScoredPredictions(10, null_share=0.3, shift=2.0, spread=1.5)


def test_compatible_ones_lie_evenly_among_the_others():
    assert np.flatnonzero(SHIFTED.is_null).tolist() == [3, 6, 9]
    for n, share in ((168, 0.25), (168, 1.0), (168, 0.0), (7, 0.5), (1, 0.4)):
        lists = ScoredPredictions(n, share)
        assert lists.is_null.sum() == lists.n_null == round(n * share)
        assert lists.true_share == lists.n_null / n


def test_p_is_two_sided_of_a_normal_score():
    scores = standard_normals(np.random.default_rng(1), 6, 10)
    scores = np.where(SHIFTED.is_null, scores, 2.0 + 1.5 * scores)
    log_p = SHIFTED.draw(np.random.default_rng(1), 6)
    known = [[2 * min(stats.norm.cdf(z), stats.norm.sf(z)) for z in row] for row in scores]
    np.testing.assert_allclose(np.exp(log_p), known, rtol=1e-12)


def test_law_of_those_that_are_not_compatible():
    p = np.array([1e-12, 0.01, 0.5, 0.999])
    reach = stats.norm.isf(p / 2)
    law = stats.norm(2.0, 1.5)
    np.testing.assert_allclose(SHIFTED.cdf_of_others(p), law.cdf(-reach) + law.sf(reach), rtol=1e-9)
    np.testing.assert_allclose(ScoredPredictions().cdf_of_others(p), p, rtol=1e-9)
    assert SHIFTED.cdf_of_others([0.0, 1.0]).tolist() == [0.0, 1.0]


# ---------------------------------------------------------------- dependence
ERROR, RHO = 0.05, 0.6


def products(lists: ScoredPredictions, n_rep: int) -> np.ndarray:
    """Mean product of neighbouring scores, by place."""
    scores = lists._standard_scores(np.random.default_rng(3), n_rep)
    return (scores[:, 1:] * scores[:, :-1]).mean(axis=0)


@pytest.mark.parametrize(("size", "apart"), [(0, []), (3, [2, 5]), (2, [1, 3, 5])])
def test_scores_of_a_group_share_their_correlation_and_no_others(size, apart):
    """A product of two normals with correlation ρ has variance 1 + ρ²."""
    sd, n = np.sqrt(1 + RHO**2), 7
    n_rep = replicates_to_catch(ERROR, sd=sd, comparisons=n - 1)
    lists = ScoredPredictions(n, correlation=RHO, n_together=size)
    known = np.full(n - 1, RHO)
    known[apart] = 0
    assert_within_mcse(products(lists, n_rep), known, sd / np.sqrt(n_rep))
    assert_caught(products(lists, n_rep), known - 2 * ERROR, sd / np.sqrt(n_rep))
