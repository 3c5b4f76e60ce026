"""The command line: what it refuses, what it says, what it leaves behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import run

ROOT = Path(__file__).parents[1]
SMALL = ["experiment=two_stage", "experiment.k=[0,1.5]", "experiment.n2=[50,100]"]


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    """Status, standard output, standard error."""
    status = run.main(list(arguments))
    said = capsys.readouterr()
    return status, said.out, said.err


# ---------------------------------------------------------------- what it refuses
ALPHA = "allowed is a number above 0 and below 1"
WHOLE = "allowed is a whole number at least 1"
REFUSED = [
    (["experiment=two_stag"], "no such experiment; did you mean 'two_stage'?"),
    ([], "no experiment given: python run.py experiment=NAME; there is: "),
    (["experiment=two_stage", "n_rp=5"], "n_rp is not a setting; did you mean 'n_rep'?"),
    (["experiment=two_stage", "experiment.kk=[1]"], "experiment.kk is not a setting"),
    (["experiment=two_stage", "+x=1"], "x is not a setting"),
    (["experiment=two_stage", "n_rep=0"], f"n_rep=0: {WHOLE}"),
    (["experiment=two_stage", "n_rep=-5"], "nearest that works: n_rep=1"),
    (["experiment=two_stage", "n_rep=1.5"], "nearest that works: n_rep=2"),
    (["experiment=two_stage", "n_rep=many"], f"n_rep=many: {WHOLE}"),
    (["experiment=two_stage", "experiment.alpha=[0]"], f"experiment.alpha=[0]: {ALPHA}"),
    (
        ["experiment=two_stage", "experiment.alpha=[1]"],
        "nearest that works: experiment.alpha=[0.05]",
    ),
    (["experiment=two_stage", "experiment.alpha=[1.5]"], f"experiment.alpha=[1.5]: {ALPHA}"),
    (["experiment=two_stage", "experiment.n2=[0]"], "nearest that works: experiment.n2=[1]"),
    (["experiment=two_stage", "experiment.n2=[-10]"], f"experiment.n2=[-10]: {WHOLE}"),
    (["experiment=two_stage", "experiment.n2=[10.5]"], "nearest that works: experiment.n2=[10]"),
    (["experiment=two_stage", "experiment.n2=[]"], "an empty list leaves nothing to simulate"),
    (["experiment=two_stage", "experiment.k=[a]"], "experiment.k=[a]: allowed is a number"),
    (["experiment=two_stage", "experiment.k=[nan]"], "experiment.k=[nan]: allowed is a number"),
    (["experiment=two_stage", "experiment.k=[inf]"], "experiment.k=[inf]: allowed is a number"),
    (["experiment=two_stage", "experiment.k=[1,1.0]"], "is in the grid twice"),
    (["experiment=two_stage", "experiment.draws=some"], "one of raw, sufficient"),
    (["experiment=two_stage", "n_jobs=0"], f"n_jobs=0: {WHOLE}"),
    (["experiment=two_stage", "backend=lok"], "no such backend; did you mean 'loky'?"),
    (["experiment=two_stage", "scale=smal"], "no such scale"),
    (["experiment=two_stage", "seed=-1"], "nearest that works: seed=0"),
    (["experiment=two_stage", "shard=3/2"], "allowed is i/N with whole numbers 1 <= i <= N"),
    (["experiment=two_stage", "keep=some"], "one of replicates, summary"),
    (["experiment=two_stage", "experiment.k=[1"], "cannot read experiment=two_stage"),
    (["experiment=two_stage", "out=/proc/nowhere"], "cannot write results to /proc/nowhere"),
    (["experiment=two_stage", "out=/dev/null"], "Choose another out="),
    (["experiment=two_stage", "plan=true"], "plan=true needs a target"),
    (["experiment=two_stage", "precision.powr=1"], "no such measure; did you mean 'power'?"),
    (["experiment=two_stage", "replay=here"], "'here' is not the address of a replicate"),
    (["experiment=two_stage", "replay=0123456789abcdef/7"], "has no scenario 0123456789abcdef"),
    (["-m", "experiment=two_stage,nothing"], "experiment=nothing: no such experiment"),
    (
        ["experiment=two_stage", "keep=summary", "n_rep=1500"],
        "nearest that works: n_rep=2000",
    ),
]


@pytest.mark.parametrize(("arguments", "says"), REFUSED, ids=lambda one: str(one)[-45:])
def test_refuses_in_one_line(capsys, arguments, says, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    out = [] if any(one.startswith("out=") for one in arguments) else [f"out={tmp_path}/out"]
    status, said, complaint = call(capsys, *arguments, *(out if arguments else []))
    assert status == run.REFUSED
    assert complaint.count("\n") == 1
    assert says in complaint
    assert said == ""


def test_refuses_the_folder_of_another_study(capsys, tmp_path):
    folder = tmp_path / "two_stage"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({"study": "another"}))
    status, _, complaint = call(capsys, *SMALL, f"out={tmp_path}")
    assert status == run.REFUSED
    assert "holds the results of study 'another'" in complaint
    assert "Choose another out=" in complaint


# ---------------------------------------------------------------- what it does
@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small run of `two_stage`, 1500 replicates."""
    out = tmp_path_factory.mktemp("finished")
    assert run.main([*SMALL, "n_rep=1500", f"out={out}", "figures=false"]) == 0
    return out


def test_leaves_what_it_promises(finished):
    folder = finished / "two_stage"
    found = {path.name for path in folder.iterdir()}
    expected = {"summary.parquet", "claims.parquet", "manifest.json", "report.html", "replicates"}
    assert expected <= found
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["replicates_per_scenario"] == 1500
    assert manifest["scenarios"] == 4


def test_more_replicates_compute_only_what_is_missing(finished, capsys):
    folder = finished / "two_stage"
    before = pd.read_parquet(folder / "summary.parquet")
    status, said, _ = call(capsys, *SMALL, "n_rep=3500", f"out={finished}", "figures=false")
    assert status == 0
    assert "(8,000 drawn now" in " ".join(said.split())  # two blocks more in each of 4 scenarios
    call(capsys, *SMALL, "n_rep=1500", f"out={finished}", "figures=false")
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "summary.parquet"), before)


def test_another_seed_does_not_mix(finished, capsys):
    status, _, complaint = call(capsys, *SMALL, "seed=2", f"out={finished}")
    assert status == run.REFUSED
    assert "seed was 1 and is 2" in complaint
    assert "restart=true" in complaint


def test_shards_join_to_the_whole(finished, capsys, tmp_path):
    for shard in ("1/2", "2/2"):
        status, said, _ = call(capsys, *SMALL, "n_rep=1500", f"shard={shard}", f"out={tmp_path}")
        assert status == 0
        assert f"shard {shard}: 4 blocks computed" in said
    call(capsys, *SMALL, "n_rep=1500", f"out={tmp_path}", "figures=false")
    call(capsys, *SMALL, "n_rep=1500", f"out={finished}", "figures=false")
    whole, joined = (
        pd.read_parquet(out / "two_stage" / "summary.parquet") for out in (finished, tmp_path)
    )
    pd.testing.assert_frame_equal(whole, joined)


def test_a_plan_prints_costs_and_writes_nothing(capsys, tmp_path):
    status, said, _ = call(capsys, *SMALL, "precision.power=2%", "plan=true", f"out={tmp_path}")
    assert status == 0
    assert "replicates" in said
    assert "in all" in said
    assert list(tmp_path.iterdir()) == []


def test_a_replay_prints_the_replicate(finished, capsys):
    scenario = pd.read_parquet(finished / "two_stage" / "scenarios.parquet").iloc[1]
    status, said, _ = call(capsys, *SMALL, f"replay={scenario['scenario']}/1234")
    assert status == 0
    s2 = float(re.search(r"s2\s+(\S+)", said)[1])
    stored = pd.read_parquet(finished / "two_stage" / "replicates")
    row = stored[(stored["scenario"] == scenario["scenario"]) & (stored["rep"] == 1234)].iloc[0]
    assert s2 == row["s2"]


def test_a_sweep_over_experiments_leaves_no_stray_folders(tmp_path):
    both = "experiment=two_stage,two_stage_robustness"
    settings = ["scale=smoke", f"out={tmp_path}/out", "figures=false"]
    command = [sys.executable, str(ROOT / "run.py"), "-m", both, *settings]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert found == {"two_stage", "two_stage_robustness", "index.html"}


def test_a_glob_finds_every_experiment():
    points = run.sweep_points(["experiment=glob(*)"])
    assert [one[0] for one in points] == [f"experiment={n}" for n in run.options("experiment")]


def test_an_interrupt_keeps_what_is_finished_and_says_how_to_go_on(tmp_path):
    arguments = [*SMALL, "n_rep=4000000", f"out={tmp_path}", "n_jobs=1"]
    command = [sys.executable, str(ROOT / "run.py"), *arguments]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    blocks = tmp_path / "two_stage" / "replicates"
    deadline = time.monotonic() + 60
    while not list(blocks.glob("*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == run.INTERRUPTED
    assert "every finished block is kept. To go on: python run.py experiment=two_stage" in complaint
    assert "Traceback" not in complaint
    assert list(blocks.glob("*.parquet"))
