"""Claims on a page: remarks of each kind apart, as far as a table has them."""

import math

import pandas as pd

from simstudy.output.report.claim_rows import claim_table

CLAIM = {
    "claim": "size",
    "statement": "About 5%",
    "source": "table 1",
    "kind": "number",
    "published": 0.05,
    "reproduced": 0.049,
    "mcse": 0.002,
    "allowed": 0.015,
    "verdict": "reproduced",
    "expected": "reproduced",
    "detail": "",
    "note": "",
}


def row(**other):
    return claim_table(pd.DataFrame([CLAIM | other])).rows[0]


def test_a_number_has_its_error_and_a_statement_has_none():
    assert (row().published, row().reproduced, row().mcse) == ("0.05", "0.0490", "0.0020")
    said = row(kind="statement", published=1.0, reproduced=0.0, mcse=math.nan)
    assert (said.published, said.reproduced, said.mcse) == ("holds", "fails", "")


def test_each_remark_has_its_label_and_an_empty_one_is_left_out():
    assert row().remarks == {}
    remarks = row(detail="at 3", rival="a z test (0.07): differs", note="off").remarks
    assert remarks == {"Found": "at 3", "Tried against": "a z test (0.07): differs", "Note": "off"}
    assert row(rival=None, detail=math.nan).remarks == {}


def test_how_many_stand_as_expected():
    table = claim_table(pd.DataFrame([CLAIM, CLAIM | {"verdict": "too few replicates"}]))
    assert table.in_words == "1 of 2 as expected, 1 needs more replicates"


def test_what_is_allowed_stands_beside_what_it_is_allowed_of():
    assert row().allowed == "± 0.015"
    assert row(allowed=0.0).allowed == "0"
    assert row(kind="statement").allowed == ""
    assert row(allowed=None).allowed == row(allowed=math.nan).allowed == ""


def test_our_number_ends_where_its_error_does():
    found = row(reproduced=12345.678, mcse=1.2345)
    assert (found.reproduced, found.mcse) == ("12,345.7", "1.2")
    exact = row(reproduced=399.0, mcse=0.0)
    assert (exact.reproduced, exact.mcse) == ("399", "0")
    nothing = row(reproduced=math.nan, mcse=math.nan)
    assert (nothing.reproduced, nothing.mcse) == ("–", "–")
