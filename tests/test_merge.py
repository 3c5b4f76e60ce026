"""Blocks that the same code drew elsewhere are taken over, and no others."""

from dataclasses import dataclass, replace
from functools import partial

import pytest

from simstudy import Study, grid
from simstudy.errors import StoreError
from simstudy.measures import mean
from tests.support import on

INLINE = on("inline")


@dataclass(frozen=True)
class Sample:
    n_obs: int

    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(size=(n_rep, self.n_obs))}


def scaled(x, by):
    return {"estimate": by * x.mean(axis=1)}


METHODS = {"one": partial(scaled, by=1.0), "two": partial(scaled, by=2.0)}
STUDY = Study(
    "merged", grid(Sample, n_obs=[2, 3]), [mean("estimate")], methods=METHODS, block_size=10
)


def test_only_what_is_new_is_drawn_after_a_merge(tmp_path):
    STUDY.run(20, out=tmp_path / "theirs", **INLINE)
    STUDY.run(10, out=tmp_path / "ours", **INLINE)
    assert STUDY.merge(tmp_path / "theirs", out=tmp_path / "ours") == 2 * 2
    assert STUDY.merge(tmp_path / "theirs", out=tmp_path / "ours") == 0
    result = STUDY.run(30, out=tmp_path / "ours", **INLINE)
    assert result.outcome.n_blocks == 2 * 2
    alone = STUDY.run(30, **INLINE)
    assert result.summary.equals(alone.summary)


def test_a_method_that_only_they_have_drawn_is_taken(tmp_path):
    one, two = (replace(STUDY, methods={name: METHODS[name]}) for name in METHODS)
    two.run(20, out=tmp_path / "theirs", **INLINE)
    one.run(20, out=tmp_path / "ours", **INLINE)
    assert STUDY.merge(tmp_path / "theirs", out=tmp_path / "ours") == 2 * 2
    assert STUDY.run(20, out=tmp_path / "ours", **INLINE).outcome.n_blocks == 0


@pytest.mark.parametrize(
    ("theirs", "seed", "said"),
    [
        (replace(STUDY, methods=METHODS | {"two": partial(scaled, by=3.0)}), 1, "method two of"),
        (STUDY, 2, "seed was 2 and is 1"),
        (replace(STUDY, block_size=20), 1, "block_size was 20 and is 10"),
    ],
    ids=["code", "seed", "settings"],
)
def test_blocks_of_something_else_are_refused_and_none_is_copied(theirs, seed, said, tmp_path):
    theirs.run(20, seed, out=tmp_path / "theirs", **INLINE)
    with pytest.raises(StoreError, match=f"nothing was merged: .*{said}"):
        STUDY.merge(tmp_path / "theirs", out=tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_a_folder_without_blocks_is_refused(tmp_path):
    with pytest.raises(StoreError, match="holds no block of this study"):
        STUDY.merge(tmp_path, out=tmp_path / "ours")
