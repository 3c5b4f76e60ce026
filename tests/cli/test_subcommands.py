"""Verbs, their help, and what is wrong with a project, each in one line."""

import json
import sys
from dataclasses import fields

import pytest
from simstudy.cli.help import help_text
from simstudy.cli.subcommands import VERBS

from experiments.two_stage.claims import CLAIMS
from simstudy.cli import main
from simstudy.cli.project import Project, experiment_names, load_experiment, question_of
from simstudy.cli.settings import Settings
from tests.cli.projects import STUDY, inside, simstudy, write
from tests.support import ROOT

SMALL = ["experiment=two_stage", "experiment.k=[1]", "experiment.n2=[50,100]", "progress=false"]
QUICK = [*SMALL, "n_rep=1500", "figures=false", "report=false", "backend=inline"]


pytestmark = pytest.mark.usefixtures("elsewhere")


# ---------------------------------------------------------------- verbs
def test_list_names_every_experiment_with_its_question(ours):
    """Below the document that it belongs to."""
    lines = [line for line in ours("list").splitlines() if line.startswith(" ")]
    assert sorted(line.split()[0] for line in lines) == experiment_names(ROOT)
    for line in lines:
        module = load_experiment(line.split()[0], ROOT)
        assert line.endswith((module.__doc__ or "").splitlines()[0])


def test_a_question_is_read_without_running_the_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text('"""Why?\n\nBecause.\n"""\nraise SystemExit\n')
    assert question_of(path) == "Why?"
    path.write_text("def\n")
    assert question_of(path).startswith("cannot be read: SyntaxError: ")


# ---------------------------------------------------------------- plan and status
def test_a_plan_says_what_a_run_would_do_and_does_nothing(ours, tmp_path):
    out = tmp_path / "out"
    asked = [*QUICK, f"out={out}"]
    plan = ours("plan", *asked).splitlines()
    assert not out.exists()
    assert plan == [
        "two_stage: 2 scenarios, 1,500 replicates in each, drawn in blocks of 1,000",
        "blocks   4: 0 stored (0 with failures), 4 missing",
        "to draw  4 blocks",
        "time     not known: no run has drawn blocks into this folder yet",
        f"results  {out}/two_stage: summary of 4 measures, {len(CLAIMS)} claims",
    ]
    ours(*asked)
    done = ours("plan", *asked).splitlines()
    assert done[1:4] == [
        "blocks   4: 4 stored (0 with failures), 0 missing",
        "to draw  0 blocks",
        "time     none: every block is stored",
    ]
    more = ours("plan", *asked, "n_rep=5500").splitlines()
    assert more[1:3] == ["blocks   12: 4 stored (0 with failures), 8 missing", "to draw  8 blocks"]
    manifest = json.loads((out / "two_stage" / "manifest.json").read_text())
    seconds = 8 * manifest["wall_seconds"] / manifest["blocks_computed"]
    assert more[3] == f"time     about {seconds:,.1f} s, at the pace of the last run"
    assert ours("plan", *asked, "restart=true").splitlines()[2] == ("to draw  4 blocks")
    assert list((out / "two_stage" / "replicates").glob("*.parquet")), "nothing was deleted"


def test_a_plan_says_what_a_run_would_refuse(ours, refused_here, tmp_path):
    asked = [*QUICK, f"out={tmp_path / 'out'}"]
    ours(*asked)
    planned = ours("plan", *asked, "n_rep=100")
    refusal = refused_here(*asked, "n_rep=100")
    assert "n_rep was 1500 and is 100" in refusal
    assert planned.strip().endswith(f"refused  {refusal}")


def test_status_says_what_is_done_and_missing(ours, tmp_path):
    out = tmp_path / "out"
    asked = [*QUICK, f"out={out}"]
    header, line = ours("status", *asked).splitlines()
    assert header.split() == ["experiment", "blocks", "failed", "missing", "published"]
    assert line.split() == ["two_stage", "0", "of", "4", "0", "4", "nothing"]
    assert not out.exists()
    ours(*asked)
    _, line, *_ = ours("status", *asked, "n_rep=2500").splitlines()
    assert " ".join(line.split()) == (
        "two_stage 4 of 6 0 2 published: 3,000 replicates in 2 scenarios"
    )


def test_status_of_a_study_whose_replicates_are_not_here_is_no_gap(ours, tmp_path):
    (tmp_path / "two_stage").mkdir()
    manifest = ROOT / "results" / "two_stage" / "manifest.json"
    (tmp_path / "two_stage" / "manifest.json").write_text(manifest.read_text())
    (line,) = ours("status", "two_stage", f"out={tmp_path}").splitlines()
    assert line.endswith("replicates in 138 scenarios; replicates not in this copy")


def test_summarize_is_the_early_look(ours, tmp_path):
    asked = [*QUICK, f"out={tmp_path / 'out'}"]
    ours(*asked, "shard=1/1")
    assert "1,500 replicates in each of 2 scenarios" in " ".join(ours("summarize", *asked).split())
    assert ours("summarize", *asked).startswith("nothing to do")


# ---------------------------------------------------------------- help
def test_help_fits_a_screen_and_names_every_command(ours):
    told = ours("--help")
    assert 24 <= len(told.splitlines()) <= 40
    for name, verb in VERBS.items():
        assert f"  {name:9}  {verb.help}\n" in told
    for flag in ("-m, --multirun", "--cfg job", "-sc install=bash", "--version"):
        assert flag in told
    assert ours("-h") == told
    assert ours() == told, "and a command without anything prints it"


def test_help_all_has_every_setting_and_no_command_among_them(ours):
    told = ours("--help", "all")
    for declared in fields(Settings):
        about = declared.metadata.get("option")
        assert about is None or f" {declared.name} " in told, declared.name
    for text in ("precision.MEASURE", "[paper|precise|smoke]  default: paper", "[integer >= 1]"):
        assert text in told
    assert not {"plan", "replay"} & {line.split()[0] for line in told.splitlines()[3:]}


def test_help_fits_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    told = help_text(Project(ROOT), "run", ["experiment=two_stage"])
    long = [line for line in told.splitlines()[4:] if len(line) > 80]
    assert all(len(line.split()) == 1 for line in long), "a list is one word, to be copied whole"
    assert any(line.startswith(" " * 25) for line in told.splitlines()), "folded"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_its_help(verb, ours):
    told = ours(verb, "--help")
    assert told.startswith(f"{VERBS[verb].usage}\n{VERBS[verb].help}.\n")


def test_help_of_an_experiment_has_its_options_with_their_values(ours):
    told = ours("run", "experiment=two_stage", "--help")
    assert "two_stage: How often does the two-stage trial reject" in told
    for declared in fields(load_experiment("two_stage", ROOT).Config):
        assert f"experiment.{declared.name}" in told
        assert declared.metadata["option"].help in told
    assert "[list of number > 0, < 1]  default: [0.05]" in told


def test_the_composed_settings_can_be_printed(ours):
    told = ours("--cfg", "job", *SMALL)
    assert "n_jobs: null\n" in told
    assert "hydra" not in told


# ---------------------------------------------------------------- projects
def test_a_folder_without_experiments_has_help_and_no_study_to_run(said, refused):
    for verb in ("run", "plan", "status", "summarize", "list"):
        assert "cwd has no folder experiments/, so there is no study to run" in refused(verb)
    assert "\nexperiments" not in said("--help")


def test_a_folder_that_another_package_hides_is_one_line(tmp_path):
    """This repository's own `experiments/`, here, which has an `__init__.py`."""
    write(tmp_path, {"experiments/fine.py": STUDY})
    done = simstudy(tmp_path, "experiment=fine")
    assert (done.returncode, done.stdout) == (2, "")
    hidden = f"{tmp_path / 'experiments'} is hidden by the package experiments in "
    assert done.stderr.startswith(f"{hidden}{ROOT / 'experiments'}: ")


# ---------------------------------------------------------------- a project's own config
def with_config(folder, text):
    """A project with a study, small scales, and a config of its own."""
    files = {"experiments/__init__.py": "", "experiments/fine.py": STUDY, "conf/config.yaml": text}
    for name, n_rep in (("tiny", 10), ("smoke", 20)):
        scale = f"name: {name}\ntimes: null\nn_rep: {n_rep}\nout: results/our_{name}\n"
        files[f"conf/scale/{name}.yaml"] = scale
    write(folder, files)
    return inside(folder)


def test_a_projects_config_comes_before_the_packages(tmp_path):
    """It sets keys, replaces scales, and adds some; what it does not say is as it was."""

    def published(out):
        manifest = json.loads((tmp_path / out / "fine" / "manifest.json").read_text())
        return manifest["seed"], manifest["replicates_per_scenario"]

    own = "defaults:\n  - override /scale: tiny\n\nseed: 7\nfigures: false\n"
    with with_config(tmp_path, own):
        assert main(["run", "experiment=fine", "backend=inline"]) == 0
        assert published("results/our_tiny") == (7, 10)
        assert (tmp_path / "results" / "our_tiny" / "fine" / "report.html").exists()
        asked = ["backend=inline", "report=false"]
        assert main(["run", "experiment=fine", "scale=smoke", "seed=3", *asked]) == 0
        assert published("results/our_smoke") == (3, 20)
        swept = ["run", "-m", "experiment=fine", "scale=tiny,smoke", "seed=5", *asked]
        assert main(swept) == 2, "they hold the results of other seeds"
        assert main(["-m", "experiment=glob(*)", "seed=5", "out=swept", *asked]) == 0
        assert published("swept") == (5, 10)


def test_a_key_that_no_command_has_is_refused_in_a_projects_config(tmp_path, refused):
    with with_config(tmp_path, "sed: 7\n"):
        assert refused("run", "experiment=fine") == "sed is not a setting; did you mean 'seed'?"
