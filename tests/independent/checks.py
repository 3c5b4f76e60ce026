"""Checks: a number of our own, the committed one as results hold it, and how far apart they are."""

import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parents[2] / "results"


class Committed(NamedTuple):
    """A committed number, its Monte Carlo standard error, and half a unit of its last digit.

    What is stored in full has no rounding; a number that is printed in a claim's detail has one.
    """

    value: float
    mcse: float
    rounding: float


Lookup = Callable[[], Committed]


@cache
def frame(study: str, name: str) -> pd.DataFrame:
    path = RESULTS / study / name
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


def only(rows: pd.DataFrame, source: str, **factors: Any) -> pd.Series:
    """The one row with these factors."""
    for name, value in factors.items():
        rows = rows[rows[name] == value]
    if len(rows) != 1:
        raise LookupError(f"{len(rows)} rows of {source} have {factors}: name one.")
    return rows.iloc[0]


def stored(study: str, name: str, value: str, mcse: str, /, **factors: Any) -> Lookup:
    """A cell of a stored table, and another with its error; "" where it has none."""

    def look() -> Committed:
        row = only(frame(study, name), f"{study}/{name}", **factors)
        return Committed(row[value], row.get(mcse, 0.0), 0.0)

    return look


def simulated(study: str, **factors: Any) -> Lookup:
    """An estimate of the summary, with its error."""
    return stored(study, "summary.parquet", "estimate", "mcse", **factors)


def exact(study: str, **factors: Any) -> Lookup:
    """What the summary says of theory, beside the estimate."""
    return stored(study, "summary.parquet", "exact", "", **factors)


def claimed(study: str, claim: str) -> Lookup:
    """What a claim's row calls reproduced, with its error."""
    return stored(study, "claims.parquet", "reproduced", "mcse", claim=claim)


def intended(study: str, claim: str) -> Lookup:
    """What a claim's row has of the quantity that the document means, with its error."""
    return stored(study, "claims.parquet", "right_value", "right_mcse", claim=claim)


def printed(study: str, claim: str, pattern: str, *, two_mcse: int | None = None) -> Lookup:
    """A number that a claim's detail prints, rounded; `two_mcse` is the group of its "± ...".

    The first group of the pattern is the number.
    """

    def look() -> Committed:
        row = only(frame(study, "claims.parquet"), f"{study}/claims.parquet", claim=claim)
        found = re.search(pattern, row["detail"])
        if found is None:
            raise LookupError(f"the detail of {claim!r} of {study} has no {pattern!r} any more.")
        value, rounding = in_digits(found[1])
        mcse = 0.0 if two_mcse is None else sum(in_digits(found[two_mcse])) / 2
        return Committed(value, mcse, rounding)

    return look


def table(study: str, name: str, column: str, /, **factors: Any) -> Lookup:
    """A cell of a table, with its error where the table has one."""
    return stored(study, f"tables/{name}.csv", column, f"{column}_mcse", **factors)


def shifted(lookup: Lookup, by: float) -> Lookup:
    """The same, plus a constant: of a bias, the estimate."""

    def look() -> Committed:
        found = lookup()
        return found._replace(value=found.value + by)

    return look


def in_digits(text: str) -> tuple[float, float]:
    """A printed number, and half a unit of its last digit; a whole number is what it says."""
    plain = text.replace(",", "").replace("−", "-")
    places = len(plain.partition(".")[2])
    return float(plain), 0.5 * 10.0**-places if places else 0.0


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
