"""What can become of a claim, in words that tables, terminal and report share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

REPRODUCED, DIFFERS = "reproduced", "differs"
TOO_FEW = "too few replicates"  # to tell: neither answer is beyond chance
NO_DATA = "no data"  # this run leaves out what the claim is about
UNCHECKABLE = "cannot be checked"  # by anybody who has no more than the document
VERDICTS = (REPRODUCED, DIFFERS, TOO_FEW, NO_DATA, UNCHECKABLE)

AS_EXPECTED, AS_DERIVED, UNEXPECTED = "as expected", "as derived", "unexpected"


def against_expectation(verdict: str, expected: str) -> str:
    """`as expected`, `as derived`, `unexpected`; empty where nothing was decided.

    What differs as re-derivation said beforehand is `as derived`.
    """
    if verdict not in (REPRODUCED, DIFFERS):
        return ""
    if verdict != expected:
        return UNEXPECTED
    return AS_DERIVED if verdict == DIFFERS else AS_EXPECTED


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
