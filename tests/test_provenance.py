"""Whose results a folder holds: nothing foreign or stale is mixed in, and the refusal says why."""

import json
import os
from dataclasses import replace

import pytest

from simstudy.errors import StoreError
from simstudy.provenance import (
    GUARD,
    MOMENTS,
    ROWS,
    guard,
    read_json,
    refuse_foreign,
    sign,
    sources_digest,
    start_over,
    write_bytes,
    write_json,
)
from tests import toy

PLAN = toy.study((3, 10)).plan()


def signed(folder, kind=ROWS, **changes):
    """A folder with blocks that say what made them."""
    blocks = folder / kind
    blocks.mkdir(parents=True)
    (blocks / "0123.parquet").write_bytes(b"blocks")
    now = guard(PLAN, folder.parent / "elsewhere")
    sign(blocks, {**now, **changes})
    return folder


def test_a_new_folder_is_anybodys(tmp_path):
    now = guard(PLAN, tmp_path / "new")
    assert now["study"] == "toy"
    assert now["block_size"] == 50
    assert now["axes"] == {"method": ["t", "z"]}
    assert "tests.toy.Mean" in now["code"]
    assert not (tmp_path / "new").exists(), "looking is not claiming"


def test_its_own_folder_is_accepted(tmp_path):
    guard(PLAN, signed(tmp_path / "toy"))


@pytest.mark.parametrize("kind", [ROWS, MOMENTS])
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"seed": 9}, "seed was 9 and is 1"),
        ({"block_size": 49}, "block_size was 49 and is 50"),
        ({"common": ["k"]}, r"common was \['k'\] and is \[\]"),
        ({"axes": {}}, r"axes was \{\} and is \{'method': \['t', 'z'\]\}"),
        ({"code": {"tests.toy.Mean": "#old"}}, "tests.toy.Mean has changed"),
        ({"code": {"numpy": "1.0"}}, r"numpy was 1\.0 and is \d"),
    ],
    ids=str,
)
def test_what_was_computed_otherwise_is_refused(changes, says, kind, tmp_path):
    folder = signed(tmp_path / "toy", kind, **changes)
    with pytest.raises(StoreError, match=says) as refusal:
        guard(PLAN, folder)
    text = str(refusal.value)
    assert text.startswith(f"{folder} was computed by something else: ")
    assert "cannot be mixed with new ones. Keep both with another out=..." in text
    assert "start over with restart=true" in text


def test_only_a_few_changes_are_listed(tmp_path):
    code = dict.fromkeys(guard(PLAN, tmp_path / "x")["code"], "#old")
    folder = signed(tmp_path / "toy", code=code, seed=2, block_size=3, common=["k"], axes={})
    with pytest.raises(StoreError, match=r"; and \d+ more\. Its replicates"):
        guard(PLAN, folder)


def test_code_that_only_other_scenarios_use_is_no_change(tmp_path):
    folder = signed(tmp_path / "toy", code={"other.Scenario": "#1"})
    guard(PLAN, folder)
    sign(folder / ROWS, guard(PLAN, folder))
    code = read_json(folder / ROWS / GUARD)["code"]
    assert code["other.Scenario"] == "#1", "what others signed is kept"
    assert "tests.toy.Mean" in code


def test_an_empty_folder_has_nothing_to_guard(tmp_path):
    folder = signed(tmp_path / "toy", seed=9)
    (folder / ROWS / "0123.parquet").unlink()
    guard(PLAN, folder)


@pytest.mark.parametrize("damage", [None, b"", b"{", b"[1]", b"\xff"])
def test_blocks_that_nobody_signed_are_not_trusted(damage, tmp_path):
    folder = signed(tmp_path / "toy")
    path = folder / ROWS / GUARD
    path.unlink() if damage is None else path.write_bytes(damage)
    with pytest.raises(StoreError, match=r"missing or damaged, so they cannot be trusted.*restart"):
        guard(PLAN, folder)


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


def test_starting_over_deletes_blocks_and_nothing_else(tmp_path):
    folder = signed(tmp_path / "toy")
    (folder / "figures").mkdir()
    (folder / "notes.txt").write_text("mine")
    start_over(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["figures", "notes.txt"]
    start_over(tmp_path / "never")


def test_signing_twice_writes_once(tmp_path):
    folder = signed(tmp_path / "toy")
    path = folder / ROWS / GUARD
    before = path.stat().st_ino
    sign(folder / ROWS, guard(PLAN, folder))
    assert path.stat().st_ino == before


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


def test_scenarios_that_are_left_out_are_no_change(tmp_path):
    folder = signed(tmp_path / "toy")
    guard(replace(PLAN, scenarios=PLAN.scenarios[:1]), folder)
