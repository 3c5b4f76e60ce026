"""Predictive distributions from models that were trained on bootstrap samples.

Both hold what the trained function would have been on other data, and not how far observations
scatter about it: unless `residual_sd` is set they are too narrow for an observation, by
construction.
"""

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Float
from simstudy.documents.stats.predictive.distributions import Normal
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError

Draws = Float[np.ndarray, "... boot obs"]


@reading
def fitted(draws: Draws, *, residual_sd: ArrayLike = 0.0) -> Normal:
    """Fit normals with the mean and the unbiased variance of the bootstrap predictions.

    Parameters
    ----------
    draws
        Prediction of each observation by the model of each bootstrap sample; at least 2 samples.
    residual_sd
        Standard deviation of an observation about the predicted function, which broadcasts with
        (..., obs); its square is added to the variance.

    Returns
    -------
    Normal
        A normal for each prediction.

    References
    ----------
    Bickel (2019), hal-02334579, example 2.
    """
    return Normal(np.asarray(draws, float).mean(axis=-2), _spread(draws, residual_sd))


@reading
def centered(
    draws: Draws, center: Float[np.ndarray, "... obs"], *, residual_sd: ArrayLike = 0.0
) -> Normal:
    """Fit normals with the same spread about the prediction of the model trained on all data.

    Parameters
    ----------
    draws, residual_sd
        See `fitted`.
    center
        Predictions of that model.

    Returns
    -------
    Normal
        A normal for each prediction.

    References
    ----------
    Bickel (2019), hal-02334579, example 3.
    """
    return Normal(center, _spread(draws, residual_sd))


def _spread(draws: Draws, residual_sd: ArrayLike) -> Float[np.ndarray, "... obs"]:
    draws, residual = np.asarray(draws, float), np.asarray(residual_sd, float)
    if draws.ndim < 2 or draws.shape[-2] < 2:
        raise DesignError(
            f"draws have shape {draws.shape}, so no spread over bootstrap samples is there. Give "
            "(..., boot, obs) with at least 2 bootstrap samples."
        )
    if (residual < 0).any():
        raise DesignError(
            f"residual_sd={residual[residual < 0].flat[0]:g} is negative, and a standard deviation "
            "is not. Give 0 to leave residual noise out."
        )
    return np.asarray(np.hypot(draws.std(axis=-2, ddof=1), residual))
