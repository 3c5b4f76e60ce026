"""An answer's files: what they hold, what they were made from, and where they cannot be written."""

import hashlib
import json
from dataclasses import replace

import pandas as pd
import pytest

from simstudy.applied.answer_folder import write_check, write_table
from simstudy.applied.score_files import check_file
from simstudy.applied.settings import AccuracySettings, ThresholdSettings
from simstudy.applied.task_files import answer_tasks
from simstudy.errors import ConfigError

SCORES = "reference,candidate\n0.5,0.6\n0.7,0.2\n0.9,0.9\n0.1,0.3\n"
TASKS = "task,sigma,n,theta\nmmlu,50,512,\ngsm8k,50,,5\n"


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "scores.csv").write_text(SCORES)
    return AccuracySettings(out=str(tmp_path / "out"), theta=0.1)


def checked(tmp_path, settings):
    return check_file(tmp_path / "scores.csv", settings)


def test_a_check_is_written_whole(tmp_path, settings):
    answered = checked(tmp_path, settings)
    written = write_check(answered, settings)
    assert {path.name for path in written.folder.iterdir()} == {
        "answer.txt", "answer.json", "answer.parquet", "sampling.png", "sampling.svg",
    }  # fmt: skip
    assert (written.folder / "answer.txt").read_text() == f"{answered.check}\n"
    told = json.loads((written.folder / "answer.json").read_text())
    assert told["answer"]["p_value"] == answered.check.p_value
    assert told["answer"]["is_regression"] is False
    assert told["file"] == {
        "name": "scores.csv",
        "sha256": hashlib.sha256(SCORES.encode()).hexdigest(),
    }
    assert told["settings"]["theta"] == 0.1
    assert "out" not in told["settings"]
    assert {"python", "versions"} <= set(told["made_with"])
    row = pd.read_parquet(written.folder / "answer.parquet").iloc[0]
    assert row["p_value"] == answered.check.p_value
    assert str(tmp_path) not in (written.folder / "answer.json").read_text()


def test_a_check_may_be_written_to_a_url(tmp_path, settings):
    out = f"memory://{tmp_path.name}/out"
    written = write_check(checked(tmp_path, settings), replace(settings, out=out))
    assert str(written.folder) == out
    assert len(list(written.folder.glob("*"))) == 5


def test_json_has_null_for_what_there_is_not(tmp_path, settings):
    (tmp_path / "scores.csv").write_text("reference,candidate\n1,1\n1,1\n")
    written = write_check(checked(tmp_path, settings), settings)
    text = (written.folder / "answer.json").read_text()
    assert "NaN" not in text
    assert json.loads(text)["answer"]["threshold"] is None


def test_a_figure_of_an_earlier_answer_does_not_stay(tmp_path, settings):
    write_check(checked(tmp_path, settings), settings)
    (tmp_path / "scores.csv").write_text("reference,candidate\n1,1\n1,1\n")
    written = write_check(checked(tmp_path, settings), settings)
    assert "these scores have no spread" in written.no_figure
    assert not list(written.folder.glob("sampling.*"))


def test_a_table_is_written_whole(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text(TASKS)
    settings = ThresholdSettings(out=str(tmp_path / "out"))
    answered = answer_tasks(path, settings)
    written = write_table(answered, settings, "the table")
    assert (written.folder / "answer.txt").read_text() == "the table\n"
    stored = pd.read_parquet(written.folder / "answer.parquet")
    pd.testing.assert_frame_equal(stored, answered.table, check_dtype=False)
    assert len(pd.read_csv(written.folder / "answer.csv")) == 2
    told = json.loads((written.folder / "answer.json").read_text())
    assert [task["n"] for task in told["answer"]["tasks"]] == [512, 1237]
    assert told["answer"]["tasks"][0]["power"] is None


def test_a_folder_that_cannot_be_is_said(tmp_path, settings):
    settings = replace(settings, out=str(tmp_path / "scores.csv"))
    answered = checked(tmp_path, settings)
    with pytest.raises(ConfigError, match=r"out=.*scores\.csv is a file, so no answer can be"):
        write_check(answered, settings)
    within = replace(settings, out=f"{settings.out}/answer")
    with pytest.raises(ConfigError, match=r"cannot write an answer to .*/answer: .* Name with"):
        write_check(answered, within)
