"""The verdicts on a claim, by their names in tables and pages, and findings: our values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from simstudy.errors import TooFewReplicatesError
from simstudy.measures.intervals import cautious_binomial_error as cautious_binomial_error

REPRODUCED, DIFFERS = "reproduced", "differs"
IN_PRINT_ONLY = "true as written, not as meant"
UNCHECKABLE = "cannot be checked"  # the document lacks necessary information
TOO_FEW = "too few replicates"  # neither answer is beyond chance
NO_DATA = "no data"  # the claim needs scenarios that this run leaves out
VERDICTS = (REPRODUCED, IN_PRINT_ONLY, DIFFERS, UNCHECKABLE, TOO_FEW, NO_DATA)
PUBLISHED_VERDICTS = VERDICTS[:-1]
"""Verdicts in published results; a scoreboard has a column for each."""

DECIDED = (REPRODUCED, IN_PRINT_ONLY, DIFFERS)
PLURALS = {DIFFERS: "differ"}


def is_unexpected(verdict: str, expected: str) -> bool:
    """Whether the verdict is not the expected one.

    Parameters
    ----------
    verdict
        The verdict on the claim.
    expected
        The verdict expected from re-derivation.

    Returns
    -------
    bool
        Whether the two differ and the verdict is a decision.
    """
    return verdict in DECIDED and verdict != expected


def count_verdicts(claims: Iterable[Mapping[Any, Any]]) -> dict[str, int]:
    """Count the claims with each verdict, in the order of `VERDICTS`.

    Parameters
    ----------
    claims
        Rows of a table of claims, as mappings.

    Returns
    -------
    dict[str, int]
        Counts above 0, by verdict.
    """
    counts = Counter(str(row["verdict"]) for row in claims)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def format_counts(claims: Iterable[Mapping[Any, Any]], *, as_expected: bool = True) -> str:
    """Format the counts of verdicts: "12 reproduced, 11 differ (as expected)".

    Parameters
    ----------
    claims
        Rows of a table of claims, as mappings; without rows, the text is empty.
    as_expected
        Whether to add "(as expected)" to differences, or the number of unexpected verdicts.

    Returns
    -------
    str
        The text.
    """
    rows = list(claims)
    counts = count_verdicts(rows)
    n_unexpected = as_expected * sum(
        is_unexpected(str(row["verdict"]), str(row["expected"])) for row in rows
    )
    last = next((v for v in (DIFFERS, IN_PRINT_ONLY) if as_expected and v in counts), "")
    parts = [
        f"{n:,} {verdict if n == 1 else PLURALS.get(verdict, verdict)}"
        + " (as expected)" * (verdict == last and not n_unexpected)
        for verdict, n in counts.items()
    ]
    return ", ".join(parts) + f"; {n_unexpected:,} unexpected" * (n_unexpected > 0)


# ---------------------------------------------------------------- our value
class Finding(NamedTuple):
    """Our value of a claimed number, with its Monte Carlo error.

    Attributes
    ----------
    value
        The value; for a statement 1 if it holds, else 0.
    mcse
        Monte Carlo standard error; 0 if the value is exact.
    detail
        Description in words.
    n_rep
        Replicates behind the error; infinite if the error is known.
    """

    value: float
    mcse: float = 0.0
    detail: str = ""
    n_rep: float = math.inf

    @property
    def is_share(self) -> bool:
        """Whether it is a mean of zeros and ones, judged by its error."""
        value, n = self.value, self.n_rep
        if not (0 <= value <= 1 and 1 <= n < math.inf):
            return False
        of_share = binomial_error if 0 < value < 1 else cautious_binomial_error
        return math.isclose(self.mcse, float(of_share(value, n)), rel_tol=1 / n)


def binomial_error(share: Any, n: Any) -> Any:
    """Compute the Monte Carlo error of a proportion of n independent replicates.

    Parameters
    ----------
    share
        The share, in [0, 1].
    n
        Replicates; broadcast against `share`.

    Returns
    -------
    Any
        sqrt(share (1 - share)/n).
    """
    return np.sqrt(share * (1 - np.asarray(share, float)) / n)


def share(hits: Any, detail: str = "") -> Finding:
    """Compute the proportion of replicates that are hits; failed replicates (NaN) are ignored.

    Parameters
    ----------
    hits
        One flag per replicate.
    detail
        Description in words.

    Returns
    -------
    Finding
        The share with its Monte Carlo error.

    Raises
    ------
    TooFewReplicatesError
        If there is no replicate.
    """
    given = np.asarray(hits, float)
    flags = given[~np.isnan(given)] != 0
    if flags.size == 0:
        raise TooFewReplicatesError(detail or "none meets the condition of this share", math.inf)
    hit = float(flags.mean())
    error = binomial_error if 0 < hit < 1 else cautious_binomial_error
    return Finding(hit, float(error(hit, flags.size)), detail, flags.size)


def average(values: Any, detail: str = "") -> Finding:
    """Average one value per replicate; failed replicates (NaN) are ignored.

    Parameters
    ----------
    values
        One value per replicate.
    detail
        Description in words.

    Returns
    -------
    Finding
        The mean with its Monte Carlo error.

    Raises
    ------
    TooFewReplicatesError
        If there are fewer than two values.
    """
    given = np.asarray(values, float)
    given = given[~np.isnan(given)]
    if len(given) < 2:
        raise TooFewReplicatesError(detail or f"{len(given)} values have no error", math.inf)
    spread = given.std(ddof=1) if np.ptp(given) else 0.0  # equal values: not rounding error
    error = float(spread / np.sqrt(len(given)))
    return Finding(float(given.mean()), error, detail, len(given))


def of_row(row: Any, detail: str = "") -> Finding:
    """Take the estimate, error and number of replicates from a row of the summary.

    Parameters
    ----------
    row
        A row of a summary.
    detail
        Description in words.

    Returns
    -------
    Finding
        The estimate with its Monte Carlo error.
    """
    n_rep = row.get("n_given", row.get("n_rep", math.inf))
    carried = row.get("n_effective", math.nan)  # fewer if weights differ
    return Finding(row["estimate"], row["mcse"], detail, float(np.fmin(n_rep, carried)))
