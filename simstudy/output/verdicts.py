"""What became of claims, in the words of the report and of its index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from simstudy.claims.verdict import (
    AS_EXPECTED,
    IN_PRINT_ONLY,
    NO_DATA,
    REPRODUCED,
    TOO_FEW,
    UNEXPECTED,
    against_expectation,
    standing_in,
)

if TYPE_CHECKING:
    import pandas as pd


class Standing(NamedTuple):
    """A verdict beside what was expected: in words, and of which kind it is."""

    text: str
    kind: str


def standing(claim: Mapping[Any, Any]) -> Standing:
    """How a claim stands, by its `verdict` and what was `expected`.

    The kind is `expected`, `unexpected`, or `open` where the verdict decides nothing or is not
    known here.
    """
    word, expected = in_a_word(claim), claim.get("expected")
    verdict = str(claim["verdict"]) if word == IN_PRINT_ONLY else word
    foreseen = against_expectation(verdict, expected if isinstance(expected, str) else REPRODUCED)
    text = word if foreseen in ("", AS_EXPECTED) else f"{word}, {foreseen}"
    kinds = {"": "open", UNEXPECTED: "unexpected"}
    return Standing(text, kinds.get(foreseen, "expected"))


def in_a_word(claim: Mapping[Any, Any]) -> str:
    """The verdict; of what reproduces in print, how it stands by what the document means by it."""
    verdict = str(claim["verdict"])
    return standing_in(claim) if verdict == REPRODUCED else verdict


def claims_in_words(claims: pd.DataFrame) -> str:
    """How many claims stand as expected, and apart from them what became of the others."""
    if claims.empty:
        return "none stated"
    found = [standing(claim) for claim in claims.to_dict("records")]
    kinds = Counter(each.kind for each in found)
    undecided = Counter(each.text for each in found if each.kind == "open")
    parts = [f"{kinds['expected']:,} of {len(found):,} {AS_EXPECTED}"]
    parts += [f"{kinds['unexpected']:,} {UNEXPECTED}"] * (kinds["unexpected"] > 0)
    return ", ".join(parts + [_undecided(verdict, n) for verdict, n in undecided.items()])


def _undecided(verdict: str, n: int) -> str:
    if verdict == TOO_FEW:
        return f"{n:,} need{'s' * (n == 1)} more replicates"
    return f"{n:,} {'without data' if verdict == NO_DATA else verdict}"
