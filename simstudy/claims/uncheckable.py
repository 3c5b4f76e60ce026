"""What a document states and nobody can check: with what it would take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simstudy.claims.claim import Claim
from simstudy.claims.reproduced import Reproduced
from simstudy.claims.verdicts import UNCHECKABLE
from simstudy.errors import StudyError


def _cannot(_: Any) -> Reproduced:
    raise LookupError("what nobody has published")


@dataclass(frozen=True)
class Uncheckable(Claim):
    """What a document states and nobody can check who has no more than the document.

    Parameters
    ----------
    name, statement, source, note
        As of a claim.
    published
        The number as printed; True for a statement, or where it stands in a picture alone.
    missing
        What it would take: data, a seed, a setting that is not stated.
    """

    reproduce: Callable[[Any], Reproduced] = field(default=_cannot, init=False, repr=False)
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
        for name in ("right", "rival"):
            if getattr(self, name) is not None:
                raise StudyError(
                    f"{self.name!r} has {name}= and cannot be checked, so nothing is held against "
                    f"it: leave {name}= out, or make it a Claim."
                )
