"""Whose results a folder holds: nothing foreign or stale is mixed in, and the refusal says why."""

import errno
import importlib
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from simstudy.engine.runner import Workers
from simstudy.errors import StoreError
from simstudy.identity.source_files import sources_digest
from simstudy.store.blocks import Group, write_blocks
from simstudy.store.files import read_json, write_bytes, write_json
from simstudy.store.guard import refuse_foreign, start_over
from simstudy.store.owner import Owner
from tests import toy
from tests.guarantees.content import assert_same_result

STUDY = toy.study((3, 10))
PLAN = STUDY.plan()
INLINE = Workers("inline", 1)


def a_run(folder, seed=1):
    """A folder of results with blocks of the toy study."""
    STUDY.run(60, seed, out=folder, workers=INLINE)
    return folder / "toy"


def refused(out, study=STUDY, seed=1):
    with pytest.raises(StoreError) as refusal:
        study.run(60, seed, out=out, workers=INLINE)
    return str(refusal.value)


def test_looking_is_not_claiming(tmp_path):
    refuse_foreign("toy", tmp_path / "toy")
    assert not (tmp_path / "toy").exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"block_size": 49}, "block_size was 50 and is 49"),
        ({"common": ("truth",)}, "common was [] and is ['truth']"),
        ({"axes": {"way": ("t", "z")}}, "is {'way': ['t', 'z']}"),
        ({"may_be_missing": ("lower",)}, "may_be_missing was [] and is ['lower']"),
    ],
    ids=str,
)
def test_what_was_computed_otherwise_is_refused(changes, says, tmp_path):
    folder = a_run(tmp_path)
    text = refused(tmp_path, replace(STUDY, **changes))
    assert says in text
    assert text.startswith(f"{folder} was computed by something else: ")
    assert "cannot be mixed with new ones. Keep both with another out=..." in text
    assert "start over with restart=true" in text


def test_the_type_of_a_factor_counts(tmp_path):
    a_run(tmp_path)
    text = refused(tmp_path, replace(STUDY, scenarios=[toy.Mean(3.0)]))
    assert re.search(r"Mean\(n_obs=3, truth=0.0\) #\w+ and is Mean\(n_obs=3.0, truth=0.0\)", text)


def test_only_a_few_changes_are_listed(tmp_path):
    a_run(tmp_path)
    other = replace(
        STUDY, block_size=3, common=("truth",), axes={"way": ("t", "z")}, may_be_missing=("lower",),
        scenarios=[toy.Mean(3.0)],
    )  # fmt: skip
    assert "; and 1 more. Its replicates" in refused(tmp_path, other, 2)


def test_blocks_of_other_owners_are_told_by_the_nearest(tmp_path):
    """Of several runs in a folder, the refusal speaks of the one that differs least."""
    folder = a_run(tmp_path)
    for path in a_run(tmp_path / "other", seed=7).glob("replicates/*.parquet"):
        path.rename(folder / "replicates" / path.name)
    text = refused(tmp_path, replace(STUDY, block_size=49), 7)
    assert "block_size was 50 and is 49. Its" in text


def test_company_that_did_not_harm_is_no_reason_to_refuse(tmp_path):
    """Two seeds ran at once: each finds its own, and neither touches the other's."""
    folder = a_run(tmp_path)
    for path in a_run(tmp_path / "other", seed=7).glob("replicates/*.parquet"):
        path.rename(folder / "replicates" / path.name)
    for seed in (1, 7):
        again = STUDY.run(60, seed, out=tmp_path, workers=INLINE)
        assert again.outcome.n_blocks == 0
        assert not again.store.damaged
        assert_same_result(again, STUDY.run(60, seed, out=tmp_path / f"alone{seed}"), files=False)


def test_the_folder_of_another_study_is_refused(tmp_path):
    write_json(tmp_path / "manifest.json", {"study": "other"})
    with pytest.raises(StoreError, match=r"holds the results of study 'other', which 'toy' would"):
        refuse_foreign("toy", tmp_path)
    refuse_foreign("other", tmp_path)


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "toy"
    file.write_text("")
    with pytest.raises(StoreError, match=r"is a file, not a folder for results\. Choose another"):
        refuse_foreign("toy", file)


def test_starting_over_deletes_this_studys_blocks_and_nothing_else(tmp_path):
    folder = a_run(tmp_path)
    (folder / "figures").mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "manifest.json").write_text("{}")
    theirs = write_blocks(
        folder / "replicates", [Group("a", 0, 1)], pa.table({"rep": [0]}),
        owner=Owner({"study": "census"}),
    )  # fmt: skip
    start_over("toy", folder)
    left = sorted(path.name for path in folder.rglob("*"))
    assert left == sorted(["figures", "notes.txt", "replicates", theirs.name])
    start_over("toy", tmp_path / "never")


def test_starting_over_goes_through_links(tmp_path):
    folder = a_run(tmp_path)
    (folder / "replicates").rename(tmp_path / "far")
    (folder / "replicates").symlink_to(tmp_path / "far")
    start_over("toy", folder)
    assert not list((tmp_path / "far").glob("*.parquet"))


def test_starting_over_says_what_it_cannot_delete(tmp_path, monkeypatch):
    a_run(tmp_path)

    def refuse(self, missing_ok=False):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    said = "restart=true cannot delete .*: Read-only file system. Nothing was drawn"
    with pytest.raises(StoreError, match=said):
        STUDY.run(60, out=tmp_path, workers=INLINE, restart=True)


# ---------------------------------------------------------------- files
def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a" / "file.json"
    write_json(path, {"x": 1})

    def fail(*_):
        raise OSError("disk is gone")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="gone"):
        write_bytes(path, b"half")
    assert read_json(path) == {"x": 1}
    assert [one.name for one in path.parent.iterdir()] == ["file.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b"3", b"\xff\xfe"])
def test_a_damaged_object_is_none(content, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert read_json(path) is None
    assert read_json(tmp_path / "absent.json") is None
    assert read_json(tmp_path) is None


def test_what_json_does_not_know_is_written_as_text(tmp_path):
    write_json(tmp_path / "x.json", {"path": tmp_path, "none": None})
    assert json.loads((tmp_path / "x.json").read_text()) == {"path": str(tmp_path), "none": None}


def test_the_digest_of_the_sources_follows_the_experiment(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("x = 1\n")
    before = sources_digest(str(file))
    assert before == sources_digest(str(file))
    assert before != sources_digest(None)
    file.write_text("x = 2\n")
    assert sources_digest(str(file)) != before


def test_the_digest_of_the_sources_follows_what_the_experiment_imports(tmp_path, monkeypatch):
    """The neighbour whose measures it borrows, and what that one imports in turn."""
    names = ("digest_near", "digest_next", "digest_far", "digest_mine")
    near, nextdoor, far, mine = (tmp_path / f"{name}.py" for name in names)
    mine.write_text("from digest_near import MEASURES\n")
    near.write_text("import digest_next\nMEASURES = digest_next.MEASURES\n")
    nextdoor.write_text("MEASURES = []\n")
    far.write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("digest_mine")
    before = sources_digest(str(mine))
    far.write_text("x = 2\n")
    assert sources_digest(str(mine)) == before
    for one in (near, nextdoor):
        one.write_text(one.read_text() + "X = 1\n")
        after = sources_digest(str(mine))
        assert after != before
        before = after
    for name in names:
        sys.modules.pop(name, None)
