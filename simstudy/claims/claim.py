"""A claim: a published number or statement, and its verdict."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from simstudy.claims.mc_tolerance import CLOSE_Z, ROUNDING_OF_FLOATS, close_limits
from simstudy.claims.verdict import (
    DIFFERS,
    NO_DATA,
    REPRODUCED,
    TOO_FEW,
    UNCHECKABLE,
    Finding,
)
from simstudy.errors import StudyError

ALLOWANCES = ("rounding", "published_mcse", "tolerance", "difference")


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
        for name in ("published", *ALLOWANCES):
            value = getattr(self, name)
            if not isinstance(value, numbers.Real) or not math.isfinite(value):
                raise StudyError(f"claim {self.name!r} has {name}={value!r}: give a finite number.")

    def about_intended(self) -> Claim:
        """Return a claim about the intended quantity instead of the printed number.

        Returns
        -------
        Claim
            A claim with the intended quantity instead of the printed number.
        """
        meant = self.intended
        assert meant is not None
        own = meant.taken_for is None
        allowed = self.rounding + self.difference if own else 0.0
        return replace(
            self,
            name=f"{self.name}: {meant.name}",
            reproduce=meant.reproduce,
            published=self.published if meant.taken_for is None else meant.taken_for,
            rounding=0.0,
            published_mcse=self.published_mcse if own else 0.0,
            tolerance=meant.tolerance + (self.tolerance if own else 0.0),
            difference=allowed if meant.difference is None else meant.difference,
            wrong_value=None,
            intended=None,
            criterion="",
            expected=REPRODUCED,
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
        If `missing` is empty, or `published` is not a number.
    """

    reproduce: Callable[[Any], Finding] = field(default=_cannot, init=False, repr=False)
    published: float | bool = True
    expected: str = field(default=UNCHECKABLE, init=False)
    missing: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.missing.strip():
            raise StudyError(
                f"{self.name!r} cannot be checked, but missing= is empty: name what is missing, "
                "such as data, a seed or a setting."
            )
