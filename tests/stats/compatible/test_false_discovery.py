"""False discovery rates against hand-computed fractions and the formulas in plain loops."""

import numpy as np
import pytest
from scipy import stats

from simstudy.errors import DesignError
from simstudy.stats.compatible.false_discovery import (
    EXACT_RATIO,
    cfdr,
    harmonic_numbers,
    nfdr,
    rfdr,
)
from simstudy.stats.compatible.null_proportion import rfdr_proportion
from tests.stats.compatible import plain
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

HAND = np.array([3 / 5, 1 / 20, 1 / 5, 1 / 20])


def lists(n: int, n_rep: int = 40, seed: int = 1) -> np.ndarray:
    """Uniform, small, rounded (so that some are equal), with zeros and ones."""
    p = np.random.default_rng(seed).random((n_rep, n))
    p[1::4] **= 4
    p[2::4] = np.round(p[2::4], 1)
    return p


def test_rates_by_hand():
    """Of 3/5, 1/20, 1/5, 1/20: ranks of equal p-values are the larger one.

    Of the RFDR ranks 1, 2, 3, 4 have the rates of ranks [1.6] = 2, [3.2] = 3, and two beyond.
    """
    known = [25 / 12 * 3 / 5, 1 / 10, 11 / 6 * 4 / 15, 3 / 2 * 1 / 10]
    np.testing.assert_allclose(nfdr(HAND), [3 / 5, 1 / 10, 4 / 15, 1 / 10], rtol=1e-14)
    np.testing.assert_allclose(cfdr(HAND), known, rtol=1e-14)
    np.testing.assert_allclose(cfdr(HAND, clipped=True), [1, *known[1:]], rtol=1e-14)
    np.testing.assert_allclose(rfdr(HAND), [1, 1 / 10, 1, 4 / 15], rtol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 50])
class TestPlainLoops:
    def test_nfdr(self, n):
        p = lists(n)
        np.testing.assert_allclose(nfdr(p), [plain.nfdr(row) for row in p], rtol=1e-14)

    @pytest.mark.parametrize("order", ["nfdr", "p"])
    @pytest.mark.parametrize("clipped", [False, True])
    def test_cfdr(self, n, order, clipped):
        p = lists(n)
        known = [plain.cfdr(row, order, clipped) for row in p]
        np.testing.assert_allclose(cfdr(p, order=order, clipped=clipped), known, rtol=1e-13)

    @pytest.mark.parametrize("order", ["nfdr", "p"])
    @pytest.mark.parametrize("ratio", [1.6, EXACT_RATIO, 1.0])
    def test_rfdr(self, n, order, ratio):
        p = lists(n)
        known = [plain.rfdr(row, order, ratio) for row in p]
        np.testing.assert_allclose(rfdr(p, order=order, ratio=ratio), known, rtol=1e-14)


# ---------------------------------------------------------------- theory
def mean_capped(n: int) -> np.ndarray:
    """E min(n U(i) / i, 1) of the order statistics of n uniforms, Beta(i, n - i + 1)."""
    i = np.arange(1, n + 1)
    below = stats.beta.cdf(i / n, i + 1, n - i + 1) * n / (n + 1)
    return below + stats.beta.sf(i / n, i, n - i + 1)


N, ERROR = 20, 0.01


def test_rates_of_uniform_p_values_are_those_of_order_statistics():
    n_rep = replicates_to_catch(ERROR, sd=0.5, comparisons=N)  # of a value in [0, 1], at most
    ordered = np.sort(np.random.default_rng(5).random((n_rep, N)), axis=1)
    rates, mcse = nfdr(ordered), 0.5 / np.sqrt(n_rep)
    assert_within_mcse(rates.mean(axis=0), mean_capped(N), mcse)
    per_rank = cfdr(ordered, order="p").mean(axis=0) / harmonic_numbers(N)
    assert_within_mcse(per_rank, mean_capped(N), mcse)
    off = np.minimum(ordered * (N + 1) / np.arange(1, N + 1), 1)  # as if there were one more
    assert_caught(off.mean(axis=0), mean_capped(N), mcse)


# ---------------------------------------------------------------- refusals


def test_no_list_is_refused():
    with pytest.raises(DesignError, match=r"p has (shape \(\), so its axes|nothing along 'n')"):
        nfdr(np.empty((3, 0)))


def test_a_ratio_beyond_every_rank_leaves_all_at_1():
    p = np.linspace(0.01, 0.3, 12)
    assert rfdr(p, ratio=1e18).tolist() == [1.0] * 12
    assert rfdr_proportion(p, ratio=1e300) == 1.0
