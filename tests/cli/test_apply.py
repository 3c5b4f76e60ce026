"""`simstudy apply` as a user types it: answers, help, and hostile files, each in one line."""

import pytest

from simstudy.documents.applied.commands import METHODS
from simstudy.options import option_help
from tests.test_imports import FEW_RUNS_NEED, imported_by

SIDES = ["reference=old", "candidate=new"]
SCORES = "prompt,old,new\na,1,1\nb,1,0\nc,0,0\nd,1,1\n"
TASKS = "task,sigma,n,theta,reference\nmmlu,50,512,,71.2\ngsm8k,50,,5,\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_text(SCORES)
    (tmp_path / "tasks.csv").write_text(TASKS)
    return tmp_path


# ---------------------------------------------------------------- answers
def test_accuracy_prints_the_report_and_leaves_nothing(here, said):
    told = said("apply", "accuracy", "scores.csv", *SIDES, "theta=0.2")
    assert told.startswith("no regression shown: score 0.5 against the reference's 0.75, 0.25 wor")
    assert {path.name for path in here.iterdir()} == {"scores.csv", "tasks.csv"}


def test_thresholds_prints_the_table_and_leaves_nothing(here, said):
    lines = said("apply", "thresholds", "tasks.csv", "beta=0.1").splitlines()
    assert [line.split()[0] for line in lines] == ["task", "mmlu", "gsm8k"]
    assert lines[1].split()[-1] == "66.06"
    assert lines[2].split()[-1] == "1713"
    assert {path.name for path in here.iterdir()} == {"scores.csv", "tasks.csv"}


@pytest.mark.parametrize(("method", "file"), [("accuracy", "scores"), ("thresholds", "tasks")])
def test_a_folder_is_written_where_one_is_named(method, file, here, said):
    sides = SIDES if method == "accuracy" else []
    told = said("apply", method, f"{file}.csv", *sides, "out=answers/first")
    assert told.endswith("written to answers/first\n")
    assert (here / "answers" / "first" / "answer.json").exists()


# ---------------------------------------------------------------- help
def test_help_has_every_setting_of_every_method(said):
    told = said("apply", "--help")
    for method in METHODS.values():
        for name, text in option_help(method.settings):
            assert f"  {name}" in told
            assert text in told


def test_help_of_one_method_has_its_own(said):
    told = said("apply", "thresholds", "--help")
    assert "simstudy apply thresholds tasks.csv" in told
    assert "simstudy apply accuracy" not in told


# ---------------------------------------------------------------- what is no command
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "apply takes a method and a file, as in simstudy apply accuracy scores.csv ref"),
        (["accurcy", "scores.csv"], "no such method to apply: 'accurcy'; did you mean 'accuracy'?"),
        (["accuracy"], "apply accuracy takes one file, and was given none: simstudy apply"),
        (["accuracy", "a.csv", "b.csv"], "apply accuracy takes one file, and was given a"),
        (["accuracy", "scores.csv", "alhpa=.1"], "alhpa is not a setting; did you mean 'al"),
        (["accuracy", "scores.csv", "alpha=a"], "alpha=a: must be a number at least 0."),
        (["accuracy", "scores.csv", "theta="], "theta= is empty: leave theta out, or write"),
        (["accuracy", "scores.csv", "alpha=.1", "alpha=.2"], "alpha=.2: alpha was given already"),
        (["accuracy", "score.csv"], "score.csv is not there; did you mean 'scores.csv'?"),
        (["accuracy", "scores.csv", *SIDES, "out=tasks.csv"], "cannot write tasks.csv: "),
    ],
)
def test_what_makes_no_sense_is_one_line(arguments, line, refused):
    assert refused("apply", *arguments).startswith(line)


# ---------------------------------------------------------------- what it costs others
def test_the_verb_loads_no_table_before_it_has_a_file():
    assert (
        imported_by("import simstudy.cli.file_commands", (*FEW_RUNS_NEED, "pandas", "scipy")) == []
    )


def test_other_verbs_do_not_load_it():
    assert (
        imported_by(
            "import simstudy.cli.dispatch",
            ("simstudy.documents.applied", "simstudy.documents.stats"),
        )
        == []
    )


def test_a_file_may_have_an_equals_sign_in_its_name(here, said):
    plain = said("apply", "accuracy", "scores.csv", *SIDES)
    (here / "run=3.csv").write_text(SCORES)
    assert said("apply", "accuracy", "run=3.csv", *SIDES) == plain
