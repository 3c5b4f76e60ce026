"""Least-squares fits to a linear model's data, and their errors.

`draws` is "law" for fits and errors from their exact distributions, "raw" for drawn features and
responses that are fitted and predicted.
"""

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.dgps.linear import Coefficients, LinearModel
from simstudy.documents.stats.models.least_squares import LinearFit, fit_least_squares
from simstudy.errors import DesignError

DRAWS = ("law", "raw")


def draw_fit(
    model: LinearModel, rng: np.random.Generator, n_rep: int, n_train: int, draws: str
) -> tuple[Coefficients, LinearFit]:
    """True coefficients of each replicate, and the fit to its training sample."""
    if draws == "law":
        return model.draw_fit(rng, n_rep, n_train)
    train = model.draw(rng, n_rep, n_train)
    return train.coefficients, fit_least_squares(train.features, train.y)


def draw_errors(
    model: LinearModel,
    rng: np.random.Generator,
    coefficients: Coefficients,
    fit: LinearFit,
    n_obs: int,
    draws: str,
) -> Float[np.ndarray, "rep obs"]:
    """Response less prediction of each fit on a new sample."""
    if draws == "law":
        return model.draw_errors(rng, coefficients, fit, n_obs)
    new = model.draw(rng, len(coefficients), n_obs, coefficients)
    return np.asarray(new.y - fit.predict(new.features))


def refuse_few_observations(n_train: int, n_feature: int) -> None:
    """Raise an error where least squares with an intercept has no single answer."""
    if n_train <= n_feature:
        raise DesignError(
            f"n_train={n_train} observations are too few for {n_feature} features and an "
            "intercept: many coefficients fit equally well, so there is no one model whose risk "
            f"is on trial. Use n_train >= {n_feature + 1}, or fewer features."
        )
