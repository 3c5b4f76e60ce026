"""How a run of this project's studies ends: what it writes, its status, and its one line."""

import json
import signal

import numpy as np
import pytest

from simstudy.cli import runs
from simstudy.cli.ending import OUT_OF_TIME, REFUSED
from simstudy.cli.project import experiment_names
from simstudy.documents.scenarios.two_stage import TwoStage
from simstudy.errors import DiskFullError, SchedulerLostError
from tests.support import ROOT, command_line

pytestmark = pytest.mark.usefixtures("elsewhere")
PROGRAM = f"python {ROOT / 'run.py'}"  # what works in any folder
SMALL = ["experiment=two_stage", "experiment.k=[1,1.5]", "experiment.n2=[50,100]",
         "progress=false", "figures=false", "backend=inline"]  # fmt: skip


def drawn_now(text: str) -> int:
    """Blocks that a run says it has drawn."""
    (line,) = [part for part in " ".join(text.split()).split("(") if " drawn now" in part]
    return int(line.split(" block")[0].replace(",", ""))


def test_an_experiment_has_to_be_named(refused_here):
    line = refused_here("progress=false")
    assert line.startswith("no experiment is named: write experiment=NAME; available: ")
    assert all(name in line for name in experiment_names(ROOT))
    assert refused_here("experiment=").startswith("experiment=: no such experiment; available: ")


def test_from_blocks_to_report_and_then_nothing_to_do(ours, tmp_path):
    """End to end: first run, second run, more replicates."""
    asked = [*SMALL, f"out={tmp_path / 'out'}"]
    runs = tmp_path / "out" / "two_stage" / "runs"
    first = ours(*asked, "n_rep=1500")
    assert drawn_now(first) == 4 * 2
    assert all(text in first for text in ("power", "type 1 error"))
    (folder,) = runs.iterdir()
    assert {"manifest.json", "summary.parquet", "claims.parquet", "report.html"} <= {
        path.name for path in folder.iterdir()
    }
    assert ours(*asked, "n_rep=1500").startswith(
        f"nothing to do: {folder} holds 1,500 replicates in each of 4 scenarios, and its figures\n"
    )
    assert drawn_now(ours(*asked, "n_rep=3500")) == 4 * 2
    (longer,) = set(runs.iterdir()) - {folder}
    assert json.loads((longer / "manifest.json").read_text())["replicates_per_scenario"] == 3500


def test_a_damaged_file_is_named_on_the_way(capsys, tmp_path):
    asked = [*SMALL, "n_rep=10", "report=false", f"out={tmp_path}"]
    assert command_line(asked) == 0
    path = max((tmp_path / "two_stage" / "replicates").glob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    capsys.readouterr()
    assert command_line(asked) == 0
    told = capsys.readouterr()
    assert told.err.startswith(f"damaged, set aside and computed again: {path.name}")
    assert drawn_now(told.out) > 0


def test_an_interrupt_ends_a_whole_sweep(monkeypatch, capsys, tmp_path):
    begun = []

    def interrupted(run):
        begun.append(run.name)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(runs, "draw", interrupted)
    assert command_line(["-m", *SMALL, "n_rep=10,20,30", f"out={tmp_path}"]) == 130
    assert signal.getsignal(signal.SIGINT) is before, "it is the caller's"
    assert begun == ["two_stage"]
    assert capsys.readouterr().err.count("To go on") == 1


def test_status_3_where_replicates_failed(monkeypatch, ours, tmp_path):
    plain = TwoStage.simulate

    def fragile(self, streams, n_rep):
        columns = plain(self, streams, n_rep)
        return {**columns, "s2": np.where(np.arange(n_rep) == 4, np.nan, columns["s2"])}

    monkeypatch.setattr(TwoStage, "simulate", fragile)
    asked = [*SMALL, "n_rep=10", f"out={tmp_path}"]
    text = " ".join(ours(*asked, status=3).split())
    for part in ("4 replicates failed", "NaN in s2", f"see it happen: {PROGRAM} replay "):
        assert part in text
    ours(*asked, status=3)  # the second run does not forget it


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (
            DiskFullError("the disk that holds results is full."),
            REFUSED,
            f"the disk that holds results is full. That is: {PROGRAM} experiment=two_stage n_rep=9",
        ),
        (SchedulerLostError("the Dask scheduler has gone away."), OUT_OF_TIME, "the Dask sched"),
    ],
)
def test_what_a_run_cannot_mend_is_a_line_and_a_status(error, status, line, capsys, monkeypatch):
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("simstudy.study.run.run", fails)
    assert command_line(["experiment=two_stage", "n_rep=9"]) == status
    complaint = capsys.readouterr().err
    assert (complaint.startswith(line), complaint.count("\n")) == (True, 1)
