"""Models fitted to a block of replicates: least squares for all at once, any estimator one by one.

A replicate without a fit is data, not an exception: its coefficients or predictions are NaN, and
a mask or a list says which and why.
"""

from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError, swallowed

EPS = float(np.finfo(float).eps)
CHUNK = 1 << 15  # numbers at a time: they stay in the cache while they are used


class LinearFit(NamedTuple):
    """A linear predictor per replicate; NaN where `full_rank` is false.

    Attributes
    ----------
    intercept : float array (rep,)
        Prediction where features are 0, in the units of the response.
    coefficients : float array (rep, feature)
        In units of the response per unit of their feature.
    full_rank : bool array (rep,)
        Whether the fit is the only one.
    """

    intercept: Float[np.ndarray, " rep"]
    coefficients: Float[np.ndarray, "rep feature"]
    full_rank: Bool[np.ndarray, " rep"]

    def predict(
        self, features: Float[np.ndarray, "rep obs feature"]
    ) -> Float[np.ndarray, "rep obs"]:
        """Predict for each replicate's own features, in the units of the response.

        Parameters
        ----------
        features : float array (rep, obs, feature)
            Features, one replicate per matrix.

        Returns
        -------
        float array (rep, obs)
            Predictions.
        """
        slopes = np.matmul(features, self.coefficients[:, :, np.newaxis])[:, :, 0]
        return np.asarray(self.intercept[:, np.newaxis] + slopes)


class FitFailure(NamedTuple):
    """Why one replicate has no prediction.

    Attributes
    ----------
    replicate
        Its row.
    error
        Exception of its fit.
    """

    replicate: int
    error: str


class Predictions(NamedTuple):
    """Predictions, one row per replicate.

    Attributes
    ----------
    prediction : float array (rep, new)
        NaN throughout where the replicate is among the failures.
    failures
        The replicates that failed.
    """

    prediction: Float[np.ndarray, "rep new"]
    failures: tuple[FitFailure, ...]


def fit_least_squares(
    features: Float[np.ndarray, "rep obs feature"], y: Float[np.ndarray, "rep obs"]
) -> LinearFit:
    """Fit ordinary least squares with an intercept to every replicate, in float64.

    Features and response are centred on their means, so that the intercept drops out, and one
    Householder QR of both gives the triangular system (Golub & Van Loan 2013, section 5.3). A
    replicate is of full rank when every feature is further than rounding from the span of a
    constant and the features before it; of float32 features, that is the rounding of float32.

    Parameters
    ----------
    features
        One replicate per matrix; more observations than features, else refused: next to an
        intercept no other number has a unique answer.
    y
        Response, in any unit; the coefficients are in that unit per unit of their feature.

    Returns
    -------
    LinearFit
        The fits.

    Raises
    ------
    DesignError
        If there are no more observations than features.
    """
    return _fit(features, y, precision=_eps_of(features))


def _eps_of(features: object) -> float:
    """Relative rounding of the features as they came; whole numbers have that of doubles."""
    dtype = np.asarray(features).dtype
    return max(float(np.finfo(dtype).eps), EPS) if dtype.kind == "f" else EPS


@reading
def _fit(
    features: Float[np.ndarray, "rep obs feature"],
    y: Float[np.ndarray, "rep obs"],
    *,
    precision: float,
) -> LinearFit:
    _check_training(features, y)
    n_rep, n_obs, n_feature = features.shape
    at_once = max(1, CHUNK // (n_obs * (n_feature + 1)))
    parts = [
        _fit_chunk(features[at : at + at_once], y[at : at + at_once], precision)
        for at in range(0, max(n_rep, 1), at_once)
    ]
    return LinearFit(*map(np.concatenate, zip(*parts, strict=True)))


def _fit_chunk(
    features: Float[np.ndarray, "rep obs feature"], y: Float[np.ndarray, "rep obs"], eps: float
) -> LinearFit:
    n_feature = features.shape[2]
    joint = np.concatenate([features, y[:, :, np.newaxis]], axis=2)
    finite = np.isfinite(joint).all(axis=(1, 2))
    joint[~finite] = 0.0
    sizes = np.linalg.norm(joint, axis=1)
    centre = joint.mean(axis=1)
    joint -= centre[:, np.newaxis]
    triangle = np.asarray(np.linalg.qr(joint, mode="r"))
    full_rank = finite & _is_full_rank(triangle, sizes, _rounding(joint.shape[1], eps))
    triangle[~full_rank] = np.eye(*triangle.shape[1:])
    slopes = np.linalg.solve(
        triangle[:, :n_feature, :n_feature], triangle[:, :n_feature, n_feature:]
    )
    coefficients = np.where(full_rank[:, np.newaxis], slopes[:, :, 0], np.nan)
    intercept = centre[:, n_feature] - (centre[:, :n_feature] * coefficients).sum(axis=1)
    return LinearFit(intercept, coefficients, full_rank)


def _rounding(n_obs: int, eps: float) -> float:
    """Rounding error of a feature, relative to its size: n of the sums, and that of its numbers.

    The numbers' own does not grow with n: each is off by eps/2 of itself, so all of them together
    by eps/2 of their norm.
    """
    return max(n_obs * EPS, eps)


def _is_full_rank(
    triangle: Float[np.ndarray, "rep column column"],
    sizes: Float[np.ndarray, "rep column"],
    rounding: float,
) -> Bool[np.ndarray, " rep"]:
    """A pivot is the distance of its feature from those before; rounding is that of its size."""
    pivots = np.abs(np.diagonal(triangle, axis1=1, axis2=2))[:, :-1]
    return np.asarray((pivots > 10 * rounding * sizes[:, :-1]).all(axis=1))


@reading
def fit_each(
    estimator: Any,
    features: Float[np.ndarray, "rep obs feature"],
    y: Float[np.ndarray, "rep obs"],
    new_features: Float[np.ndarray, "rep new feature"],
    rng: np.random.Generator,
) -> Predictions:
    """Fit a scikit-learn estimator to each replicate and predict its new observations.

    Parameters
    ----------
    estimator
        Anything with `fit` and `predict` that scikit-learn can clone; it is cloned for every
        replicate and never fitted itself.
    features, y
        Training data, one replicate per matrix and per row.
    new_features
        Observations to predict, for example the test and the prospective observations side by side.
    rng
        Gives one word per replicate to every `random_state` of the estimator.

    Returns
    -------
    Predictions
        An exception in a replicate, or a prediction that is not finite, is a failure of that
        replicate alone.
    """
    _check_matching(features, y)
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


def _check_training(
    features: Float[np.ndarray, "rep obs feature"], y: Float[np.ndarray, "rep obs"]
) -> None:
    _check_matching(features, y)
    check_enough_observations(*features.shape[1:])


def check_enough_observations(n_obs: int, n_feature: int) -> None:
    """Raise an error for a least-squares fit that is not the only one.

    Parameters
    ----------
    n_obs
        Observations.
    n_feature
        Features.

    Raises
    ------
    DesignError
        If there are no more observations than features.
    """
    if n_obs <= n_feature:
        raise DesignError(
            f"{n_obs} observations are too few for {n_feature} features and an intercept: many "
            f"coefficients fit equally well. Use at least {n_feature + 1} observations, or a "
            "penalised estimator through `fit_each`."
        )


def _check_matching(features: Float[np.ndarray, "..."], y: Float[np.ndarray, "..."]) -> None:
    if features.ndim != 3 or features.shape[:2] != y.shape:
        raise DesignError(
            f"features have shape {features.shape} and y {y.shape}, so observations cannot be "
            "matched with responses. Give (replicate, observation, feature) and (replicate, "
            "observation)."
        )
