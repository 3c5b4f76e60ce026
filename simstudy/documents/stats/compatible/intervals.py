"""Intervals for a proportion of compatible predictions, by resampling the p-values."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import check_count, check_proportion
from simstudy.documents.stats.compatible.false_discovery import checked
from simstudy.documents.stats.reading import reading

ROOM = 1 << 21  # resampled p-values at a time


class Interval(NamedTuple):
    """Limits, each a proportion.

    Attributes
    ----------
    lower, upper : float array (rep,)
        The limits, proportions.
    """

    lower: Float[np.ndarray, " rep"]
    upper: Float[np.ndarray, " rep"]


@reading
def percentile_interval(
    p: Float[np.ndarray, "rep n"],
    estimator: Callable[[Float[np.ndarray, "... n"]], Float[np.ndarray, "..."]],
    rng: np.random.Generator,
    *,
    n_boot: int = 99,
    level: float = 0.9,
) -> Interval:
    """Compute the percentile interval of any estimator, by resampling lists of p-values.

    It takes the p-values for independent, and does not know of a bias of the estimator.

    Parameters
    ----------
    p
        One list per row.
    estimator
        Array (..., n), one number for each list.
    rng
        Draws n places for each resample.
    n_boot
        Resamples, at least 2. Limits are order statistics where (n_boot + 1) (1 - level) / 2 is
        whole, as with 99 and 0.9.
    level
        Nominal coverage, in (0, 1).

    Returns
    -------
    Interval
        Limits for each row.

    References
    ----------
    Efron (1979), Ann. Statist. 7, 1-26; the quantiles: Davison & Hinkley (1997), section 2.4.
    """
    check_count("n_boot", n_boot, least=2, meaning="a quantile of the resamples")
    check_proportion("level", level, "an interval")
    p = checked(p)
    n_rows = max(1, ROOM // (n_boot * p.shape[1]))
    starts = range(0, max(len(p), 1), n_rows)
    estimates = np.concatenate(
        [estimator(_resampled(p[at : at + n_rows], rng, n_boot)) for at in starts]
    )
    tails = [(1 - level) / 2, (1 + level) / 2]
    lower, upper = np.quantile(estimates, tails, axis=-1, method="weibull")
    return Interval(lower, upper)


def _resampled(
    p: Float[np.ndarray, "rep n"], rng: np.random.Generator, n_boot: int
) -> Float[np.ndarray, "rep boot n"]:
    n_rep, n = p.shape
    places = rng.integers(0, n, size=(n_rep, n_boot, n), dtype=np.int32)
    return np.asarray(np.take_along_axis(p[:, np.newaxis, :], places, axis=-1))
