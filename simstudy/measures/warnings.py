"""Warnings about an estimate, cell by cell, for the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simstudy.array_types import Float, Shaped
from simstudy.measures.columns import total

if TYPE_CHECKING:
    from simstudy.measures.core import Estimates, Influence
    from simstudy.measures.intervals import StudentInterval

ALL_ALIKE = 1000  # among fewer equal replicates, a rare outcome may just be missing
FEW = 10  # an interval from fewer replicates relies on normal values
FEW_EVENTS = 3  # of two values, the rarer one among fewer replicates than this is too rare
# Share of the squared error from one replicate that is suspicious: HEAVY_SHARE, or HEAVY_NORMAL / n
# if that is more, which squares of normal values exceed in one of millions of replicates.
HEAVY_SHARE = 0.1
HEAVY_NORMAL = 150
HEAVY = "one replicate carries {share:.0%} of the squared error: the variance may be infinite"
ALIKE = "all {n:,.0f} are alike: an outcome rarer than 1 in {rare:,.0f} may just be missing"
NORMAL_ONLY = "fewer than 10 replicates: the interval holds for normal values only"
SKEW = "few replicates for values this skew: the interval is too short"


def doubts(
    influence: Influence,
    mcse: Float[np.ndarray, " *cells"],
    interval: StudentInterval,
    alike_text: str = ALIKE,
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
    alike_text
        Warning on replicates that are all alike.
    """
    n, psi = np.maximum(influence.n_independent, 1.0), influence.psi
    if interval.is_proportion or len(psi) == 0:
        return None
    known = np.isfinite(mcse)
    alike = known & (mcse == 0) & (n < ALL_ALIKE)
    few = known & (mcse > 0) & (n < FEW)
    skew, largest, spread = _skewness(psi, too_skew(n))
    heavy = largest > np.maximum(HEAVY_SHARE, HEAVY_NORMAL / n)
    if (skew | heavy).any():
        varied = _rarer_of_two(psi) < FEW_EVENTS
        skew, heavy = skew & varied, known & heavy & varied
    limit = np.maximum(1.1 * too_skew(n), np.minimum(0.3, 6 / n))
    parts = () if influence.parts is None else influence.parts()
    for part in parts if len(parts) > 1 else ():
        part_is_skew, _, of_part = _skewness(part, limit)
        part_is_skew = part_is_skew & (2 * of_part >= spread)
        if part_is_skew.any():
            skew = skew | (part_is_skew & (_rarer_of_two(part) < FEW_EVENTS))
    skew = known & skew
    if not (alike | few | skew | heavy).any():
        return None
    heavy_tails = np.full(n.shape, "", dtype=object)
    heavy_tails[heavy] = [HEAVY.format(share=share) for share in largest[heavy]]
    warning = joined(np.where(few, NORMAL_ONLY, np.where(skew, SKEW, "")), heavy_tails)
    return np.where(alike, alike_texts(n, alike_text), warning)


def too_skew(n: np.ndarray) -> Float[np.ndarray, " *cells"]:
    """The squared sample skewness over n from which an interval covers less than 90%.

    Chosen by simulation (`benchmarks/interval_coverage.py`): of normal values, their squares from
    100 on, and uniform values 1% or fewer exceed it. The skewness of few values is bounded, that of
    many values is near the true one, so the limit rises and then falls.
    """
    limit = np.minimum(np.maximum(np.sqrt(n) / 50, 1.8 / n), 2 / np.sqrt(n))
    return np.asarray(np.maximum(0.06, limit))


def _skewness(psi: np.ndarray, limit: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether the squared skewness over n is above a limit; largest share and sum of squares."""
    with np.errstate(all="ignore"):
        squares = psi * psi
        of_squares = total(squares)
        if not np.isfinite(of_squares).all():
            psi = np.nan_to_num(psi)
            squares = psi * psi
            of_squares = total(squares)
        largest = np.asarray(squares.max(axis=0) / of_squares)
        squares *= psi
        return np.asarray(total(squares) ** 2 > limit * of_squares**3), largest, of_squares


def _rarer_of_two(psi: np.ndarray) -> np.ndarray:
    """How many replicates have the rarer of two values; 0 if there are more values.

    The interval of the mean of two values covers less than 90% only if the rarer is very rare.
    """
    low, high = (each(psi, axis=0, initial=end) for each, end in (
        (np.fmin.reduce, np.inf), (np.fmax.reduce, -np.inf)))  # fmt: skip
    with np.errstate(all="ignore"):
        near = 1e-9 * (high - low)
        is_low, is_high = psi <= low + near, psi >= high - near
    n_low, n_high = is_low.sum(axis=0), is_high.sum(axis=0)
    only_two = n_low + n_high == (~np.isnan(psi)).sum(axis=0)
    return np.where(only_two, np.minimum(n_low, n_high), 0)


def alike_texts(n: np.ndarray, text: str = ALIKE) -> Shaped[np.ndarray, " *cells"]:
    """The warning on replicates that are all alike, for each number of them."""
    lines = [text.format(n=count, rare=count / 3) for count in np.ravel(n)]
    return np.array(lines, dtype=object).reshape(np.shape(n))


def with_alike(estimates: Estimates) -> Estimates:
    """Estimates with a warning on each error of 0."""
    alike = (estimates.mcse == 0) & (estimates.n_rep > 0)
    if not alike.any():
        return estimates
    texts = np.where(alike, alike_texts(estimates.n_rep), "")
    return estimates._replace(warning=of_both(estimates.warning, texts))


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
