"""Published against reproduced: what is near, what is not, and what was never there."""

import math

import pytest

from simstudy.claims import CLOSE_Z, Claim, Reproduced, check_claims, shown
from simstudy.errors import StudyError


def claim(published=0.8, reproduce=lambda _: Reproduced(0.8), **changes):
    about = {"name": "power", "statement": "Power is 0.8", "source": "table 1"}
    return Claim(reproduce=reproduce, published=published, **{**about, **changes})


@pytest.mark.parametrize(
    ("changes", "ours", "verdict"),
    [
        ({}, Reproduced(0.8), "reproduced"),
        ({}, Reproduced(0.8001), "differs"),
        ({}, Reproduced(0.8 + 2.9e-3, 1e-3), "reproduced"),
        ({}, Reproduced(0.8 + 3.1e-3, 1e-3), "differs"),
        ({"published_mcse": 1e-3}, Reproduced(0.8 + 2.9e-3), "reproduced"),
        ({"published_mcse": 3e-3}, Reproduced(0.8 + 14.9e-3, 4e-3), "reproduced"),
        ({"published_mcse": 3e-3}, Reproduced(0.8 + 15.1e-3, 4e-3), "differs"),
        ({"rounding": 0.005}, Reproduced(0.8049), "reproduced"),
        ({"rounding": 0.005}, Reproduced(0.8051), "differs"),
        ({"rounding": 0.005}, Reproduced(0.805), "reproduced"),
        ({"tolerance": 0.02}, Reproduced(0.7801), "reproduced"),
        ({"rounding": 0.005, "tolerance": 0.02}, Reproduced(0.7749), "differs"),
        ({}, Reproduced(math.nan), "no data"),
        ({}, Reproduced(math.inf), "no data"),
        ({}, Reproduced(0.8, math.nan), "no data"),
    ],
)
def test_verdicts(changes, ours, verdict):
    assert CLOSE_Z == 3
    assert claim(**changes).verdict(ours) == verdict


def test_a_statement_holds_or_fails():
    holds, fails = (claim(True, lambda _, v=v: Reproduced(v)) for v in (1.0, 0.0))
    table = check_claims([holds, fails], None)
    assert table["kind"].tolist() == ["statement", "statement"]
    assert table["verdict"].tolist() == ["reproduced", "differs"]


def test_a_table_of_claims():
    ours = Reproduced(0.7, 0.01, "of 5 nulls")
    table = check_claims([claim(reproduce=lambda _: ours, expected="differs", note="why")], None)
    (row,) = table.to_dict("records")
    assert row == {
        "claim": "power", "statement": "Power is 0.8", "source": "table 1", "kind": "number",
        "published": 0.8, "reproduced": 0.7, "mcse": 0.01, "verdict": "differs",
        "expected": "differs", "detail": "of 5 nulls", "note": "why",
    }  # fmt: skip


def test_no_claims_are_an_empty_table_with_all_columns():
    table = check_claims([], None)
    assert len(table) == 0
    assert {"claim", "verdict", "expected"} <= set(table)


@pytest.mark.parametrize("error", [LookupError("k=9"), KeyError("k"), StudyError("no column")])
def test_what_a_smaller_run_leaves_out_is_no_data(error):
    def absent(_):
        raise error

    (row,) = check_claims([claim(reproduce=absent)], None).to_dict("records")
    assert row["verdict"] == "no data"
    assert row["detail"] == f"not in this run: {error}"
    assert math.isnan(row["reproduced"])


def test_a_claim_that_breaks_costs_no_other_and_says_so():
    def broken(_):
        raise ZeroDivisionError("no true null\n in 10 replicates")

    table = check_claims([claim(reproduce=broken), claim()], None)
    assert table["verdict"].tolist() == ["no data", "reproduced"]
    assert table["detail"][0] == (
        "could not be computed: ZeroDivisionError: no true null in 10 replicates"
    )


def test_the_claim_gets_the_result():
    (row,) = check_claims([claim(reproduce=lambda r: Reproduced(r * 2))], 0.4).to_dict("records")
    assert row["reproduced"] == 0.8


def test_refuses_an_expectation_that_is_none():
    with pytest.raises(StudyError, match=r"expects 'maybe': say 'reproduced' or 'differs'"):
        claim(expected="maybe")


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("number", 0.123456, "0.1235"), ("number", math.nan, "–"), ("statement", 1.0, "holds"),
        ("statement", 0.0, "fails"), ("statement", math.nan, "–"), ("number", 399, "399"),
    ],
)  # fmt: skip
def test_shown_to_people(kind, value, text):
    assert shown(kind, value) == text
