"""Shares of a study: every block in one, by number or by cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstudy.design.plan import scenario_behind
from simstudy.engine.shares import shares_of
from tests import toy
from tests.engine.test_methods import METHODS
from tests.engine.test_methods import study as study_with_methods

PLAN = toy.study((3, 10, 30, 100)).plan()
KEYS = list(PLAN.keys)
ANALYSED = study_with_methods().plan().drawn


def share_of_each(n_shares, n_blocks, weights=None, plan=PLAN):
    """By key, the share of each block."""
    blocks = np.arange(n_blocks)
    return {key: share(blocks) for key, share in shares_of(plan, n_shares, weights).items()}


@pytest.mark.parametrize("weights", [None, dict.fromkeys(KEYS, 3.0), {}, {"unknown": 7.0}])
@pytest.mark.parametrize("n_shares", [1, 3, 5, 9])
def test_equal_blocks_are_dealt_out_in_turn(n_shares, weights):
    found = share_of_each(n_shares, 9, weights)
    for place, key in enumerate(KEYS):
        expected = [(block * len(KEYS) + place) % n_shares for block in range(9)]
        assert found[key].tolist() == expected


@pytest.mark.parametrize("n_shares", [1, 2, 3, 4, 6, 8, 10, 12])
def test_whatever_their_number_shares_are_of_one_size_and_mix_all_scenarios(n_shares):
    for n_blocks in (1, 2, 5, n_shares, 3 * n_shares):
        found = share_of_each(n_shares, n_blocks)
        sizes = np.bincount(np.concatenate(list(found.values())), minlength=n_shares)
        assert np.ptp(sizes) <= 1
        for shares in found.values():
            assert len(set(shares)) == n_shares or n_blocks < n_shares


@given(
    st.lists(st.floats(0.01, 1000), min_size=4, max_size=4),
    st.integers(1, 12),
    st.integers(1, 40),
)
def test_no_share_costs_more_than_another_by_much_more_than_a_block(costs, n_shares, n_blocks):
    weights = dict(zip(KEYS, costs, strict=True))
    found = share_of_each(n_shares, n_blocks, weights)
    load = np.zeros(n_shares)
    for key, shares in found.items():
        assert set(shares) <= set(range(n_shares))
        np.add.at(load, shares, weights[key])
    if len(set(costs)) > 1:
        assert np.ptp(load) <= 2 * max(costs) + 1e-9


def test_by_number_one_share_would_have_had_all_the_dear_blocks():
    """Two of four scenarios dear, in a short run: a case that dealing in turn gets wrong."""
    weights = dict(zip(KEYS, [100.0, 1.0, 100.0, 1.0], strict=True))

    def loads(by_cost):
        load = np.zeros(2)
        for key, shares in share_of_each(2, 1, by_cost).items():
            np.add.at(load, shares, weights[key])
        return load

    assert loads(None).tolist() == [200.0, 2.0]
    assert np.ptp(loads(weights)) == 0.0


def test_methods_of_a_block_are_in_one_share_and_their_costs_add_up():
    drawn = list(ANALYSED.keys)
    data = ANALYSED.key_of(scenario_behind(ANALYSED.keys[drawn[0]]))
    weights = {drawn[0]: 2.0, drawn[1]: 3.0, data: 5.0}
    found = share_of_each(6, 9, weights, ANALYSED)
    for at in range(0, len(drawn), len(METHODS)):
        family = [found[key].tolist() for key in drawn[at : at + len(METHODS)]]
        assert family == [family[0]] * len(METHODS)
    together = share_of_each(6, 9, {drawn[0]: 10.0}, ANALYSED)
    assert {key: shares.tolist() for key, shares in found.items()} == {
        key: shares.tolist() for key, shares in together.items()
    }
