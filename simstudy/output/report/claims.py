"""Claims as both pages show them: in words, by what has become of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simstudy.claims import (
    IN_PRINT_ONLY,
    NOT_REPRODUCED,
    REPRODUCED,
    TOO_FEW,
    UNCHECKABLE,
    shown_beside,
)
from simstudy.lazy import pd
from simstudy.output.formatting import Standing, number, standing
from simstudy.tables.grid import with_thousands
from simstudy.tables.rounding import Rounded, with_error

KINDS = {
    REPRODUCED: "the simulation finds what is printed",
    IN_PRINT_ONLY: "what is printed is found, and is not what it is taken for",
    NOT_REPRODUCED: "the simulation finds something else, by more than chance and rounding explain",
    UNCHECKABLE: "the document leaves out what a check would need",
    TOO_FEW: "the replicates do not decide it",
}
REMARKS = {"detail": "Found", "rival": "Tried against", "missing": "Missing", "note": "Note"}


@dataclass(frozen=True)
class ClaimRow:
    """A claim in words.

    Parameters
    ----------
    allowed
        How far from the published number ours may be; empty for a statement.
    kind
        One of `KINDS`, or `no data` where a run leaves it out.
    is_ours
        Whether no document states it, or another claim has counted it.
    remarks
        What is to be said of it, by what that is.
    """

    study: str
    name: str
    statement: str
    source: str
    published: str
    reproduced: str
    mcse: str
    allowed: str
    standing: Standing
    kind: str
    is_ours: bool
    remarks: dict[str, str]


def claim_rows(claims: pd.DataFrame, study: str) -> list[ClaimRow]:
    """The claims of a study, in the order of their table."""
    return [_claim_row(claim, study) for claim in claims.to_dict("records")]


def _claim_row(claim: Mapping[Any, Any], study: str) -> ClaimRow:
    published, found = _both(claim)
    remarks = {"Right": _right(claim)}
    remarks |= {label: claim[name] for name, label in REMARKS.items()}
    return ClaimRow(
        study,
        name=claim["claim"],
        statement=claim["statement"],
        source=claim["source"],
        published=published,
        reproduced=found.value,
        mcse=found.error,
        allowed=_allowed(claim),
        standing=standing(claim),
        kind=claim["standing"],
        is_ours=bool(claim["ours"]),
        remarks={label: text for label, text in remarks.items() if text},
    )


def _both(claim: Mapping[Any, Any]) -> tuple[str, Rounded]:
    """The published value, and ours with its error, both to the second digit of that."""
    kind, value, mcse = claim["kind"], claim["reproduced"], claim["mcse"]
    published, ours = shown_beside(kind, claim["published"], value)
    if kind == "statement" or math.isnan(value):
        return published, Rounded(ours, "" if kind == "statement" else number(mcse))
    return published, Rounded(*map(with_thousands, with_error(value, mcse)))


def _right(claim: Mapping[Any, Any]) -> str:
    """What the document means by the number, its value, and what it is taken for."""
    name, value = claim["right_name"], claim["right_value"]
    if not name or math.isnan(value):
        return str(name)
    if claim["right_published"] == 1 and value in (0, 1):
        return f"{name}: {'holds' if value else 'fails'}"
    ours = with_error(value, claim["right_mcse"])
    return f"{name}: {ours.value} (MCSE {ours.error or 0}), taken for {claim['right_published']:g}"


def _allowed(claim: Mapping[Any, Any]) -> str:
    most = claim["allowed"]
    if claim["kind"] == "statement" or math.isnan(most):
        return ""
    return f"± {number(most)}" if most else "0"
