"""Orders: the same rows, every order as often as any other, and no two networks alike."""

import itertools

import numpy as np
import pytest

from simstudy.stats.compiled.splitmix64 import place_of_half
from simstudy.stats.networks._order_kernels import _place
from simstudy.stats.networks.orders import shuffled
from tests.support import assert_within_mcse, replicates_to_catch

ORDERS = list(itertools.permutations(range(4)))
SHARE = 1 / len(ORDERS)
SD = np.sqrt(SHARE * (1 - SHARE))
# Places drawn from all four at every step, the usual mistake, give some order 15 of 256 times.
ERROR = 15 / 256 - SHARE
N_NETWORK = replicates_to_catch(ERROR, sd=SD, comparisons=len(ORDERS))


def naive(rows, rng):
    """That mistake."""
    out = rows.copy()
    for order in out:
        for i in range(len(order)):
            j = rng.integers(len(order))
            order[i], order[j] = order[j], order[i]
    return out


def held_to_equal_shares(orders):
    found = [np.mean((orders == order).all(axis=1)) for order in ORDERS]
    assert_within_mcse(found, SHARE, SD / np.sqrt(len(orders)))


def test_every_order_is_equally_likely():
    rows = np.tile(np.arange(4), (N_NETWORK, 1))
    held_to_equal_shares(shuffled(rows, np.random.default_rng(1)))
    # Caught: places drawn from all.
    with pytest.raises(AssertionError, match="suspect the code"):
        held_to_equal_shares(naive(rows, np.random.default_rng(1)))


def test_rows_are_kept_and_epochs_differ():
    rows, rng = np.random.default_rng(1).integers(0, 338, (5, 338)), np.random.default_rng(2)
    before, (first, second) = rows.copy(), [shuffled(rows, rng) for _ in range(2)]
    np.testing.assert_array_equal(rows, before)
    for epoch in (first, second):
        np.testing.assert_array_equal(np.sort(epoch, axis=1), np.sort(rows, axis=1))
    assert (first != second).any(axis=1).all()


def test_a_place_is_that_of_the_mixer_where_words_are_refused_too():
    """Beside 3 * 2^30 places one word in four favours one, and is mixed again."""
    words = np.random.default_rng(3).integers(2**64, size=200, dtype=np.uint64)
    for n in (np.uint64(7), np.uint64(3 * 2**30)):
        found = [_place(word, n) for word in words]
        assert found == [place_of_half(word, np.uint64(32), n) for word in words]
