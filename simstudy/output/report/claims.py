"""Claims in the report and the index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simstudy.claims import (
    DIFFERS,
    IN_PRINT_ONLY,
    NO_DATA,
    REPRODUCED,
    TOO_FEW,
    UNCHECKABLE,
    format_allowed,
    format_intended,
    format_values,
    format_verdict,
    is_unexpected,
)
from simstudy.lazy import pd

MEANINGS = {
    REPRODUCED: "the simulation agrees with what is printed",
    IN_PRINT_ONLY: "the printed number is found again, but it is not what it is taken for",
    DIFFERS: "the simulation disagrees by more than chance and rounding explain",
    UNCHECKABLE: "the document leaves out what a check would need",
    TOO_FEW: "more replicates are needed to decide",
}
CLASSES = {
    REPRODUCED: "reproduced",
    IN_PRINT_ONLY: "in-print",
    DIFFERS: "differs",
    UNCHECKABLE: "uncheckable",
    TOO_FEW: "too-few",
    NO_DATA: "too-few",
}
"""CSS class of each verdict, which sets its colour and mark in both pages."""
REMARKS = {"detail": "Detail", "missing": "Missing", "note": "Note"}


class ClaimRow(NamedTuple):
    """A claim as text.

    Parameters
    ----------
    value
        Our number, by which a column is sorted.
    allowed
        How far our number may be from the published one; of a statement, its criterion in words.
    verdict
        One of `simstudy.claims.VERDICTS`.
    verdict_text
        The verdict, and whether it is a misprint or unexpected.
    is_scored
        False for a further claim: no document states it, or another claim counts it.
    rival
        The wrong alternative that the claim has to reject, with its verdict; empty without one.
    remarks
        Remarks by label, such as `Note`.
    """

    study: str
    name: str
    statement: str
    source: str
    published: str
    ours: str
    value: float
    allowed: str
    verdict: str
    verdict_text: str
    is_unexpected: bool
    is_scored: bool
    rival: str
    remarks: dict[str, str]

    @property
    def css_class(self) -> str:
        """The CSS class of the verdict; unknown verdicts look undecided."""
        return CLASSES.get(self.verdict, CLASSES[TOO_FEW])


def claim_rows(claims: pd.DataFrame, study: str) -> list[ClaimRow]:
    """The claims of a study, in the order of their table."""
    return [_claim_row(claim, study) for claim in claims.to_dict("records")]


def _claim_row(claim: Mapping[Any, Any], study: str) -> ClaimRow:
    published, ours = format_values(claim)
    remarks = {"Intended": format_intended(claim)}
    remarks |= {label: claim[name] for name, label in REMARKS.items()}
    unexpected = is_unexpected(claim["verdict"], claim["expected"])
    return ClaimRow(
        study,
        name=claim["claim"],
        statement=claim["statement"],
        source=claim["source"],
        published=published,
        ours=ours,
        value=float(claim["reproduced"]),
        allowed=format_allowed(claim),
        verdict=str(claim["verdict"]),
        verdict_text=format_verdict(claim) + ", unexpected" * unexpected,
        is_unexpected=unexpected,
        is_scored=bool(claim["scored"]),
        rival=claim["rival"],
        remarks={label: text for label, text in remarks.items() if text},
    )
