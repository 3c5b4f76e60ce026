"""How a published entry stands, once its number and what it is printed for have been tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simstudy.claims.verdicts import DIFFERS, REPRODUCED, TOO_FEW, UNCHECKABLE

IN_PRINT_ONLY = "right in print, wrong in substance"
NOT_REPRODUCED = "not reproduced"
STANDINGS = (REPRODUCED, IN_PRINT_ONLY, NOT_REPRODUCED, UNCHECKABLE, TOO_FEW)
"""The five kinds that are counted; `no data` is of a run, and of no document."""

OF_RIGHT = {"": REPRODUCED, REPRODUCED: REPRODUCED, DIFFERS: IN_PRINT_ONLY}


def standing_of(verdict: str, of_right: str = "") -> str:
    """One of `STANDINGS`, or `no data`.

    Parameters
    ----------
    verdict
        On what is printed.
    of_right
        On the right quantity, held against what the document takes it for; empty where the claim
        has none. It matters only where what is printed reproduces.
    """
    if verdict == DIFFERS:
        return NOT_REPRODUCED
    if verdict != REPRODUCED:
        return verdict
    return OF_RIGHT.get(of_right, of_right)


def standing_in(row: Mapping[Any, Any]) -> str:
    """The standing in a row of a table of claims; older tables have a verdict alone."""
    stored = row.get("standing")
    return stored if isinstance(stored, str) else standing_of(str(row["verdict"]))
