"""Verdicts beside what was expected, in words."""

import math

import pandas as pd
import pytest

from simstudy.output.formatting import claims_in_words, standing

CASES = {
    ("reproduced", "reproduced"): ("reproduced", "expected"),
    ("differs", "differs"): ("differs, as derived", "expected"),
    ("differs", "reproduced"): ("differs, unexpected", "unexpected"),
    ("reproduced", "differs"): ("reproduced, unexpected", "unexpected"),
    ("too few replicates", "reproduced"): ("too few replicates", "open"),
    ("no data", "differs"): ("no data", "open"),
    ("withdrawn", "reproduced"): ("withdrawn", "open"),
    ("reproduced", None): ("reproduced", "expected"),
    ("differs", math.nan): ("differs, unexpected", "unexpected"),
}


@pytest.mark.parametrize(("claim", "said"), CASES.items(), ids=str)
def test_a_claim_stands_as_expected_or_not_or_is_open(claim, said):
    assert standing(dict(zip(("verdict", "expected"), claim, strict=True))) == said


def test_what_earlier_versions_stored_expected_to_be_reproduced():
    assert standing({"verdict": "differs"}).kind == "unexpected"


def test_what_is_right_in_print_alone_is_said_so():
    row = {"verdict": "reproduced", "expected": "reproduced"}
    apart = row | {"standing": "right in print, wrong in substance"}
    assert standing(apart) == ("right in print, wrong in substance", "expected")
    assert standing(row | {"standing": "too few replicates"}).kind == "open"


def counted(*verdicts):
    return claims_in_words(pd.DataFrame({"verdict": verdicts, "expected": "reproduced"}))


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (["reproduced"] * 10, "10 of 10 as expected"),
        (["reproduced"] * 8 + ["too few replicates"] * 2,
         "8 of 10 as expected, 2 need more replicates"),
        (["too few replicates", "differs"],
         "0 of 2 as expected, 1 unexpected, 1 needs more replicates"),
        (["no data", "withdrawn", "no data"], "0 of 3 as expected, 2 without data, 1 withdrawn"),
        ([], "none stated"),
    ],
)  # fmt: skip
def test_claims_are_counted_against_what_was_expected(verdicts, words):
    assert counted(*verdicts) == words
