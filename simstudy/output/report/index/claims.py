"""Claims by what has become of them: five kinds, whichever version wrote their table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from simstudy.claims import DIFFERS, IN_PRINT_ONLY, NO_DATA, NOT_REPRODUCED, REPRODUCED, TOO_FEW
from simstudy.claims.verdict import UNCHECKABLE
from simstudy.errors import describe
from simstudy.lazy import pd
from simstudy.output.report.claim_rows import claim_table
from simstudy.output.report.index.folders import CannotBeRead, Folder
from simstudy.output.report.index.said import short
from simstudy.output.verdicts import standing
from simstudy.tables.grid import with_thousands
from simstudy.tables.rounding import with_error

CLAIMS = "claims.parquet"
KINDS = {
    REPRODUCED: "the simulation finds what is printed",
    IN_PRINT_ONLY: "what is printed is found, and is not what it is taken for",
    NOT_REPRODUCED: "the simulation finds something else, by more than chance and rounding explain",
    UNCHECKABLE: "the document leaves out what a check would need",
    TOO_FEW: "the replicates do not decide it",
}
KNOWN = (*KINDS, NO_DATA)
OF_OURS = ("theory", "derived")  # how a source begins that is no document, in tables without `ours`
ODD = "of no known kind"


@dataclass(frozen=True)
class ClaimLine:
    """A claim as the index shows it, in words.

    Parameters
    ----------
    kind
        One of `KINDS`, `no data` where a run leaves it out, or `of no known kind`.
    is_ours
        Whether no document states it, or another claim has counted it.
    is_told
        Whether its table tells all five kinds apart.
    foreseen
        `expected`, `unexpected` or `open`, by its verdict and what was expected of it.
    remarks
        What is to be said of it, by what that is.
    """

    study: str
    kind: str
    name: str
    statement: str = ""
    source: str = ""
    published: str = ""
    ours: str = ""
    remarks: Mapping[str, str] = field(default_factory=dict)
    is_ours: bool = False
    is_told: bool = False
    foreseen: str = ""


def claims_of(folder: Folder) -> list[ClaimLine]:
    """The claims in the file of a study's folder.

    Raises
    ------
    CannotBeRead
        Where the file is damaged, or of another program.
    """
    frame = _frame(folder.content(CLAIMS))
    if frame.empty:
        return []
    if not {"verdict", "standing"} & set(frame.columns):
        raise CannotBeRead("is of another program: it has no verdicts")
    rows = _in_words(frame)
    return [
        _line(folder.name, at, claim, words)
        for at, (claim, words) in enumerate(zip(frame.to_dict("records"), rows, strict=True), 1)
    ]


def _frame(content: bytes) -> pd.DataFrame:
    try:
        return pd.read_parquet(BytesIO(content))
    except Exception as error:  # whatever is in a file of that name
        raise CannotBeRead(f"cannot be read: {short(describe(error))}") from None


def _in_words(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Values rounded to their errors, and remarks; nothing of a table that lacks columns."""
    try:
        return [
            {
                "published": row.published,
                "ours": f"{row.reproduced} ± {row.mcse}" if row.mcse else row.reproduced,
                "remarks": row.remarks,
            }
            for row in claim_table(frame).rows
        ]
    except Exception:  # of earlier or later versions: its claims count all the same
        return [{} for _ in range(len(frame))]


def _line(study: str, at: int, claim: Mapping[Any, Any], words: Mapping[str, Any]) -> ClaimLine:
    own = {"Right": _right(claim), "Missing": _text(claim, "missing")}
    remarks = {name: text for name, text in own.items() if text} | words.get("remarks", {})
    return ClaimLine(
        study,
        kind_of(claim),
        _text(claim, "claim") or f"claim {at}",
        _text(claim, "statement"),
        _text(claim, "source"),
        words.get("published", ""),
        words.get("ours", ""),
        remarks,
        is_ours=_is_ours(claim),
        is_told="standing" in claim,
        foreseen=standing(claim).kind if "verdict" in claim else "",
    )


def kind_of(claim: Mapping[Any, Any]) -> str:
    """What has become of a claim: as its `standing` says, else by its verdict."""
    said = claim.get("standing")
    if isinstance(said, str) and said in KNOWN:
        return said
    verdict = str(claim.get("verdict"))
    return NOT_REPRODUCED if verdict == DIFFERS else verdict if verdict in KNOWN else ODD


def _is_ours(claim: Mapping[Any, Any]) -> bool:
    if "ours" in claim:
        return claim["ours"] is True
    return _text(claim, "source").startswith(OF_OURS)


def _right(claim: Mapping[Any, Any]) -> str:
    """The right quantity and its value, where there is one."""
    name, value, mcse = (claim.get(f"right_{part}") for part in ("name", "value", "mcse"))
    if not isinstance(value, float) or math.isnan(value):
        return ""
    rounded = with_error(value, mcse if isinstance(mcse, float) else math.nan)
    found = " ± ".join(map(with_thousands, filter(None, rounded)))
    return f"{short(name)}: {found}" if isinstance(name, str) and name else found


def _text(claim: Mapping[Any, Any], name: str) -> str:
    """A text of a claim, which stored tables may lack."""
    found = claim.get(name)
    return found if isinstance(found, str) else ""
