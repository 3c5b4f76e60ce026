"""Area under the curve, by counting all pairs."""

import numpy as np
import pytest

from simstudy import measures as m


def by_pairs(score, effect):
    """The area, and DeLong's error from the spread of each replicate's share of wins."""
    above = score[effect == 1][:, None] > score[effect == 0]
    ties = score[effect == 1][:, None] == score[effect == 0]
    wins = above + ties / 2
    area, n = wins.mean(), len(score)
    squares = sum((n / len(v)) ** 2 * ((v - area) ** 2).sum() for v in (wins.mean(1), wins.mean(0)))
    return area, np.sqrt(squares / (n - 1) / n)


def test_the_area_is_the_share_of_pairs_in_order_cell_by_cell():
    rng = np.random.default_rng(1)
    score, effect = rng.integers(0, 6, (40, 2)).astype(float), rng.integers(0, 2, 40)
    score[3, 1] = np.nan
    found = m.area_under_curve("s", effect="e").estimate({"s": score, "e": effect})
    for cell in range(2):
        there = ~np.isnan(score[:, cell])
        expected = by_pairs(score[there, cell], effect[there])
        assert (found.estimate[cell], found.mcse[cell]) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(found.n_failed, [0, 1])
