"""Tables of tasks: whose default holds, what is blank, and which row is wrong."""

import math
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from simstudy.documents.applied import threshold_table
from simstudy.documents.stats.accuracy.tasks import RELATED, Task, answered
from simstudy.errors import DesignError
from tests.support import refused

SUITE = pd.DataFrame(
    {
        "task": ["mmlu", "gsm8k", "wiki"],
        "metric": ["accuracy", "accuracy", "perplexity"],
        "sigma": [50, 50, 0.3],
        "n": [512, None, 100],
        "theta": [None, 5, None],
        "reference": [71.2, None, 6.5],
        "alpha": [None, 0.01, 0.02],
    }
)


def test_each_row_is_answered_with_the_defaults_that_hold_for_it():
    """Its own cell, then what was given, then what is usual."""
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


@pytest.mark.parametrize("spelling", [True, "true", "Yes", 1, "1"])
def test_direction_may_be_said_in_words(spelling):
    frame = pd.DataFrame({"lower_is_better": np.array([spelling], object), "sigma": 1, "n": 9})
    assert threshold_table(frame)["lower_is_better"].tolist() == [True]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"sgima": [1]}, "sgima is not a column of a table of tasks; did you mean 'sigma'?"),
        ({"task": ["a"], "n": [5]}, "row 1 (a): theta and sigma are not given"),
        ({"task": ["a"], "n": [5.5], "sigma": [1]}, "row 1 (a): n=5.5 is not allowed: scores of"),
        ({"n": [5, 5], "sigma": [1, -1]}, "row 2: sigma=-1.0 is not allowed"),
        ({"n": [5], "sigma": ["x"]}, "sigma is 'x', which is not a number, so nothing follows"),
        ({"task": ["a", "a"], "n": [5, 6], "sigma": 1}, "row 2 has the task a a second time"),
        ({"n": ["?"], "sigma": ["?"]}, "theta and sigma and n are not given"),
        ({"n": [5], "reference": ["?"]}, "row 1: reference is '?'"),
        ({"task": ["a", None], "n": [5, 6], "sigma": 1}, "row 2 names no task"),
        ({"n": [5], "lower_is_better": ["maybe"]}, "row 1: lower_is_better=maybe is not allowed"),
        ({"n": [5], "sigma": [1], "correlation": [1]}, "row 1: correlation=1.0 is not allowed"),
        (
            {"n": [5], "sigma": [1], "alpha": [0.6], "beta": [0.6]},
            "row 1: alpha=0.6 and beta=0.6 add up to 1 or more",
        ),
        ({"n": [5], "sigma": [1], "alpha": ["?"], "theta": [1e9]}, "row 1: alpha follows as 0"),
        ({"n": ["?"], "sigma": [1], "theta": [1e-9]}, "row 1: theta=1e-09 takes some 1e+19 scores"),
    ],
)
def test_a_row_that_is_wrong_is_named(columns, said):
    with refused(said, DesignError):
        threshold_table(pd.DataFrame(columns))


PHI = NormalDist()
ALPHA, BETA, SIGMA, N, RHO = 0.05, 0.2, 50.0, 512, 0.6
SE = SIGMA * math.sqrt(2 * (1 - RHO) / N)
THETA = -(PHI.inv_cdf(ALPHA) + PHI.inv_cdf(BETA)) * SE
KNOWN = {"theta": THETA, "alpha": ALPHA, "beta": BETA, "sigma": SIGMA, "n": N}


def with_all_but(name):
    rest = {known: value for known, value in KNOWN.items() if known != name}
    return answered(Task("mmlu", correlation=RHO, reference=70.0, **rest))


@pytest.mark.parametrize("missing", RELATED)
def test_the_one_that_is_missing_follows(missing):
    found = with_all_but(missing)
    assert found["solved"] == missing
    value = found["detectable_effect" if missing == "theta" else missing]
    if missing == "n":  # the formula's n is whole but for a rounding: it, or the next
        assert value in (N, N + 1)
    else:
        assert value == pytest.approx(KNOWN[missing])


def test_nothing_missing_is_a_wish_and_what_there_is():
    found = answered(Task("mmlu", reference=70.0, **{**KNOWN, "theta": 5.0, "n": 100}))
    se = SIGMA * math.sqrt(2 / 100)
    z = PHI.inv_cdf(ALPHA) + PHI.inv_cdf(BETA)
    assert (found["solved"], found["theta"], found["n"]) == ("", 5.0, 100)
    assert found["detectable_effect"] == pytest.approx(-z * se)
    assert found["margin"] == pytest.approx(-PHI.inv_cdf(ALPHA) * se)
    assert found["threshold"] == pytest.approx(70 + PHI.inv_cdf(ALPHA) * se)
    assert found["power"] == pytest.approx(PHI.cdf(PHI.inv_cdf(ALPHA) + 5 / se))
    assert found["least_n"] == math.ceil(2 * (z * SIGMA / 5) ** 2)


def test_where_lower_is_better_the_threshold_is_above():
    about = {"sigma": 0.3, "n": 100, "alpha": 0.05, "beta": 0.2, "reference": 7.0}
    found = answered(Task("wiki", "perplexity", lower_is_better=True, **about))
    assert found["threshold"] == pytest.approx(7 + found["margin"])


def test_an_error_rate_beyond_doubles_leaves_the_effect_that_was_asked_for():
    """100 standard errors are missed never, 1e-25 of one at the rate of a coin."""
    about = {"alpha": 0.05, "sigma": 1.0, "n": 5000}
    never, coin = (answered(Task("mmlu", theta=theta, **about)) for theta in (2.0, 1e-25))
    assert (never["beta"], never["power"], never["detectable_effect"]) == (0, 1, 2)
    assert coin["power"] == pytest.approx(0.05)
    assert coin["beta"] == pytest.approx(0.95)
    assert coin["detectable_effect"] == 1e-25
    assert never["least_n"] == coin["least_n"] == 5000
    assert never["margin"] == pytest.approx(-PHI.inv_cdf(0.05) * math.sqrt(2 / 5000))


def test_scores_that_do_not_vary_make_every_effect_detectable():
    tasks = {"task": ["a", "b", "c"], "sigma": [0, 0, 0], "n": [32, None, 32]}
    tasks |= {"theta": [None, 1.0, 2.0], "alpha": [0.05, 0.05, "?"], "reference": [80.0, 80, 80]}
    found = threshold_table(pd.DataFrame(tasks))
    assert found["solved"].tolist() == ["theta", "n", "alpha"]
    assert found["n"].tolist() == [32, 1, 32]
    assert found["alpha"].tolist() == [0.05, 0.05, 0.0]
    assert (found["threshold"] == 80).all()
    assert (found[["margin", "detectable_effect", "sigma"]] == 0).all(axis=None)
    assert found["power"].tolist()[1:] == [1.0, 1.0]
