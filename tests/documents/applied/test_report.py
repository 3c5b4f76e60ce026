"""Reports as people read them."""

import math

import numpy as np
import pandas as pd

from simstudy.documents.applied import accuracy_check
from simstudy.documents.applied.thresholds import TaskTable

LOST = [1] * 90 + [0] * 8 + [1] * 2, [1] * 80 + [0] * 18 + [1] * 2


def test_a_report_line_by_line():
    """Ten answers lost and none gained: p is 2 to the -10; the power is checked elsewhere."""
    lines = repr(accuracy_check(*LOST, theta=0.1, metric="exact match")).splitlines()
    assert lines[0] == (
        "regression: exact match 0.82 against the reference's 0.92, 0.1 worse "
        "(standard error 0.03); p = 0.000977 <= alpha = 0.05"
    )
    assert lines[1:4] == [
        "test          McNemar's exact test of 100 prompts, 10 lost and 0 gained",
        "scores        100 prompts, each with both scores, correlation 0.63; higher is better",
        "threshold     0.84: a candidate there or below fails",
    ]
    assert lines[4].startswith("level         ")
    assert lines[4].endswith(
        "of unchanged candidates fail (alpha 0.05, at the shares that were found)"
    )
    assert (
        lines[-1]
        == "note          each row was taken for one prompt; if it is not, say paired=false"
    )


def test_what_there_is_not_is_said():
    none = repr(accuracy_check([1, 0, 1], [1, 0, 0]))
    assert "threshold     none: with so few right answers, changes or differences no" in none
    assert "detectable    none: no effect fails with probability 80% (1 - beta)" in none
    alike = repr(accuracy_check([0.5, 0.7, 0.1], [0.5, 0.7, 0.1]))
    assert "detectable    unknown: these scores have no spread to learn it from" in alike
    assert "nan" not in none + alike


def test_numbers_by_the_normal_formula_are_about_so_many():
    check = accuracy_check([1, 0] * 50, [0, 1, 1, 0] * 25, theta=0.001)
    assert f"needed        about {check.n_needed:,} prompts, to fail a cand" in repr(check)


def test_where_lower_is_better_the_threshold_is_above():
    check = accuracy_check([7.0, 8, 9, 6], [7.5, 8.1, 9.3, 6.1], metric="perplexity")
    assert "a candidate there or above fails" in repr(check)
    assert "lower is better" in repr(check)


def test_a_table_leaves_out_columns_in_which_nothing_stands():
    table = pd.DataFrame(
        {
            "task": ["a", "b"], "metric": ["", ""], "n": pd.array([5, None], dtype="Int64"),
            "flag": np.array([True, False]), "gamma": [math.nan, math.nan],
        }
    )  # fmt: skip
    assert TaskTable(table).text.split() == ["task", "n", "flag", "a", "5", "true", "b", "false"]
