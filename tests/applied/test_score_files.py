"""A file and settings in, the check of its scores out."""

import hashlib

import numpy as np
import pytest

from simstudy.applied import accuracy_check
from simstudy.applied.score_files import check_file
from simstudy.applied.settings import AccuracySettings
from simstudy.errors import ConfigError, SimstudyError

RNG = np.random.default_rng(8)
OLD, NEW = RNG.random(12).round(3), RNG.random(12).round(3)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "scores.csv"
    rows = [f"p{i},{a},{b}" for i, (a, b) in enumerate(zip(OLD, NEW, strict=True))]
    path.write_text("\n".join(["prompt,old,new", *rows]))
    return path


def test_a_file_is_checked_as_its_numbers_are(file):
    answered = check_file(file, AccuracySettings(reference="old", candidate="new", theta=0.1))
    expected = accuracy_check(OLD, NEW, theta=0.1)
    assert repr(answered.check) == repr(expected)
    assert answered.check.record == expected.record
    assert answered.source == "scores.csv"
    assert answered.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_one_column_with_all_scores_is_the_same_check(file, tmp_path):
    long = tmp_path / "long.csv"
    rows = [f"{m},p{i},{s}" for m, side in (("new", NEW), ("old", OLD)) for i, s in enumerate(side)]
    long.write_text("\n".join(["model,prompt,score", *rows]))
    settings = {"reference": "old", "candidate": "new"}
    wide = check_file(file, AccuracySettings(**settings)).check.record
    told = AccuracySettings(model="model", prompt="prompt", **settings)
    assert {**check_file(long, told).check.record, "notes": wide["notes"]} == wide


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"reference": "old", "candidate": "old"}, "are the same scores, which do not differ"),
        ({"prompt": "prompt"}, "prompt=prompt is of a file with all scores in one column"),
        ({"score": "old"}, "score=old is of a file with all scores in one column"),
        ({}, "reference=reference: scores.csv has no such column; there is: new, old, prompt"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, said, file):
    with pytest.raises(ConfigError) as refusal:
        check_file(file, AccuracySettings(**settings))
    assert said in str(refusal.value)


def test_a_cell_is_named_by_its_line(file):
    file.write_text(file.read_text().replace(f"p3,{OLD[3]}", "p3,none"))
    with pytest.raises(
        SimstudyError, match=r"scores.csv, line 5: old is 'none', which is no score"
    ):
        check_file(file, AccuracySettings(reference="old", candidate="new"))


def test_numbers_are_written_in_one_way_in_both_columns(file):
    file.write_text("old;new\n10.000;72,1\n9.500;70,4\n")
    with pytest.raises(SimstudyError, match=r"new is '72,1', and old is '10\.000' at scores\.csv"):
        check_file(file, AccuracySettings(reference="old", candidate="new"))
