"""Starting over deletes what the study made, and nothing else."""

import errno
from pathlib import Path

import pyarrow as pa
import pytest

from simstudy.engine.workers import Workers
from simstudy.errors import StoreError
from simstudy.store.files import Folder
from simstudy.store.header import Group
from simstudy.store.owner import Owner
from simstudy.store.restart import start_over
from simstudy.store.write import write_blocks
from tests import toy

STUDY = toy.study((3, 10))
INLINE = Workers("inline", 1)


def a_run(folder, seed=1):
    """A folder of results with blocks of the toy study."""
    STUDY.run(60, seed, out=folder, workers=INLINE, explain=False)
    return folder / "toy"


def test_starting_over_deletes_this_studys_blocks_and_nothing_else(tmp_path):
    folder = a_run(tmp_path)
    (folder / "figures").mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "manifest.json").write_text("{}")
    theirs = write_blocks(
        Folder(folder / "replicates"), [Group("a", 0, 1)], pa.table({"rep": [0]}),
        owner=Owner({"study": "census"}),
    )  # fmt: skip
    start_over("toy", folder)
    left = sorted(path.name for path in folder.rglob("*"))
    assert left == sorted(["figures", "notes.txt", "replicates", theirs])
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
