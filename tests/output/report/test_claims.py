"""Claims on a page: both numbers to the digits of our error, a verdict, and labelled notes."""

import math

import pandas as pd
import pytest

from simstudy.claims.verdict import VERDICTS
from simstudy.output.report.pages import CLASSES, MEANINGS, claim_rows

CLAIM = {
    "claim": "size", "statement": "About 5%", "source": "table 1", "kind": "number",
    "published": 0.05, "reproduced": 0.049, "mcse": 0.002, "allowed": 0.015,
    "verdict": "reproduced", "expected": "reproduced", "rival": "", "detail": "", "note": "",
    "misprint": False, "criterion": "", "scored": True, "missing": "",
    "right_name": "", "right_published": math.nan, "right_value": math.nan, "right_mcse": math.nan,
}  # fmt: skip


def row(**other):
    return claim_rows(pd.DataFrame([CLAIM | other]))[0]


def test_a_claim_has_both_numbers_and_the_tolerance_as_text():
    found = row()
    shown = ("0.05", "0.049 ± 0.004", "± 0.015")
    assert (found["published"], found["ours"], found["allowed"]) == shown


def test_each_note_has_its_label_and_an_empty_one_is_left_out():
    assert row(rival="z (0.07): differs")["notes"] == {}
    notes = {"detail": "at 3", "note": "off", "missing": "the seed"}
    found = row(**notes)["notes"]
    assert found == {"Detail": "at 3", "Missing": "the seed", "Note": "off"}
    right = {"right_name": "at the boundary", "right_published": 0.05}
    assert row(**right)["notes"] == {"Intended": "at the boundary"}


def test_every_verdict_has_a_colour_and_all_of_a_scoreboard_have_a_meaning():
    assert set(CLASSES) == set(VERDICTS)
    assert [*MEANINGS] == [verdict for verdict in VERDICTS if verdict != "no data"]
    assert row(verdict="differs", expected="differs")["css_class"] == "differs", "never green"
    assert row(verdict="withdrawn")["css_class"] == CLASSES["too few replicates"]


@pytest.mark.parametrize(
    ("verdict", "expected", "text"),
    [
        ("differs", "differs", "differs"),
        ("differs", "reproduced", "differs, unexpected"),
        ("reproduced", "differs", "reproduced, unexpected"),
        ("too few replicates", "differs", "too few replicates"),
    ],
)
def test_a_verdict_is_unexpected_where_rederivation_says_otherwise(verdict, expected, text):
    found = row(verdict=verdict, expected=expected)
    assert (found["verdict_text"], found["is_unexpected"]) == (text, "unexpected" in text)
