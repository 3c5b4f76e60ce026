"""What came out: sentences whose numbers are those of the claims and of the summary."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from simstudy.claims.verdict import count_verdicts
from simstudy.output.findings import answer_of, at_a_glance, count_claims, evidence_of
from tests.factories import mean_study
from tests.support import ROOT, needs_results

CLAIM = {
    "claim": "size", "kind": "number", "published": 0.05, "reproduced": 0.075, "mcse": 0.002,
    "allowed": 0.01, "verdict": "differs", "expected": "differs", "misprint": False, "scored": True,
}  # fmt: skip
SUMMARY = pd.DataFrame({
    "measure": ["power", "power", "type_1_error"], "estimate": [0.4, 0.8, 0.05],
    "mcse": [0.02, 0.01, 0.004], "exact": [0.45, math.nan, math.nan], "lower": [0.3, 0.7, 0.04],
    "upper": [0.5, 0.9, 0.06],
})  # fmt: skip


def result(*claims, summary=SUMMARY):
    return SimpleNamespace(
        summary=summary, details=SimpleNamespace(measures=()),
        claims=pd.DataFrame([CLAIM | claim for claim in claims], columns=[*CLAIM]),
    )  # fmt: skip


def evidence(*claims, summary=SUMMARY):
    return evidence_of(result(*claims, summary=summary))


def test_verdicts_and_errors():
    level = {"claim": "level", "published": 0.01, "reproduced": 0.03, "mcse": 0.0}
    ours = {"verdict": "reproduced", "expected": "reproduced", "reproduced": 9.0, "scored": False}
    assert evidence({}, level, ours) == [
        "2 claims of the source: 2 differ (as expected). 1 extra check: 1 reproduced.",
        "Largest Monte Carlo standard errors: power 0.02, type 1 error 0.004. "
        "Largest distance from exact theory: 2.5 standard errors.",
    ]


# ---------------------------------------------------------------- the answer
@pytest.fixture(scope="module")
def drawn():
    return mean_study().run(20, n_jobs=1)


def answered(drawn, answer):
    return type(drawn)(replace(drawn.details, answer=answer))


def test_a_study_answers_in_its_own_words_and_one_that_cannot_at_a_glance(drawn):
    assert answer_of(answered(drawn, lambda _: "Welch keeps 5%.")) == ["Welch keeps 5%."]
    assert answer_of(answered(drawn, lambda _: ["One.", "Two."])) == ["One.", "Two."]
    fallback = at_a_glance(drawn)
    assert answer_of(drawn) == fallback

    def not_here(_):
        raise LookupError("n = 99")

    assert answer_of(answered(drawn, not_here)) == fallback
    broken, *rest = answer_of(answered(drawn, lambda _: 1 / 0))
    assert broken == "The study's answer could not be computed: ZeroDivisionError: division by zero"
    assert rest == fallback


@needs_results
def test_published_verdicts_are_all_counted():
    rows = pd.read_parquet(ROOT / "results" / "two_stage" / "claims.parquet").to_dict("records")
    for (label, text), is_scored in zip(count_claims(rows), (True, False), strict=True):
        some = [row for row in rows if row["scored"] is is_scored]
        assert label.startswith(f"{len(some)} ")
        for verdict, n in count_verdicts(some).items():
            assert f"{n} {verdict}" in text.replace("differ ", "differs ")
