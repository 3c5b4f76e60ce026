"""Claims as a page shows them: how each stands, and apart what was found and what to know."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simstudy.claims import shown_beside
from simstudy.lazy import pd
from simstudy.output.verdicts import Standing, claims_in_words, standing
from simstudy.output.wording import number
from simstudy.tables.grid import with_thousands
from simstudy.tables.rounding import Rounded, with_error

REMARKS = {"detail": "Found", "rival": "Tried against", "missing": "Missing", "note": "Note"}


@dataclass(frozen=True)
class ClaimRow:
    """A claim in words.

    Parameters
    ----------
    allowed
        How far from the published number ours may be; empty for a statement.
    """

    name: str
    statement: str
    source: str
    published: str
    reproduced: str
    mcse: str
    allowed: str
    standing: Standing
    remarks: dict[str, str]


@dataclass(frozen=True)
class ClaimTable:
    """All claims, and in words how many stand as expected."""

    rows: list[ClaimRow]
    in_words: str


def claim_table(claims: pd.DataFrame) -> ClaimTable:
    """The claims of a result."""
    rows = [_claim_row(claim) for claim in claims.to_dict("records")]
    return ClaimTable(rows, claims_in_words(claims))


def _claim_row(claim: Mapping[Any, Any]) -> ClaimRow:
    published, found = _both(claim)
    texts = {"Right": _right(claim)}
    texts |= {label: _text(claim.get(name)) for name, label in REMARKS.items()}
    return ClaimRow(
        name=claim["claim"],
        statement=claim["statement"],
        source=claim["source"],
        published=published,
        reproduced=found.value,
        mcse=found.error,
        allowed=_allowed(claim),
        standing=standing(claim),
        remarks={label: text for label, text in texts.items() if text},
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
    name = _text(claim.get("right_name"))
    if not name or math.isnan(claim["right_value"]):
        return name
    if claim["right_published"] == 1 and claim["right_value"] in (0, 1):
        return f"{name}: {'holds' if claim['right_value'] else 'fails'}"
    ours = with_error(claim["right_value"], claim["right_mcse"])
    return f"{name}: {ours.value} (MCSE {ours.error or 0}), taken for {claim['right_published']:g}"


def _allowed(claim: Mapping[Any, Any]) -> str:
    """What a departure is held against, which earlier versions did not store."""
    most = claim.get("allowed")
    if claim["kind"] == "statement" or most is None or math.isnan(most):
        return ""
    return f"± {number(most)}" if most else "0"


def _text(value: Any) -> str:
    """A remark, which stored tables may lack."""
    return value if isinstance(value, str) else ""
