"""Claims on a page: both numbers to the digits of our error, and remarks of each kind apart."""

import math

import pandas as pd

from simstudy.output.report.claims import claim_rows

CLAIM = {
    "claim": "size", "statement": "About 5%", "source": "table 1", "kind": "number",
    "published": 0.05, "reproduced": 0.049, "mcse": 0.002, "allowed": 0.015,
    "verdict": "reproduced", "expected": "reproduced", "rival": "", "detail": "", "note": "",
    "standing": "reproduced", "ours": False, "missing": "",
    "right_name": "", "right_published": math.nan, "right_value": math.nan, "right_mcse": math.nan,
}  # fmt: skip


def row(**other):
    return claim_rows(pd.DataFrame([CLAIM | other]), "study")[0]


def numbers(**other):
    found = row(**other)
    return found.published, found.reproduced, found.mcse, found.allowed


def test_a_number_has_its_error_and_a_statement_has_none():
    assert numbers() == ("0.05", "0.0490", "0.0020", "± 0.015")
    assert numbers(kind="statement", published=1.0, reproduced=0.0, mcse=math.nan) == (
        "holds", "fails", "", ""
    )  # fmt: skip


def test_our_number_ends_where_its_error_does():
    assert numbers(reproduced=12345.678, mcse=1.2345)[1:3] == ("12,345.7", "1.2")
    assert numbers(reproduced=399.0, mcse=0.0, allowed=0.0)[1:] == ("399", "0", "0")
    nothing = dict.fromkeys(("reproduced", "mcse", "allowed"), math.nan)
    assert numbers(**nothing)[1:] == ("–", "–", "")


def test_each_remark_has_its_label_and_an_empty_one_is_left_out():
    assert row().remarks == {}
    said = {"detail": "at 3", "rival": "z (0.07): differs", "note": "off", "missing": "the seed"}
    assert row(**said).remarks == {
        "Found": "at 3", "Tried against": "z (0.07): differs", "Missing": "the seed", "Note": "off",
    }  # fmt: skip
    right = {"right_name": "at the boundary", "right_published": 0.05}
    found = row(**right, right_value=0.1391, right_mcse=0.0021)
    assert found.remarks == {"Right": "at the boundary: 0.1391 (MCSE 0.0021), taken for 0.05"}
    assert row(**right).remarks == {"Right": "at the boundary"}
