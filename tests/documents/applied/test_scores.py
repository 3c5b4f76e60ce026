"""Scores as numbers, those that can be compared, and those that cannot."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from simstudy.documents.applied.scores import checked_scores, scores_of
from simstudy.documents.applied.settings import AccuracySettings
from simstudy.documents.applied.tables import numbers_of
from simstudy.documents.stats.accuracy.of_scores import Scores
from simstudy.errors import DesignError
from tests.support import refused


def checked(reference, candidate, paired="auto", **options):
    settings = AccuracySettings(reference="old", candidate="new", paired=paired, **options)
    return checked_scores(np.asarray(reference, float), np.asarray(candidate, float), settings)


def test_as_many_scores_of_each_are_pairs_unless_it_is_said():
    assert checked([0.5, 0.7, 0.1], [0.4, 0.9, 0.2]).paired
    assert not checked([0.5, 0.7, 0.1], [0.4, 0.9]).paired
    assert not checked([0.5, 0.7, 0.1], [0.4, 0.9, 0.2], paired="false").paired


@pytest.mark.parametrize(
    ("reference", "candidate", "paired", "said"),
    [
        ([1.0], [1.0, 0.0], "auto", "old has 1 score, which says nothing about how scores vary"),
        ([1.0, 0.0], [1.0], "false", "new has 1 score"),
        ([1, 0, 1], [1, 0], "true", "old has 3 scores and new 2, so they are not of the same"),
        ([0.7, 0.8], [70, 60], "auto", "old lies between 0 and 1 and new goes to 70"),
        ([70, 60], [0.7, 0.8], "auto", "new lies between 0 and 1 and old goes to 70"),
        ([1, 0, 1], [100, 0, 0], "auto", "proportions beside per cent have no difference"),
        ([1, 1, 1, 0], [100, *[0] * 199], "false", "old lies between 0 and 1 and new goes to 100"),
        ([0.9] * 30, [12.5, *[0] * 29], "false", "old lies between 0 and 1 and new goes to 12.5"),
        (range(20), range(30, 10, -1), "auto", "old and new are both sorted"),
    ],
)
def test_what_cannot_be_compared_is_refused(reference, candidate, paired, said):
    with refused(said, DesignError):
        checked(reference, candidate, paired)


@pytest.mark.parametrize(
    ("reference", "candidate", "options"),
    [
        ([0.7, 0.8], [70, 60], {"same_scale": True}),
        ([0.9, 0.8], [1.1, 0.8], {}),  # losses, which happen to be below 1
        ([0, 0, 0.5], [0, 3, 0], {}),
        ([-0.5, 0.5], [40, 50], {}),  # no proportions
        (range(20), range(1, 21), {"paired": "true"}),
        (range(20), range(20), {"paired": "false"}),
        ([1, 2, 3], [2, 3, 4], {}),  # three scores may lie in order by accident
        ([0] * 30, [0] * 30, {}),  # and constant ones do
    ],
)
def test_what_only_looks_odd_is_not_refused(reference, candidate, options):
    checked(reference, candidate, **options)


@pytest.mark.parametrize(
    ("reference", "candidate", "unit"),
    [
        ([1, 0], [1, 1], 1), ([100, 0], [0, 0], 100), ([0, 0], [0, 0], 1), ([1, 1], [1, 1], 1),
        ([100, 100], [100, 100], 100), ([0.5, 0], [1, 0], 0), ([1, 0], [100, 0], 0),
    ],
)  # fmt: skip
def test_right_and_wrong_answers_are_seen(reference, candidate, unit):
    scores = Scores(np.array(reference, float), np.array(candidate, float), paired=True)
    assert scores.unit == unit
    assert scores.is_right_or_wrong == (unit > 0)


def test_equal_differences_are_seen_through_their_roundings():
    reference = np.array([0.7, 0.5, 0.9, 0.3])
    candidate = np.array([0.5, 0.3, 0.7, 0.1])
    assert np.ptp(reference - candidate) > 0, "they differ by roundings"
    assert Scores(reference, candidate, paired=True).are_all_alike
    assert not Scores(reference, candidate, paired=False).are_all_alike
    assert not Scores(reference, candidate + 1e-9 * np.arange(4), paired=True).are_all_alike


@pytest.mark.parametrize(
    "values",
    [
        [1, 0.5, 1],
        np.array([1, 0.5, 1], dtype=np.float32),
        pd.Series([1, 0.5, 1], dtype="Float64"),
        pd.Series(["1", " .5", "1e0"]),
        np.array([True, Decimal("0.5"), 1], dtype=object),
        np.ma.array([1, 0.5, 1]),
    ],
)
def test_scores_are_read_alike(values):
    assert numbers_of("score", values).tolist() == [1, 0.5, 1]


@pytest.mark.parametrize(
    "values",
    [
        [1, None],
        [1.0, math.nan],
        [True, None],
        pd.Series([1, pd.NA], dtype="Int64"),
        ["1", " "],
        np.array([1, Decimal("NaN")], dtype=object),
        np.ma.array([1, 2], mask=[0, 1]),
    ],
)
def test_a_missing_value_is_left_open(values):
    numbers = numbers_of("score", values, blanks=True)
    assert numbers[0] == 1
    assert math.isnan(numbers[1])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[1, 0], [0, 1]], "score has shape (2, 2), and one value for each case"),
        ([1.0, -math.inf], "row 2: score is '-inf', which is not finite"),
        ([1.0, 1e200], "row 2: score is '1e+200', which is not finite"),
        (["inf", "1"], "row 1: score is 'inf', which is not finite"),
        (["1", "x"], "row 2: score is 'x', which is not a number"),
        (["nan", "1"], "row 1: score is 'nan', which is not a number, so nothing can be computed"),
        (["1_0", "1"], "row 1: score is '1_0', which is not a number"),
        (["85%", "1"], "row 1: score is '85%', which is not a number"),
        (["1", "0,5"], "row 2: score is '0,5', which is not a number"),
        ([1, object], "which is not a number"),
        (["1", 50 * "x"], f"row 2: score is '{40 * 'x'}', which is not a number"),
    ],
)
def test_what_is_no_column_of_numbers_is_refused(values, said):
    with refused(said, DesignError):
        numbers_of("score", values)


def test_a_column_may_end_in_blanks():
    nan = math.nan
    assert scores_of("a", [1.0, 0.0, nan, nan]).tolist() == [1, 0]
    with pytest.raises(DesignError, match=r"s.csv, row 2: a is blank or missing, and a mean"):
        scores_of("a", [1.0, nan, 0.0], "s.csv")
    with pytest.raises(DesignError, match="a has no scores: every cell is blank"):
        scores_of("a", [nan, nan])
