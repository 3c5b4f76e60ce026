"""Shares of a study: every block in one, and no other's files."""

import numpy as np
import pytest

from simstudy.engine.tasks import shard_of_each
from simstudy.store.files import Folder
from tests.engine.test_methods import METHODS
from tests.engine.test_methods import study as study_with_methods
from tests.factories import mean_study
from tests.guarantees.content import content
from tests.support import INLINE

PLAN = mean_study((3, 10, 30, 100)).plan()
ANALYSED = study_with_methods().plan().work_units


def share_of_each(n_shares, n_blocks, plan=PLAN):
    """By key, the share of each block."""
    chosen = dict.fromkeys(plan.keys, np.ones(n_blocks, dtype=bool))
    return shard_of_each(plan, chosen, n_shares)


@pytest.mark.parametrize("n_shares", [1, 2, 3, 4, 5, 6, 9, 10, 12])
def test_shares_of_equal_blocks_are_of_one_size_and_mix_all_scenarios(n_shares):
    for n_blocks in (1, 2, 5, n_shares, 3 * n_shares):
        found = share_of_each(n_shares, n_blocks)
        sizes = np.bincount(np.concatenate(list(found.values())), minlength=n_shares + 1)[1:]
        assert np.ptp(sizes) <= 1
        for shares in found.values():
            assert len(set(shares)) == min(n_shares, n_blocks)


def test_methods_of_a_block_are_in_one_share():
    drawn = list(ANALYSED.keys)
    found = share_of_each(6, 9, ANALYSED)
    for at in range(0, len(drawn), len(METHODS)):
        family = [found[key].tolist() for key in drawn[at : at + len(METHODS)]]
        assert family == [family[0]] * len(METHODS)


# ---------------------------------------------------------------- files of shares


def test_a_share_opens_no_file_of_the_others_and_draws_no_block_again(tmp_path, monkeypatch):
    opened, original, study = [], Folder.open, mean_study()
    monkeypatch.setattr(
        Folder, "open", lambda folder, name: opened.append(name) or original(folder, name)
    )
    for index in (1, 2, 3):
        study.run(450, out=tmp_path, **INLINE, shard=(index, 4))
    before = {path.name for path in (tmp_path / "toy" / "replicates").glob("*.parquet")}
    opened.clear()
    study.run(450, out=tmp_path, **INLINE, shard=(4, 4))
    assert opened
    assert not before.intersection(opened)
    assert study.run(450, out=tmp_path, **INLINE, shard=(2, 4)).outcome.n_blocks == 0
    joined = study.run(450, out=tmp_path, **INLINE)
    assert joined.outcome.n_blocks == 0
    assert content(joined) == content(study.run(450, **INLINE))


def test_what_another_split_or_a_whole_run_has_drawn_is_not_drawn_again(tmp_path):
    study = mean_study()
    study.run(200, out=tmp_path, **INLINE)
    study.run(450, out=tmp_path, **INLINE, shard=(1, 2))
    drawn = [
        study.run(450, out=tmp_path, **INLINE, shard=(i, 3)).outcome.n_blocks for i in (1, 2, 3)
    ]
    n_by_first = sum(len(range(4, 9)) for _ in study.plan().keys) - sum(drawn)
    assert n_by_first in (7, 8), "half of the 15 blocks beyond the whole run"
