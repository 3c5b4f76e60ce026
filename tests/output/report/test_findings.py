"""What came out: sentences whose numbers are those of the claims and of the summary."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import pandas as pd
import pytest

from simstudy.claims import count_verdicts
from simstudy.output.report.findings import answer_of, count_claims, evidence_of
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


def result(*claims, summary=SUMMARY, answer=None, methods=()):
    return SimpleNamespace(
        summary=summary, details=SimpleNamespace(measures=(), answer=answer),
        plan=SimpleNamespace(
            scenarios=[*KEYS.values()], methods=methods, methods_axis="method", axes={}, keys=KEYS,
            has_classes=False,
        ),
        claims=pd.DataFrame([CLAIM | claim for claim in claims], columns=[*CLAIM]),
    )  # fmt: skip


def evidence(*claims, summary=SUMMARY):
    return evidence_of(result(*claims, summary=summary))


def test_verdicts_the_largest_difference_and_the_errors():
    level = {"claim": "level", "published": 0.01, "reproduced": 0.03, "mcse": 0.0}
    ours = {"verdict": "reproduced", "expected": "reproduced", "reproduced": 9.0, "scored": False}
    assert evidence({}, level, ours) == [
        "2 claims of the source: 2 differ (as expected). 1 extra check: 1 reproduced.",
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
    assert "Largest difference: size" in evidence({})[1]
    assert not any("Largest difference" in text for text in evidence(other))


# ---------------------------------------------------------------- the answer
@dataclass(frozen=True)
class Scenario:
    n: int


KEYS = {str(n): Scenario(n) for n in (5, 20)}
BY_METHOD = pd.DataFrame({
    "n": [5, 20, 5, 20] * 2, "method": (["welch"] * 2 + ["t"] * 2) * 2,
    "measure": ["bias"] * 4 + ["coverage"] * 4,
    "estimate": [-2122.0, 3.0, 1.0, 1515.0, 0.948, 0.951, 0.90, 0.94],
    "lower": [0.0] * 4 + [0.94, 0.945, 0.89, 0.93],
    "upper": [1.0] * 4 + [0.956, 0.957, 0.91, 0.945],
})  # fmt: skip


def test_without_an_answer_each_method_has_its_best_and_worst_scenario_and_misses():
    made = result(summary=BY_METHOD, methods=("welch", "t"))
    assert answer_of(made) == [
        "welch: coverage 0.951 (n 20) to 0.948 (n 5); 0 of 2 intervals miss 0.95; "
        "bias -2122 (n 5) to 3 (n 20).",
        "t: coverage 0.94 (n 20) to 0.9 (n 5); 2 of 2 intervals miss 0.95; "
        "bias 1 (n 5) to 1515 (n 20).",
    ]
    by_alpha = BY_METHOD.assign(alpha=0.06)
    assert "1 of 2 intervals miss 0.94" in answer_of(result(summary=by_alpha, methods=("t",)))[1]


def test_a_study_answers_in_its_own_words_and_one_that_cannot_falls_back():
    assert answer_of(result(answer=lambda _: "Welch keeps 5%.")) == ["Welch keeps 5%."]
    assert answer_of(result(answer=lambda _: ["One.", "Two."])) == ["One.", "Two."]
    fallback = answer_of(result())
    assert fallback == ["Type 1 error 0.05; 0 of 1 intervals miss 0.05; power 0.4 to 0.8."]

    def not_here(_):
        raise LookupError("n = 99")

    assert answer_of(result(answer=not_here)) == fallback
    broken, *rest = answer_of(result(answer=lambda _: 1 / 0))
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
