"""A claim: a published number or statement, its verdict, and its row in the table of claims."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from simstudy.claims.verdict import (
    CLOSE_Z,
    DIFFERS,
    IN_PRINT_ONLY,
    NO_DATA,
    REPRODUCED,
    ROUNDING_OF_FLOATS,
    TOO_FEW,
    UNCHECKABLE,
    Finding,
    close_limits,
)
from simstudy.errors import StudyError, TooFewReplicatesError, describe
from simstudy.lazy import pd
from simstudy.tables.rounding import plus_minus


class WrongValue(NamedTuple):
    """A plausible wrong answer, which the claim must reject.

    A claim that also holds for it would be no test.

    Attributes
    ----------
    name
        Description, such as another method or a neighbouring formula.
    reproduce
        Function of the result that returns the wrong value.
    """

    name: str
    reproduce: Callable[[Any], Finding]


@dataclass(frozen=True)
class IntendedValue:
    """The quantity that a document means, if its printed number is that of another quantity.

    It is compared with the value that the document implies. If it differs although the printed
    number is reproduced, the verdict is `true as written, not as meant`.

    Parameters
    ----------
    name
        Description of the intended quantity, such as the correct formula.
    reproduce
        Function of the result that returns its value; see `Claim`.
    taken_for
        Value that the document implies. Default: the claim's published value.
    tolerance
        Allowance for "about", added to that of the claim if `taken_for` is None.
    difference
        Smallest relevant difference; see `Claim`. Default: that of the claim plus its rounding.
    """

    name: str
    reproduce: Callable[[Any], Finding]
    taken_for: float | bool | None = None
    tolerance: float = 0.0
    difference: float | None = None


@dataclass(frozen=True)
class Claim:
    """A published number or statement.

    Parameters
    ----------
    name
        Short name, unique in its study.
    statement
        Statement of the document, in our words.
    source
        Figure, table or section of the document.
    reproduce
        Function of the result that returns our value. For a statement without a number: 1 if it
        holds, else 0.
    published
        Number as printed; True for a statement without a number, whose margins are part of its
        check (`simstudy.claims.matches`).
    rounding
        Half a unit of the last printed digit.
    published_mcse
        Monte Carlo error of the published number, from its own number of replicates.
    tolerance
        Allowance for "about", if the document says so.
    difference
        Smallest relevant difference from the published number, in addition to `rounding` and
        `tolerance`. Use 0 for exact facts; values with a Monte Carlo error need room for it.
    wrong_value
        Plausible wrong answer, which the claim must reject. None if the claim itself is expected
        to differ.
    expected
        Verdict expected from re-derivation: `reproduced`, `differs`, or, with `intended`,
        `true as written, not as meant`. It does not change the verdict; any other verdict is
        reported as unexpected.
    note
        Explanation of a difference, or a caveat.
    intended
        Quantity that the document means, if the printed number is that of another one.
    scored
        Whether the claim counts in the score of the document. False for checks that the document
        does not state, and for statements that another claim already counts.
    misprint
        Whether a difference is only a misprint: an index, a letter or a bracket that is correct in
        the next line or in the code of the document. Such claims have the verdict `differs`, and a
        separate column on the scoreboard.
    criterion
        Tolerance of a statement, in words. That of a number is the sum of `rounding`, `tolerance`
        and `difference`.

    Raises
    ------
    StudyError
        If the published value or an allowance is no finite number.
    """

    name: str
    statement: str
    source: str
    reproduce: Callable[[Any], Finding]
    published: float | bool
    rounding: float = 0.0
    published_mcse: float = 0.0
    tolerance: float = 0.0
    difference: float = 0.0
    wrong_value: WrongValue | None = None
    expected: str = REPRODUCED
    note: str = ""
    intended: IntendedValue | None = None
    scored: bool = True
    misprint: bool = False
    criterion: str = ""

    def __post_init__(self) -> None:
        for name in ("published", "rounding", "published_mcse", "tolerance", "difference"):
            value = getattr(self, name)
            if not isinstance(value, numbers.Real) or not math.isfinite(value):
                raise StudyError(f"claim {self.name!r} has {name}={value!r}: give a finite number.")

    def about_intended(self) -> Claim:
        """Return a claim about the intended quantity instead of the printed number.

        Returns
        -------
        Claim
            A claim to compare the intended quantity with.
        """
        meant = self.intended
        assert meant is not None
        own = meant.taken_for is None
        allowed = self.rounding + self.difference if own else 0.0
        return replace(
            self,
            reproduce=meant.reproduce,
            published=self.published if meant.taken_for is None else meant.taken_for,
            rounding=0.0,
            published_mcse=self.published_mcse if own else 0.0,
            tolerance=meant.tolerance + (self.tolerance if own else 0.0),
            difference=allowed if meant.difference is None else meant.difference,
        )

    @property
    def kind(self) -> str:
        """`statement` or `number`."""
        return "statement" if self.published is True else "number"

    @property
    def allowed(self) -> float:
        """The greatest allowed distance of our true value from the published number."""
        return self.rounding + self.tolerance + self.difference

    def verdict(self, ours: Finding) -> str:
        """Return the verdict on the printed number.

        It is `reproduced` if the interval of our number lies within the tolerance, `differs` if our
        number is beyond the tolerance by more than both Monte Carlo errors, and else
        `too few replicates` (ours or those of the document).

        Parameters
        ----------
        ours
            Our value with its error.

        Returns
        -------
        str
            `reproduced`, `differs`, `too few replicates` or `no data`.
        """
        if not math.isfinite(ours.value):
            return NO_DATA if math.isinf(ours.n_rep) else TOO_FEW
        if not math.isfinite(ours.mcse):
            return TOO_FEW
        low, high = close_limits(ours)
        distance, allowed = self._distance(ours)
        if max(abs(low - self.published), abs(high - self.published)) <= allowed:
            return REPRODUCED
        end = low if ours.value > self.published else high
        reach = math.hypot(ours.value - end, CLOSE_Z * self.published_mcse)
        return DIFFERS if distance - reach > allowed else TOO_FEW

    def times_needed(self, ours: Finding) -> float:
        """Predict the factor by which our replicates must grow to decide.

        Parameters
        ----------
        ours
            Our value with its Monte Carlo error.

        Returns
        -------
        float
            The factor; infinite if no number of replicates decides.
        """
        distance, allowed = self._distance(ours)
        room = abs(allowed - distance)
        if distance > allowed:  # the document's own error does not shrink
            room = math.sqrt(max(room**2 - (CLOSE_Z * self.published_mcse) ** 2, 0.0))
        return (CLOSE_Z * ours.mcse / room) ** 2 if room else math.inf

    def _distance(self, ours: Finding) -> tuple[float, float]:
        """The distance from the published number, and the tolerance."""
        allowed = self.allowed + ROUNDING_OF_FLOATS * abs(self.published)
        return abs(ours.value - self.published), allowed


def _cannot(_: Any) -> Finding:
    raise LookupError("a claim that cannot be checked")


@dataclass(frozen=True)
class Uncheckable(Claim):
    """A statement that cannot be checked with the document alone.

    Parameters
    ----------
    published
        Number as printed; True for a statement, or if the number is only shown in a picture.
    missing
        Missing information, such as data, a seed or a setting.
    name, statement, source, note
        See `Claim`.

    Raises
    ------
    StudyError
        If `published` is not a number.
    """

    reproduce: Callable[[Any], Finding] = field(default=_cannot, init=False, repr=False)
    published: float | bool = True
    expected: str = field(default=UNCHECKABLE, init=False)
    missing: str = field(kw_only=True)


# ---------------------------------------------------------------- the table of claims
BROKEN = "could not be computed"  # first words of the detail if a claim raised an unexpected error
MAX_FACTOR = 1e6  # suggest no larger increase of n_rep
SAFETY_FACTOR = 2.0  # this factor decides nine of ten claims
COLUMNS = [
    *("claim", "statement", "source", "kind", "published", "reproduced", "mcse", "allowed"),
    *("criterion", "verdict", "expected", "misprint", "rival", "detail", "note", "scored"),
    *("right_name", "right_published", "right_value", "right_mcse", "missing"),
]


def check_claims(claims: Sequence[Claim], result: Any) -> pd.DataFrame:
    """Check claims against a result: one row per claim, with values, MCSE and verdict.

    A claim that needs a scenario which this run leaves out has the verdict `no data`, one that
    needs more replicates `too few replicates`; the reason is in `detail`. `rival` is the wrong
    answer that the claim was tested with, and its verdict. The columns from `right_name` on
    describe the intended quantity, if the claim has one; the verdict takes it into account.

    Parameters
    ----------
    claims
        The claims of a study.
    result
        Result of the study, the argument of the claims' functions.

    Returns
    -------
    pd.DataFrame
        A row per claim: published and reproduced value, MCSE, verdict and expected verdict.
    """
    return pd.DataFrame([_row(claim, result) for claim in claims], columns=COLUMNS)


def _row(claim: Claim, result: Any) -> dict[str, Any]:
    ours, verdict = _judged(claim, claim.reproduce, result)
    row: dict[str, Any] = {name: getattr(claim, name, "") for name in COLUMNS}
    row |= {
        "claim": claim.name,
        "published": float(claim.published),
        "reproduced": ours.value,
        "mcse": ours.mcse,
        "verdict": verdict,
        "rival": _tried(claim, result),
        "detail": ours.detail,
    }
    return row | _of_intended(claim, result, ours.detail, verdict)


def _of_intended(claim: Claim, result: Any, detail: str, verdict: str) -> dict[str, Any]:
    """The row's entries about the intended quantity, and the combined verdict."""
    if claim.intended is None:
        values = dict.fromkeys(("right_published", "right_value", "right_mcse"), math.nan)
        return {"right_name": "", **values}
    meant = claim.about_intended()
    ours, on_meant = _judged(meant, meant.reproduce, result)
    text = f"{claim.intended.name}: {ours.detail}" if on_meant not in (REPRODUCED, DIFFERS) else ""
    if verdict == REPRODUCED:
        verdict = IN_PRINT_ONLY if on_meant == DIFFERS else on_meant
    return {
        "detail": "; ".join(filter(None, [detail, text])),
        "verdict": verdict,
        "right_name": claim.intended.name,
        "right_published": float(meant.published),
        "right_value": ours.value,
        "right_mcse": ours.mcse,
    }


def _tried(claim: Claim, result: Any) -> str:
    """The wrong alternative as text, with its value and verdict."""
    if claim.wrong_value is None:
        return ""
    ours, verdict = _judged(claim, claim.wrong_value.reproduce, result)
    found = {"kind": claim.kind, "published": 0.0, "reproduced": ours.value, "mcse": 0.0}
    gives = "" if math.isnan(ours.value) else f" ({format_values(found)[1]})"
    why = f" ({ours.detail})" if verdict == NO_DATA else ""
    return f"{claim.wrong_value.name}{gives}: {verdict}{why}"


def _judged(claim: Claim, reproduce: Callable[[Any], Any], result: Any) -> tuple[Finding, str]:
    """Compute our value and the claim's verdict on it."""
    if isinstance(claim, Uncheckable):
        return _nothing(""), UNCHECKABLE
    try:
        ours = _as_reproduced(reproduce(result))
        verdict = claim.verdict(ours)
    except TooFewReplicatesError as error:
        return _nothing(_and_more(error.found, error.times, result)), TOO_FEW
    except Exception as error:  # an error of one claim must not stop the others
        if isinstance(error, StudyError) or type(error) is LookupError:  # a KeyError may be a typo
            return _nothing(f"not in this run: {error}"), NO_DATA
        return _nothing(f"{BROKEN}: {describe(error)}"), NO_DATA
    if verdict == TOO_FEW:
        ours = ours._replace(detail=_and_more(ours.detail, claim.times_needed(ours), result))
    return ours, verdict


def _nothing(detail: str) -> Finding:
    return Finding(math.nan, math.nan, detail)


def _and_more(detail: str, times: float, result: Any) -> str:
    """The detail, with the number of replicates that would decide, to two digits."""
    n_rep = max(getattr(result, "n_rep", {}).values(), default=0)
    if not (n_rep and times < MAX_FACTOR):
        return detail
    needed = float(f"{max(SAFETY_FACTOR * times, SAFETY_FACTOR) * n_rep:.1e}")
    advice = f"about {needed:,.0f} replicates would decide; here are {n_rep:,}"
    return "; ".join(filter(None, [detail, advice]))


def _as_reproduced(ours: Any) -> Finding:
    """Convert a plain number to a finding without error.

    Raises
    ------
    TypeError, ValueError
        If it cannot be compared with a published number.
    """
    given = ours if isinstance(ours, Finding) else Finding(ours)
    value, mcse, n_rep = map(float, (given.value, given.mcse, given.n_rep))
    if mcse < 0:
        raise ValueError(f"an error of {mcse:g}: give 0 or more")
    return Finding(value, mcse, str(given.detail), n_rep)


# ---------------------------------------------------------------- numbers of claims as text
MAX_DETAIL = 60  # letters of a detail in a cell of a table
MAX_DIGITS = 12  # further digits depend on rounding


def format_values(row: Mapping[Any, Any]) -> tuple[str, str]:
    """Format the published value, and ours ± 2 MCSE.

    For a statement the values are "holds" or "fails", and ours includes a short `detail`. An exact
    number that differs from the published one has enough digits to show the difference.

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
        decides = str(row.get("detail", "") or "")
        is_short = 0 < len(decides) <= MAX_DETAIL and not math.isnan(ours)
        shown = f"{_holds(ours)}: {decides}" if is_short else _holds(ours)
        return _holds(published), shown
    texts = plus_minus(published), plus_minus(ours, mcse)
    for n_digits in range(5, MAX_DIGITS + 1):
        if texts[0] != texts[1] or published == ours:
            break
        texts = f"{published:.{n_digits}g}", f"{ours:.{n_digits}g}"
    return texts


def format_allowed(row: Mapping[Any, Any]) -> str:
    """Format the tolerance of a claim: "± 0.015"; 0 for an exact comparison.

    The tolerance of a statement is its criterion, in words.

    Parameters
    ----------
    row
        A row of a table of claims.

    Returns
    -------
    str
        The text; empty for a statement without a criterion.
    """
    allowed = row["allowed"]
    if row["kind"] == "statement":
        return str(row.get("criterion", ""))
    if math.isnan(allowed) or math.isnan(row["reproduced"]):
        return ""
    return f"± {plus_minus(allowed)}" if allowed else "0"


def format_intended(row: Mapping[Any, Any]) -> str:
    """Format the intended quantity: name, value, and the number that the document implies.

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
    return f"{name}: {ours}; the document implies {plus_minus(row['right_published'])}"


def format_verdict(row: Mapping[Any, Any]) -> str:
    """Format the verdict, with "(misprint)" if it is one.

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
