"""Decisions that allow for Monte Carlo error.

No verdict may be easier with fewer replicates. So what is held against a limit is an interval: a
statement holds where all of it does, fails where none of it does, and otherwise the replicates are
too few to tell.
"""

import math
from typing import Any

import numpy as np

from simstudy.claims.verdict import Finding, binomial_error
from simstudy.errors import StudyError, TooFewReplicatesError
from simstudy.lazy import special

ROUNDING_OF_FLOATS = 1e-12  # of a number: two ways to compute it need not agree closer
CLOSE_Z = 3.0  # a difference beyond three standard errors of it is not chance
FALSE_ALARM = 1e-4  # studies in which chance alone turns a statement
ALL_ALIKE = 1000  # replicates without any spread: of these, chance hides 1% with FALSE_ALARM
DEVIATION = "largest of {n} deviations {deviation:.4f} of {margin:.4g} allowed ({z:.2f} MCSE)"


def mc_limit(n_compared: int = 1, *, false_alarm: float = FALSE_ALARM) -> float:
    """Compute the number of standard errors that the largest of several deviations stays below.

    Parameters
    ----------
    n_compared
        Deviations compared, at least 1; whether they are independent does not matter (Bonferroni).
    false_alarm
        Probability that one of them exceeds the limit though nothing is wrong, in (0, 1).

    Returns
    -------
    float
        Two-sided normal quantile at the false alarm over the number of deviations.

    Raises
    ------
    StudyError
        If nothing is compared, or `false_alarm` is not in (0, 1).
    """
    if n_compared < 1 or not 0 < false_alarm < 1:
        raise StudyError(
            f"mc_limit({n_compared}, false_alarm={false_alarm:g}) compares nothing, or always "
            "or never raises an alarm. Compare at least 1 deviation, at a rate between 0 and 1."
        )
    return -float(special.ndtri(false_alarm / (2 * n_compared)))


def close_margin(mcse: float, n_rep: float = math.inf) -> float:
    """The Monte Carlo margin of one value: at least `CLOSE_Z` standard errors.

    As `mc_margin`, at the probability of `CLOSE_Z`.
    """
    return float(_reach(mcse, n_rep, float(special.ndtr(-CLOSE_Z))))


def mc_margin(mcse: Any, n_rep: Any, n_compared: int = 1) -> Any:
    """Compute the Monte Carlo margin of each of several estimates with estimated errors.

    `mc_limit` errors and more: Student's t of the replicates, at the same probability. It
    is infinite for one replicate, whose error is unknown, and where fewer than `ALL_ALIKE` had
    no spread.

    Parameters
    ----------
    mcse, n_rep
        Monte Carlo error of each, and the replicates that it was estimated from; broadcast.
    n_compared
        Estimates compared, as `mc_limit` has it.

    Returns
    -------
    Any
        The distance, in the units of `mcse`.
    """
    return _reach(mcse, n_rep, float(special.ndtr(-mc_limit(n_compared))))


def _reach(mcse: Any, n_rep: Any, below: float) -> Any:
    error, n = np.broadcast_arrays(np.asarray(mcse, float), np.asarray(n_rep, float))
    limit = -special.stdtrit(np.maximum(n - 1, 1), below)
    unknown = (n < 2) | ((error == 0) & (n < ALL_ALIKE))
    return np.where(unknown, math.inf, np.where(error == 0, 0.0, error * limit))[()]


def share_limits(estimate: Any, n: Any, n_compared: int = 1) -> tuple[Any, Any]:
    """Compute exact limits of proportions of independent replicates.

    Exact (Clopper and Pearson 1934, Biometrika 26), so a share with few hits or none claims no
    more than it knows.

    Parameters
    ----------
    estimate, n
        Each share, and the replicates that it is of; broadcast.
    n_compared
        Shares compared, as `mc_limit` has it.

    Returns
    -------
    tuple[Any, Any]
        Lower and upper limits.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26, 404-413.
    """
    return _exact_limits(estimate, n, float(special.ndtr(-mc_limit(n_compared))))


def share_between(estimate: float, n: float) -> tuple[float, float]:
    """Exact limits of one proportion, at the probability of `CLOSE_Z`."""
    low, high = _exact_limits(estimate, n, float(special.ndtr(-CLOSE_Z)))
    return float(low), float(high)


def _exact_limits(estimate: Any, n: Any, below: float) -> tuple[Any, Any]:
    """Clopper-Pearson limits of proportions, each with at most this tail probability."""
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
        By how much what was found speaks for the statement, in each cell.
    reach
        How far chance reaches there, as `mc_margin` gives it.
    detail
        What was found, in words.
    everywhere
        Whether it must be so in every cell; else one is enough.

    Returns
    -------
    Finding
        1 where it is, 0 where it is not.

    Raises
    ------
    TooFewReplicatesError
        If replicates are too few for either answer, so that no verdict is easier with fewer.
    StudyError
        If `reach` is negative.
    """
    found, error = np.broadcast_arrays(
        np.atleast_1d(np.asarray(excess, float)), np.asarray(reach, float)
    )
    if (error < 0).any():
        raise StudyError(f"chance reaches {error.min():g} ({detail}): give a reach of 0 or more.")
    return _decided(found - error, found + error, detail, everywhere)


def _decided(low: Any, high: Any, detail: str, everywhere: bool) -> Finding:
    """Decide whether an interval is above 0, in every cell or in one."""
    if low.size == 0:
        raise LookupError(f"a cell that the statement is about ({detail})")
    sure, refuted = low > 0, (high < 0) | ((high == 0) & (low == 0))
    holds = sure.all() if everywhere else sure.any()
    fails = refuted.any() if everywhere else refuted.all()
    if not (holds or fails):
        with np.errstate(invalid="ignore"):  # where nothing is known of a cell
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

    More replicates make it harder to hold by chance, and easier to hold: the interval of each
    deviation, at `mc_limit`, has to lie within the margin (an equivalence test; Schuirmann
    1987, J. Pharmacokinet. Biopharm. 15).

    Parameters
    ----------
    estimate, theory, error
        What was found, what it should be, and the Monte Carlo error of each; broadcast.
    margin
        The smallest deviation worth calling one, in the units of `found`; a number, or one each.
    n_rep
        The replicates that the errors were estimated from; infinite where they are known.
    detail
        What to say, of `n`, `deviation`, `margin` and `z`: the one nearest to its margin.

    Returns
    -------
    Finding
        1 where all are, 0 where one is not.

    Raises
    ------
    TooFewReplicatesError
        Where chance alone could carry one across its margin.
    """
    n_compared = np.broadcast(estimate, theory, error, margin).size
    reach = mc_margin(error, n_rep, max(n_compared, 1))
    return _within(estimate, theory, (estimate - reach, estimate + reach), error, margin, detail)


def shares_match(
    estimate: Any, theory: Any, n: Any, *, margin: Any, detail: str = DEVIATION
) -> Finding:
    """Decide whether shares of replicates are within a margin of theory, by exact intervals.

    The same as `matches`, with the limits of `share_limits`.

    Parameters
    ----------
    estimate, theory
        What was found, and what it should be; broadcast.
    n
        Replicates of each share.
    margin
        The smallest deviation worth calling one; a number, or one each.
    detail
        What to say, of `n`, `deviation`, `margin` and `z`: the one nearest to its margin.

    Returns
    -------
    Finding
        1 where all are, 0 where one is not.

    Raises
    ------
    TooFewReplicatesError
        If chance alone could carry one across its margin.
    """
    n_compared = np.broadcast(estimate, theory, n, margin).size
    between = share_limits(estimate, n, max(n_compared, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        error = binomial_error(np.asarray(theory, float), n)
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
