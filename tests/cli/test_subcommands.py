"""Verbs, their help, and what is wrong with a project, each in one line."""

import json
from dataclasses import fields

import pytest

from simstudy.cli import main
from simstudy.cli.project import COMMANDS, experiment_names, load_experiment, question_of
from simstudy.cli.settings import Settings
from tests.cli.projects import STUDY, inside, write
from tests.support import ROOT, needs_results

SMALL = ["experiment=two_stage", "experiment.k=[1]", "experiment.n2=[50,100]", "progress=false"]
QUICK = [*SMALL, "n_rep=1500", "figures=false", "report=false", "backend=inline"]


pytestmark = pytest.mark.usefixtures("elsewhere")


# ---------------------------------------------------------------- verbs
def test_list_names_every_experiment_with_its_question(ours):
    lines = ours("list").splitlines()
    assert [line.split()[0] for line in lines] == experiment_names(ROOT)
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
def run_folder(out):
    """The folder of the run with these settings."""
    return out / "two_stage" / "runs" / "k=[1.0],n2=[50,100],n_rep=1500"


def test_a_plan_says_what_a_run_would_do_and_does_nothing(ours, tmp_path):
    out = tmp_path / "out"
    asked = [*QUICK, f"out={out}"]
    plan = ours("plan", *asked).splitlines()
    assert not out.exists()
    assert plan == [
        "two_stage: 2 scenarios, 1,500 replicates in each, drawn in blocks of 1,000",
        "blocks   4: 0 stored (0 with failures), 4 missing",
        "to draw  4 blocks",
        f"results  {run_folder(out)}",
    ]
    ours(*asked)
    done = ours("plan", *asked).splitlines()
    assert done[1:3] == ["blocks   4: 4 stored (0 with failures), 0 missing", "to draw  0 blocks"]
    more = ours("plan", *asked, "n_rep=5500").splitlines()
    assert more[1:3] == ["blocks   12: 4 stored (0 with failures), 8 missing", "to draw  8 blocks"]
    assert ours("plan", *asked, "redraw=true").splitlines()[2] == "to draw  at most 4 blocks"
    assert list((out / "two_stage" / "replicates").glob("*.parquet")), "nothing was deleted"


def test_status_says_what_is_done_and_missing(ours, tmp_path):
    out = tmp_path / "out"
    asked = [*QUICK, f"out={out}"]
    assert "blocks   4: 0 stored (0 with failures), 4 missing" in ours("status", *asked)
    assert not out.exists()
    ours(*asked)
    *blocks, run = ours("status", *asked, "n_rep=2500").splitlines()
    assert "\n".join(blocks) + "\n" == ours("plan", *asked, "n_rep=2500")
    assert blocks[1] == "blocks   6: 4 stored (0 with failures), 2 missing"
    assert run.split() == [run_folder(out).name, "3,000", "replicates"]


@needs_results
def test_status_of_a_study_whose_replicates_are_not_here_is_no_gap(ours, tmp_path):
    (tmp_path / "two_stage").mkdir()
    manifest = ROOT / "results" / "two_stage" / "manifest.json"
    (tmp_path / "two_stage" / "manifest.json").write_text(manifest.read_text())
    _, line, *_, run = ours("status", "two_stage", f"out={tmp_path}").splitlines()
    assert "13,800 missing" in line
    assert run.split() == ["published", "settings", "13,800,000", "replicates"]


def test_summarize_is_the_early_look(ours, tmp_path):
    asked = [*QUICK, f"out={tmp_path / 'out'}"]
    ours(*asked, "shard=1/1")
    assert "1,500 replicates in each of 2 scenarios" in " ".join(ours("summarize", *asked).split())
    assert ours("summarize", *asked).startswith("nothing to do")
    less = ours("summarize", *asked, "n_rep=9000")
    assert less.startswith("2,000 of n_rep=9,000 replicates are stored in each scenario")


# ---------------------------------------------------------------- help
def test_help_fits_a_screen_and_names_every_command(said, ours):
    told = said("--help")
    assert len(told.splitlines()) <= 40
    for name in COMMANDS:
        assert f"\n  {name} " in told
    assert said() == said("-h") == told, "and a command without anything prints it"
    assert "experiment=NAME" in ours("--help"), "a project's script runs studies"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "run"])
def test_every_command_has_its_help(name, said):
    assert said(name, "--help").startswith(f"Usage: simstudy {name} ")


def test_help_of_a_run_has_every_setting(ours):
    told = ours("run", "--help")
    for declared in fields(Settings):
        is_shown = "help" in declared.metadata and declared.name != "group"
        assert not is_shown or f" {declared.name} " in told
    for text in ("precision.MEASURE", "scale: paper, precise, smoke", "[int >= 1]"):
        assert text in told


def test_help_of_an_experiment_has_its_options_with_their_values(ours):
    told = ours("run", "experiment=two_stage", "--help")
    for declared in fields(load_experiment("two_stage", ROOT).Config):
        assert f"experiment.{declared.name}" in told
        assert declared.metadata["help"] in told
    assert "[list[float] > 0, < 1]  default: [0.05]" in told


# ---------------------------------------------------------------- projects
def test_a_folder_without_experiments_has_help_and_no_study_to_run(said, refused):
    for verb in ("run", "plan", "status", "summarize", "list"):
        assert "cwd has no folder experiments/, so there is no study to run" in refused(verb)
    assert "\nexperiments" not in said("--help")


# ---------------------------------------------------------------- a project's own config
def with_config(folder, text):
    """A project with a study, small scales, and a config of its own."""
    files = {"experiments/__init__.py": "", "experiments/fine.py": STUDY, "conf/config.yaml": text}
    for name, n_rep in (("tiny", 10), ("smoke", 20)):
        scale = f"times: null\nn_rep: {n_rep}\nout: results/our_{name}\n"
        files[f"conf/scale/{name}.yaml"] = scale
    write(folder, files)
    return inside(folder)


def test_a_projects_config_comes_before_the_packages(tmp_path):
    """It sets keys, replaces scales, and adds some; what it does not say is as it was."""

    def published(out):
        manifest = json.loads((tmp_path / out / "fine" / "manifest.json").read_text())
        return manifest["seed"], manifest["replicates_per_scenario"]

    own = "defaults: [simstudy, {override scale: tiny}, _self_]\nseed: 7\nfigures: false\n"
    with with_config(tmp_path, own):
        assert main(["run", "experiment=fine", "backend=inline"]) == 0
        assert published("results/our_tiny") == (7, 10)
        assert (tmp_path / "results" / "our_tiny" / "fine" / "report.html").exists()
        asked = ["backend=inline", "report=false"]
        assert main(["run", "experiment=fine", "scale=smoke", *asked]) == 0
        assert published("results/our_smoke") == (7, 20)


def test_a_key_that_no_command_has_is_refused_in_a_projects_config(tmp_path, refused):
    with with_config(tmp_path, "defaults: [simstudy, _self_]\nsed: 7\n"):
        assert refused("run", "experiment=fine") == "sed is not a setting; did you mean 'seed'?"
