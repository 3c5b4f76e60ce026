"""Published against reproduced: what is near, what is not, and what was never there."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from simstudy.analysis.summary import rows_with
from simstudy.claims import (
    Claim,
    Finding,
    IntendedValue,
    Uncheckable,
    WrongValue,
    average,
    binomial_error,
    decide,
    is_above,
    is_below,
    is_far,
    is_more,
    is_near,
    matches,
    mc_limit,
    mc_margin,
    of_row,
    share,
    shares_match,
    statement,
)
from simstudy.claims.claim import (
    check_claims,
    format_allowed,
    format_intended,
    format_values,
    format_verdict,
)
from simstudy.claims.verdict import CLOSE_Z, exact_limits, format_counts
from simstudy.errors import StudyError, TooFewReplicatesError
from tests.support import ROOT, needs_results


def claim(published=0.8, reproduce=lambda _: Finding(0.8), **changes):
    about = {"name": "power", "statement": "Power is 0.8", "source": "table 1"}
    return Claim(reproduce=reproduce, published=published, **{**about, **changes})


WITHIN = {"difference": 0.01}
RIGHT_NUMBERS = ("right_published", "right_value", "right_mcse")


@pytest.mark.parametrize(
    ("changes", "ours", "verdict"),
    [
        # exact facts are exact
        ({}, Finding(0.8), "reproduced"),
        ({}, Finding(0.8001), "differs"),
        ({"rounding": 0.005}, Finding(0.8049), "reproduced"),
        ({"rounding": 0.005}, Finding(0.8051), "differs"),
        ({"rounding": 0.005}, Finding(0.805), "reproduced"),
        ({"tolerance": 0.02}, Finding(0.7801), "reproduced"),
        ({"rounding": 0.005, "tolerance": 0.02}, Finding(0.7749), "differs"),
        # an interval inside what is allowed, outside of it, or across its end
        (WITHIN, Finding(0.8, 3.3e-3), "reproduced"),
        (WITHIN, Finding(0.8, 3.4e-3), "too few replicates"),
        (WITHIN, Finding(0.805, 1.6e-3), "reproduced"),
        (WITHIN, Finding(0.805, 1.7e-3), "too few replicates"),
        (WITHIN, Finding(0.815, 1.7e-3), "too few replicates"),
        (WITHIN, Finding(0.815, 1.6e-3), "differs"),
        (WITHIN, Finding(0.785, 1.6e-3), "differs"),
        ({}, Finding(0.8, 1e-9), "too few replicates"),  # what has an error needs room for it
        # Student's t of three degrees of freedom reaches further; one replicate, anywhere
        (WITHIN, Finding(0.8, 3e-3, n_rep=4), "too few replicates"),
        (WITHIN, Finding(0.8, 1e-4, n_rep=4), "reproduced"),
        (WITHIN, Finding(0.8, 0.0, n_rep=1), "too few replicates"),
        # the document's own error excuses, and never reproduces
        ({"published_mcse": 0.01}, Finding(0.8), "reproduced"),
        ({"published_mcse": 0.01}, Finding(0.8299), "too few replicates"),
        ({"published_mcse": 0.01}, Finding(0.8301), "differs"),
        (WITHIN | {"published_mcse": 3e-3}, Finding(0.8 + 0.0249, 4e-3), "too few replicates"),
        (WITHIN | {"published_mcse": 3e-3}, Finding(0.8 + 0.0251, 4e-3), "differs"),
        ({}, Finding(math.nan), "no data"),
        ({}, Finding(math.inf), "no data"),
        ({}, Finding(0.8, math.nan), "too few replicates"),
        (WITHIN, Finding(math.nan, math.nan, n_rep=1), "too few replicates"),
    ],
)
def test_verdicts(changes, ours, verdict):
    assert CLOSE_Z == 3
    assert claim(**changes).verdict(ours) == verdict


@pytest.mark.parametrize("true_value", [0.8, 0.805, 0.809, 0.811, 0.82, 0.9])
@pytest.mark.parametrize("published_mcse", [0.0, 0.004])
def test_no_verdict_is_easier_with_fewer_replicates(true_value, published_mcse):
    ours = claim(**WITHIN, published_mcse=published_mcse)
    errors = [0.1 / 2**halvings for halvings in range(20)]
    verdicts = [ours.verdict(Finding(true_value, error)) for error in errors]
    first = next((i for i, verdict in enumerate(verdicts) if verdict != "too few replicates"), 20)
    assert len(set(verdicts[first:])) <= 1, verdicts
    assert "reproduced" not in verdicts or abs(true_value - 0.8) <= 0.01


@pytest.mark.parametrize(
    ("value", "published_mcse"), [(0.805, 0.0), (0.802, 0.01), (0.82, 0.0), (0.82, 0.003)]
)
def test_the_number_of_replicates_that_would_do(value, published_mcse):
    ours = claim(**WITHIN, published_mcse=published_mcse)
    error = 5e-3
    times = ours.times_needed(Finding(value, error))
    assert times > 1
    given = [Finding(value, error / math.sqrt(times * share)) for share in (0.95, 1.0001)]
    assert ours.verdict(given[0]) == "too few replicates"
    assert ours.verdict(given[1]) != "too few replicates"


def test_where_no_number_of_replicates_would_do():
    beyond = claim(**WITHIN, published_mcse=0.01)
    assert beyond.times_needed(Finding(0.82, 1e-3)) == math.inf  # the document has too few
    (row,) = check_claims([claim(0.8, lambda _: Finding(0.8, 1e-3))], None).to_dict("records")
    assert row["verdict"] == "too few replicates"
    assert row["detail"] == ""


class Drawn:
    n_rep = {"a": 1000, "b": 2000}  # noqa: RUF012


def test_too_few_replicates_are_said_with_the_number_that_would_do():
    ours = Finding(0.805, 5e-3, "of two")
    asked = [
        claim(reproduce=lambda _: ours, **WITHIN),
        claim(True, lambda _: decide(0.01, 0.02, "0.01 above")),
    ]
    table = check_claims(asked, Drawn())
    assert table["verdict"].tolist() == ["too few replicates"] * 2
    assert table["reproduced"][0] == 0.805
    # 3 errors of 0.005 within 0.005: nine times as many, and twice that to be likely
    assert table["detail"].tolist() == [
        "of two; about 36,000 replicates would decide; here are 2,000",
        "0.01 above; about 16,000 replicates would decide; here are 2,000",
    ]
    nowhere = check_claims(asked, None)
    assert nowhere["detail"].tolist() == ["of two", "0.01 above"]


# ---------------------------------------------------------------- intended quantities
def stands(ours, right, **changes):
    """The row of a number of 0.8 and of what it is taken for, 0.8 to within a hundredth."""
    meant = IntendedValue("the exact power", right, **changes)
    return check_claims([claim(reproduce=lambda _: ours, intended=meant, **WITHIN)], None).iloc[0]


@pytest.mark.parametrize(
    ("ours", "right", "verdict"),
    [
        (0.8, Finding(0.78, 1e-3), "true as written, not as meant"),
        (0.8, Finding(0.795, 1e-3), "reproduced"),  # it falls where the right value is near
        (0.8, Finding(0.78, 1e-2), "too few replicates"),
        (0.8, Finding(math.nan), "no data"),
        (0.7, Finding(0.7), "differs"),  # then the print decides
        (0.7, Finding(0.8), "differs"),
    ],
)
def test_the_print_decides_and_then_the_intended_quantity(ours, right, verdict):
    row = stands(Finding(ours), lambda _: right)
    assert row["verdict"] == verdict
    assert row["right_name"] == "the exact power"
    assert (row["right_value"], row["right_published"]) == pytest.approx(
        (right.value, 0.8), nan_ok=True
    )


def test_the_right_quantity_is_held_against_what_the_document_takes_it_for():
    taken_for = {"taken_for": 0.5, "difference": 0.05}
    assert stands(Finding(0.8), lambda _: Finding(0.46), **taken_for)["verdict"] == ("reproduced")
    found = stands(Finding(0.8), lambda _: Finding(0.44, 1e-3), **taken_for)
    assert found["verdict"] == "true as written, not as meant"
    assert found["reproduced"] == 0.8


def test_a_right_quantity_that_breaks_costs_no_claim_and_is_told():
    def broken(_):
        raise ZeroDivisionError("no nulls")

    row = stands(Finding(0.8), broken)
    assert row["verdict"] == "no data"
    assert row["detail"] == ("the exact power: could not be computed: ZeroDivisionError: no nulls")


def test_what_cannot_be_checked_says_what_is_missing():
    seedless = Uncheckable("figure 1", "Net 5 is best", "figure 1", missing="the split")
    (row,) = check_claims([seedless], None).to_dict("records")
    assert {row["verdict"], row["expected"]} == {"cannot be checked"}
    assert (row["missing"], row["kind"]) == ("the split", "statement")
    with pytest.raises(TypeError, match="missing"):
        Uncheckable("figure 1", "Net 5 is best", "figure 1")


# ---------------------------------------------------------------- in words
def rows(*verdicts, expected="reproduced"):
    return [{"verdict": verdict, "expected": expected} for verdict in verdicts]


APART = "true as written, not as meant"


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        (rows("reproduced") * 12 + rows("differs", expected="differs") * 11,
         "12 reproduced, 11 differ (as expected)"),
        (rows("differs", expected="differs"), "1 differs (as expected)"),
        (rows(APART, expected=APART) + rows("cannot be checked"),
         f"1 {APART} (as expected), 1 cannot be checked"),
        (rows("differs", "too few replicates", "no data"),
         "1 differs, 1 too few replicates, 1 no data; 1 unexpected"),
        (rows("reproduced"), "1 reproduced"),
        ([], ""),
    ],
)  # fmt: skip
def test_verdicts_are_counted_in_words(claims, words):
    assert format_counts(claims) == words


VALUES = {"kind": "number", "published": 0.805, "reproduced": 0.79765, "mcse": 0.00093}
VALUES |= {"allowed": 0.015, "verdict": "differs", "misprint": True}


STATEMENT = VALUES | {"kind": "statement", "published": 1.0, "reproduced": 0.0}
MEANT = VALUES | {"right_name": "at the boundary", "right_published": 0.05}
MEANT |= {"right_value": 0.1391, "right_mcse": 0.0021}


@pytest.mark.parametrize(
    ("function", "row", "said"),
    [
        (format_values, VALUES, ("0.805", "0.7976 ± 0.0019")),
        (format_values, VALUES | {"reproduced": 0.805, "mcse": 0.0}, ("0.805", "0.805")),
        (format_values, STATEMENT, ("holds", "fails")),
        (format_values, STATEMENT | {"reproduced": math.nan}, ("holds", "–")),
        (format_allowed, VALUES, "± 0.015"),
        (format_allowed, VALUES | {"allowed": 0.0}, "0"),
        (format_allowed, STATEMENT, ""),
        (format_allowed, STATEMENT | {"criterion": "a point"}, "a point"),
        (format_verdict, VALUES, "differs (misprint)"),
        (format_verdict, VALUES | {"misprint": False}, "differs"),
        (format_verdict, VALUES | {"verdict": "reproduced"}, "reproduced"),
        (format_intended, MEANT, "at the boundary: 0.139 ± 0.004; the document implies 0.05"),
        (format_intended, MEANT | {"right_value": math.nan}, "at the boundary"),
        (format_intended, MEANT | {"right_name": ""}, ""),
    ],
)
def test_numbers_of_a_claim_in_words(function, row, said):
    assert function(row) == said


# ---------------------------------------------------------------- rivals
def test_a_table_of_claims_tried_with_their_rivals():
    ours, rival = Finding(0.7, 0.01, "of 5 nulls"), WrongValue("mine", lambda _: Finding(0.6, 1e-3))
    about = {"expected": "differs", "note": "why", "wrong_value": rival, **WITHIN}
    (row,) = check_claims([claim(reproduce=lambda _: ours, **about)], None).to_dict("records")
    assert row == {
        "claim": "power", "statement": "Power is 0.8", "source": "table 1", "kind": "number",
        "published": 0.8, "reproduced": 0.7, "mcse": 0.01, "allowed": 0.01, "criterion": "",
        "verdict": "differs", "expected": "differs", "rival": "mine (0.6): differs",
        "detail": "of 5 nulls", "note": "why", "scored": True, "misprint": False,
        "missing": "", "right_name": "",
    } | {name: pytest.approx(math.nan, nan_ok=True) for name in RIGHT_NUMBERS}  # fmt: skip


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (LookupError("k=9"), "not in this run: k=9"),
        (StudyError("no column"), "not in this run: no column"),
        # a mistake in a claim does not pass for a smaller run
        (KeyError("covrage"), "could not be computed: KeyError: 'covrage'"),
        (IndexError("out of bounds"), "could not be computed: IndexError: out of bounds"),
        (ZeroDivisionError("none\n in 10"), "could not be computed: ZeroDivisionError: none in 10"),
    ],
)
def test_a_claim_that_raises_has_no_data_and_costs_no_other(error, said):
    def raises(_):
        raise error

    table = check_claims([claim(reproduce=raises), claim()], None)
    assert table["verdict"].tolist() == ["no data", "reproduced"]
    assert table["detail"].tolist() == [said, ""]
    assert math.isnan(table["reproduced"][0])


@pytest.mark.parametrize("value", [0.8, np.float64(0.8), np.float32(0.5), 1, True, np.bool_(True)])
def test_a_plain_number_is_a_value_without_an_error_of_its_own(value):
    (row,) = check_claims([claim(float(value), lambda _: value)], None).to_dict("records")
    assert (row["reproduced"], row["mcse"], row["verdict"]) == (float(value), 0.0, "reproduced")


@pytest.mark.parametrize(
    ("published", "ours", "texts"),
    [
        (0.8, 0.8, ("0.8", "0.8")),
        (0.93319, 0.93322, ("0.93319", "0.93322")),
        (0.9, 0.900000004, ("0.9", "0.900000004")),
        (0.5, 0.5 + 1e-15, ("0.5", "0.5")),
        (0.5, math.nan, ("0.5", "–")),
    ],
)
def test_what_differs_does_not_look_alike(published, ours, texts):
    row = {"kind": "number", "published": published, "reproduced": ours, "mcse": 0.0}
    assert format_values(row) == texts


# ---------------------------------------------------------------- chance
def test_the_limit_of_chance_is_wider_where_errors_are_estimates():
    # By the definition: all of 27 stay within it in all but one of ten thousand studies.
    assert 27 * 2 * stats.norm.sf(mc_limit(27)) == pytest.approx(1e-4)
    reach = mc_margin(0.1, [1, 3, 50, 10**9], 4)
    below = stats.norm.sf(mc_limit(4))
    assert reach[0] == math.inf
    np.testing.assert_allclose(reach[1:3], 0.1 * stats.t.isf(below, [2, 49]))
    assert reach[3] == pytest.approx(0.1 * mc_limit(4))


def test_matching_theory_is_being_within_a_margin_of_it_chance_included():
    reach = mc_limit(2)
    found = [0.50, 0.52]
    assert reach * 0.01 < 0.05
    fine = matches(found, 0.5, 0.01, margin=0.02 + reach * 0.01 + 1e-9)
    assert fine.value == 1
    assert fine.detail == "largest of 2 deviations 0.0200 of 0.06056 allowed (2.00 MCSE)"
    with pytest.raises(TooFewReplicatesError):
        matches(found, 0.5, 0.01, margin=0.02 + reach * 0.01 - 1e-9)
    assert matches(found, 0.5, 0.001, margin=0.01).value == 0
    assert matches([0.5, 0.5], 0.5, 0.0, margin=1e-9).value == 1
    assert matches([0.5, 0.6], 0.5, 1e-4, margin=[0.01, 0.2]).value == 1, "each has its own"
    assert matches([0.5, 0.6], 0.5, 1e-4, margin=[0.2, 0.01]).value == 0
    exact = [matches(ours, 0.3, 0.0, margin=0.0).value for ours in (0.1 + 0.2, 0.3001)]
    assert exact == [1, 0], "what is exact needs no margin"
    with pytest.raises(LookupError, match="a cell that the statement is about"):
        matches([], [], [], margin=1.0)


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize(
    ("excess", "reach"),
    [([0.2, 0.1], [0.3, 0.3]), ([0.2, -0.1], [0.3, 0.3]), ([-0.2, -0.1], [0.3, 0.3]), ([0.1], 0.3)],
)
def test_the_replicates_that_would_decide_a_statement(excess, reach, everywhere):
    with pytest.raises(TooFewReplicatesError) as caught:
        decide(excess, reach, "said", everywhere=everywhere)
    times = caught.value.times
    decide(excess, np.asarray(reach) / np.sqrt(times * 1.0001), "said", everywhere=everywhere)
    with pytest.raises(TooFewReplicatesError):
        decide(excess, np.asarray(reach) / np.sqrt(times * 0.99), "said", everywhere=everywhere)


FOUR = mc_limit(4)


@pytest.mark.parametrize(
    ("excess", "reach", "everywhere", "value"),
    [
        ([1.0, -1.0], 0.1, True, 0),
        ([1.0, -1.0], 0.1, False, 1),
        ([5.0, 9.0], FOUR, True, 1),
        ([5.0, -5.0], FOUR, True, 0),
        ([-9.0, -5.0], FOUR, True, 0),
        ([], 0.1, False, "a cell that the statement is about"),
        ([], 0.1, True, "a cell that the statement is about"),
        ([0.0], FOUR, True, r"too few replicates to tell \(said\)"),
        ([-3.0], FOUR, True, "too few replicates"),
        ([9.0, 3.0], FOUR, True, "too few replicates"),
        ([9.0, -3.0], FOUR, True, "too few replicates"),
        ([0.0], 0.0, True, 0),  # an exact fact needs no margin
    ],
)
def test_a_statement_holds_or_fails_in_all_cells_or_one_or_too_few_are_drawn(
    excess, reach, everywhere, value
):
    if isinstance(value, str):
        with pytest.raises(LookupError, match=value):
            decide(excess, reach, "said", everywhere=everywhere)
    else:
        found = decide(excess, reach, "said", everywhere=everywhere)
        assert found == Finding(value, detail="said")


def test_a_share_and_an_average_have_the_errors_of_a_loop():
    hits = [True, False, True, True]
    assert share(hits) == (0.75, pytest.approx(math.sqrt(0.75 * 0.25 / 4)), "", 4)
    assert binomial_error(0.75, 4) == share(hits).mcse
    values = [1.0, 2.0, 4.0]
    mean = sum(values) / 3
    error = math.sqrt(sum((v - mean) ** 2 for v in values) / 2 / 3)
    assert average(values) == (pytest.approx(mean), pytest.approx(error), "", 3)
    assert share([math.nan, 1, 0, 0, 1, math.nan])[::3] == (0.5, 4), "failures do not count"
    assert average([math.nan, *values]) == average(values)


def test_equal_values_have_no_error_whatever_rounding_says_of_their_spread():
    values = np.full(1000, 0.94)
    assert values.std() > 0, "of floating-point numbers"
    assert average(values).mcse == 0


@pytest.mark.parametrize("given", [[], [math.nan]])
@pytest.mark.parametrize("of", [share, average])
def test_a_share_or_mean_of_nothing_has_too_few_replicates(of, given):
    with pytest.raises(TooFewReplicatesError):
        of(given)


# ---------------------------------------------------------------- little is known of little
@pytest.mark.parametrize("n", [2, 10, 100, 500])
@pytest.mark.parametrize("published", [0.0, 0.02, 0.5])
def test_replicates_that_are_all_alike_decide_nothing_while_they_are_few(n, published):
    ours = claim(published, difference=0.005)
    for found in (Finding(0.0, 0.0, n_rep=n), average(np.zeros(n))):
        assert ours.verdict(found) == "too few replicates"
    assert ours.verdict(average(np.zeros(100_000))) == ("differs", "reproduced")[published == 0]
    with pytest.raises(TooFewReplicatesError):
        matches(0.0, published, 0.0, margin=0.005, n_rep=n)


@pytest.mark.parametrize(("p", "n"), [(0.05, 100), (0.01, 500), (0.2, 20), (0.001, 10_000)])
def test_a_true_share_is_wrongly_refuted_no_more_often_than_chance_allows(p, n):
    """Exactly, over all numbers of hits; either side of three errors has 0.13%."""
    hits = np.arange(n + 1)
    ours = claim(p)
    verdicts = [
        ours.verdict(share(np.arange(n) < x)) for x in hits[stats.binom.pmf(hits, n, p) > 1e-9]
    ]
    mass = stats.binom.pmf(hits, n, p)
    wrong = mass[mass > 1e-9][np.array(verdicts) == "differs"].sum()
    assert wrong < 2 * stats.norm.sf(3)


def test_shares_with_rare_hits_are_held_to_exact_intervals():
    with pytest.raises(TooFewReplicatesError):
        shares_match([0.5, 0.0], [3e-4, 0.5], 2, margin=0.02)
    assert shares_match([0.05, 0.9], [0.051, 0.9], 100_000, margin=0.01).value == 1
    assert shares_match([0.05, 0.9], [0.08, 0.9], 100_000, margin=0.01).value == 0
    tail = 1e-4 / 2
    low, high = exact_limits(0.03, 1000, tail)
    assert stats.binom.sf(29, 1000, low) == pytest.approx(tail)
    assert stats.binom.cdf(30, 1000, high) == pytest.approx(tail)


# ---------------------------------------------------------------- what is no claim
@pytest.mark.parametrize("name", ["published", "rounding", "tolerance", "difference"])
@pytest.mark.parametrize("value", [math.nan, math.inf, "0.1", None])
def test_numbers_of_a_claim_are_finite(name, value):
    with pytest.raises(StudyError, match=rf"has {name}=.*: give a finite number"):
        claim(**{name: value})


@pytest.mark.parametrize(
    "ours", [Finding(np.array([0.5, 0.5])), Finding("x"), Finding(0.8, None), Finding(1, -1)]
)
def test_what_is_no_reproduced_number_costs_no_other_claim(ours):
    rival = WrongValue("a rival", lambda _: ours)
    table = check_claims([claim(reproduce=lambda _: ours), claim(wrong_value=rival)], None)
    assert table["verdict"].tolist() == ["no data", "reproduced"]
    assert table["detail"][0].startswith("could not be computed: ")
    assert table["rival"][1].startswith("a rival: no data (could not be computed")


def test_a_row_of_the_summary_is_a_reproduced_number():
    row = {"estimate": 0.8, "mcse": 0.01}
    assert of_row(row, "why") == Finding(0.8, 0.01, "why")
    assert of_row(row | {"n_rep": 50}) == Finding(0.8, 0.01, "", 50)
    assert of_row(row | {"n_rep": 50, "n_given": 3}) == Finding(0.8, 0.01, "", 3)


class Rows:
    """A result of three sample sizes and two methods, each number with the same error."""

    def __init__(self, mcse: float) -> None:
        rows = [("t", 5, 0.90), ("t", 10, 0.94), ("t", 20, 0.95)]
        rows += [("z", 5, 0.80), ("z", 10, 0.90), ("z", 20, 0.94)]
        self.summary = pd.DataFrame(rows, columns=["method", "n", "estimate"]).assign(
            measure="coverage", mcse=mcse, n_rep=1000, exact=0.95
        )

    def select(self, **factors):
        return rows_with(self.summary, factors)

    def contrast(self, measure, *, axis, first, second, **factors):
        one, other = (self.select(**{axis: label}) for label in (first, second))
        apart = one["estimate"].to_numpy() - other["estimate"].to_numpy()
        return rows_with(one.assign(estimate=apart), factors)


@pytest.mark.parametrize(
    ("check", "arguments", "holds"),
    [
        (is_above, {"limit": 0.85, "method": "t"}, True),
        (is_above, {"limit": 0.92, "method": "t"}, False),
        (is_above, {"limit": 0.92, "method": "t", "everywhere": False}, True),
        (is_below, {"limit": 0.92, "n": [5, 10], "method": "z"}, True),
        (is_below, {"limit": 0.92, "n": [5, 20], "method": "z"}, False),
        (is_near, {"value": 0.95, "margin": 0.02, "n": 20}, True),
        (is_near, {"value": "exact", "margin": 0.02}, False),
        (is_far, {"value": "exact", "margin": 0.02, "n": 5}, True),
        (is_far, {"value": 0.95, "margin": 0.02, "method": "t"}, False),
        (is_far, {"value": 0.95, "margin": 0.02, "method": "t", "everywhere": False}, True),
        (is_more, {"first": "t", "second": "z"}, True),
        (is_more, {"first": "z", "second": "t"}, False),
        (is_more, {"first": "z", "second": "t", "by": -0.03, "n": 20}, True),
    ],
)
def test_a_statement_about_rows_holds_beyond_chance_or_has_too_few_replicates(
    check, arguments, holds
):
    assert check(Rows(mcse=1e-4), "coverage", **arguments).value == holds
    with pytest.raises(TooFewReplicatesError):
        check(Rows(mcse=1.0), "coverage", **arguments)


def test_a_statement_is_tried_with_what_its_rival_changes():
    right = {"measure": "coverage", "limit": 0.85, "method": "t", "n": 5}
    nowhere = right | {"n": 7}
    made = [
        statement("t covers", is_above, right, "z", source="table 1", note="so it is"),
        statement("t covers 85%", is_above, right, {"limit": 0.93}, False, source="table 1"),
        statement("z covers", is_above, right | {"method": "z"}, {}, source="table 1"),
        statement("t covers 7", is_above, nowhere, {}, source="table 1"),
    ]
    table = check_claims(made, Rows(mcse=1e-4))
    assert table["expected"].tolist() == ["reproduced"] * 2 + ["differs"] * 2
    assert table["verdict"].tolist() == ["reproduced", "reproduced", "differs", "no data"]
    rivals = ["z (fails): differs", "limit = 0.93 (fails): differs", "", ""]
    assert table["rival"].tolist() == rivals
    assert table.loc[0, "detail"] == "0.9000 ± 0.0001"
    assert "not in this run" in table.loc[3, "detail"]
    assert table["scored"].tolist() == [True, False, True, True]
    assert (made[0].name, made[0].statement, made[0].note) == ("t covers", "t covers", "so it is")


# ---------------------------------------------------------------- the published verdicts
@needs_results
def test_one_statement_has_one_verdict():
    tables = [pd.read_parquet(path) for path in sorted((ROOT / "results").glob("*/claims.parquet"))]
    published = pd.concat(tables)
    verdicts = published.groupby("statement")["verdict"].nunique()
    assert verdicts[verdicts > 1].empty, verdicts[verdicts > 1]
    scored = published[published["scored"]].groupby("statement").size()
    assert scored[scored > 1].empty, scored[scored > 1]
