"""Is a predictive distribution calibrated? Its probability integral transform, coverage, CRPS.

Predictions lie on the last axis.
"""

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Bool, Float
from simstudy.documents.stats.arguments import check_proportion
from simstudy.documents.stats.predictive.distributions import Predictive
from simstudy.documents.stats.predictive.p_values import log_p_value
from simstudy.documents.stats.reading import reading

PerPrediction = Float[np.ndarray, "... n"]
PerReplicate = Float[np.ndarray, "..."]


@reading
def pit_distance(values: PerPrediction) -> PerReplicate:
    """Compute the largest distance of the PIT values' distribution from the uniform.

    Parameters
    ----------
    values
        PIT values, along the last axis.

    Returns
    -------
    PerReplicate
        Kolmogorov's D of each list, in [0, 1].
    """
    ordered, n = np.sort(values, axis=-1), values.shape[-1]
    above = (np.arange(1, n + 1) / n - ordered).max(axis=-1)
    return np.asarray(np.maximum(above, (ordered - np.arange(n) / n).max(axis=-1)))


@reading
def covers(distribution: Predictive, y: ArrayLike, *, level: ArrayLike) -> Bool[np.ndarray, "..."]:
    """Compute whether the central interval of a level holds the value.

    It does where the two-sided p-value is at least one less the level.

    Parameters
    ----------
    distribution
        A distribution for each prediction.
    y
        The values, (..., obs), in the units of the distributions.
    level
        In (0, 1); broadcasts with the values.

    Returns
    -------
    bool array (...)
        True where the interval holds the value.
    """
    check_proportion("level", level, "a central interval")
    return np.asarray(log_p_value(distribution, y) >= np.log1p(-np.asarray(level, float)))


@reading
def coverage(distribution: Predictive, y: ArrayLike, *, level: float) -> PerReplicate:
    """Compute the share of predictions whose central interval of a level holds the value.

    Parameters
    ----------
    distribution
        A distribution for each prediction.
    y
        The values, (..., obs), in the units of the distributions.
    level
        In (0, 1).

    Returns
    -------
    PerReplicate
        Shares; NaN where a value is.
    """
    held = covers(distribution, y, level=level)
    unknown = np.isnan(log_p_value(distribution, y)).any(axis=-1)
    return np.where(unknown, np.nan, held.mean(axis=-1))


@reading
def mean_crps(distribution: Predictive, y: ArrayLike) -> PerReplicate:
    """Average the continuous ranked probability score, in the units of y; less is better.

    Parameters
    ----------
    distribution
        A distribution for each prediction.
    y
        The values, (..., obs), in the units of the distributions.

    Returns
    -------
    PerReplicate
        Mean scores.

    References
    ----------
    Gneiting & Raftery (2007), J. Am. Stat. Assoc. 102, 359-378, section 4.2.
    """
    return np.asarray(distribution.crps(y).mean(axis=-1))
