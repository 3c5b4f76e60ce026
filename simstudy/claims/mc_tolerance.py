"""Decisions that allow for Monte Carlo error.

No verdict may become easier with fewer replicates. An interval is therefore compared with a limit:
a statement holds if the whole interval meets it, fails if no part of the interval does, and else
the replicates are too few.
"""

import math
from typing import Any

import numpy as np

from simstudy.claims.verdict import Finding, binomial_error
from simstudy.errors import TooFewReplicatesError
from simstudy.lazy import special

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
    against, speaks = excess <= 0, excess > 0
    if everywhere:
        return float(times[against].min() if against.any() else times.max())
    return float(times[speaks].min() if speaks.any() else times.max())


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
