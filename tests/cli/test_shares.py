"""Shares of a study: cut by cost, joined once, and what a status says of their gaps."""

import json
import os
import shlex

import pytest

from simstudy.cli import shares
from simstudy.cli.shares import ShareRecord, read_costs, share_records, write_costs
from simstudy.errors import ConfigError
from tests.guarantees.content import whichever_files

STUDY = ["experiment=two_stage", "experiment.k=[1]", "experiment.n2=[50,100]", "progress=false"]
QUICK = [*STUDY, "n_rep=3000", "figures=false", "report=false", "backend=inline"]


@pytest.fixture
def asked(tmp_path):
    return [*QUICK, f"out={tmp_path}"]


@pytest.fixture
def said(ours):
    """The lines that a command says."""
    return lambda *arguments: ours(*arguments).splitlines()


def outputs(folder) -> dict[str, bytes]:
    """Every file of a result but what says when it was made, and the rows of its blocks."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return whichever_files({str(path.relative_to(folder)): path.read_bytes() for path in found})


# ---------------------------------------------------------------- joined
def test_shares_in_any_order_are_joined_once_to_the_files_of_one_run(asked, tmp_path, said):
    for share in ("pilot", "3/3", "1/3", "3/3", "2/3"):
        said(*asked, f"shard={share}")
    assert any("power" in line for line in said(*asked))
    joined, manifest = outputs(tmp_path), (tmp_path / "two_stage" / "manifest.json").read_bytes()
    (again,) = said(*asked)
    assert again.startswith("nothing to do")
    assert outputs(tmp_path) == joined
    assert (tmp_path / "two_stage" / "manifest.json").read_bytes() == manifest
    said(*QUICK, f"out={tmp_path / 'whole'}")
    assert outputs(tmp_path / "whole") == joined


def test_a_run_of_fewer_replicates_leaves_the_records_of_an_array_under_way(asked, tmp_path, said):
    said(*asked, "shard=1/3")
    shares.clear_shares(tmp_path / "two_stage", 1, 1000)
    assert [record.index for record in share_records(tmp_path / "two_stage", 1, 3000)] == [1]


# ---------------------------------------------------------------- cut by cost
def test_a_pilot_draws_two_blocks_of_each_scenario_and_says_what_they_cost(asked, tmp_path, said):
    plan = said("plan", *asked, "shard=pilot")
    assert "2,000 replicates in each" in plan[0]
    (line,) = said(*asked, "shard=pilot")
    assert line == "pilot: 4 blocks computed, and shares are cut by time"
    folder = tmp_path / "two_stage"
    costs = read_costs(folder)
    assert len(costs) == 2
    said(*asked, "shard=pilot")
    assert read_costs(folder) == costs, "an array under way is cut by them"
    write_costs(folder, dict.fromkeys([*costs, "another"], 7.0))
    assert read_costs(folder) == {**costs, "another": 7.0}


def write_file_of_costs(folder, text):
    (folder / "shares").mkdir(parents=True)
    (folder / "shares" / "costs.json").write_text(text)


def test_costs_that_cannot_be_read_are_refused_with_their_file(tmp_path):
    write_file_of_costs(tmp_path, "{")
    with pytest.raises(ConfigError, match=r"shares/costs.json cannot be read"):
        read_costs(tmp_path)


def test_a_pilot_has_no_precision(asked, refused_here):
    line = refused_here(*asked, "shard=pilot", "precision.power=0.01")
    assert line.startswith("shard=pilot with precision: a pilot draws two")


@pytest.mark.parametrize("share", ["1/3", "pilot"])
def test_shares_have_no_place_in_the_memory_of_one_process(share, refused_here):
    pytest.importorskip("upath", reason="needs pip install -e '.[s3]'")
    line = refused_here(*QUICK, "out=memory://a", f"shard={share}")
    assert line.startswith(f"out=memory://a with shard={share}: what one process keeps in its")


# ---------------------------------------------------------------- status
def test_a_status_names_shares_with_gaps(asked, tmp_path, said, monkeypatch):
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "70")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "2")
    said(*asked, "shard=2/4")
    stopped = ShareRecord(4, 4, 1, 3000, begun=1.0, where="node7 Slurm array 70_4")
    stopped.write(tmp_path / "two_stage")
    _, line, *details = said("status", *asked)
    assert line.split()[:6] == ["two_stage", "1", "of", "6", "0", "5"]
    told = [" ".join(detail.split()) for detail in details]
    assert told[:3] == [
        "share missing of",
        "1/4 2 2 never began to draw",
        "3/4 2 2 never began to draw",
    ]
    assert told[3].startswith("4/4 1 1 began 1970-01-01 ")
    assert told[3].endswith(" on node7 Slurm array 70_4; has not ended")
    line, _, command = told[4].partition(" On Slurm: ")
    assert line == (
        "3 of 4 shares have gaps: run them again (shard=auto/4 in an array of 1,3-4), or a run "
        "without shard draws what is missing."
    )
    typed, _, and_then = command.partition(" > ")
    again = ["python", "run.py", "batch", *asked, "shares=4", "missing=true"]
    assert shlex.split(typed) == again
    assert and_then == "two_stage.sh && bash two_stage.sh"
    (record,) = [r for r in share_records(tmp_path / "two_stage", 1, 3000) if r.index == 2]
    assert record.where.endswith("Slurm array 70_2")
    assert record.begun <= record.ended


SQUEUE = """#!/bin/bash
[[ "$*" == *--array* ]] && cat <<END
70 1 PENDING two_stage
70 3 RUNNING two_stage
70 4 CANCELLED two_stage
71 5 PENDING another
72 N/A RUNNING two_stage
END
"""


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    """A program that stands in for Slurm's, which lists jobs."""
    path = tmp_path / "bin" / "squeue"
    path.parent.mkdir()
    path.write_text(SQUEUE)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path


def test_a_status_says_whether_a_share_waits_runs_or_was_cancelled(asked, tmp_path, said, squeue):
    for index, job in ((3, "70_3"), (4, "70_4"), (5, "69_5"), (6, "69_6")):
        where = f"node7 Slurm array {job}"
        ended = 2.0 if index == 6 else None
        record = ShareRecord(index, 6, 1, 3000, begun=1.0, ended=ended, where=where)
        record.write(tmp_path / "two_stage")
    found = said("status", *asked)
    rows = [line.split(";")[-1].strip() for line in found if "/6  " in line]
    assert rows == [
        "job 70_1 waits",
        "2/6             1        1  never began to draw",
        "job 70_3 runs",
        "job 70_4 was cancelled",
        "job 69_5 is no longer in the queue",
        "ended, and blocks have gone since",
    ]
    squeue.write_text("#!/bin/bash\necho 'slurm_load_jobs error' >&2; exit 1\n")
    assert not any("; job " in line for line in said("status", *asked))


def test_a_status_of_shares_that_have_not_begun_says_that_they_wait(asked, said, squeue):
    found = said("status", *asked, "shard=1/3")
    assert next(line for line in found if "/3 " in line).endswith("; job 70_1 waits")


# ---------------------------------------------------------------- the job that joins them
def test_a_join_draws_what_one_share_draws_and_otherwise_says_how_to_go_on(
    asked, tmp_path, said, refused_here, monkeypatch
):
    said(*asked, "shard=1/3")
    before = outputs(tmp_path)
    for script, command in (
        ("", "python run.py batch {asked} shares=3 missing=true > two_stage.sh && bash two_stage."),
        ("/a b/run.sh", "bash '/a b/run.sh' 2-3"),
    ):
        monkeypatch.setenv("SIMSTUDY_SCRIPT", script)
        line = refused_here(*asked, "join=3")
        assert line.startswith("join=3: 4 of 6 blocks are missing, in 2 of 3 shares. That is")
        assert f"To draw them: {command.format(asked=shlex.join(asked))}" in line
        assert outputs(tmp_path) == before
    said(*asked, "shard=3/3")
    assert any("power" in line for line in said(*asked, "join=3"))
    assert said(*asked, "join=3")[0].startswith("nothing to do")


@pytest.mark.parametrize("other", ["shard=1/3", "restart=true", "precision.power=0.1"])
def test_a_join_is_not_combined_with_what_draws_otherwise(asked, other, refused_here):
    name = other.partition("=")[0].split(".")[0]
    assert refused_here(*asked, "join=3", other).startswith(f"join=3 with {name}")


def test_where_shares_have_no_gaps_a_status_says_what_is_left_to_do(asked, said):
    for i in (1, 2):
        said(*asked, f"shard={i}/2")
    *_, last = said("status", *asked)
    assert last == "all 2 shares have drawn their blocks: run without shard to summarise"


def test_records_of_other_runs_or_damaged_ones_are_passed_over(tmp_path):
    for record in (
        ShareRecord(1, 3, 1, 100, begun=5.0),
        ShareRecord(2, 9, 1, 100, begun=4.0),
        ShareRecord(5, 5, 2, 100, begun=9.0),
        ShareRecord(1, 7, 1, 200, begun=9.0),
    ):
        record.write(tmp_path)
    (tmp_path / "shares" / "2-of-3.json").write_text("{")
    (tmp_path / "shares" / "3-of-3.json").write_text(json.dumps({"index": 3}))
    assert share_records(tmp_path, 1, 100) == [ShareRecord(1, 3, 1, 100, begun=5.0)]
    assert share_records(tmp_path / "nowhere", 1, 100) == []
