"""The predictive p-value of each prediction: how far out in its distribution the value came."""

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import check_choice
from simstudy.documents.stats.predictive.distributions import Predictive
from simstudy.documents.stats.reading import reading

TAILS = ("both", "lower", "upper")
Values = Float[np.ndarray, "..."]


@reading
def log_p_value(distribution: Predictive, y: ArrayLike, *, tail: str = "both") -> Values:
    """Natural log of the probability of a value as far out as the one that came.

    Parameters
    ----------
    distribution
        Predictive distribution of each value.
    y
        The values that came, in its units; they broadcast with its parameters.
    tail
        `both` takes twice the smaller tail, 2 min(F, 1 - F); `lower` F and `upper` 1 - F.

    Returns
    -------
    Values
        At most 0; -inf where the value is impossible. Uniform, as p-values, where the values come
        from continuous distributions that are the predicted ones.

    References
    ----------
    Bickel (2019), hal-02334579, example 5.
    """
    check_choice("tail", tail, TAILS)
    if tail == "lower":
        return distribution.log_cdf(y)
    if tail == "upper":
        return distribution.log_sf(y)
    smaller = np.minimum(distribution.log_cdf(y), distribution.log_sf(y))
    return np.asarray(np.minimum(np.log(2) + smaller, 0.0))


@reading
def p_value(distribution: Predictive, y: ArrayLike, *, tail: str = "both") -> Values:
    """Compute the p-value of each value as a probability; see `log_p_value`.

    Parameters
    ----------
    distribution
        A distribution for each prediction.
    y
        The values, (..., obs).
    tail
        See `log_p_value`.

    Returns
    -------
    Values
        p-values; 0 below some 1e-308.
    """
    return np.asarray(np.exp(log_p_value(distribution, y, tail=tail)))
