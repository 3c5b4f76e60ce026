"""Lists of p-values: which are compatible, their law and dependence, and the theory of them."""

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.scenarios.proportions import METHODS, EstimatedProportion, Proportion
from simstudy.documents.stats.compatible import fisher
from tests.documents.draws import streams_at
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

SHIFTED = Proportion(10, null_share=0.3, shift=2.0, spread=1.5)


def test_compatible_ones_lie_evenly_among_the_others():
    assert np.flatnonzero(SHIFTED.is_null).tolist() == [3, 6, 9]
    for n, share in ((168, 0.25), (168, 1.0), (168, 0.0), (7, 0.5), (1, 0.4)):
        lists = Proportion(n, share)
        assert lists.is_null.sum() == lists.n_null == round(n * share)


def test_data_are_two_sided_p_values_of_normal_scores_their_truth_and_fishers():
    scores = streams_at()("data").standard_normal((6, 10))
    scores = np.where(SHIFTED.is_null, scores, 2.0 + 1.5 * scores)
    data = SHIFTED.draw(streams_at(), 6)
    known = [[2 * min(stats.norm.cdf(z), stats.norm.sf(z)) for z in row] for row in scores]
    np.testing.assert_allclose(data["p"], known, rtol=1e-12)
    np.testing.assert_allclose(data["log10_p"], fisher(np.log(data["p"])) / np.log(10))
    assert data["truth"] == 0.3


def test_law_of_those_that_are_not_compatible():
    p = np.array([1e-12, 0.01, 0.5, 0.999])
    reach, law = stats.norm.isf(p / 2), stats.norm(2.0, 1.5)
    np.testing.assert_allclose(SHIFTED.cdf_of_others(p), law.cdf(-reach) + law.sf(reach), rtol=1e-9)
    np.testing.assert_allclose(Proportion().cdf_of_others(p), p, rtol=1e-9)
    assert SHIFTED.cdf_of_others(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]


ERROR, RHO = 0.2, 0.6


@pytest.mark.parametrize(("size", "apart"), [(0, []), (3, [2, 5]), (2, [1, 3, 5])])
def test_scores_of_a_group_share_their_correlation_and_no_others(size, apart):
    """E z² z'² = 1 + 2 ρ², of products with a variance below E z⁸ = 105."""
    sd, n = np.sqrt(105), 7
    n_rep = replicates_to_catch(ERROR, sd=sd, comparisons=n - 1)
    lists = Proportion(n, correlation=RHO, n_together=size)
    squares = stats.norm.isf(np.exp(lists.log_p_values(np.random.default_rng(3), n_rep)) / 2) ** 2
    found = (squares[:, 1:] * squares[:, :-1]).mean(axis=0)
    known = np.full(n - 1, 1 + 2 * RHO**2)
    known[apart] = 1
    assert_within_mcse(found, known, sd / np.sqrt(n_rep))
    assert_caught(found, known - 2 * ERROR, sd / np.sqrt(n_rep))


def test_theory_speaks_of_independent_lists_and_of_the_order_of_p():
    trial = EstimatedProportion(20, null_share=0.25, shift=2.0)
    known = dict(zip(METHODS, trial.exact()["bias"], strict=True))
    told = {name for name, value in known.items() if np.isfinite(value)}
    assert told == {"cfdr_by_p", "cfdr_by_p_clipped", "rfdr_by_p", "storey"}
    assert EstimatedProportion(20, correlation=0.3).exact() == {}
