"""Models fitted to a block of replicates: least squares for all at once, any estimator one by one.

A replicate without a fit is data, not an exception: its coefficients or predictions are NaN, and
a mask or a list says which and why.
"""

from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.errors import DesignError, swallowed

EPS = float(np.finfo(float).eps)
CHUNK = 1 << 15  # numbers at a time: they stay in the cache while they are used


class LinearFit(NamedTuple):
    """A linear predictor per replicate; NaN where `full_rank` is false."""

    intercept: Float[np.ndarray, " rep"]
    coefficients: Float[np.ndarray, "rep feature"]
    full_rank: Bool[np.ndarray, " rep"]

    def predict(
        self, features: Float[np.ndarray, "rep obs feature"]
    ) -> Float[np.ndarray, "rep obs"]:
        """Predict for each replicate's own features."""
        slopes = np.matmul(features, self.coefficients[:, :, np.newaxis])[:, :, 0]
        return np.asarray(self.intercept[:, np.newaxis] + slopes)


class FitFailure(NamedTuple):
    """The exception of one replicate's fit, as text."""

    replicate: int
    error: str


class Predictions(NamedTuple):
    """Predictions, one row per replicate: NaN throughout where it is among the failures."""

    prediction: Float[np.ndarray, "rep new"]
    failures: tuple[FitFailure, ...]


def fit_least_squares(
    features: Float[np.ndarray, "rep obs feature"], y: Float[np.ndarray, "rep obs"]
) -> LinearFit:
    """Fit ordinary least squares with an intercept to every replicate.

    Features and response are centred on their means, so that the intercept drops out, and one
    Householder QR of both gives the triangular system (Golub & Van Loan 2013, section 5.3). A
    replicate is of full rank when every feature is further than rounding from the span of a
    constant and the features before it.
    """
    n_rep, n_obs, n_feature = features.shape
    check_enough_observations(n_obs, n_feature)
    at_once = max(1, CHUNK // (n_obs * (n_feature + 1)))
    parts = [
        _fit_chunk(features[at : at + at_once], y[at : at + at_once])
        for at in range(0, max(n_rep, 1), at_once)
    ]
    return LinearFit(*map(np.concatenate, zip(*parts, strict=True)))


def _fit_chunk(
    features: Float[np.ndarray, "rep obs feature"], y: Float[np.ndarray, "rep obs"]
) -> LinearFit:
    n_obs, n_feature = features.shape[1:]
    joint = np.concatenate([features, y[:, :, np.newaxis]], axis=2)
    finite = np.isfinite(joint).all(axis=(1, 2))
    joint[~finite] = 0.0
    sizes = np.linalg.norm(joint, axis=1)[:, :-1]
    centre = joint.mean(axis=1)
    joint -= centre[:, np.newaxis]
    triangle = np.asarray(np.linalg.qr(joint, mode="r"))
    # A pivot is the distance of its feature from those before; rounding is that of its size.
    pivots = np.abs(np.diagonal(triangle, axis1=1, axis2=2))[:, :-1]
    full_rank = finite & (pivots > 10 * n_obs * EPS * sizes).all(axis=1)
    triangle[~full_rank] = np.eye(*triangle.shape[1:])
    slopes = np.linalg.solve(
        triangle[:, :n_feature, :n_feature], triangle[:, :n_feature, n_feature:]
    )
    coefficients = np.where(full_rank[:, np.newaxis], slopes[:, :, 0], np.nan)
    intercept = centre[:, n_feature] - (centre[:, :n_feature] * coefficients).sum(axis=1)
    return LinearFit(intercept, coefficients, full_rank)


def check_enough_observations(n_obs: int, n_feature: int) -> None:
    """Refuse a least-squares fit that is not the only one."""
    if n_obs <= n_feature:
        raise DesignError(
            f"{n_obs} observations are too few for {n_feature} features and an intercept: many "
            f"coefficients fit equally well. Use at least {n_feature + 1} observations, or a "
            "penalised estimator through `fit_each`."
        )


def fit_each(
    estimator: Any,
    features: Float[np.ndarray, "rep obs feature"],
    y: Float[np.ndarray, "rep obs"],
    new_features: Float[np.ndarray, "rep new feature"],
    rng: np.random.Generator,
) -> Predictions:
    """Fit a clone of a scikit-learn estimator to each replicate and predict its new observations.

    `rng` gives one word per replicate to every `random_state` of the estimator. An exception in a
    replicate, or a prediction that is not finite, is a failure of that replicate alone.
    """
    words = rng.integers(0, 2**32, size=len(y), dtype=np.uint32)
    prediction, failures = np.full(new_features.shape[:2], np.nan), []
    for rep in range(len(y)):
        try:
            fitted = _seeded(estimator, words[rep]).fit(features[rep], y[rep])
            prediction[rep] = _finite(fitted.predict(new_features[rep]))
        except Exception as error:
            swallowed(error, rep)
            failures.append(FitFailure(rep, f"{type(error).__name__}: {error}"))
    return Predictions(prediction, tuple(failures))


def _seeded(estimator: Any, word: np.uint32) -> Any:
    """A clone whose every random state is `word`."""
    from sklearn.base import clone

    fresh = clone(estimator)
    states = [name for name in fresh.get_params() if name.split("__")[-1] == "random_state"]
    return fresh.set_params(**dict.fromkeys(states, int(word)))


def _finite(prediction: Float[np.ndarray, " new"]) -> Float[np.ndarray, " new"]:
    bad = int(np.count_nonzero(~np.isfinite(prediction)))
    if bad:
        raise FloatingPointError(f"{bad} of {len(prediction)} predictions are not finite")
    return prediction
