"""Shares of a study: cut by cost, joined once, and what a status says of their gaps."""

import json
from dataclasses import asdict

import pytest

from simstudy.cli import shares
from simstudy.cli.compose import read_requests
from simstudy.cli.project import Project
from simstudy.cli.shares import ShareRecord, keep_costs, read_costs, share_records
from simstudy.errors import ConfigError
from tests.guarantees.content import file_names
from tests.support import ROOT, command_line

STUDY = ["experiment=two_stage", "experiment.k=[1]", "experiment.n2=[50,100]", "progress=false"]
QUICK = [*STUDY, "n_rep=3000", "figures=false", "report=false", "backend=inline"]


@pytest.fixture
def asked(tmp_path):
    return [*QUICK, f"out={tmp_path}"]


def said(capsys, *arguments, status: int = 0) -> list[str]:
    assert command_line(arguments) == status
    return capsys.readouterr().out.splitlines()


def outputs(folder) -> dict[str, bytes]:
    """Every file of a result but what says when it was made, and how long blocks took."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    results = (path for path in found if path.parent.name != "_seconds")
    return {str(path.relative_to(folder)): path.read_bytes() for path in results}


# ---------------------------------------------------------------- joined
def test_shares_in_any_order_are_joined_once_to_the_files_of_one_run(asked, tmp_path, capsys):
    for share in ("pilot", "3/3", "1/3", "3/3", "2/3"):
        said(capsys, *asked, f"shard={share}")
    assert any("power" in line for line in said(capsys, *asked))
    joined, manifest = outputs(tmp_path), (tmp_path / "two_stage" / "manifest.json").read_bytes()
    (again,) = said(capsys, *asked)
    assert again.startswith("nothing to do")
    assert outputs(tmp_path) == joined
    assert (tmp_path / "two_stage" / "manifest.json").read_bytes() == manifest
    said(capsys, *QUICK, f"out={tmp_path / 'whole'}")
    assert outputs(tmp_path / "whole") == joined
    assert len(file_names(tmp_path / "two_stage" / "replicates")) == 1


def test_a_late_share_finds_nothing_to_draw_and_a_join_takes_its_record_away(
    asked, tmp_path, capsys
):
    said(capsys, *asked)
    before = outputs(tmp_path)
    assert said(capsys, *asked, "shard=2/3")[0].startswith("shard 2/3: 0 blocks computed")
    said(capsys, *asked)
    assert outputs(tmp_path) == before


def test_a_run_of_fewer_replicates_leaves_the_records_of_an_array_under_way(
    asked, tmp_path, capsys
):
    said(capsys, *asked, "shard=1/3")
    shares.clear_shares(tmp_path / "two_stage", 1, 1000)
    assert [record.index for record in share_records(tmp_path / "two_stage", 1, 3000)] == [1]


# ---------------------------------------------------------------- cut by cost
def test_a_pilot_draws_two_blocks_of_each_scenario_and_says_what_they_cost(asked, tmp_path, capsys):
    plan = said(capsys, "plan", *asked, "shard=pilot")
    assert "2,000 replicates in each" in plan[0]
    (line,) = said(capsys, *asked, "shard=pilot")
    assert line.startswith("pilot: 4 blocks computed; a block takes ")
    folder = tmp_path / "two_stage"
    costs = read_costs(folder)
    assert len(costs) == 2
    said(capsys, *asked, "shard=pilot")
    assert read_costs(folder) == costs, "an array under way is cut by them"
    keep_costs(folder, dict.fromkeys([*costs, "another"], 7.0))
    assert read_costs(folder) == {**costs, "another": 7.0}


def test_shares_are_cut_by_what_a_pilot_found(asked, tmp_path, capsys):
    """The second scenario costs ten times the first: who begins with it draws fewer blocks."""
    (request,) = read_requests(asked, Project.of(str(ROOT / "run.py")))
    first, second = request.study.plan(1).keys
    write_costs(tmp_path / "two_stage", json.dumps({first: 1, second: 10}))
    drawn = [int(said(capsys, *asked, f"shard={i}/2")[0].split()[2]) for i in (1, 2)]
    assert drawn == [4, 2], "three each where nobody says what they cost"
    assert said(capsys, *asked)  # and nothing is left out
    assert not (tmp_path / "two_stage" / "shares").exists()


def write_costs(folder, text):
    (folder / "shares").mkdir(parents=True)
    (folder / "shares" / "costs.json").write_text(text)


@pytest.mark.parametrize(
    "text", ['{"a": 2, "b": 0.5}', '{"seconds_per_block": {"a": 2, "b": 0.5}}']
)
def test_costs_are_read_as_a_pilot_or_a_person_writes_them(text, tmp_path):
    write_costs(tmp_path, text)
    assert read_costs(tmp_path) == {"a": 2.0, "b": 0.5}


@pytest.mark.parametrize(
    "cost", ["Infinity", "NaN", "1e400", "1" * 400, '"2"', "0", "-1", "true", "null", "[1]"]
)
def test_a_cost_that_is_none_is_refused_with_its_file(cost, tmp_path):
    write_costs(tmp_path, '{"a": 1, "b": COST}'.replace("COST", cost))
    with pytest.raises(
        ConfigError, match=r"shares/costs.json says .* of b, which is no cost"
    ) as no:
        read_costs(tmp_path)
    assert "\n" not in str(no.value)
    assert len(str(no.value)) < 400


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"seconds_per_block": 3}', "1" * 5000])
def test_costs_that_cannot_be_read_are_refused_with_their_file(text, tmp_path):
    write_costs(tmp_path, text)
    with pytest.raises(ConfigError, match=r"shares/costs.json holds no costs"):
        read_costs(tmp_path)


def test_a_pilot_has_no_precision(asked, capsys):
    assert command_line([*asked, "shard=pilot", "precision.power=0.01"]) == 2
    assert capsys.readouterr().err.startswith("shard=pilot with precision: a pilot draws two")


@pytest.mark.parametrize("share", ["1/3", "pilot"])
def test_shares_have_no_place_in_the_memory_of_one_process(share, capsys):
    pytest.importorskip("upath", reason="needs pip install -e '.[s3]'")
    assert command_line([*QUICK, "out=memory://a", f"shard={share}"]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"out=memory://a with shard={share}: what one process keeps in its")
    assert said.err.count("\n") == 1


# ---------------------------------------------------------------- status
def test_a_status_names_scenarios_and_shares_with_gaps(asked, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "70")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "2")
    said(capsys, *asked, "shard=2/4")
    stopped = ShareRecord(4, 4, 1, 3000, begun=1.0, where="node7 Slurm array 70_4")
    stopped.write(tmp_path / "two_stage")
    _, line, *details = said(capsys, "status", *asked)
    assert line.split()[:6] == ["two_stage", "2", "of", "6", "0", "4"]
    assert details[0].split() == ["done", "failed", "missing", "blocks", "of"]
    assert [detail.split()[:5] for detail in details[1:3]] == [
        ["1", "of", "3", "0", "2"],
        ["1", "of", "3", "0", "2"],
    ]
    assert details[2].endswith("  TwoStage(k=1,n1=100,n2=100)")
    told = [" ".join(detail.split()) for detail in details[3:]]
    assert told[:3] == [
        "share missing of",
        "1/4 1 1 never began to draw",
        "3/4 2 2 never began to draw",
    ]
    assert told[3].startswith("4/4 1 1 began 1970-01-01 ")
    assert told[3].endswith(" on node7 Slurm array 70_4; has not ended")
    assert told[4] == (
        "3 of 4 shares have gaps: run them again (shard=auto/4 in an array of 1,3-4), or a run "
        "without shard draws what is missing"
    )
    (record,) = [r for r in share_records(tmp_path / "two_stage", 1, 3000) if r.index == 2]
    assert record.where.endswith("Slurm array 70_2")
    assert record.begun <= record.ended


def test_a_number_of_shares_may_be_given(asked, capsys):
    said(capsys, *asked, "shard=2/4")
    *_, last = said(capsys, "status", *asked, "shard=1/3")
    assert " of 3 shares have gaps: " in last


def test_where_shares_have_no_gaps_a_status_says_what_is_left_to_do(asked, capsys):
    for i in (1, 2):
        said(capsys, *asked, f"shard={i}/2")
    *_, last = said(capsys, "status", *asked)
    assert last == "all 2 shares have drawn their blocks: run without shard to summarise"


@pytest.mark.parametrize(
    "changes",
    [
        {"index": "x"}, {"index": 0}, {"index": 4}, {"n_shares": 4.0}, {"begun": [1]},
        {"begun": 1e300}, {"begun": float("nan")}, {"ended": "then"}, {"where": 3},
        {"n_blocks": None}, {"seed": True},
    ],
    ids=str,
)  # fmt: skip
def test_a_record_that_no_share_has_written_is_passed_over(changes, tmp_path):
    ShareRecord(1, 3, 1, 100, begun=5.0).write(tmp_path)
    record = asdict(ShareRecord(2, 3, 1, 100, begun=6.0))
    (tmp_path / "shares" / "2-of-3.json").write_text(json.dumps(record | changes))
    assert [found.index for found in share_records(tmp_path, 1, 100)] == [1]


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
