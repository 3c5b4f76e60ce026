"""Intervals of means and of proportions."""

from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.errors import DesignError
from simstudy.lazy import special
from simstudy.stats.arguments import ROUNDING

Number = float | np.ndarray


class Interval(NamedTuple):
    """Lower and upper limit, in the units of the measure.

    Attributes
    ----------
    lower, upper : float array (*cells)
        The limits, in the units of the measure.
    """

    lower: Float[np.ndarray, " *cells"]
    upper: Float[np.ndarray, " *cells"]


def critical_value(level: float) -> float:
    """Two-sided standard normal quantile; `level` is the coverage of the interval, in (0, 1)."""
    if isinstance(level, str) or not 0 < level < 1:
        raise DesignError(
            f"level={level!r} is not a coverage an interval can have. Use a proportion between "
            "0 and 1, such as 0.95."
        )
    return float(special.ndtri((1 + level) / 2))


def normal(estimate: Any, mcse: Any, *, level: float) -> Interval:
    """The estimate plus and minus z standard errors."""
    half_width = critical_value(level) * np.asarray(mcse, float)
    return Interval(np.asarray(estimate - half_width), np.asarray(estimate + half_width))


def cautious_binomial_error(share: Any, n: Any) -> Any:
    """Compute the Monte Carlo error of a share of n replicates, as if one more had gone either way.

    So 0 of n has an error above 0.

    Parameters
    ----------
    share
        The share, in [0, 1].
    n
        Replicates; broadcast against `share`.

    Returns
    -------
    Any
        The error.
    """
    cautious = (np.asarray(share, float) * n + 1) / (np.asarray(n, float) + 2)
    return np.sqrt(cautious * (1 - cautious) / n)


def wilson(proportion: Number, trials: Number, *, level: float) -> Interval:
    """Score interval of a proportion: never of zero width, and never outside [0, 1].

    Parameters
    ----------
    proportion
        Share of successes, in [0, 1], else refused; NaN gives NaN.
    trials
        Number of trials behind each proportion, not necessarily whole; 0 gives NaN.
    level
        Coverage of the interval, in (0, 1).

    Returns
    -------
    Interval
        Limits in [0, 1], of the shape of the two arguments together.

    Raises
    ------
    DesignError
        If a proportion is outside [0, 1], or `level` outside (0, 1).

    References
    ----------
    Wilson (1927), J. Am. Stat. Assoc. 22, 209-212.
    """
    proportion, trials = np.asarray(proportion, float), np.asarray(trials, float)
    _refuse_no_share(proportion)
    z2 = critical_value(level) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        center = (proportion + z2 / (2 * trials)) / (1 + z2 / trials)
        spread = proportion * (1 - proportion) / trials + z2 / (4 * trials**2)
        half_width = np.sqrt(z2 * spread) / (1 + z2 / trials)
    lower = np.where(proportion == 0, 0.0, center - half_width)  # 0 exactly, not to rounding
    upper = np.where(proportion == 1, 1.0, center + half_width)
    known = trials > 0
    return Interval(np.where(known, lower, np.nan), np.where(known, upper, np.nan))


def _refuse_no_share(proportion: np.ndarray) -> None:
    """Refuse values beyond [0, 1], rounding of a quotient aside."""
    outside = (proportion < -ROUNDING) | (proportion > 1 + ROUNDING)
    if outside.any():
        raise DesignError(
            f"proportion={proportion[outside].flat[0]:g} is not a share of successes, so it has no "
            "interval. Give successes over trials, from 0 to 1."
        )
