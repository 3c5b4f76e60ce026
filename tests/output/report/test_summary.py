"""A summary shows the replicates behind each number, and what is the same everywhere once."""

import math

import pandas as pd

from simstudy.output.report.summary import summary_of, with_n

SUMMARY = pd.DataFrame(
    {
        "k": [1.0, 1.0, 2.0],
        "alpha": 0.05,
        "measure": ["power", "share", "power"],
        "estimate": [0.8, 0.5, math.nan],
        "n_rep": 5000,
        "n_failed": 0,
        "n_given": [1200, 5000, 0],
        "reason": ["", "", "no replicate has null_is_false"],
    }
)


def test_a_share_within_a_condition_is_one_of_those_that_meet_it():
    rows = with_n(SUMMARY)
    assert rows["n"].tolist() == [1200, 5000, 0]
    assert list(rows.columns[4:6]) == ["n", "n_rep"]
    assert "n_given" not in rows


def test_one_number_of_replicates_stands_once():
    assert "n" not in with_n(SUMMARY.assign(n_given=5000))
    assert "n" not in with_n(SUMMARY.assign(n_given=math.nan))
    assert "n" not in with_n(SUMMARY.drop(columns="n_given")), "as earlier versions stored it"


def test_factors_that_do_not_differ_are_set_apart():
    said = summary_of(SUMMARY)
    assert said.common == {"alpha": "0.05"}
    names = [column.name for column in said.table.columns]
    assert names == ["k", "measure", "estimate", "n", "n_rep", "n_failed", "reason"]
    assert said.has_conditions


def test_of_one_row_nothing_is_set_apart():
    assert summary_of(SUMMARY.head(1)).common == {}


def test_reasons_are_shown_where_there_are_any():
    assert summary_of(SUMMARY).table.rows[2][-1] == "no replicate has null_is_false"
    calm = summary_of(SUMMARY.assign(reason=""))
    assert "reason" not in [column.name for column in calm.table.columns]


def test_factors_read_as_the_study_says():
    said = summary_of(SUMMARY, {"k": {2.0: "two"}, "alpha": {0.05: "usual"}})
    assert [row[0] for row in said.table.rows] == ["1", "1", "two"]
    assert said.table.columns[0].is_number
    assert said.common == {"alpha": "usual"}
