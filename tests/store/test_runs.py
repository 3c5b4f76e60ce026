"""A study's folder: one store for all runs, their manifests, and their records."""

import json
import os
import shutil

import pytest

from simstudy import load
from simstudy.errors import StoreError
from simstudy.output.report import write_index
from simstudy.store import runs
from simstudy.store.compaction import clean
from simstudy.store.runs import (
    BlockTimings,
    RunRecord,
    Times,
    check_study,
    is_below,
    listed_files,
    merge_records,
    read_manifest,
    read_records,
    record_files,
    study_folder,
    write_record,
)
from tests.factories import mean_study
from tests.output.standing import study
from tests.support import INLINE

STUDY = mean_study((3, 10))  # blocks of 50
N_REP, N_BLOCKS, N_ROWS = 60, 4, 4  # of two scenarios and two methods


def run(out, n_rep=N_REP, seed=1, study=STUDY, **settings):
    return study.run(n_rep, seed, out=out, **INLINE, **settings)


def n_drawn(*arguments, **settings):
    return run(*arguments, **settings).outcome.n_blocks


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "toy"
    file.write_text("")
    with pytest.raises(StoreError, match=r"is a file, not a folder for results\. Choose another"):
        check_study("toy", file)


def test_a_results_folder_may_be_named_as_that_of_runs(tmp_path):
    result = run(tmp_path / "runs")
    assert study_folder(result.folder) == result.folder
    assert study_folder(tmp_path / "x" / "runs" / "n_rep=5,seed=2") == tmp_path / "x"
    assert len(load(result.folder).replicates) == N_ROWS * N_REP


# ---------------------------------------------------------------- cleaning
def test_cleaning_removes_what_no_run_uses(tmp_path):
    run(tmp_path, seed=2)
    run(tmp_path, study=mean_study((30,)))
    folder = run(tmp_path, 210).folder
    shutil.copytree(folder, tmp_path / "all")
    assert n_drawn(tmp_path, 60) == 0
    counted = clean(folder, dry_run=True, older_than=0)
    assert counted.n_blocks == 2 + N_BLOCKS, "a scenario that no run has, and another seed"
    assert counted.n_bytes > 0
    assert clean(folder, older_than=0) == counted
    assert clean(folder, older_than=0).n_blocks == 0
    assert n_drawn(tmp_path, 210) == 0, "later blocks of the same code stay"
    assert len(load(tmp_path / "all").replicates) == N_ROWS * 210


def test_nothing_is_cleaned_where_no_run_is_known(tmp_path):
    folder = run(tmp_path).folder
    (folder / "manifest.json").unlink()
    with pytest.raises(StoreError, match="has no finished run, so all blocks would be removed"):
        clean(folder, older_than=0)


def test_young_blocks_are_not_deleted(tmp_path):
    folder = run(tmp_path).folder
    run(tmp_path, seed=2)
    run(tmp_path)
    assert clean(folder, dry_run=True, older_than=0).n_blocks == N_BLOCKS
    assert clean(folder).n_blocks == 0
    for path in (folder / "replicates").glob("*.parquet"):
        os.utime(path, (0, 0))
    assert clean(folder).n_blocks == N_BLOCKS


def test_old_blocks_of_a_run_that_still_draws_are_not_deleted(tmp_path):
    folder = run(tmp_path).folder
    run(tmp_path, 200, seed=2, shard="1/2")
    old = {*(folder / "replicates").glob("*.parquet")}
    for path in old:
        os.utime(path, (0, 0))
    assert clean(folder, dry_run=True).n_blocks > 0
    run(tmp_path, 200, seed=2, shard="2/2")
    assert clean(folder).n_blocks == 0, "younger blocks of the same code and settings are there"
    assert old <= {*(folder / "replicates").glob("*.parquet")}


# ---------------------------------------------------------------- manifests of strangers
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


# ---------------------------------------------------------------- records
FIRST, LAST = "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"


@pytest.fixture
def drawn(tmp_path):
    """A result, and the file of what its run noted."""
    result = study().run(60, out=tmp_path)
    (path,) = result.folder.glob("*/_runs/*.json")
    return result, path


def test_a_clock_that_was_set_back_turns_no_time_around(drawn):
    result, path = drawn
    content = json.loads(path.read_text())
    content["spent"] = [[*entry[:5], LAST, FIRST] for entry in content["spent"]]
    path.write_text(json.dumps(content))
    assert result.details.times == (FIRST, LAST)


@pytest.mark.parametrize("text", ["", "[]", '{"spent": 3}', '{"spent": [[1, 2, 3, 4, 5, 6]]}'])
def test_a_damaged_file_says_nothing(drawn, text):
    result, path = drawn
    path.write_text(text)
    record = read_records(path.parents[1], result.details.store.provenance)
    assert (record.times, record.spent) == (None, {})


def test_many_files_become_one_that_says_the_same(drawn, monkeypatch):
    result, path = drawn
    blocks = path.parents[1]
    for i in range(3):
        record = RunRecord(
            dict.fromkeys(result.plan.keys, BlockTimings(2, 0.5, 0.25)),
            Times(f"2026-01-0{3 - i}T00:00:00Z", "2026-01-04T00:00:00Z"),
            {("odd", next(iter(result.plan.keys))): f"text {i}"},
        )
        write_record(blocks, f"run{i}", result.details.store.provenance, record)
    before = read_records(blocks, result.details.store.provenance)
    merge_records(blocks)
    assert len(record_files(blocks)) == 4, "few stay as they are"
    monkeypatch.setattr(runs, "MANY_FILES", 3)
    merge_records(blocks)
    assert len(record_files(blocks)) == 1
    assert read_records(blocks, result.details.store.provenance) == before
    assert sum(spent.n_blocks for spent in before.spent.values()) > 6
