"""Published against reproduced: what is near, what is not, and what was never there."""

import math

import numpy as np
import pytest
from scipy import stats

from simstudy.claims import (
    CLOSE_Z,
    Claim,
    Reproduced,
    average,
    binomial_error,
    cautious_binomial_error,
    chance_limit,
    check_claims,
    decided,
    largest_deviation,
    of_row,
    settled,
    share,
    shown,
)
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


@pytest.mark.parametrize("value", [0.8, np.float64(0.8), np.float32(0.5), 1, True, np.bool_(True)])
def test_a_plain_number_is_a_value_without_an_error_of_its_own(value):
    (row,) = check_claims([claim(float(value), lambda _: value)], None).to_dict("records")
    assert (row["reproduced"], row["mcse"], row["verdict"]) == (float(value), 0.0, "reproduced")


@pytest.mark.parametrize("value", [None, "0.8", (0.8, 0.1)])
def test_what_is_no_number_is_said_in_one_line(value):
    (row,) = check_claims([claim(reproduce=lambda _: value)], None).to_dict("records")
    assert row["verdict"] == "no data"
    assert row["detail"] == (
        f"could not be computed: TypeError: the claim 'power' gave {type(value).__name__}, which "
        "is no number to hold against the published one: return Reproduced(value, mcse)."
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


# ---------------------------------------------------------------- chance
def test_the_limit_of_chance_is_that_of_a_false_alarm_rate():
    assert chance_limit(1, false_alarm=0.05) == pytest.approx(1.959963984540054)
    # By the definition: all of 27 stay within it in all but one of ten thousand studies.
    exceeds = 2 * stats.norm.sf(chance_limit(27))
    assert 27 * exceeds == pytest.approx(1e-4)


@pytest.mark.parametrize(("n", "rate"), [(0, 0.1), (1, 0.0), (1, 1.0)])
def test_a_limit_of_nothing_is_refused(n, rate):
    with pytest.raises(StudyError, match="compares nothing, or always or never raises an alarm"):
        chance_limit(n, false_alarm=rate)


def test_the_largest_deviation_is_held_against_chance():
    fine = largest_deviation([0.50, 0.62], 0.5, 0.03)
    assert fine == Reproduced(1.0, detail="largest deviation 4.00 MCSE")
    assert largest_deviation([0.50, 0.63], 0.5, 0.03).value == 0


def test_everywhere_asks_for_all_cells_and_otherwise_one_is_enough():
    excess, reach = np.array([1.0, -1.0]), np.array([0.1, 0.1])
    assert decided(excess, reach, everywhere=True, detail="").value == 0
    assert decided(excess, reach, everywhere=False, detail="").value == 1
    with pytest.raises(LookupError):
        decided(excess, np.array([2.0, 0.1]), everywhere=False, detail="")


@pytest.mark.parametrize(
    ("errors", "value"), [([5.0, 9.0], 1), ([5.0, -5.0], 0), ([-9.0, -5.0], 0)]
)
def test_a_statement_holds_where_each_case_says_so(errors, value):
    found = decided(errors, chance_limit(len(errors)), "said")
    assert found == Reproduced(value, detail="said")


@pytest.mark.parametrize("errors", [[0.0], [-3.0], [9.0, 3.0], [9.0, -3.0]])
def test_too_few_replicates_decide_nothing(errors):
    limit = chance_limit(len(errors))
    assert np.abs(errors).min() < limit
    with pytest.raises(LookupError, match=r"replicates enough to decide \(said\)"):
        decided(errors, limit, "said")


@pytest.mark.parametrize(
    ("value", "error", "n_rep", "is_settled"),
    [
        (0.051, 0.001, math.inf, True),  # within, with all of chance
        (0.05, 0.002, math.inf, False),  # within, and chance reaches out
        (0.06, 0.002, math.inf, False),  # outside, and chance reaches in
        (0.07, 0.002, math.inf, True),  # outside, with all of chance
        (0.07, 0.002, 4, False),  # Student's t of three degrees of freedom reaches further
        (1.0, 0.0, 1, False),  # one replicate says nothing of its error
    ],
)
def test_a_number_that_chance_could_turn_has_no_verdict(value, error, n_rep, is_settled):
    found = Reproduced(value, error, n_rep=n_rep)
    if is_settled:
        assert settled(found, 0.05, 0.005) == found
        return
    with pytest.raises(LookupError, match="replicates enough to decide"):
        settled(found, 0.05, 0.005)


def test_two_hits_of_two_settle_nothing():
    with pytest.raises(LookupError, match="replicates enough to decide"):
        settled(share([True, True]), 1.0)


def test_a_share_of_none_or_all_has_an_error():
    """That of a share with one hit, and one miss, more."""
    error = np.sqrt(np.array([1 / 102, 1 / 2, 101 / 102]) * [101 / 102, 1 / 2, 1 / 102] / 100)
    found = cautious_binomial_error(np.array([0.0, 0.5, 1.0]), 100)
    np.testing.assert_allclose(found, error, rtol=1e-14)
    assert (found >= binomial_error(np.array([0.0, 0.5, 1.0]), 100)).all()


def test_a_share_and_an_average_have_the_errors_of_a_loop():
    hits = [True, False, True, True]
    assert share(hits) == (0.75, pytest.approx(math.sqrt(0.75 * 0.25 / 4)), "", 4)
    assert binomial_error(0.75, 4) == share(hits).mcse
    values = [1.0, 2.0, 4.0]
    mean = sum(values) / 3
    error = math.sqrt(sum((v - mean) ** 2 for v in values) / 2 / 3)
    assert average(values) == (pytest.approx(mean), pytest.approx(error), "", 3)


def test_a_share_of_nothing_is_no_data():
    (row,) = check_claims([claim(reproduce=lambda _: share([]))], None).to_dict("records")
    assert row["verdict"] == "no data"


def test_a_row_of_the_summary_is_a_reproduced_number():
    assert of_row({"estimate": 0.8, "mcse": 0.01}, "why") == Reproduced(0.8, 0.01, "why")
