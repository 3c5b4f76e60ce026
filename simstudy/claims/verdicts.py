"""What can become of a claim, in words that tables, terminal and report share."""

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
