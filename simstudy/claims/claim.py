"""A claim: a published number or statement, and its verdict."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from simstudy.claims.mc_tolerance import CLOSE_Z, ROUNDING_OF_FLOATS, close_margin, share_between
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


class WrongAlternative(NamedTuple):
    """A plausible wrong answer, which the claim must reject.

    A claim that holds for it too says nothing.

    Attributes
    ----------
    name
        What it is: another method, a neighbouring formula.
    reproduce
        From the result, its value.
    """

    name: str
    reproduce: Callable[[Any], Finding]


@dataclass(frozen=True)
class IntendedQuantity:
    """The quantity that a document means, where its printed number is another one.

    It is held against what the document takes it for, as the claim against what is printed: where
    it differs, the entry is true as written, not as meant.

    Parameters
    ----------
    name
        What it is: the same quantity where it matters, by the right formula, of the right thing.
    reproduce
        From the result, its value; as of a claim.
    taken_for
        What the document takes it for; None is the claim's own published value.
    tolerance
        How far "about" reaches, beside the claim's own where `taken_for` is None.
    difference
        As of a claim; None is the claim's own, its rounding included.
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
        Short and unique in its study.
    statement
        What the document says, in our words.
    source
        Where it says so: figure, table or section.
    reproduce
        From the result, our value. For a statement without a number: 1 where it holds, else 0.
    published
        The number as printed; for a statement without one, True.
    rounding
        Half a unit of the last printed digit.
    published_mcse
        Monte Carlo error of the published number, from its own number of replicates.
    tolerance
        How far "about" reaches, where the document itself says so.
    difference
        The smallest departure from the published number that is worth calling one, beyond its
        rounding and "about". 0 for exact facts; what has a Monte Carlo error needs room for it.
    rival
        The nearest wrong answer, for which the claim must fall. None where the claim itself is
        expected to differ.
    expected
        The verdict that re-derivation foresees: `reproduced`, `differs`, or, with `right`,
        `true as written, not as meant`. It changes no verdict; another one is unexpected.
    note
        Why it differs, or what to keep in mind.
    right
        What the document means by the number, where that is another number: computed, and tried.
    scored
        False for what the document does not state, and for what another claim has already counted:
        the score of the document leaves it out.
    misprint
        Whether what differs is a slip of the pen: an index, a letter or a bracket, and the next
        line or the code of the document has it right. Such claims have the verdict `differs`, and
        a column of their own on the scoreboard.
    criterion
        The tolerance of a statement, in words: how far it may be off and still hold. That of a
        number is what `rounding`, `tolerance` and `difference` allow.

    Raises
    ------
    StudyError
        If a part is not possible: a negative allowance, a number without a published value, or a
        statement with an allowance.
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
    rival: WrongAlternative | None = None
    expected: str = REPRODUCED
    note: str = ""
    right: IntendedQuantity | None = None
    scored: bool = True
    misprint: bool = False
    criterion: str = ""

    def __post_init__(self) -> None:
        self._refuse_published()
        for name in ALLOWANCES:
            self._refuse_allowance(name, getattr(self, name))
        if self.right is not None:
            self.of_right()  # what it is taken for, and its allowances, are as a claim's

    def _refuse_published(self) -> None:
        if not isinstance(self.published, numbers.Real) or not math.isfinite(self.published):
            raise StudyError(
                f"claim {self.name!r} publishes {self.published!r}, which nothing can be "
                "compared with: give the number as printed, or True for a statement."
            )

    def of_right(self) -> Claim:
        """Return a claim about the intended quantity in place of the printed number.

        Returns
        -------
        Claim
            A claim with the intended quantity in place of the printed number.
        """
        right = self.right
        assert right is not None
        own = right.taken_for is None
        allowed = self.rounding + self.difference if own else 0.0
        return replace(
            self,
            name=f"{self.name}: {right.name}",
            reproduce=right.reproduce,
            published=self.published if right.taken_for is None else right.taken_for,
            rounding=0.0,
            published_mcse=self.published_mcse if own else 0.0,
            tolerance=right.tolerance + (self.tolerance if own else 0.0),
            difference=allowed if right.difference is None else right.difference,
            rival=None,
            right=None,
            criterion="",
            expected=REPRODUCED,
        )

    def _refuse_allowance(self, name: str, value: Any) -> None:
        if not isinstance(value, numbers.Real) or not 0 <= float(value) < math.inf:
            raise StudyError(
                f"claim {self.name!r} has {name}={value!r}, with which no verdict means anything: "
                "give a number of 0 or more, in the units of what is published."
            )
        if value and self.published is True:
            raise StudyError(
                f"claim {self.name!r} is a statement and has {name}={value!r}: it holds or it does "
                "not. Put the margin into what it computes (simstudy.claims.matches)."
            )

    @property
    def kind(self) -> str:
        """`statement` or `number`."""
        return "statement" if self.published is True else "number"

    @property
    def allowed(self) -> float:
        """The tolerance: how far our true value may be from the published number."""
        return self.rounding + self.tolerance + self.difference

    def verdict(self, ours: Finding) -> str:
        """Return the verdict on the printed number.

        Our number's interval lies within what is allowed (`reproduced`), or beyond it by more than
        both Monte Carlo errors (`differs`), or ours or the document's replicates are too few to
        tell.

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
        low, high = between(ours)
        _, allowed = self._distance(ours)
        if max(abs(low - self.published), abs(high - self.published)) <= allowed:
            return REPRODUCED
        return DIFFERS if self._least_distance(ours, low, high) > allowed else TOO_FEW

    def _least_distance(self, ours: Finding, low: float, high: float) -> float:
        """The least distance between our value and the published one, given both errors."""
        end, sign = (low, 1) if ours.value > self.published else (high, -1)
        reach = math.hypot(ours.value - end, CLOSE_Z * self.published_mcse)
        return sign * (ours.value - self.published) - reach

    def times_needed(self, ours: Finding) -> float:
        """Compute the factor by which our replicates must grow to decide.

        Parameters
        ----------
        ours
            Our value with its error.

        Returns
        -------
        float
            A factor; infinite where no number of replicates decides.
        """
        distance, allowed = self._distance(ours)
        room = abs(allowed - distance)
        if distance > allowed:  # what the document's own error takes of it is lost
            room = math.sqrt(max(room**2 - (CLOSE_Z * self.published_mcse) ** 2, 0.0))
        return (CLOSE_Z * ours.mcse / room) ** 2 if room else math.inf

    def _distance(self, ours: Finding) -> tuple[float, float]:
        """The distance from the published number, and the tolerance."""
        allowed = self.allowed + ROUNDING_OF_FLOATS * abs(self.published)
        return abs(ours.value - self.published), allowed


def between(ours: Finding) -> tuple[float, float]:
    """The interval of our value, given its Monte Carlo error.

    The mean of values that are 0 or 1 is told by its error: it is a share, and has an exact
    interval, since with few hits, or none, an error says too little.
    """
    if ours.is_share:
        return share_between(ours.value, ours.n_rep)
    reach = close_margin(ours.mcse, ours.n_rep)
    return ours.value - reach, ours.value + reach


def _cannot(_: Any) -> Finding:
    raise LookupError("what nobody has published")


@dataclass(frozen=True)
class Uncheckable(Claim):
    """A statement that cannot be checked with the document alone.

    Parameters
    ----------
    published
        The number as printed; True for a statement, or where it stands in a picture alone.
    missing
        What it would take: data, a seed, a setting that is not stated.
    name, statement, source, note
        As of a claim.

    Raises
    ------
    StudyError
        If `missing` is empty, or `published` is no number.
    """

    reproduce: Callable[[Any], Finding] = field(default=_cannot, init=False, repr=False)
    published: float | bool = True
    expected: str = field(default=UNCHECKABLE, init=False)
    missing: str = ""

    def __post_init__(self) -> None:
        self._refuse_published()
        if not self.missing.strip():
            raise StudyError(
                f"{self.name!r} cannot be checked, and does not say why: name in missing= what it "
                "would take, such as data, a seed or a setting."
            )
