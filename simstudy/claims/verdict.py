"""The verdicts on a claim, and their names in tables, terminal, pages and scoreboard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

REPRODUCED, DIFFERS = "reproduced", "differs"
IN_PRINT_ONLY = "right in print, wrong in substance"
UNCHECKABLE = "cannot be checked"  # by anybody who has only the document
TOO_FEW = "too few replicates"  # to tell: neither answer is beyond chance
NO_DATA = "no data"  # this run leaves out what the claim is about
VERDICTS = (REPRODUCED, IN_PRINT_ONLY, DIFFERS, UNCHECKABLE, TOO_FEW, NO_DATA)
PUBLISHED_VERDICTS = VERDICTS[:-1]
"""Those of published results: a scoreboard has a column for each."""

DECIDED = (REPRODUCED, IN_PRINT_ONLY, DIFFERS)
PLURALS = {DIFFERS: "differ"}


def is_unexpected(verdict: str, expected: str) -> bool:
    """Whether the verdict is not the expected one.

    Parameters
    ----------
    verdict
        The verdict on the claim.
    expected
        The verdict that re-derivation foresees.

    Returns
    -------
    bool
        Whether the two differ, for a verdict that decides.
    """
    return verdict in DECIDED and verdict != expected


def count_verdicts(claims: Iterable[Mapping[Any, Any]]) -> dict[str, int]:
    """Count the claims with each verdict, in the order of `VERDICTS`.

    Parameters
    ----------
    claims
        Rows of a table of claims, as mappings.

    Returns
    -------
    dict[str, int]
        Counts above 0, by verdict.
    """
    counts = Counter(str(row["verdict"]) for row in claims)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def format_counts(claims: Iterable[Mapping[Any, Any]], *, explained: bool = True) -> str:
    """Format the counts of verdicts: "12 reproduced, 11 differ (all explained)".

    Parameters
    ----------
    claims
        Rows of a table of claims, as mappings; of none, the text is empty.
    explained
        Whether to say that re-derivation has foreseen all that differs, or what is unexpected.

    Returns
    -------
    str
        The text.
    """
    rows = list(claims)
    counts = count_verdicts(rows)
    n_unexpected = explained * sum(
        is_unexpected(str(row["verdict"]), str(row["expected"])) for row in rows
    )
    last = next((v for v in (DIFFERS, IN_PRINT_ONLY) if explained and v in counts), "")
    parts = [
        f"{n:,} {verdict if n == 1 else PLURALS.get(verdict, verdict)}"
        + " (all explained)" * (verdict == last and not n_unexpected)
        for verdict, n in counts.items()
    ]
    return ", ".join(parts) + f"; {n_unexpected:,} unexpected" * (n_unexpected > 0)


def combine_verdicts(printed: str, intended: str) -> str:
    """The verdict on a claim with an intended quantity.

    Parameters
    ----------
    printed
        The verdict on what is printed.
    intended
        The verdict on the intended quantity. It matters only where the printed number reproduces.
    """
    if printed != REPRODUCED:
        return printed
    return IN_PRINT_ONLY if intended == DIFFERS else intended
