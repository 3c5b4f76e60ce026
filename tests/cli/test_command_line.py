"""The command line: every mistake is one line, and what is done is done once."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simstudy.atomic_files import write_json
from simstudy.cli import carry_out
from simstudy.cli.compose import read_requests
from simstudy.cli.endings import REFUSED
from simstudy.cli.experiments import experiment_names, load_experiment
from simstudy.cli.project import Project
from simstudy.design import grid, scenario_key
from simstudy.errors import NotHereError
from simstudy.store.blocks import Store
from simstudy.store.files import Folder
from simstudy.store.header import owner_in
from simstudy.store.owner import Owner
from simstudy.trials.two_stage import TwoStage
from tests.support import ROOT, command_line

EXPERIMENTS = experiment_names(ROOT)
SMALL = ["experiment=two_stage", "experiment.k=[1,1.5]", "experiment.n2=[50,100]", "progress=false"]


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
ALPHA = "allowed is a number above 0 and below 1 (size of the test given a true null)"
COUNT = "allowed is a whole number at least 1"
N2 = f"{COUNT} (observations in the second stage)"
N_REP = f"{COUNT} (replicates in each scenario)"
K = (
    "allowed is a number at least -30 and at most 30 (standard errors from the first mean to the "
    "bound)"
)
WORKS = "nearest that works:"


@pytest.mark.parametrize(
    ("override", "line"),
    [
        (
            "experiment=two_stge",
            "experiment=two_stge: no such experiment; did you mean 'two_stage'?",
        ),
        ("scale=smok", "scale=smok: no such scale; did you mean 'smoke'?"),
        ("backend=threds", "backend=threds: no such backend; did you mean 'threads'?"),
        ("nrep=3", "nrep is not a setting; did you mean 'n_rep'?"),
        (
            "experiment.alhpa=[1]",
            "experiment.alhpa is not a setting of experiment; did you mean 'alpha'?",
        ),
        ("n_rep=0", f"n_rep=0: {N_REP}; {WORKS} n_rep=1"),
        ("n_rep=-5", f"n_rep=-5: {N_REP}; {WORKS} n_rep=1"),
        ("n_rep=1.5", f"n_rep=1.5: {N_REP}; {WORKS} n_rep=2"),
        ("n_rep=many", f"n_rep=many: {N_REP}; {WORKS} n_rep=1"),
        (
            "seed=-1",
            "seed=-1: allowed is a whole number at least 0 (names the sequence of random "
            f"numbers); {WORKS} seed=0",
        ),
        ("n_jobs=0", f"n_jobs=0: {COUNT} (workers); {WORKS} n_jobs=1"),
        ("experiment.alpha=[0]", f"experiment.alpha=[0]: {ALPHA}; {WORKS} experiment.alpha=[0.05]"),
        ("experiment.alpha=[1]", f"experiment.alpha=[1]: {ALPHA}; {WORKS} experiment.alpha=[0.05]"),
        (
            "experiment.alpha=[1.5]",
            f"experiment.alpha=[1.5]: {ALPHA}; {WORKS} experiment.alpha=[0.05]",
        ),
        ("experiment.n2=[0]", f"experiment.n2=[0]: {N2}; {WORKS} experiment.n2=[1]"),
        ("experiment.n2=[-10]", f"experiment.n2=[-10]: {N2}; {WORKS} experiment.n2=[1]"),
        ("experiment.n2=[10.5]", f"experiment.n2=[10.5]: {N2}; {WORKS} experiment.n2=[10]"),
        ("experiment.n2=[50,0]", f"experiment.n2=[50,0]: {N2}; {WORKS} experiment.n2=[50,1]"),
        (
            "experiment.k=[]",
            "experiment.k=[]: an empty list leaves nothing to simulate; allowed: one "
            "value or more, such as experiment.k=[0,0.5,1,1.5,2,2.5]",
        ),
        (
            "experiment.alpha=[]",
            "experiment.alpha=[]: an empty list leaves nothing to simulate; allowed: one "
            "value or more, such as experiment.alpha=[0.05]",
        ),
        ("experiment.k=[abc]", f"experiment.k=[abc]: {K}; {WORKS} experiment.k=[0]"),
        ("experiment.k=[nan]", f"experiment.k=[nan]: {K}; {WORKS} experiment.k=[0]"),
        ("experiment.k=[inf]", f"experiment.k=[inf]: {K}; {WORKS} experiment.k=[30]"),
        ("experiment.k=[-31]", f"experiment.k=[-31]: {K}; {WORKS} experiment.k=[-30]"),
        ("experiment.k=[31]", f"experiment.k=[31]: {K}; {WORKS} experiment.k=[30]"),
        (
            "experiment.k=[1,1]",
            "TwoStage(k=1,n1=100,n2=50) is in the grid twice, so it would count double. "
            "Remove one.",
        ),
        (
            "experiment.draws=both",
            "experiment.draws=both: allowed is text one of raw, sufficient (every "
            f"observation, or the sample means by their own law); {WORKS} "
            "experiment.draws=raw",
        ),
        (
            "shard=4/3",
            "shard=4/3: allowed is i/N with whole numbers 1 <= i <= N, or auto in a job of an "
            f"array; {WORKS} shard=3/3",
        ),
        (
            "keep=all",
            "keep=all: allowed is text one of replicates, summary (what is stored); "
            f"{WORKS} keep=replicates",
        ),
        (
            "replay=xyz",
            "'xyz' is not the address of a replicate. Copy one from failures.parquet or "
            "the closing table; it reads like 3f2a90c1d4e5b678/1234.",
        ),
        ("precision.powr=0.1", "precision.powr: no such measure; did you mean 'power'?"),
        (
            "n_rep=1,2",
            "n_rep=1,2 asks for several runs: add -m for these",
        ),
        (
            "experiment.k=1,2",
            "experiment.k=1,2 asks for several runs: add -m for these, or write the values in "
            "brackets, experiment.k=[...], for one run with all of them",
        ),
    ],
    ids=lambda text: text if len(text) < 25 else "",
)  # fmt: skip
def test_a_mistake_is_one_line(override, line, capsys):
    assert refused(capsys, "experiment=two_stage", override) == line


def test_an_experiment_has_to_be_named(capsys):
    line = refused(capsys)
    assert line.startswith("no experiment given: python run.py experiment=NAME; there is: ")
    assert line.endswith(", ".join(EXPERIMENTS))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("experiment.k=[0", "cannot read experiment.k=[0: brackets and quotation marks have to be"),
        ("n_rep", "n_rep is no setting; did you mean 'n_rep=VALUE'?"),
        ("=3", "cannot read =3: a setting is written NAME=VALUE"),
        ("experiment.k.x=3", "experiment.k.x is not a setting: nothing lies below experiment.k"),
        ("+n_reps=3", "n_reps is not a setting; did you mean 'n_rep'?"),
        ("hydra.foo=3", "hydra.foo is not a setting of hydra; "),
        (
            "n_rep=${nope}",
            "n_rep cannot be read: Interpolation key 'nope' not found. ${...} stands",
        ),
        (
            "experiment.k=${nope}",
            "experiment.k cannot be read: Interpolation key 'nope' not found.",
        ),
        ("experiment.k=[${nope}]", "experiment.k[0] cannot be read: Interpolation key 'nope' not"),
        ("out=${nope}", "out cannot be read: Interpolation key 'nope' not found. ${...} stands"),
        ("seed=${seed}", "seed cannot be read: Recursive interpolation detected"),
        ("scale=${nope}", "scale=${nope}: name one; there is: paper, precise, smoke"),
    ],
)
def test_what_cannot_be_read_is_one_line_too(text, said, capsys):
    assert refused(capsys, "experiment=two_stage", text).startswith(said)


def test_a_mistake_anywhere_in_a_sweep_is_found_before_the_first_run(capsys, tmp_path):
    line = refused(capsys, "-m", "experiment=two_stage", "n_rep=10,0", f"out={tmp_path / 'out'}")
    assert line.startswith("n_rep=0: allowed is a whole number at least 1")
    assert not (tmp_path / "out").exists()


def test_a_mistake_ends_a_process_with_status_2_and_no_traceback():
    command = [sys.executable, str(ROOT / "run.py"), "experiment=two_stge"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
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
    quick = [*SMALL, "n_rep=10", f"out={tmp_path}", "figures=false", "report=false"]
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
    return int(line.split(" drawn now")[0].replace(",", ""))


def owner_found(folder: Path) -> Owner:
    """Whose blocks a folder holds, as all of its files say."""
    (owner, *others) = [owner_in(Folder(folder), path.name) for path in folder.glob("*.parquet")]
    assert all(one.settings == owner.settings for one in others)
    keys = {key: value for one in (owner, *others) for key, value in one.values.items()}
    codes = {key: code for one in (owner, *others) for key, code in one.codes.items()}
    return Owner(owner.settings, keys, codes)


def replicates(folder: Path, n_rep: int) -> pd.DataFrame:
    store = Store(folder / "replicates", 1000, owner_found(folder / "replicates"))
    assert store.damaged == []
    keys = [scenario_key(one) for one in grid(TwoStage, k=[1, 1.5], n1=100, n2=[50, 100])]
    return pd.concat([store.read(key, n_rep).to_pandas() for key in keys])


def test_from_blocks_to_report_and_then_nothing_to_do(capsys, tmp_path):
    """End to end: first run, second run, more replicates; the head is what it was."""
    asked = [*SMALL, f"out={tmp_path / 'out'}", "figures=false"]
    folder = tmp_path / "out" / "two_stage"
    assert command_line([*asked, "n_rep=1500"]) == 0
    first = capsys.readouterr().out
    assert drawn_now(first) == 4 * 2000
    assert "power" in first
    assert "type_1_error" in first
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
        (request,) = read_requests(overrides, Project(ROOT, "python run.py"))
        assert (request.n_rep, request.out) == (n_rep, out)


def test_a_grid_without_a_figures_scenarios_is_no_failure(capsys, tmp_path):
    """What there is nothing to draw of is said, and status 3 is left to what went wrong."""
    asked = ["experiment=two_stage", "experiment.k=[0.25]", "experiment.n2=[50,60]", "n_rep=10",
             f"out={tmp_path}", "report=false", "progress=false"]  # fmt: skip
    assert command_line(asked) == 0
    said = capsys.readouterr().out
    assert "figure 1 was not drawn: k in (0, 0.5, 1, 1.5, 2) at n2 in (100, 300, 500): none" in said


def test_each_run_of_a_sweep_is_named_before_its_tables(capsys, tmp_path):
    asked = [*SMALL, "n_rep=10,20", f"out={tmp_path / 'out'}", "figures=false", "report=false"]
    assert command_line(["plan", "-m", *asked]) == 0
    named = [line for line in capsys.readouterr().out.splitlines() if line.startswith("-- ")]
    assert [line.split() for line in named] == [
        ["--", *SMALL, f"n_rep={n}", f"out={tmp_path / 'out'}", "figures=false", "report=false",
         "plan=true"] for n in (10, 20)
    ]  # fmt: skip


def test_shards_compute_their_share_and_a_run_without_shard_finishes(capsys, tmp_path):
    asked = [*SMALL, "n_rep=3000", f"out={tmp_path}", "figures=false", "report=false"]
    blocks = []
    for i in (1, 2, 3):
        assert command_line([*asked, f"shard={i}/3"]) == 0
        text = capsys.readouterr().out
        assert text.startswith(f"shard {i}/3: ")
        assert "run without shard=... to summarise" in " ".join(text.split())
        blocks.append(int(text.split(": ")[1].split()[0]))
    assert sum(blocks) == 12
    assert max(blocks) - min(blocks) <= 1
    assert command_line(asked) == 0
    assert drawn_now(capsys.readouterr().out) == 0


def test_a_replicate_is_drawn_again_by_its_address(capsys, tmp_path):
    asked = [*SMALL, "n_rep=10", f"out={tmp_path}", "figures=false", "report=false"]
    assert command_line(asked) == 0
    capsys.readouterr()
    row = replicates(tmp_path / "two_stage", 10).iloc[13]
    assert command_line([*SMALL, f"replay={row['scenario']}/{row['rep']}"]) == 0
    shown = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert float(shown["s2"]) == row["s2"]
    assert shown["reject"] == str(row["reject"])


def test_a_damaged_file_is_named_on_the_way(capsys, tmp_path):
    asked = [*SMALL, "n_rep=10", f"out={tmp_path}", "figures=false", "report=false"]
    assert command_line(asked) == 0
    (path,) = (tmp_path / "two_stage" / "replicates").glob("*.parquet")
    path.write_bytes(path.read_bytes()[:-1])
    capsys.readouterr()
    assert command_line(asked) == 0
    told = capsys.readouterr()
    assert told.err.startswith(f"damaged, set aside and computed again: {path.name}")
    assert drawn_now(told.out) == 4000


def is_here(name):
    """Whether the data and the libraries of an experiment are on this machine."""
    module = load_experiment(name, ROOT)
    try:
        module.study(module.Config())
    except NotHereError:
        return False
    return True


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


# ---------------------------------------------------------------- interrupted
LONG = ["experiment=two_stage", "experiment.k=[1]", "experiment.n2=[50]", "n_rep=50000000"]


def start(*arguments) -> "subprocess.Popen[str]":
    """A run with a process group of its own, as in a terminal: Ctrl-C reaches them all.

    Also where the tests themselves were started by something that ignores it, as a shell does for
    what it runs in the background.
    """
    return subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def is_alive(group: int) -> bool:
    """Whether any process of a session still runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def ctrl_c(process) -> None:
    """Reaches the whole session."""
    os.killpg(process.pid, signal.SIGINT)


def terminate(process) -> None:
    """As `kill` and schedulers send it: to the program alone."""
    process.terminate()


@pytest.mark.parametrize(("stop", "status"), [(ctrl_c, 130), (terminate, 143)])
@pytest.mark.parametrize("backend", ["inline", "loky"])
def test_what_is_stopped_keeps_what_is_finished_and_says_how_to_go_on(
    backend, stop, status, tmp_path
):
    asked = [*LONG, f"out={tmp_path}", f"backend={backend}", "n_jobs=2", "progress=false"]
    folder = tmp_path / "two_stage" / "replicates"
    process = start(*asked)
    try:
        wait_for(lambda: len(list(folder.glob("*.parquet"))) >= 3)
        stop(process)
        out, err = process.communicate(timeout=60)
    finally:
        process.poll() is None and os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == status
    assert "Traceback" not in err
    assert err.splitlines()[-1] == (
        "interrupted; every finished block is kept. To go on: python run.py "
        + " ".join(one if "[" not in one else f"'{one}'" for one in asked)
    )
    assert out == ""
    store = Store(folder, 1000, owner_found(folder))
    assert store.damaged == []
    (scenario,) = grid(TwoStage, k=1, n1=100, n2=50)
    assert store.have(scenario_key(scenario), 50_000).sum() >= 3
    assert backend == "loky" or not list(folder.glob(".writing-*")), "a worker may be killed at it"
    wait_for(lambda: not is_alive(process.pid))


def test_what_was_kept_is_used_by_the_next_run(tmp_path, capsys):
    process = start(*LONG, f"out={tmp_path}", "backend=inline", "progress=false")
    folder = tmp_path / "two_stage" / "replicates"
    try:
        wait_for(lambda: len(list(folder.glob("*.parquet"))) >= 3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    finally:
        process.poll() is None and process.kill()
    again = [*LONG[:-1], "n_rep=2000", f"out={tmp_path}", "figures=false", "report=false"]
    assert command_line(again) == 0
    assert drawn_now(capsys.readouterr().out) == 0


def test_an_interrupt_ends_a_whole_sweep(monkeypatch, capsys, tmp_path):
    begun = []

    def interrupted(job, publish):
        begun.append(job.name)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(carry_out, "run", interrupted)
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
    assert "replay=" in text
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
    assert f"That is: python run.py experiment=two_stage n_rep=1000 out={tmp_path}" in complaint
