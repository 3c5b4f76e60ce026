"""Published entries by document: verdicts and values in words, and counts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from simstudy.claims.claim import format_intended, format_values, format_verdict
from simstudy.claims.verdict import (
    DIFFERS,
    IN_PRINT_ONLY,
    NO_DATA,
    PUBLISHED_VERDICTS,
    TOO_FEW,
    UNCHECKABLE,
    count_verdicts,
)
from writing.refusals import PageError, listed
from writing.results import Claim, Study

SENTENCE_END = re.compile(r"(?<=[.?!]) (?=[A-Z0-9])")


class Entry(NamedTuple):
    """A published number or statement, in words.

    `why` says what is right instead, or what is missing.
    """

    statement: str
    where: str
    published: str
    ours: str
    verdict: str
    why: str
    study: str


def counted(studies: Iterable[Study]) -> list[Claim]:
    """The entries of a document: all scored claims.

    Raises
    ------
    PageError
        Where a committed run leaves one out, or could not compute it: no entry goes unseen. And
        where a table is of a version that did not say which claims are misprints.
    """
    studies = list(studies)
    older = [
        study.name for study in studies if study.claims and not study.claims[0].has("misprint")
    ]
    if older:
        raise PageError(
            f"the claims of {listed(older)} were published before they said which are misprints: "
            "publish these studies again."
        )
    found = [(claim, study.name) for study in studies for claim in study.claims if claim.scored]
    lost = [f"{claim.claim} of {name}" for claim, name in found if claim.verdict == NO_DATA]
    if lost:
        raise PageError(
            f"the committed results have no data for {listed(lost)}, which the scoreboard counts: "
            "publish the study again with what the claim needs, or mend the claim."
        )
    return [claim for claim, _ in found]


def tally(claims: Iterable[Claim]) -> list[int]:
    """How many claims have each verdict, in the order of `PUBLISHED_VERDICTS`."""
    counts = count_verdicts(claim.values for claim in claims)
    return [counts.get(verdict, 0) for verdict in PUBLISHED_VERDICTS]


def misprints(claims: Iterable[Claim]) -> int:
    """How many claims differ by a misprint."""
    return sum(bool(claim.misprint) for claim in claims if claim.verdict == DIFFERS)


def entry(claim: Claim) -> Entry:
    """A claim as a row of the scoreboard."""
    published, ours = format_values(claim.values)
    if claim.verdict == UNCHECKABLE:
        published, ours = ("" if claim.kind == "statement" else published), ""
    row = claim.values
    return Entry(
        claim.statement,
        claim.source,
        published,
        ours,
        format_verdict(row),
        _why(claim),
        claim.study,
    )


def _why(claim: Claim) -> str:
    """What a reader needs to know of a verdict: the report has the whole note."""
    note = SENTENCE_END.split(str(claim.note))[0]
    if claim.verdict == UNCHECKABLE:
        return _sentence(f"Missing: {claim.missing}")
    if claim.verdict == TOO_FEW:
        return _sentence(claim.detail)
    if claim.verdict == IN_PRINT_ONLY:
        return " ".join(filter(None, [_sentence(format_intended(claim.values)), note]))
    return note


def _sentence(text: str) -> str:
    """Text with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""
