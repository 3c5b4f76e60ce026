"""The command line: every mistake is one line, and what is done is done once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simstudy.atomic_files import write_json
from simstudy.cli import commands
from simstudy.cli.exit_status import OUT_OF_TIME, REFUSED
from simstudy.cli.hydra_compose import compose_one
from simstudy.cli.project import Project, experiment_names, load_experiment
from simstudy.design import grid, scenario_key
from simstudy.errors import NotHereError
from simstudy.store.block_files import provenance_of_files
from simstudy.store.blocks import Store
from simstudy.store.files import Folder
from simstudy.store.provenance import Provenance
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


def test_a_mistake_ends_a_process_with_status_2_and_no_traceback():
    command = [sys.executable, str(ROOT / "run.py"), "experiment=two_stge"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "experiment=two_stge: no such experiment; did you mean 'two_stage'?\n"


# ---------------------------------------------------------------- folders
def test_a_folder_that_cannot_be_written(capsys, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    for out in (f"{file}/below", "/proc/nowhere"):
        line = refused(capsys, *SMALL, f"out={out}")
        assert line.startswith(f"cannot write results to {out}/two_stage: ")
        assert line.endswith("Choose another out=...")
    assert file.read_text() == "mine"


def test_a_folder_of_another_study(capsys, tmp_path):
    write_json(tmp_path / "two_stage" / "manifest.json", {"study": "someone_elses"})
    line = refused(capsys, *SMALL, f"out={tmp_path}")
    assert line == (
        f"{tmp_path}/two_stage holds the results of study 'someone_elses', which 'two_stage' would "
        "overwrite. Choose another out=..., or move that folder away."
    )


def test_blocks_of_another_seed(capsys, tmp_path):
    quick = [*SMALL, *FEW, f"out={tmp_path}"]
    assert command_line(quick) == 0
    capsys.readouterr()
    line = refused(capsys, *quick, "seed=7")
    assert "seed was 1 and is 7" in line
    assert line.endswith("Keep both with another out=..., or start over with restart=true.")
    assert command_line([*quick, "seed=7", "restart=true"]) == 0


# ---------------------------------------------------------------- runs
def drawn_now(text: str) -> int:
    """Replicates that a run says it has drawn."""
    (line,) = [part for part in " ".join(text.split()).split("(") if " drawn now" in part]
    return 1000 * int(line.split(" block")[0].replace(",", ""))


def provenance_found(folder: Path) -> Provenance:
    """Whose blocks a folder holds, as all of its files say."""
    (owner, *others) = [made_from for _, made_from in provenance_of_files(Folder(folder))]
    assert all(one.settings == owner.settings for one in others)
    keys = {key: value for one in (owner, *others) for key, value in one.values.items()}
    codes = {key: code for one in (owner, *others) for key, code in one.codes.items()}
    return Provenance(owner.settings, keys, codes)


def replicates(folder: Path, n_rep: int) -> pd.DataFrame:
    store = Store(folder / "replicates", 1000, provenance_found(folder / "replicates"))
    assert store.damaged == []
    keys = [scenario_key(one) for one in grid(TwoStage, k=[1, 1.5], n1=100, n2=[50, 100])]
    return pd.concat([store.read(key, n_rep).to_pandas() for key in keys])


def test_from_blocks_to_report_and_then_nothing_to_do(capsys, tmp_path):
    """End to end: first run, second run, more replicates; the head is what it was."""
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
    head = replicates(folder, 1500)

    assert command_line([*asked, "n_rep=1500"]) == 0
    assert capsys.readouterr().out == (
        f"nothing to do: {folder} holds 1,500 replicates in each of 4 scenarios, and its figures\n"
    )

    assert command_line([*asked, "n_rep=3500"]) == 0
    assert drawn_now(capsys.readouterr().out) == 4 * 2000
    assert json.loads((folder / "manifest.json").read_text())["replicates_per_scenario"] == 3500
    pd.testing.assert_frame_equal(replicates(folder, 1500), head, check_exact=True)


def test_the_number_of_replicates_is_the_scales_or_the_documents_or_the_users():
    cases = {
        "": (4000, "results"), "scale=smoke": (50, "results/smoke"),
        "scale=precise": (80_000, "results/precise"), "n_rep=7": (7, "results"),
        "experiment.n_rep=30": (30, "results"), "out=here": (4000, "here"),
    }  # fmt: skip
    for text, (n_rep, out) in cases.items():
        overrides = ["experiment=bootstrap_se", *filter(None, [text])]
        request = compose_one(overrides, Project(ROOT, "run.py"))
        assert (request.n_rep, request.out) == (n_rep, out)


def test_a_grid_without_a_figures_scenarios_is_no_failure(capsys, tmp_path):
    """What there is nothing to draw of is said, and status 3 is left to what went wrong."""
    asked = ["experiment=two_stage", "experiment.k=[0.25]", "experiment.n2=[50,60]", "n_rep=10",
             f"out={tmp_path}", "report=false", "progress=false", "backend=inline"]  # fmt: skip
    assert command_line(asked) == 0
    said = capsys.readouterr().out
    assert "figure 1 was not drawn: k in (0, 0.5, 1, 1.5, 2) at n2 in (100, 300, 500): none" in said


def test_each_run_of_a_sweep_is_named_before_its_tables(capsys, tmp_path):
    asked = [*SMALL, "n_rep=10,20", f"out={tmp_path / 'out'}", "figures=false", "report=false"]
    assert command_line(["plan", "-m", *asked]) == 0
    named = [line for line in capsys.readouterr().out.splitlines() if line.startswith("-- ")]
    assert [line.split()[5:] for line in named] == [
        [*SMALL, f"n_rep={n}", f"out={tmp_path / 'out'}", "figures=false", "report=false"]
        for n in (10, 20)
    ]


def test_a_replicate_is_drawn_again_by_its_address(capsys, tmp_path):
    asked = [*SMALL, *FEW, f"out={tmp_path}"]
    assert command_line(asked) == 0
    capsys.readouterr()
    row = replicates(tmp_path / "two_stage", 10).iloc[13]
    address = f"{row['scenario']}/{row['rep']}"
    assert command_line(["replay", address, *SMALL]) == 0
    shown = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert float(shown["s2"]) == row["s2"]
    assert shown["reject"] == str(row["reject"])


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


def is_here(name):
    """Whether the data and the libraries of an experiment are on this machine."""
    module = load_experiment(name, ROOT)
    try:
        module.study(module.Config())
    except NotHereError:
        return False
    return True


@pytest.mark.slow
def test_every_experiment_in_one_sweep(smoke_runs, capsys):
    """The blocks of this sweep are the ones that the contracts of the experiments look at.

    An experiment whose data are not here costs the others nothing, and is said.
    """
    here = [name for name in EXPERIMENTS if is_here(name)]
    asked = ["all", "group=all", "scale=smoke", f"out={smoke_runs.folder}", "progress=false"]
    status = 0 if here == EXPERIMENTS else REFUSED
    with smoke_runs.alone(EXPERIMENTS) as folder:
        assert command_line([*asked, "figures=false", "report=false"]) == status
    said = capsys.readouterr().err.splitlines()
    refused = [line for line in said if not line.startswith("warning: ")]
    assert len(refused) == len(EXPERIMENTS) - len(here)
    assert all("a block of" in line for line in said if line not in refused), "only slow blocks"
    for name in here:
        assert (folder / name / "manifest.json").exists()
    assert not {"outputs", "multirun", "multirun.yaml", ".hydra"} & set(os.listdir(Path.cwd()))
    assert not {"outputs", "multirun", "multirun.yaml", ".hydra"} & set(os.listdir(folder))


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
