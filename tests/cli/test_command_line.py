"""The command line: every mistake is one line, and what is done is done once."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from simstudy.cli import commands
from simstudy.cli.exit_status import OUT_OF_TIME, REFUSED
from simstudy.cli.project import experiment_names
from simstudy.trials.two_stage import TwoStage
from tests.support import ROOT, command_line

EXPERIMENTS = experiment_names(ROOT)
PROGRAM = f"python {ROOT / 'run.py'}"  # what works in any folder
SMALL = ["experiment=two_stage", "experiment.k=[1,1.5]", "experiment.n2=[50,100]", "progress=false"]
FEW = ["n_rep=10", "figures=false", "report=false", "backend=inline"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Nothing is written beside what the user names: not here, and not in the repository."""
    here = tmp_path / "cwd"
    here.mkdir()
    monkeypatch.chdir(here)
    yield
    assert list(here.iterdir()) == []


def refused(capsys, *arguments) -> str:
    """The one line that a refusal says; it ends with status 2 and writes nothing."""
    out = Path.cwd().parent / "out"
    names_it = any("out" in text for text in arguments)
    asked = arguments if names_it or "-m" in arguments else (*arguments, f"out={out}")
    assert command_line(list(asked)) == 2
    assert not out.exists()
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.endswith("\n")
    assert told.err.count("\n") == 1
    return told.err.removesuffix("\n")


# ---------------------------------------------------------------- refusals
def test_an_experiment_has_to_be_named(capsys):
    line = refused(capsys)
    assert line.startswith(f"no experiment given: {PROGRAM} experiment=NAME; available: ")
    assert line.endswith(", ".join(EXPERIMENTS))


def test_a_mistake_anywhere_in_a_sweep_is_found_before_the_first_run(capsys, tmp_path):
    line = refused(capsys, "-m", "experiment=two_stage", "n_rep=10,0", f"out={tmp_path / 'out'}")
    assert line.startswith("n_rep=0: must be a whole number at least 1")
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------- runs
def drawn_now(text: str) -> int:
    """Replicates that a run says it has drawn."""
    (line,) = [part for part in " ".join(text.split()).split("(") if " drawn now" in part]
    return 1000 * int(line.split(" block")[0].replace(",", ""))


def test_from_blocks_to_report_and_then_nothing_to_do(capsys, tmp_path):
    """End to end: first run, second run, more replicates."""
    asked = [*SMALL, f"out={tmp_path / 'out'}", "figures=false", "backend=inline"]
    folder = tmp_path / "out" / "two_stage"
    assert command_line([*asked, "n_rep=1500"]) == 0
    first = capsys.readouterr().out
    assert drawn_now(first) == 4 * 2000
    assert "power" in first
    assert "type 1 error" in first
    assert "reproduced" in first
    assert {"manifest.json", "summary.parquet", "claims.parquet", "report.html"} <= {
        path.name for path in folder.iterdir()
    }

    assert command_line([*asked, "n_rep=1500"]) == 0
    assert capsys.readouterr().out == (
        f"nothing to do: {folder} holds 1,500 replicates in each of 4 scenarios, and its figures\n"
    )

    assert command_line([*asked, "n_rep=3500"]) == 0
    assert drawn_now(capsys.readouterr().out) == 4 * 2000
    assert json.loads((folder / "manifest.json").read_text())["replicates_per_scenario"] == 3500


def test_a_grid_without_a_figures_scenarios_is_no_failure(capsys, tmp_path):
    """What there is nothing to draw of is said, and status 3 is left to what went wrong."""
    asked = ["experiment=two_stage", "experiment.k=[0.25]", "experiment.n2=[50,60]", "n_rep=10",
             f"out={tmp_path}", "report=false", "progress=false", "backend=inline"]  # fmt: skip
    assert command_line(asked) == 0
    said = capsys.readouterr().out
    assert "figure 1 was not drawn: k in (0, 0.5, 1, 1.5, 2) at n2 in (100, 300, 500): none" in said


def test_a_damaged_file_is_named_on_the_way(capsys, tmp_path):
    asked = [*SMALL, *FEW, f"out={tmp_path}"]
    assert command_line(asked) == 0
    path = max((tmp_path / "two_stage" / "replicates").glob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    capsys.readouterr()
    assert command_line(asked) == 0
    told = capsys.readouterr()
    assert told.err.startswith(f"damaged, set aside and computed again: {path.name}")
    assert drawn_now(told.out) > 0


# ---------------------------------------------------------------- how a run ends
def test_an_interrupt_ends_a_whole_sweep(monkeypatch, capsys, tmp_path):
    begun = []

    def interrupted(job, publish):
        begun.append(job.name)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(commands, "run", interrupted)
    status = command_line(["-m", *SMALL, "n_rep=10,20,30", f"out={tmp_path}"])
    assert status == 130
    assert signal.getsignal(signal.SIGINT) is before, "it is the caller's"
    assert begun == ["two_stage"]
    assert capsys.readouterr().err.count("To go on") == 1


def test_status_3_where_replicates_failed(monkeypatch, capsys, tmp_path):
    plain = TwoStage.simulate

    def fragile(self, streams, n_rep):
        columns = plain(self, streams, n_rep)
        return {**columns, "s2": np.where(np.arange(n_rep) == 4, np.nan, columns["s2"])}

    monkeypatch.setattr(TwoStage, "simulate", fragile)
    asked = [*SMALL, "n_rep=10", f"out={tmp_path}", "figures=false", "backend=inline"]
    assert command_line(asked) == 3
    text = " ".join(capsys.readouterr().out.split())
    assert "4 replicates failed" in text
    assert "NaN in s2" in text
    assert f"see it happen: {PROGRAM} replay " in text
    assert command_line(asked) == 3, "and the second run does not forget it"


def test_a_full_disk_names_the_command_that_goes_on(capsys, monkeypatch, tmp_path):
    from simstudy.errors import DiskFullError
    from simstudy.study import Study

    def full(*_: object, **__: object) -> None:
        raise DiskFullError("the disk that holds results is full.")

    monkeypatch.setattr(Study, "run", full)
    arguments = ["experiment=two_stage", "n_rep=1000", f"out={tmp_path}"]
    assert command_line(arguments) == REFUSED
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert f"That is: {PROGRAM} experiment=two_stage n_rep=1000 out={tmp_path}" in complaint


def test_a_scheduler_that_went_away_has_the_status_of_a_run_that_goes_on(capsys, monkeypatch):
    from simstudy.errors import SchedulerLostError
    from simstudy.study import Study

    def lost(*_: object, **__: object) -> None:
        raise SchedulerLostError("the Dask scheduler at tcp://10.0.0.1:8786 has gone away.")

    monkeypatch.setattr(Study, "run", lost)
    assert command_line(["experiment=two_stage", "n_rep=1000"]) == OUT_OF_TIME
    assert capsys.readouterr().err.count("\n") == 1
