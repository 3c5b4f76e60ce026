"""Published entries by document: how each stands, beside what it was held against, and counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from simstudy.claims import (
    DIFFERS,
    IN_PRINT_ONLY,
    NO_DATA,
    NOT_REPRODUCED,
    STANDINGS,
    TOO_FEW,
    UNCHECKABLE,
)
from writing.numbers import Known, decimals, number, plus_minus
from writing.refusals import PageError, listed
from writing.results import Claim, Study

DIGITS = 4  # of a number without an error
LONGEST = 12  # decimals that a number is ever given
FAR_BELOW = 1e-12  # errors that are arithmetic's, relative


class Entry(NamedTuple):
    """A published number or statement, in words.

    `kind` is one of the five standings; `why` says what is right instead, or what is missing.
    """

    statement: str
    where: str
    published: str
    ours: str
    kind: str
    why: str
    study: str


def counted(studies: Iterable[Study]) -> list[Entry]:
    """The entries of a document: all that is not ours.

    Raises
    ------
    PageError
        Where a committed run leaves one out, or could not compute it: no entry goes unseen. And
        where a table is older than standings, which does not say what is ours.
    """
    studies = list(studies)
    older = [
        study.name for study in studies if study.claims and not study.claims[0].has("standing")
    ]
    if older:
        raise PageError(
            f"the claims of {listed(older)} were published before they said what is counted: "
            "publish these studies again."
        )
    found = [(claim, study.name) for study in studies for claim in study.claims if not claim.ours]
    lost = [f"{claim.claim} of {name}" for claim, name in found if claim.standing == NO_DATA]
    if lost:
        raise PageError(
            f"the committed results have no data for {listed(lost)}, which the scoreboard counts: "
            "publish the study again with what the claim needs, or mend the claim."
        )
    return [_entry(claim, name) for claim, name in found]


def tally(entries: Iterable[Entry]) -> list[int]:
    """How many entries have each of the five standings, in their order."""
    kinds = Counter(entry.kind for entry in entries)
    return [kinds[kind] for kind in STANDINGS]


def _entry(claim: Claim, study: str) -> Entry:
    published, ours = _beside(claim)
    return Entry(claim.statement, claim.source, published, ours, claim.standing, _why(claim), study)


def _beside(claim: Claim) -> tuple[str, str]:
    """What is published, and ours ± two Monte Carlo errors."""
    if claim.kind == "statement":
        said = {1.0: "holds", 0.0: "fails"}.get(claim.reproduced, "")
        return "" if claim.standing == UNCHECKABLE else "holds", said
    if math.isnan(claim.reproduced):
        return known(Known(claim.published)), ""
    return known(Known(claim.published)), known(Known(claim.reproduced, claim.mcse))


def known(found: Known) -> str:
    """A number as far as its error lets it be known, else to four digits."""
    if found.mcse > FAR_BELOW * abs(found.value) and decimals(2 * found.mcse) <= LONGEST:
        return plus_minus(found)
    if found.value == round(found.value):
        return number(found)
    digits = DIGITS - 1 - math.floor(math.log10(abs(found.value)))
    text = number(Known(found.value), min(max(digits, 0), LONGEST))
    return text.rstrip("0").rstrip(".") if "." in text else text


def _why(claim: Claim) -> str:
    if claim.standing == UNCHECKABLE:
        return _sentence(f"Missing: {claim.missing}")
    if claim.standing == TOO_FEW:
        return _sentence(claim.detail)
    if claim.standing == IN_PRINT_ONLY:
        return " ".join(filter(None, [_sentence(_right(claim)), claim.note]))
    return str(claim.note) if claim.standing in (NOT_REPRODUCED, DIFFERS) else ""


def _right(claim: Claim) -> str:
    """What the document means by the number, its value, and what it is taken for."""
    right = claim.right
    if claim.kind == "statement" and claim.right_published == 1 and right.value in (0.0, 1.0):
        return f"{claim.right_name}, it {'holds' if right.value else 'fails'}"
    taken_for = known(Known(claim.right_published))
    return f"{claim.right_name}: {known(right)}, taken for {taken_for}"


def _sentence(text: str) -> str:
    """Text with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""
