"""Running estimates and the Monte Carlo error around them: arrays in, arrays out."""

from typing import NamedTuple

import numpy as np

from simstudy.measures import intervals
from simstudy.shapes import Bool, Float, Int


class Running(NamedTuple):
    """An estimate after each number of replicates, and its Monte Carlo interval."""

    n_rep: Int[np.ndarray, " count"]
    estimate: Float[np.ndarray, " count"]
    lower: Float[np.ndarray, " count"]
    upper: Float[np.ndarray, " count"]


def running_mean(
    values: Float[np.ndarray, " rep"], *, at: Int[np.ndarray, " count"], level: float = 0.95
) -> Running:
    """Mean of the first replicates, for several numbers of them, with its Monte Carlo interval.

    Parameters
    ----------
    values
        One value per replicate, in the order drawn. NaN is a failed replicate: it counts among
        the replicates and not towards the mean.
    at
        Numbers of replicates, each from 1 to the number of values.
    level
        Coverage of the interval, in (0, 1).

    Returns
    -------
    Running
        Estimates in the units of `values`. The interval is normal, its MCSE the standard
        deviation of the m values so far (divisor m - 1) over the root of m; and Wilson's where all
        values are 0 or 1, so that a start without a single miss is not drawn as certain. NaN
        before there are enough values: one for a proportion, two for a mean.
    """
    there = ~np.isnan(values)
    n_used = np.cumsum(there)[at - 1].astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        if _is_binary(values[there]):
            return _running_share(values, there, n_used, at, level)
        return _running_average(values, there, n_used, at, level)


def _is_binary(values: Float[np.ndarray, " used"]) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())


def _running_share(
    values: Float[np.ndarray, " rep"],
    there: Bool[np.ndarray, " rep"],
    n_used: Float[np.ndarray, " count"],
    at: Int[np.ndarray, " count"],
    level: float,
) -> Running:
    hits = np.cumsum(np.where(there, values, 0.0))[at - 1]
    return Running(at, hits / n_used, *intervals.wilson(hits / n_used, n_used, level=level))


def _running_average(
    values: Float[np.ndarray, " rep"],
    there: Bool[np.ndarray, " rep"],
    n_used: Float[np.ndarray, " count"],
    at: Int[np.ndarray, " count"],
    level: float,
) -> Running:
    # Centred on the final mean: the squares would otherwise cancel when the mean is far from zero.
    center = values[there].mean()
    centered = np.where(there, values - center, 0.0)
    total = np.cumsum(centered)[at - 1]
    squares = np.cumsum(centered**2)[at - 1]
    variance = np.maximum(squares - total**2 / n_used, 0.0) / (n_used - 1)
    mean = center + total / n_used
    return Running(at, mean, *intervals.normal(mean, np.sqrt(variance / n_used), level=level))
