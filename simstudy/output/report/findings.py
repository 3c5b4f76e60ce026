"""The three sentences that answer a study's question, from its claims and summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from simstudy.analysis.result import Result
from simstudy.analysis.summary import overview
from simstudy.claims import DIFFERS, format_counts, format_values
from simstudy.lazy import pd
from simstudy.output.formatting import counted, number
from simstudy.tables.summary import as_words

MOST_MEASURES = 4  # that a sentence names


def findings_of(result: Result) -> list[str]:
    """Make the sentences on verdicts, largest difference and Monte Carlo error.

    Returns
    -------
    list of str
        Three sentences: how many claims have each verdict (without claims, the range of each
        measure), the number that differs most from its published value (without one, the ranges),
        and the largest Monte Carlo standard error of each measure with the largest distance from
        theory. Two where there are no claims.
    """
    measures = overview(result.summary, result.details.measures)
    differing = _largest_difference(result.claims)
    sentences = [_verdicts(result.claims), differing or _ranges(measures, result)]
    return [*filter(None, sentences), _errors(measures)]


def count_claims(claims: Sequence[dict[Any, Any]]) -> list[tuple[str, str]]:
    """Count scored and further claims, with their verdicts.

    Parameters
    ----------
    claims
        Rows of tables of claims. Either kind is left out where there is none of it.
    """
    scored = [claim for claim in claims if claim["scored"]]
    further = [claim for claim in claims if not claim["scored"]]
    found = []
    if scored:
        label = counted(len(scored), "claim of the document", "claims of the document")
        found.append((label, format_counts(scored)))
    if further:
        found.append((counted(len(further), "further claim"), format_counts(further)))
    return found


def _verdicts(claims: pd.DataFrame) -> str:
    counts = count_claims(claims.to_dict("records"))
    return ". ".join(f"{label}: {text}" for label, text in counts) + "." * bool(counts)


def _largest_difference(claims: pd.DataFrame) -> str:
    """The claim with the largest relative difference.

    A misprint is left out: its number is no result of the document.
    """
    if claims.empty:
        return ""
    is_number = (claims["kind"] == "number") & ~claims["misprint"].astype(bool)
    rows = claims[(claims["verdict"] == DIFFERS) & is_number]
    relative = (rows["reproduced"] / rows["published"].where(rows["published"] != 0) - 1).abs()
    relative = relative[relative.map(math.isfinite)]
    if relative.empty:
        return ""
    (row,) = rows.loc[[relative.idxmax()]].to_dict("records")
    published, ours = format_values(row)
    return f"Largest difference: {row['claim']}, published {published}, ours {ours}."


def _ranges(measures: pd.DataFrame, result: Result) -> str:
    named = [
        f"{as_words(row['measure'])} {number(row['least'])} to {number(row['greatest'])}"
        for row in measures.head(MOST_MEASURES).to_dict("records")
        if not math.isnan(row["least"])
    ]
    where = counted(len(result.plan.scenarios), "scenario")
    return f"Range over {where}: {'; '.join(named)}." if named else ""


def _errors(measures: pd.DataFrame) -> str:
    named = [
        f"{as_words(row['measure'])} {row['largest_mcse']:.2g}"
        for row in measures.head(MOST_MEASURES).to_dict("records")
        if not math.isnan(row["largest_mcse"])
    ]
    largest = "Monte Carlo standard errors are not known."
    if named:
        largest = f"Largest Monte Carlo standard errors: {', '.join(named)}."
    z = measures["worst_z"].max()
    if math.isnan(z):
        return largest
    return f"{largest} Largest distance from exact theory: {z:.2g} standard errors."
