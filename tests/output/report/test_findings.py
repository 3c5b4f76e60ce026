"""What came out: sentences whose numbers are those of the claims and of the summary."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest

from simstudy.claims import count_verdicts
from simstudy.output.report.findings import count_claims, findings_of
from tests.support import ROOT

CLAIM = {
    "claim": "size", "kind": "number", "published": 0.05, "reproduced": 0.075, "mcse": 0.002,
    "allowed": 0.01, "verdict": "differs", "expected": "differs", "misprint": False, "scored": True,
}  # fmt: skip
SUMMARY = pd.DataFrame({
    "measure": ["power", "power", "type_1_error"], "estimate": [0.4, 0.8, 0.05],
    "mcse": [0.02, 0.01, 0.004], "exact": [0.45, math.nan, math.nan],
})  # fmt: skip


def findings(*claims, summary=SUMMARY):
    return findings_of(SimpleNamespace(
        summary=summary, details=SimpleNamespace(measures=()),
        plan=SimpleNamespace(scenarios=[1, 2]),
        claims=pd.DataFrame([CLAIM | claim for claim in claims], columns=[*CLAIM]),
    ))  # fmt: skip


def test_verdicts_the_largest_difference_and_the_errors():
    level = {"claim": "level", "published": 0.01, "reproduced": 0.03, "mcse": 0.0}
    ours = {"verdict": "reproduced", "expected": "reproduced", "reproduced": 9.0, "scored": False}
    assert findings({}, level, ours) == [
        "2 claims of the document: 2 differ (all explained). 1 further claim: 1 reproduced.",
        "Largest difference: level, published 0.01, ours 0.03.",
        "Largest Monte Carlo standard errors: power 0.02, type 1 error 0.004. "
        "Largest distance from exact theory: 2.5 standard errors.",
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"misprint": True},
        {"kind": "statement"},
        {"verdict": "too few replicates"},
        {"published": 0.0},
        {"reproduced": math.nan},
    ],
)
def test_a_misprint_or_what_has_no_ratio_is_no_largest_difference(other):
    assert "Largest difference: size" in findings({})[1]
    _, second, _ = findings(other)
    assert second == "Range over 2 scenarios: power 0.4 to 0.8; type 1 error 0.05 to 0.05."


def test_without_claims_it_says_the_ranges():
    unknown = SUMMARY.assign(mcse=math.nan, exact=math.nan)
    assert findings(summary=unknown) == [
        "Range over 2 scenarios: power 0.4 to 0.8; type 1 error 0.05 to 0.05.",
        "Monte Carlo standard errors are not known.",
    ]


def test_published_verdicts_are_all_counted():
    rows = pd.read_parquet(ROOT / "results" / "two_stage" / "claims.parquet").to_dict("records")
    for (label, text), is_scored in zip(count_claims(rows), (True, False), strict=True):
        some = [row for row in rows if row["scored"] is is_scored]
        assert label.startswith(f"{len(some)} ")
        for verdict, n in count_verdicts(some).items():
            assert f"{n} {verdict}" in text.replace("differ ", "differs ")
