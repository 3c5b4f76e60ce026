"""Ranks of positive scores as thresholds, against the document's loop."""

import math

import numpy as np
import pytest

from simstudy.trials.umbrella import Umbrella
from tests.trials.draws import streams


def document_rank(n, k, j):
    """As published, with whole numbers in place of a data frame."""
    pdf = np.array([math.comb(n, r) * ((1 - k) ** r) * (k ** (n - r)) for r in range(n + 1)])
    cdf = np.array([pdf[r:].sum() for r in range(n + 1)])
    return max(max(np.flatnonzero(1 - cdf <= 1 - j)), 1)


@pytest.mark.parametrize("n_obs", [50, 85, 200])
def test_a_block_of_ranks_is_the_documents_loop(n_obs):
    umbrella = Umbrella(n_obs)
    rank = document_rank(n_obs, 0.95, 0.8)
    assert umbrella.ranks.tolist() == [rank, 1, 2, 3, 4]
    found = umbrella.simulate(streams(), 30)
    for i, scores in enumerate(streams()("data").random((30, n_obs))):
        ordered = np.sort(scores)
        safe = [ordered[r - 1] < 1 - 0.95 for r in umbrella.ranks]
        exactly = [np.sum(scores < 1 - 0.95) == r for r in umbrella.ranks]
        np.testing.assert_array_equal(found["safe"][i], safe)
        np.testing.assert_array_equal(found["exactly"][i], exactly)


def test_infeasible_ranks_are_safe_because_nobody_is_missed():
    umbrella = Umbrella(20)
    assert umbrella.ranks[0] == 0
    assert umbrella.simulate(streams(), 10)["safe"][:, 0].all()
    assert umbrella.exact()["coverage"][0] == 1
