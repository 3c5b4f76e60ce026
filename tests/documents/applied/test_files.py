"""Scores and tasks from files, and answers as files."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from simstudy.documents.applied import accuracy_check, threshold_table
from simstudy.documents.applied.accuracy import check_table
from simstudy.documents.applied.settings import AccuracySettings, ThresholdSettings
from simstudy.documents.applied.tables import Table
from simstudy.documents.applied.thresholds import answer_table
from simstudy.errors import StoreError
from tests.support import refused

RNG = np.random.default_rng(8)
OLD, NEW = RNG.random(12).round(3), RNG.random(12).round(3)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "scores.csv"
    rows = [f"p{i},{a},{b}" for i, (a, b) in enumerate(zip(OLD, NEW, strict=True))]
    path.write_text("\n".join(["prompt,old,new", *rows]))
    return path


def test_a_file_is_checked_as_its_numbers_are(file):
    settings = AccuracySettings(reference="old", candidate="new", theta=0.1)
    check = check_table(Table.read(file, settings))
    expected = accuracy_check(OLD, NEW, theta=0.1)
    assert repr(check) == repr(expected)
    assert check.to_dict() == expected.to_dict()
    assert check.source.name == "scores.csv"
    assert check.source.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


ROWS = [("A", "p1", "0.5"), ("B", "p2", "0.7"), ("A", "p2", "0.9"), ("B", "p1", "0.1")]
APART = [ROWS[0], ("B", "p3", "1"), ROWS[2], ("B", "p4", "0")]


def read(folder, *rows, **settings):
    path = folder / "long.csv"
    path.write_text("\n".join(["m,p,score", *map(",".join, rows)]))
    about = {"model": "m", "reference": "A", "candidate": "B", **settings}
    return check_table(Table.read(path, AccuracySettings(**about)))


@pytest.mark.parametrize(
    ("rows", "settings", "scores", "paired"),
    [
        (ROWS, {"prompt": "p"}, ([0.5, 0.9], [0.1, 0.7]), True),  # in whatever order they stand
        (ROWS, {}, ([0.5, 0.9], [0.7, 0.1]), False),
        (ROWS, {"prompt": "p", "paired": "false"}, ([0.5, 0.9], [0.7, 0.1]), False),
        (APART, {"prompt": "p"}, ([0.5, 0.9], [1, 0]), False),
    ],
)
def test_rows_pair_by_their_prompts(rows, settings, scores, paired, tmp_path):
    assert repr(read(tmp_path, *rows, **settings)) == repr(accuracy_check(*scores, paired=paired))


@pytest.mark.parametrize(
    ("extra", "settings", "said"),
    [
        ((), {"paired": "true"}, "paired=true with model=: rows of two models are paired by the"),
        ((), {"candidate": "C"}, "candidate=C: no row of long.csv has that m; available: A, B"),
        ((), {"model": None}, "reference=A: long.csv has no such column; available: m, p, score"),
        ((), {"model": "n"}, "model=n: long.csv has no such column; available: m, p, score"),
        ((), {"score": "scores"}, "score=scores: long.csv has no such column; did you mean 'sc"),
        ((), {"prompt": "q"}, "prompt=q: long.csv has no such column"),
        ((("A", "p1", "1"),), {"prompt": "p"}, "row 5: the p 'p1' of A is blank or"),
        ((("A", "p3", "1"),), {"prompt": "p"}, "B has no score for the prompt 'p3', which A has"),
        ((("B", "p3", "1"),), {"prompt": "p"}, "A has no score for the prompt 'p3', which B has"),
        ((("B", "", "1"),), {"prompt": "p"}, "long.csv, row 5: the p '' of B is blank"),
        ((("A", "", "1"), ("B", "", "0")), {"prompt": "p"}, "row 5: the p '' of A is blank"),
        ((("B", "p3", ""),), {}, "long.csv, row 5: score is blank"),
        ((("B", "p3", "x"),), {}, "long.csv, row 5: score is 'x', which is not a number"),
    ],
)
def test_what_does_not_pair_is_refused(extra, settings, said, tmp_path):
    with refused(said):
        read(tmp_path, *ROWS, *extra, **settings)


TEXT = "task,metric,sigma,n,theta\nmmlu,accuracy,50,512,\nwiki,perplexity,0.3,,0.05\n"


def test_a_file_is_answered_as_its_table_is(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text(TEXT)
    answer = answer_table(Table.read(path, ThresholdSettings(beta=0.1), ["task", "metric"]))
    pd.testing.assert_frame_equal(answer.frame, threshold_table(pd.read_csv(path), beta=0.1))
    assert answer.source.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()


SCORES = "reference,candidate\n0.5,0.6\n0.7,0.2\n0.9,0.9\n0.1,0.3\n"


@pytest.fixture
def check(tmp_path):
    (tmp_path / "scores.csv").write_text(SCORES)
    return check_table(Table.read(tmp_path / "scores.csv", AccuracySettings(theta=0.1)))


def test_a_check_is_written_whole(tmp_path, check):
    written = check.write(str(tmp_path / "out"))
    endings = ("txt", "json", "parquet", "csv", "png", "svg")
    assert {path.name for path in written.iterdir()} == {f"answer.{ending}" for ending in endings}
    assert (written / "answer.txt").read_text() == f"{check}\n"
    told = json.loads((written / "answer.json").read_text())
    assert told["answer"]["p_value"] == check.p_value
    assert told["answer"]["is_regression"] is False
    digest = hashlib.sha256(SCORES.encode()).hexdigest()
    assert told["file"] == {"name": "scores.csv", "sha256": digest}
    assert told["settings"]["theta"] == 0.1
    assert "out" not in told["settings"]
    assert {"python", "versions"} <= set(told["made_with"])
    row = pd.read_parquet(written / "answer.parquet").iloc[0]
    assert row["p_value"] == check.p_value
    assert str(tmp_path) not in (written / "answer.json").read_text()


def test_json_has_null_for_what_there_is_not(tmp_path):
    (tmp_path / "scores.csv").write_text("reference,candidate\n1,1\n1,1\n")
    check = check_table(Table.read(tmp_path / "scores.csv", AccuracySettings()))
    text = check.write(str(tmp_path / "answer.json")).read_text()
    assert "NaN" not in text
    assert json.loads(text)["answer"]["threshold"] is None


def test_a_folder_that_cannot_be_is_said(tmp_path, check):
    with pytest.raises(StoreError, match=r"cannot write to .*scores\.csv: "):
        check.write(str(tmp_path / "scores.csv"))
