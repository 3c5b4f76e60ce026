"""Tables of tasks: whose default holds, what is blank, and which row is wrong."""

import math

import numpy as np
import pandas as pd
import pytest

from simstudy.applied import threshold_table
from simstudy.applied.tasks import Task, answered
from simstudy.errors import ConfigError, DesignError

SUITE = pd.DataFrame(
    {
        "task": ["mmlu", "gsm8k", "wiki", None],
        "metric": ["accuracy", "accuracy", "perplexity", "perplexity"],
        "sigma": [50, 50, None, 0.3],
        "n": [512, None, 100, None],
        "theta": [None, 5, None, None],
        "reference": [71.2, None, 6.5, None],
        "alpha": [None, 0.01, None, 0.02],
    }
)


def test_each_row_is_answered_with_the_defaults_that_hold_for_it():
    """Its own cell, then its metric's row, then what was given, then what is usual."""
    table = threshold_table(SUITE, beta=0.1)
    expected = [
        Task("mmlu", "accuracy", False, 50, 512, 0.05, 0.1, math.nan, 71.2),
        Task("gsm8k", "accuracy", False, 50, math.nan, 0.01, 0.1, 5),
        Task("wiki", "perplexity", True, 0.3, 100, 0.02, 0.1, math.nan, 6.5),
    ]
    for row, task in zip(table.to_dict("records"), expected, strict=True):
        found = {name: math.nan if pd.isna(value) else value for name, value in row.items()}
        wanted = answered(task)
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            if isinstance(value, float):
                assert found[name] == pytest.approx(value, nan_ok=True), name
            else:
                assert found[name] == value, name


def test_counts_are_whole_and_blank_where_there_are_none():
    table = threshold_table(SUITE)
    assert str(table["n"].dtype) == str(table["least_n"].dtype) == "Int64"
    assert table["least_n"].isna().tolist() == [True, False, True]
    assert table["lower_is_better"].tolist() == [False, False, True]


def test_a_question_mark_is_solved_for_in_spite_of_defaults():
    frame = pd.DataFrame({"sigma": [50], "n": [512], "theta": [5.0], "alpha": ["?"]})
    row = threshold_table(frame, alpha=0.05).iloc[0]
    assert row["solved"] == "alpha"
    assert row["alpha"] > 0.05
    assert row["detectable_effect"] == pytest.approx(5)


def test_rows_without_names_are_numbered():
    frame = pd.DataFrame({"sigma": [50, 40], "n": [512, 128]})
    assert threshold_table(frame)["task"].tolist() == ["1", "2"]


@pytest.mark.parametrize("spelling", [True, "true", "Yes", 1, "1"])
def test_direction_may_be_said_in_words(spelling):
    frame = pd.DataFrame({"lower_is_better": np.array([spelling], object), "sigma": 1, "n": 9})
    assert threshold_table(frame)["lower_is_better"].tolist() == [True]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"sgima": [1]}, "sgima is no column of a table of tasks; did you mean 'sigma'?"),
        ({"task": ["a"], "n": [5]}, "row 1 (a): theta and sigma are not given"),
        ({"task": ["a"], "n": [5.5], "sigma": [1]}, "row 1 (a): n=5.5 is not a whole number"),
        ({"n": [5, 5], "sigma": [1, -1]}, "row 2: sigma=-1 is not positive"),
        ({"n": [5], "sigma": ["x"]}, "row 1: sigma is 'x', which is no number"),
        ({"n": [5], "sigma": ["50%"]}, "with a sign after the number. Write the number alone, in "),
        ({"n": [5], "sigma": ["n/a"]}, "which is no number. Leave the cell blank for a default"),
        ({"n": ["5.0"], "sigma": ["1,5"]}, "row 1: sigma is '1,5', and n is '5.0' at row 1"),
        ({"n": [1e19], "sigma": [1]}, "row 1: n=1e+19 is more scores than can be counted"),
        (
            {"task": ["a", "a"], "n": [5, 6], "sigma": [1, 1]},
            "row 2 has the task a a second time (the first is row 1)",
        ),
        (
            {"task": ["a", None], "metric": ["WER", "wer"], "n": [5, None], "sigma": [None, 14]},
            "row 2 has defaults for wer, which is the metric of no task; did you mean 'WER'?",
        ),
        ({"n": ["?"], "sigma": ["?"]}, "theta and sigma and n are not given"),
        ({"n": [5], "reference": ["?"]}, "row 1: reference is '?'"),
        ({"task": [None], "n": [5]}, "row 1 names neither a task nor a metric"),
        (
            {"task": [None, None], "metric": ["f1", "f1"], "n": [5, 6]},
            "row 2 has defaults for f1 a second time",
        ),
        ({"task": [None], "metric": ["f1"], "n": [5]}, "the table has no task"),
        ({"task": []}, "the table has no task"),
        ({"n": [5], "lower_is_better": ["maybe"]}, "row 1: lower_is_better is 'maybe'"),
        ({"n": [5], "sigma": [1], "correlation": [1]}, "row 1: correlation=1 is not in [-1, 1)"),
        (
            {"n": [5], "sigma": [1], "alpha": [0.6], "beta": [0.6]},
            "row 1: alpha=0.6 and beta=0.6 add up to 1 or more",
        ),
    ],
)
def test_a_row_that_is_wrong_is_named(columns, said):
    with pytest.raises(DesignError) as refusal:
        threshold_table(pd.DataFrame(columns))
    assert said in str(refusal.value)


def test_what_is_no_table_is_refused():
    with pytest.raises(DesignError, match="a list is no table of tasks"):
        threshold_table([1])
    with pytest.raises(DesignError, match="the table has the column n 2 times"):
        threshold_table(pd.DataFrame([[1, 2, 3]], columns=["n", "n", "sigma"]))


@pytest.mark.parametrize(
    ("default", "said"),
    [
        ({"lower_is_better": "false"}, "lower_is_better='false': allowed is true or false"),
        ({"alpha": "0.05"}, "alpha='0.05': allowed is a number above 0 and below 1"),
        ({"alpha": 5}, "alpha=5: allowed is a number above 0 and below 1"),
        ({"n": "100"}, "n='100': allowed is a whole number at least 1"),
        ({"metric": 5}, "metric=5: allowed is text"),
        ({"reference": "?"}, "reference=?: allowed is a number"),
    ],
)
def test_a_default_that_makes_no_sense_is_refused(default, said):
    with pytest.raises(ConfigError) as refusal:
        threshold_table(pd.DataFrame({"sigma": [50], "n": [512]}), **default)
    assert said in str(refusal.value)


def test_defaults_are_numbers_of_any_kind():
    given = {"n": np.int64(512), "sigma": np.float32(50), "lower_is_better": np.True_}
    table = threshold_table(pd.DataFrame({"reference": [70]}), **given)
    plain = threshold_table(
        pd.DataFrame({"reference": [70]}), n=512, sigma=50, lower_is_better=True
    )
    pd.testing.assert_frame_equal(table, plain)


@pytest.mark.parametrize("name", ["alpha", "beta", "sigma", "n"])
def test_a_default_may_be_to_be_solved(name):
    known = {"alpha": 0.05, "beta": 0.2, "sigma": 50, "n": 512, name: "?"}
    assert threshold_table(pd.DataFrame({"theta": [5.0]}), **known)["solved"].tolist() == [name]


def test_one_task_may_have_two_metrics():
    frame = pd.DataFrame({"task": ["a", "a"], "metric": ["f1", "bleu"], "n": 5, "sigma": 1})
    assert len(threshold_table(frame)) == 2
