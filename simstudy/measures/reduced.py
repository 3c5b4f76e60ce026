"""Errors other than those of independent replicates: what they save, and intervals of shares."""

import numpy as np

from simstudy.measures import intervals
from simstudy.shapes import Float

ALL_BUT_ROUNDING = 1e20  # ratio of two variances, of which the smaller one is rounding


def variance_reduction(
    plain: Float[np.ndarray, " *cells"] | None, mcse: Float[np.ndarray, " *cells"]
) -> Float[np.ndarray, " *cells"] | None:
    """How many times the squared error of the plain measure is this one's; NaN where it has none.

    Infinite where what is left is rounding; None where no plain measure is told of.
    """
    if plain is None:
        return None
    known = np.isfinite(mcse) & (plain > 0)
    with np.errstate(all="ignore"):
        found = np.where(known, plain / (mcse * mcse), np.nan)
    return np.where(found > ALL_BUT_ROUNDING, np.inf, found)


def independent_trials(
    share: Float[np.ndarray, " *cells"],
    mcse: Float[np.ndarray, " *cells"],
    trials: Float[np.ndarray, " *cells"],
    group_size: int,
) -> Float[np.ndarray, " *cells"]:
    """Trials of an independent share with this error: share (1 - share) over its square.

    Where there is no error, as of a share of 0, every group of the trials counts as one.
    """
    with np.errstate(all="ignore"):
        found = np.asarray(share * (1 - share) / (mcse * mcse))
    fewest = np.maximum(trials / group_size, np.minimum(trials, 1.0))
    return np.where(np.isfinite(found) & (found > 0), found, fewest)


def wilson_within(
    share: Float[np.ndarray, " *cells"],
    trials: Float[np.ndarray, " *cells"],
    normal: intervals.Interval,
    *,
    level: float,
) -> intervals.Interval:
    """Wilson's interval of what is a share; of an adjusted one that is none, the normal one."""
    inside = (share >= 0) & (share <= 1)
    wilson = intervals.wilson(np.where(inside, share, np.nan), trials, level=level)
    lower, upper = (np.where(inside, w, n) for w, n in zip(wilson, normal, strict=True))
    return intervals.Interval(lower, upper)
