"""The answer to a study's question, and the evidence for it, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from simstudy.analysis.result import Result
from simstudy.analysis.summary import overview
from simstudy.claims.claim import format_values
from simstudy.claims.verdict import DIFFERS, format_counts
from simstudy.errors import describe
from simstudy.lazy import pd
from simstudy.output.at_a_glance import at_a_glance
from simstudy.output.formatting import counted
from simstudy.tables.summary import as_words

MAX_MEASURES = 4  # measures in a sentence
ANSWER, AT_A_GLANCE = "Answer", "At a glance"  # headings


def answer_of(result: Result) -> list[str]:
    """The answer to the study's question.

    Returns
    -------
    list of str
        The sentences of the study's `answer`, or of `at_a_glance` if it has none.
    """
    if result.details.answer is not None:
        try:
            given = result.details.answer(result)
            return [given] if isinstance(given, str) else list(map(str, given))
        except LookupError:  # a scenario that this run leaves out
            pass
        except Exception as error:  # user code
            failed = f"The study's answer could not be computed: {describe(error)}"
            return [failed, *at_a_glance(result)]
    return at_a_glance(result)


def heading_of(result: Result) -> str:
    """The heading of the answer: "Answer" if the study gives one."""
    return ANSWER if result.details.answer is not None else AT_A_GLANCE


def evidence_of(result: Result) -> list[str]:
    """Counts of claims, the largest difference, and Monte Carlo errors."""
    measures = overview(result.summary, result.details.measures)
    sentences = [_verdicts(result.claims), _largest_difference(result.claims), _errors(measures)]
    return list(filter(None, sentences))


def count_claims(claims: Sequence[dict[Any, Any]]) -> list[tuple[str, str]]:
    """Count scored claims and extra checks, with their verdicts.

    Parameters
    ----------
    claims
        Rows of tables of claims. A kind without claims is omitted.
    """
    scored = [claim for claim in claims if claim["scored"]]
    extra = [claim for claim in claims if not claim["scored"]]
    found = []
    if scored:
        label = counted(len(scored), "claim of the source", "claims of the source")
        found.append((label, format_counts(scored)))
    if extra:
        found.append((counted(len(extra), "extra check"), format_counts(extra)))
    return found


def _verdicts(claims: pd.DataFrame) -> str:
    counts = count_claims(claims.to_dict("records"))
    return " ".join(f"{label}: {text}." for label, text in counts)


def _largest_difference(claims: pd.DataFrame) -> str:
    """The claim with the largest relative difference.

    Misprints are left out: their numbers are not results of the document.
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


def _errors(measures: pd.DataFrame) -> str:
    if measures.empty:
        return "The study has no measures, so its replicates are not summarised."
    errors = measures.head(MAX_MEASURES).dropna(subset="largest_mcse").to_dict("records")
    named = [f"{as_words(row['measure'])} {row['largest_mcse']:.2g}" for row in errors]
    largest = "Monte Carlo standard errors are not known."
    if named:
        largest = f"Largest Monte Carlo standard errors: {', '.join(named)}."
    z = measures["worst_z"].max()
    if math.isnan(z):
        return largest
    return f"{largest} Largest distance from exact theory: {z:.2g} standard errors."
