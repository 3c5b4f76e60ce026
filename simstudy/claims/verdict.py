"""The verdicts on a claim, findings (our values), and decisions that allow for Monte Carlo error.

No verdict may become easier with fewer replicates. An interval is therefore compared with a limit:
a statement holds if the whole interval meets it, fails if no part of the interval does, and else
the replicates are too few.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from simstudy.errors import TooFewReplicatesError
from simstudy.lazy import special
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


# ---------------------------------------------------------------- Monte Carlo tolerance
ROUNDING_OF_FLOATS = 1e-12  # relative difference that counts as rounding
CLOSE_Z = 3.0  # a difference of more than three standard errors is not due to chance
FALSE_ALARM = 1e-4  # share of studies in which a statement is rejected by chance
ALL_ALIKE = 1000  # equal replicates; in fewer, an event of 1% may be missed by chance
DEVIATION = "largest of {n} deviations {deviation:.4f} of {margin:.4g} allowed ({z:.2f} MCSE)"


def mc_limit(n_compared: int = 1) -> float:
    """Compute the limit, in standard errors, for the largest of several deviations.

    Parameters
    ----------
    n_compared
        Number of deviations, at least 1; they may be dependent (Bonferroni).

    Returns
    -------
    float
        Two-sided normal quantile at `FALSE_ALARM` over the number of deviations.
    """
    return -float(special.ndtri(FALSE_ALARM / (2 * n_compared)))


def close_margin(mcse: float, n_rep: float = math.inf) -> float:
    """The Monte Carlo margin of one value: at least `CLOSE_Z` standard errors.

    See `mc_margin`; the probability is that of `CLOSE_Z`.
    """
    return float(_reach(mcse, n_rep, float(special.ndtr(-CLOSE_Z))))


def close_limits(ours: Finding) -> tuple[float, float]:
    """The interval of one value, with the probability of `CLOSE_Z` on either side.

    A share (a mean of zeros and ones, recognised by its error) has an exact interval, since the
    error is unreliable with few hits or none.
    """
    if ours.is_share:
        low, high = exact_limits(ours.value, ours.n_rep, float(special.ndtr(-CLOSE_Z)))
        return float(low), float(high)
    reach = close_margin(ours.mcse, ours.n_rep)
    return ours.value - reach, ours.value + reach


def mc_margin(mcse: Any, n_rep: Any, n_compared: int = 1) -> Any:
    """Compute the Monte Carlo margin of each of several estimates with estimated errors.

    The margin is the quantile of Student's t with the probability of `mc_limit`, times the error.
    It is infinite for a single replicate, and for fewer than `ALL_ALIKE` replicates without spread,
    since their error is unknown.

    Parameters
    ----------
    mcse, n_rep
        Monte Carlo errors and their numbers of replicates; broadcast.
    n_compared
        Number of estimates compared; see `mc_limit`.

    Returns
    -------
    Any
        The margin, in the units of `mcse`.
    """
    return _reach(mcse, n_rep, float(special.ndtr(-mc_limit(n_compared))))


def _reach(mcse: Any, n_rep: Any, below: float) -> Any:
    error, n = np.broadcast_arrays(np.asarray(mcse, float), np.asarray(n_rep, float))
    limit = -special.stdtrit(np.maximum(n - 1, 1), below)
    unknown = (n < 2) | ((error == 0) & (n < ALL_ALIKE))
    return np.where(unknown, math.inf, np.where(error == 0, 0.0, error * limit))[()]


def exact_limits(estimate: Any, n: Any, below: float) -> tuple[Any, Any]:
    """Compute exact limits of proportions, each with at most the tail probability `below`.

    They are valid for every number of hits, also for few or none (Clopper & Pearson 1934,
    Biometrika 26, 404-413).
    """
    share, size = np.broadcast_arrays(np.asarray(estimate, float), np.asarray(n, float))
    hits = share * size
    with np.errstate(invalid="ignore"):
        low = np.where(hits <= 0, 0.0, special.betaincinv(hits, size - hits + 1, below))
        high = np.where(hits >= size, 1.0, special.betaincinv(hits + 1, size - hits, 1 - below))
    return low, high


def decide(excess: Any, reach: Any, detail: str, *, everywhere: bool = True) -> Finding:
    """Decide whether a quantity is above 0 in every cell, or in one, beyond Monte Carlo error.

    Parameters
    ----------
    excess
        Estimate in each cell of the quantity that must be above 0.
    reach
        Monte Carlo margin of each cell, as returned by `mc_margin`.
    detail
        Description of the result, in words.
    everywhere
        Whether every cell must be above 0. False: one is enough.

    Returns
    -------
    Finding
        1 if it is, 0 if it is not.

    Raises
    ------
    TooFewReplicatesError
        If there are too few replicates for either answer.
    LookupError
        If there is no cell.
    """
    found, error = np.broadcast_arrays(
        np.atleast_1d(np.asarray(excess, float)), np.asarray(reach, float)
    )
    return _decided(found - error, found + error, detail, everywhere)


def _decided(low: Any, high: Any, detail: str, everywhere: bool) -> Finding:
    """Decide whether an interval is above 0, in every cell or in one."""
    if low.size == 0:
        raise LookupError(f"a cell that the statement is about ({detail})")
    sure, refuted = low > 0, (high < 0) | ((high == 0) & (low == 0))
    holds = sure.all() if everywhere else sure.any()
    fails = refuted.any() if everywhere else refuted.all()
    if not (holds or fails):
        with np.errstate(invalid="ignore"):  # a cell may be unknown
            middle, reach = (low + high) / 2, (high - low) / 2
        raise TooFewReplicatesError(detail, _times(middle, reach, everywhere))
    return Finding(float(holds), detail=detail)


def _times(excess: Any, reach: Any, everywhere: bool) -> float:
    """The factor by which replicates must grow to decide, if the estimates are true."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(reach == 0, 1.0, (reach / excess) ** 2)
    decides = excess <= 0 if everywhere else excess > 0  # one such cell is an answer
    return float(times[decides].min() if decides.any() else times.max())


def matches(
    estimate: Any,
    theory: Any,
    error: Any,
    *,
    margin: Any,
    n_rep: Any = math.inf,
    detail: str = DEVIATION,
) -> Finding:
    """Decide whether several numbers are within a margin of theory, beyond Monte Carlo error.

    This is an equivalence test (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15): the interval of
    each deviation, at `mc_limit`, must lie within the margin. It therefore cannot be passed by too
    few replicates.

    Parameters
    ----------
    estimate, theory, error
        Estimates, theoretical values and Monte Carlo errors; broadcast.
    margin
        Smallest relevant deviation, in the units of `estimate`; a number, or one for each.
    n_rep
        Replicates behind each error; infinite if errors are known.
    detail
        Format of the description, with the fields `n`, `deviation`, `margin` and `z`. It describes
        the deviation that is nearest to its margin.

    Returns
    -------
    Finding
        1 if all are, 0 if one is not.

    Raises
    ------
    TooFewReplicatesError
        If chance alone could move one across its margin.
    """
    n_compared = np.broadcast(estimate, theory, error, margin).size
    reach = mc_margin(error, n_rep, max(n_compared, 1))
    return _within(estimate, theory, (estimate - reach, estimate + reach), error, margin, detail)


def shares_match(
    estimate: Any, theory: Any, n: Any, *, margin: Any, detail: str = DEVIATION
) -> Finding:
    """Decide whether shares of replicates are within a margin of theory, by exact intervals.

    The same as `matches`, with the limits of Clopper and Pearson.

    Parameters
    ----------
    estimate, theory
        Shares and their theoretical values; broadcast.
    n
        Replicates of each share.
    margin
        Smallest relevant deviation; a number, or one for each.
    detail
        Format of the description; see `matches`.

    Returns
    -------
    Finding
        1 if all are, 0 if one is not.

    Raises
    ------
    TooFewReplicatesError
        If chance alone could move one across its margin.
    """
    n_compared = np.broadcast(estimate, theory, n, margin).size
    tail = float(special.ndtr(-mc_limit(max(n_compared, 1))))
    with np.errstate(invalid="ignore", divide="ignore"):
        error = binomial_error(np.asarray(theory, float), n)
    between = exact_limits(estimate, n, tail)
    return _within(estimate, theory, between, error, margin, detail)


def _within(
    estimate: Any, theory: Any, between: tuple[Any, Any], error: Any, margin: Any, detail: str
) -> Finding:
    """Decide whether each number, given by its limits, is within a margin of theory."""
    given = (estimate, theory, *between, error, margin)
    arrays = np.broadcast_arrays(*(np.asarray(array, float) for array in given))
    value, known, low, high, mcse, allowed = (np.atleast_1d(array).ravel() for array in arrays)
    if value.size == 0:
        raise LookupError("a cell that the statement is about")
    deviation = np.abs(value - known)
    nearest = int((deviation - allowed).argmax())
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(deviation == 0, 0.0, deviation / mcse)
    text = detail.format(
        n=value.size, deviation=deviation[nearest], margin=allowed[nearest], z=float(z.max())
    )
    most = np.maximum(np.abs(low - known), np.abs(high - known))
    least = np.maximum(np.maximum(low - known, known - high), 0.0)
    room = allowed + ROUNDING_OF_FLOATS * np.maximum(np.abs(known), np.abs(value))
    return _decided(room - most, room - least, text, True)
