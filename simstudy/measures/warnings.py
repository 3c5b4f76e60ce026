"""Warnings about an estimate, cell by cell, for the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simstudy.array_types import Float, Shaped
from simstudy.measures.columns import total
from simstudy.measures.intervals import ScaledInterval, StudentInterval

if TYPE_CHECKING:
    from simstudy.measures.core import Influence

ALL_ALIKE = 1000  # among fewer equal replicates, a rare outcome may just be missing
FEW = 10  # an interval from fewer replicates relies on normal values
TOO_SKEW = 0.06  # squared skewness of influences over n: coverage 1.5 points too low
# Share of the squared error from one replicate that is suspicious: HEAVY_SHARE, or HEAVY_NORMAL / n
# if that is more, which squares of normal values exceed in one of millions of replicates.
HEAVY_SHARE = 0.1
HEAVY_NORMAL = 150
HEAVY = "one replicate carries {share:.0%} of the squared error: the variance may be infinite"
ALIKE = "all {n:,.0f} are alike: an outcome rarer than 1 in {rare:,.0f} may just be missing"
NORMAL_ONLY = "fewer than 10 replicates: the interval holds for normal values only"
SKEW = "few replicates for values this skew: the interval is too short"


def doubts(
    influence: Influence, mcse: Float[np.ndarray, " *cells"], interval: StudentInterval
) -> Shaped[np.ndarray, " *cells"] | None:
    """Warnings on errors that may be too small: no spread, few replicates, skew or heavy tails.

    A 95% interval covers about 0.25 g^2/n less than it states, where g is the skewness of the
    influences (Hall 1992, The Bootstrap and Edgeworth Expansion, section 2.6). Measures of events
    have intervals that allow for this.

    Parameters
    ----------
    influence
        Estimate and influences.
    mcse
        Monte Carlo standard errors.
    interval
        Kind of the measure's interval.
    """
    n, psi = influence.n_independent, influence.psi
    if interval.counts_events:
        is_few = isinstance(interval, ScaledInterval) & (n < FEW)
        return np.where(is_few, NORMAL_ONLY, "") if is_few.any() else None
    if len(psi) == 0:
        return None
    known = (n >= 2) & np.isfinite(mcse)
    alike = known & (mcse == 0) & (n < ALL_ALIKE)
    few = known & (mcse > 0) & (n < FEW)
    with np.errstate(all="ignore"):
        psi = np.nan_to_num(psi)
        squares = psi * psi
        skew = known & (total(squares * psi) ** 2 > TOO_SKEW * total(squares) ** 3)
        largest = np.asarray(squares.max(axis=0) / total(squares))
        heavy = known & (largest > np.maximum(HEAVY_SHARE, HEAVY_NORMAL / n))
    if not (alike | few | skew | heavy).any():
        return None
    heavy_tails = np.full(n.shape, "", dtype=object)
    heavy_tails[heavy] = [HEAVY.format(share=share) for share in largest[heavy]]
    warning = joined(np.where(few, NORMAL_ONLY, np.where(skew, SKEW, "")), heavy_tails)
    warning[alike] = [ALIKE.format(n=count, rare=count / 3) for count in n[alike]]
    return warning


def joined(*warnings: np.ndarray | None) -> Shaped[np.ndarray, " *cells"]:
    """Join the warnings of each cell, without repeating one."""
    found: np.ndarray = np.asarray("", dtype=object)
    for warning in warnings:
        if warning is not None:
            further = np.asarray(warning, dtype=object)
            further = np.where(found == further, "", further)
            between = np.where((found != "") & (further != ""), "; ", "").astype(object)
            found = np.asarray(found + between + further, dtype=object)
    return found


def of_both(
    first: np.ndarray | None, second: np.ndarray | None
) -> Shaped[np.ndarray, " *cells"] | None:
    """Join the warnings on both sides of a contrast; None if no cell has one."""
    found = joined(first, second)
    return found if (found != "").any() else None


# ---------------------------------------------------------------- stated means
FAR = 5.0  # standard errors; correct means exceed it less than once in a million
MIN_EFFECTIVE = 10.0  # effective values behind the spread; with fewer, no test is made


def far_from_zero(
    values: Float[np.ndarray, " rep *cells"], n: np.ndarray | None = None
) -> Float[np.ndarray, " *cells"]:
    """Standard errors between the mean of values and 0; 0 if within chance.

    The mean is far from 0 if both Student's t and its cubic transformation by Hall, which corrects
    for skewness, exceed `FAR`. The result is also 0 if all values are equal, or if the effective
    number of values behind the spread (the squared sum of squares over the sum of fourth powers,
    about the mean) is below `MIN_EFFECTIVE`.

    Parameters
    ----------
    n
        Number of values in each cell, the others being 0. Default: all.

    References
    ----------
    Hall (1992), Journal of the Royal Statistical Society B 54, 221-228.
    """
    n = np.asarray(len(values) if n is None else n, float)
    with np.errstate(all="ignore"):
        squares = values * values
        powers = (values, squares, squares * values, squares * squares)
        first, second, third, fourth = (total(power) / n for power in powers)
        variance = second - first**2
        skew = third - 3 * first * second + 2 * first**3
        fourth = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        t = first * np.sqrt(n / variance)
        bend = skew / variance**1.5 / np.sqrt(n)
        straight = t + bend * t**2 / 3 + bend**2 * t**3 / 27 + bend / 6
        varies = variance > 1e-20 * first**2
        rests = n * variance**2 / fourth >= MIN_EFFECTIVE
        is_far = varies & rests & (np.minimum(np.abs(t), np.abs(straight)) > FAR)
    return np.where(is_far, np.abs(t), 0.0)


def effective_number(sizes: Float[np.ndarray, " rep *cells"]) -> Float[np.ndarray, " *cells"]:
    """Number of equal values with the same relative error as these: (sum)^2 / sum of squares.

    Parameters
    ----------
    sizes
        Values of 0 or above. If all are 0, so is the number.

    References
    ----------
    Kish (1965), Survey Sampling, section 8.2.
    """
    largest = sizes.max(axis=0, initial=0.0)
    with np.errstate(all="ignore"):
        sizes = sizes / np.where(largest > 0, largest, 1.0)
        squares = total(sizes * sizes)
        return np.asarray(total(sizes) ** 2 / np.where(squares > 0, squares, 1.0))
