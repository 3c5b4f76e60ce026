"""What a check is: a number of our own, the committed one, and how far apart they may be."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.independent.committed import Committed

CRITICAL_Z = 4.417  # |z| of a right number is larger once in 100,000 checks
QUADRATURE = 1e-9  # what quadrature, roots and sums in doubles may be off by, generously


class Answer(NamedTuple):
    """A number found here, its Monte Carlo standard error, and the bound of what else is off."""

    value: float
    error: float = 0.0
    bound: float = QUADRATURE


def mean_of(values: np.ndarray) -> Answer:
    """A mean of independent values, with its standard error."""
    return Answer(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)))


Compute = Callable[[], Answer]


class Verdict(NamedTuple):
    """How a committed number compares: |gap| may be at most `allowed`."""

    gap: float
    allowed: float

    @property
    def agrees(self) -> bool:
        return abs(self.gap) <= self.allowed


class Check(NamedTuple):
    """A number of a document to be recomputed.

    `rival` is the value that a plausible mistake would give; a check that lets it pass says
    nothing, so none may.
    """

    document: str
    what: str
    committed: Callable[[], Committed]
    compute: Compute
    rival: float
    rival_is: str


CHECKS: list[Check] = []


def checks_of(document: str) -> Callable[..., None]:
    """What enters a check into the table of checks of a document."""

    def check(
        what: str, committed: Callable[[], Committed], compute: Compute, rival: float, why: str
    ) -> None:
        CHECKS.append(Check(document, what, committed, compute, rival, why))

    return check


def compare(found: Answer, committed: Committed) -> Verdict:
    """Whether the two differ by more than the errors of both.

    Bounds (roundings of a printed number, errors of a quadrature) add up; standard errors are
    independent and add in squares, `CRITICAL_Z` times over.
    """
    chance = CRITICAL_Z * math.hypot(found.error, committed.mcse)
    return Verdict(committed.value - found.value, chance + found.bound + committed.rounding)


def falls_for_its_rival(entry: Check, found: Answer) -> bool:
    """Whether the rival in the committed number's place would have passed: it must not."""
    return compare(found, entry.committed()._replace(value=entry.rival)).agrees
