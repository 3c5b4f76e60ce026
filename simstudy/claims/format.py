"""Claims as text for the terminal, the report, the index and the pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from simstudy.claims.verdict import REPRODUCED
from simstudy.tables.rounding import plus_minus

MOST_DIGITS = 12  # beyond these, two ways to compute a number differ


def format_values(row: Mapping[Any, Any]) -> tuple[str, str]:
    """Format the published value, and ours ± 2 MCSE.

    A statement holds or fails. An exact number that is not the published one has as many digits as
    tell the two apart.

    Parameters
    ----------
    row
        A row of a table of claims, or its `kind`, `published`, `reproduced` and `mcse`.

    Returns
    -------
    tuple[str, str]
        The two texts.
    """
    published, ours, mcse = row["published"], row["reproduced"], row["mcse"]
    if row["kind"] == "statement":
        return _holds(published), _holds(ours)
    texts = plus_minus(published), plus_minus(ours, mcse)
    for n_digits in range(5, MOST_DIGITS + 1):
        if texts[0] != texts[1] or published == ours:
            break
        texts = f"{published:.{n_digits}g}", f"{ours:.{n_digits}g}"
    return texts


def format_allowed(row: Mapping[Any, Any]) -> str:
    """Format the tolerance of a claim: "± 0.015"; 0 for an exact comparison.

    That of a statement is in words, and empty where the statement has to hold as it is.

    Parameters
    ----------
    row
        A row of a table of claims.

    Returns
    -------
    str
        The text; empty for a statement that has to hold as it is.
    """
    allowed = row["allowed"]
    if row["kind"] == "statement":
        return str(row.get("criterion", ""))
    if math.isnan(allowed) or math.isnan(row["reproduced"]):
        return ""
    return f"± {plus_minus(allowed)}" if allowed else "0"


def format_intended(row: Mapping[Any, Any]) -> str:
    """Format the intended quantity: name, value, and the number it is taken for.

    Parameters
    ----------
    row
        A row of a table of claims.

    Returns
    -------
    str
        The text; empty for a claim without such a quantity.
    """
    name, value = row["right_name"], row["right_value"]
    if not name or math.isnan(value):
        return str(name)
    if row["kind"] == "statement" and row["right_published"] == 1 and value in (0, 1):
        return f"{name}: {_holds(value)}"
    ours = plus_minus(value, row["right_mcse"])
    return f"{name}: {ours}, taken for {plus_minus(row['right_published'])}"


def format_verdict(row: Mapping[Any, Any]) -> str:
    """Format the verdict, with "(misprint)" where it is one.

    Parameters
    ----------
    row
        A row of a table of claims.

    Returns
    -------
    str
        The text.
    """
    is_misprint = bool(row.get("misprint", False)) and row["verdict"] != REPRODUCED
    return f"{row['verdict']} (misprint)" if is_misprint else str(row["verdict"])


def _holds(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "holds" if value == 1 else "fails"
