"""Intervals that hold at every number of replicates at once, for those who look as they go.

An interval with a coverage of 95% at any one look excludes the truth at some look far more often.
These exclude it at any look, however many there are and whatever made somebody stop, in no more
than 5% of all runs.
"""

import numbers
from typing import Any

import numpy as np

from simstudy.errors import DesignError, in_one_line
from simstudy.lazy.scipy import special
from simstudy.measures.intervals import Interval, critical_value

PRIOR = 0.5  # of both outcomes: Jeffreys' mixture
HALVINGS = 60  # of an interval of probabilities: to the last bit


def anytime_share(share: Any, n: Any, *, level: float) -> Interval:
    """Limits of a probability, from the share of n independent trials, valid at every n.

    All p under which the trials are not 1 / (1 - level) times as likely as under a mixture of
    probabilities, beta(1/2, 1/2). Under the true p that ratio is a martingale which begins at 1, so
    by Ville's inequality it ever comes so far with a probability of 1 - level at most.

    Parameters
    ----------
    share, n
        Of trials that succeeded, in [0, 1], and how many there were; broadcast. No trial, no
        limits but 0 and 1.
    level
        Coverage, in (0, 1).

    References
    ----------
    Robbins (1970), Ann. Math. Stat. 41, 1397-1409.
    """
    critical_value(level)  # refuses what is none
    found, size = np.broadcast_arrays(np.asarray(share, float), np.asarray(n, float))
    hits = found * size
    most = special.betaln(hits + PRIOR, size - hits + PRIOR) - special.betaln(PRIOR, PRIOR)
    most = most + np.log(1 - level)  # so likely are the trials at the limits, at least

    def outside(p: np.ndarray) -> np.ndarray:
        return np.asarray(special.xlogy(hits, p) + special.xlog1py(size - hits, -p) < most)

    lower = _between(np.zeros_like(found), found, outside)
    upper = _between(np.ones_like(found), found, outside)
    known = ~np.isnan(found)
    return Interval(np.where(known, lower, np.nan), np.where(known, upper, np.nan))


def _between(far: np.ndarray, near: np.ndarray, outside: Any) -> np.ndarray:
    """Where it begins to be outside, from a place that is not to one that may be: the latter."""
    ends_inside = ~outside(far)
    far_end, near_end = far.copy(), near.copy()
    for _ in range(HALVINGS):
        middle = (far_end + near_end) / 2
        is_out = outside(middle)
        far_end, near_end = np.where(is_out, middle, far_end), np.where(is_out, near_end, middle)
    return np.where(ends_inside, far, far_end)


def anytime_mean(mean: Any, sd: Any, n: Any, *, level: float, planned: float) -> Interval:
    """Limits of an expectation, from the mean of n independent values, valid at every n.

    All m against which the values are not 1 / (1 - level) times as likely under a mixture: their
    expectation is m plus a normal number of standard deviations, and the standard deviation may be
    any (density 1/sd). With v the variance of that number, s the standard deviation found and d
    the mean less m, the ratio is, with r = 1 / (1 + nv) and u = nd^2 / (n - 1) / s^2,
    sqrt(r) ((1 + u) / (1 + ru))^(n/2). For normal values it is a martingale which begins at 1,
    whatever their standard deviation, so the limits are exact for them from the second value on;
    for others they are as good as the central limit theorem. Where no m is as unlikely yet, and
    where all values are equal, so that nothing is known of their spread, they are infinite.

    Parameters
    ----------
    mean, sd, n
        Mean and standard deviation of the values, in their units, and their number; broadcast.
    level
        Coverage, in (0, 1).
    planned
        The number of values at which the limits are to be closest together; at least 1, and the
        same at every look.

    References
    ----------
    Robbins (1970), Ann. Math. Stat. 41, 1397-1409; Lai (1976), Ann. Stat. 4, 265-280.
    """
    critical_value(level)
    _refuse_no_plan(planned)
    twice = -2 * np.log(1 - level)
    variance = (twice + np.log(twice) + 1) / planned  # of the mixed numbers
    found, spread, size = np.broadcast_arrays(*(np.asarray(x, float) for x in (mean, sd, n)))
    reach = _reach(size, np.log1p(size * variance), twice)
    half = np.where((spread == 0) | (size == 1), np.inf, np.where(spread == 0, 1.0, spread) * reach)
    return Interval(np.asarray(found - half), np.asarray(found + half))


def _reach(n: np.ndarray, spread: np.ndarray, twice: float) -> np.ndarray:
    """Standard deviations from the mean to its limits; infinite where there are none yet."""
    with np.errstate(divide="ignore", invalid="ignore"):
        power = (spread + twice) / n
        room = -np.expm1(power - spread)
        reach = np.sqrt((n - 1) / n * np.expm1(power) / room)
    return np.where(room > 0, reach, np.inf)


def _refuse_no_plan(planned: Any) -> None:
    is_number = isinstance(planned, numbers.Real)
    if not is_number or not 1 <= planned < np.inf:
        raise DesignError(
            f"planned={in_one_line(repr(planned))} is no number of values at which limits could be "
            "closest. Give the replicates that you expect to draw, at least 1."
        )
