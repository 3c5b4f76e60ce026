"""The manifest of a folder: of a stranger's, nothing outside the folder is touched."""

import json
import os

import pytest

from simstudy import load
from simstudy.errors import StoreError
from simstudy.output.report import write_index
from simstudy.store.runs import is_below, listed_files, read_manifest
from tests.factories import mean_study

OUTSIDE = ["/etc/passwd", "../x", "a/../../x", "", "far/x", "here/far/x", "loop/x", "a\0b", "far"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    folder = mean_study((3,)).run(60, out=tmp_path / "R").folder
    (folder / "far").symlink_to(tmp_path / "home")
    (folder / "here").mkdir()
    (folder / "here" / "far").symlink_to("../far")
    (folder / "loop").symlink_to(folder / "loop")
    return folder


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_lies_outside_is_not_listed(name, folder):
    assert not is_below(folder, name)
    assert listed_files({"files": {name: "x", "summary.parquet": "y"}}, folder) == {
        "summary.parquet": "y"
    }


def test_a_folder_that_is_a_link_itself_has_its_files(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert is_below(tmp_path / "link", "summary.parquet")
    assert is_below(folder, "here/notes.txt")


def test_a_strangers_manifest_deletes_nothing_outside(folder, tmp_path):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"] |= {"far/thesis.tex": "x", "../../home/thesis.tex": "x"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    mean_study((3,)).run(120, out=tmp_path / "R")
    assert (tmp_path / "home" / "thesis.tex").read_text() == "years of work"


# ---------------------------------------------------------------- broken ones
ODD = {"study": 5}
TEXTS = {
    "deep": b'{"config": ' + b"[" * 100_000, "cut": b'{"study": "to', "list": b"[1]", "": b"",
    "bytes": b"\xff\xfe\x00",
}  # fmt: skip


def broken(folder, how):
    path = folder / "manifest.json"
    if how in TEXTS:
        path.write_bytes(TEXTS[how])
    else:
        path.write_text(json.dumps(json.loads(path.read_text()) | {how: ODD[how]}))


@pytest.mark.parametrize("how", [*ODD, *TEXTS])
def test_a_broken_manifest_is_one_line(how, tmp_path):
    fine, folder = (mean_study((3,)).run(20, out=tmp_path / out).folder for out in ("a", "b"))
    folder = folder.rename(tmp_path / "a" / "broken")
    broken(folder, how)
    for read in (read_manifest, load):
        with pytest.raises(StoreError, match=r"manifest\.json is damaged: ") as refusal:
            read(folder)
        assert "\n" not in str(refusal.value)
    write_index(tmp_path / "a")
    index = json.loads((tmp_path / "a" / "index.json").read_text())
    assert [study["name"] for study in index["studies"]] == [fine.name]
    assert [other["folder"] for other in index["others"]] == ["broken"]


def test_a_run_replaces_a_broken_manifest(tmp_path):
    folder = mean_study((3,)).run(60, out=tmp_path).folder
    for how in (*ODD, *TEXTS):
        if how != "study":  # the folder is then another study's
            broken(folder, how)
            assert mean_study((3,)).run(60, out=tmp_path).outcome.n_blocks == 0
            assert read_manifest(folder)["replicates"] == 60


def test_a_manifest_that_is_a_fifo_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(StoreError, match="is damaged"):
        read_manifest(tmp_path)
