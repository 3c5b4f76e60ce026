"""A study's folder: nothing foreign is mixed in, and starting over deletes only what is its own."""

import errno
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from simstudy.engine.workers import Workers
from simstudy.errors import StoreError
from simstudy.store.block_files import write_blocks
from simstudy.store.block_index import BlockRange
from simstudy.store.files import Folder
from simstudy.store.provenance import Provenance
from simstudy.store.study_folder import check_study, delete_study_data
from tests import toy

STUDY = toy.study((3, 10))
INLINE = Workers("inline", 1)


def a_run(folder, seed=1):
    """A folder of results with blocks of the toy study."""
    STUDY.run(60, seed, out=folder, workers=INLINE, explain=False)
    return folder / "toy"


def refused(out, study=STUDY, seed=1):
    with pytest.raises(StoreError) as refusal:
        study.run(60, seed, out=out, workers=INLINE)
    return str(refusal.value)


def test_blocks_of_other_owners_are_told_by_the_nearest(tmp_path):
    """Of several runs in a folder, the refusal speaks of the one that differs least."""
    folder = a_run(tmp_path)
    for path in a_run(tmp_path / "other", seed=7).glob("replicates/*.parquet"):
        path.rename(folder / "replicates" / path.name)
    text = refused(tmp_path, replace(STUDY, block_size=49), 7)
    assert "block_size was 50 and is 49. Its" in text


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "toy"
    file.write_text("")
    with pytest.raises(StoreError, match=r"is a file, not a folder for results\. Choose another"):
        check_study("toy", file)


# ---------------------------------------------------------------- starting over
def test_starting_over_deletes_this_studys_blocks_and_nothing_else(tmp_path):
    folder = a_run(tmp_path)
    (folder / "figures").mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "manifest.json").write_text("{}")
    theirs = write_blocks(
        Folder(folder / "replicates"), [BlockRange("a", 0, 1)], pa.table({"rep": [0]}),
        provenance=Provenance({"study": "census"}),
    )  # fmt: skip
    delete_study_data("toy", folder)
    left = sorted(path.name for path in folder.rglob("*"))
    assert left == sorted(["_runs", "figures", "notes.txt", "replicates", theirs])
    delete_study_data("toy", tmp_path / "never")


def test_starting_over_goes_through_links(tmp_path):
    folder = a_run(tmp_path)
    (folder / "replicates").rename(tmp_path / "far")
    (folder / "replicates").symlink_to(tmp_path / "far")
    delete_study_data("toy", folder)
    assert not list((tmp_path / "far").glob("*.parquet"))


def test_starting_over_says_what_it_cannot_delete(tmp_path, monkeypatch):
    a_run(tmp_path)

    def refuse(self, missing_ok=False):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    said = "restart=true cannot delete .*: Read-only file system. Nothing was drawn"
    with pytest.raises(StoreError, match=said):
        STUDY.run(60, out=tmp_path, workers=INLINE, restart=True)
