"""`simstudy apply` as a user types it: answers, help, and hostile files, each in one line."""

import json

import numpy as np
import pandas as pd
import pytest

from simstudy.documents.applied.commands import METHODS
from simstudy.options import option_help
from tests.test_imports import imported_by

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


# ---------------------------------------------------------------- trials, from plan to test
def write(here, name, **columns):
    pd.DataFrame(columns).to_csv(here / name, index=False)


def test_a_regression_trial_from_plan_to_test(here, said, refused):
    rng = np.random.default_rng(2)
    for name, n in (("errors.csv", 150), ("new.csv", 399)):
        y = rng.normal(size=n)
        write(here, name, y=y, prediction=y + rng.normal(size=n))
    told = said("apply", "regression-trial", "plan", "errors.csv", "metric=rmse", "out=plan.json")
    assert told.startswith("plan: show in 399 new cases that the rmse is below")
    assert 8 <= len(told.splitlines()) <= 12
    assert "confirmed: " in said("apply", "regression-trial", "test", "plan.json", "new.csv")
    other = ["classifier-trial", "test", "plan.json", "new.csv"]
    assert "plan.json is the answer of `regression-trial plan`" in refused("apply", *other)
    write(here, "only_errors.csv", error=rng.normal(size=50))
    assert "the mae is below" in said("apply", "regression-trial", "plan", "only_errors.csv")


def test_a_classifier_trial_from_plan_to_test(here, said):
    rng = np.random.default_rng(3)
    for name, n in (("old.csv", 200), ("new.csv", 500)):
        label = np.arange(n) % 2
        words = np.where(label == 1, "ill", "well")
        write(here, name, diagnosis=words, p=rng.normal(size=n) + 2 * label)
    columns = ["label=diagnosis", "score=p", "positive=ill"]
    plan = ["classifier-trial", "plan", "old.csv", *columns, "out=plan.json"]
    assert "keeps it with probability" in said("apply", *plan)
    columns.pop()  # the plan knows the label
    told = said("apply", "classifier-trial", "test", "plan.json", "new.csv", *columns)
    assert "of 250 positive cases at or above" in told


def test_predictions_and_leave_one_out_are_answered_as_text_and_json(here, said):
    rng = np.random.default_rng(4)
    x, mean = rng.normal(size=(2, 60))
    write(here, "data.csv", y=x + rng.normal(size=60), x=x, note=["a"] * 60)
    assert "regression on x" in said("apply", "loo", "data.csv")
    answer = json.loads(said("apply", "loo", "data.csv", "--json"))
    assert answer["method"] == "loo"
    assert [name for name, *_ in answer["answer"]["utilities"]] == ["r2", "rmse", "mae", "elpd"]
    write(here, "fit.csv", y=mean + rng.normal(size=60), mean=mean, sd=[1.0] * 60)
    assert "of 60 predictions fit" in said("apply", "predictive-pvalues", "fit.csv", "n_boot=99")
    draws = pd.DataFrame(mean[:, None] + rng.normal(size=(60, 200))).add_prefix("draw")
    draws.to_parquet(here / "draws.parquet")
    told = said("apply", "predictive-pvalues", "fit.csv", "draws.parquet", "n_boot=99")
    assert "of 60 predictions fit" in told


# ---------------------------------------------------------------- help
@pytest.mark.parametrize("name", METHODS)
def test_help_of_a_method_has_its_settings_and_an_example(name, said):
    told = " ".join(said("apply", *name.split(), "--help").split())
    assert METHODS[name].example in told
    for setting, text in option_help(METHODS[name].settings):
        assert f"{setting} {text.partition('  [')[0]}" in told


# ---------------------------------------------------------------- what is no command
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["accurcy", "scores.csv"], "No such command 'accurcy'. Did you mean 'accuracy'?"),
        (["accuracy"], "apply accuracy takes one file, and was given none: simstudy apply"),
        (["accuracy", "a.csv", "b.csv"], "apply accuracy takes one file, and was given a"),
        (["accuracy", "scores.csv", "alhpa=.1"], "alhpa is not a setting; did you mean 'al"),
        (["accuracy", "scores.csv", "alpha=a"], "alpha=a is not allowed: chance that an unchanged"),
        (["accuracy", "scores.csv", "theta="], "theta= has no value: leave theta out"),
        (["loo", "tasks.csv"], "y=y: tasks.csv has no such column"),
        (["loo", "tasks.csv", "y=n"], "tasks.csv, row 2: n is blank or missing"),
        (["regression-trial", "plan", "scores.csv", "y=old"], "prediction=prediction: scores.csv"),
        (["regression-trial", "test", "no.json", "scores.csv"], "no.json is not there, or holds"),
        (["regression-trial", "test", "scores.csv"], "apply regression-trial test takes two files"),
        (["predictive-pvalues", "scores.csv", "y=old"], "give a second file with the draws"),
        (["accuracy", "scores.csv", *SIDES, "out=tasks.csv"], "cannot write to tasks.csv: "),
    ],
)
def test_what_makes_no_sense_is_one_line(arguments, line, refused):
    assert refused("apply", *arguments).startswith(line)


# ---------------------------------------------------------------- what it costs others
def test_other_verbs_do_not_load_it():
    names = ("simstudy.documents.applied", "simstudy.documents.stats")
    assert imported_by("import simstudy.cli.project", names) == []


def test_a_file_may_have_an_equals_sign_in_its_name(here, said):
    plain = said("apply", "accuracy", "scores.csv", *SIDES)
    (here / "run=3.csv").write_text(SCORES)
    assert said("apply", "accuracy", "run=3.csv", *SIDES) == plain
