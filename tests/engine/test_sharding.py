"""Shares of a study: every block in one, by number or by cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstudy.design.plan import base_scenario
from simstudy.engine.work_queue import first_shares
from simstudy.engine.workers import Workers
from simstudy.errors import StoreError
from simstudy.store.files import Folder
from tests import toy
from tests.engine.test_methods import METHODS
from tests.engine.test_methods import study as study_with_methods
from tests.guarantees.content import content

PLAN = toy.study((3, 10, 30, 100)).plan()
KEYS = list(PLAN.keys)
ANALYSED = study_with_methods().plan().work_units


def share_of_each(n_shares, n_blocks, weights=None, plan=PLAN):
    """By key, the share of each block."""
    starts = first_shares(plan, n_shares, weights)
    return {key: (np.arange(n_blocks) + start) % n_shares for key, start in starts.items()}


@pytest.mark.parametrize("weights", [None, dict.fromkeys(KEYS, 0.1), {"unknown": 7.0}])
@pytest.mark.parametrize("n_shares", [1, 2, 3, 4, 5, 6, 9, 10, 12])
def test_shares_of_equal_blocks_are_of_one_size_and_mix_all_scenarios(n_shares, weights):
    for n_blocks in (1, 2, 5, n_shares, 3 * n_shares):
        found = share_of_each(n_shares, n_blocks, weights)
        sizes = np.bincount(np.concatenate(list(found.values())), minlength=n_shares)
        assert np.ptp(sizes) <= 1
        for shares in found.values():
            assert len(set(shares)) == min(n_shares, n_blocks)


@given(
    st.lists(st.floats(0.01, 1000), min_size=4, max_size=4), st.integers(1, 12), st.integers(1, 40)
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


def test_methods_of_a_block_are_in_one_share_and_their_costs_add_up():
    drawn = list(ANALYSED.keys)
    data = ANALYSED.key_of(base_scenario(ANALYSED.keys[drawn[0]]))
    weights = {drawn[0]: 2.0, drawn[1]: 3.0, data: 5.0}
    found = share_of_each(6, 9, weights, ANALYSED)
    for at in range(0, len(drawn), len(METHODS)):
        family = [found[key].tolist() for key in drawn[at : at + len(METHODS)]]
        assert family == [family[0]] * len(METHODS)
    together = share_of_each(6, 9, {drawn[0]: 10.0}, ANALYSED)
    assert {key: shares.tolist() for key, shares in found.items()} == {
        key: shares.tolist() for key, shares in together.items()
    }


# ---------------------------------------------------------------- files of shares
INLINE = Workers("inline", 1)


def test_a_share_opens_no_file_of_the_others_and_draws_no_block_again(tmp_path, monkeypatch):
    opened, original, study = [], Folder.open, toy.study()
    monkeypatch.setattr(
        Folder, "open", lambda folder, name: opened.append(name) or original(folder, name)
    )
    for index in (1, 2, 3):
        study.run(450, out=tmp_path, workers=INLINE, shard=(index, 4))
    before = {path.name for path in (tmp_path / "toy" / "replicates").glob("*.parquet")}
    opened.clear()
    study.run(450, out=tmp_path, workers=INLINE, shard=(4, 4))
    assert opened
    assert not before.intersection(opened)
    assert study.run(450, out=tmp_path, workers=INLINE, shard=(2, 4)).outcome.n_blocks == 0
    joined = study.run(450, out=tmp_path, workers=INLINE)
    assert joined.outcome.n_blocks == 0
    assert content(joined) == content(study.run(450, workers=INLINE))


def test_what_another_split_or_a_whole_run_has_drawn_is_not_drawn_again(tmp_path):
    study = toy.study()
    study.run(200, out=tmp_path, workers=INLINE)
    study.run(450, out=tmp_path, workers=INLINE, shard=(1, 2))
    costs = dict.fromkeys(study.plan().keys, 1.0) | {next(iter(study.plan().keys)): 9.0}
    drawn = [
        study.run(450, out=tmp_path, workers=INLINE, shard=(i, 3), weights=costs).outcome.n_blocks
        for i in (1, 2, 3)
    ]
    n_by_first = sum(len(range(4, 9)) for _ in study.plan().keys) - sum(drawn)
    assert n_by_first in (7, 8), "half of the 15 blocks beyond the whole run"


def test_shares_of_other_results_are_refused_although_they_are_other_shares(tmp_path):
    toy.study().run(450, seed=1, out=tmp_path, workers=INLINE, shard=(1, 2))
    with pytest.raises(StoreError, match="seed was 1 and is 2"):
        toy.study().run(450, seed=2, out=tmp_path, workers=INLINE, shard=(2, 2))
