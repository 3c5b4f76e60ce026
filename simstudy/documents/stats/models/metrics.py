"""Performance metrics that are smooth functions of means, and their bootstrap.

A metric is a row of means and three functions: what is averaged over the observations, the value
at those means, and its gradient there. The standard error of a sample is the root mean square of
the gradient times the distance from the means, over √n; the bootstrap needs no refit but the means
of each resample. MSE and MAE are the simplest of the kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy.array_types import Float

Block = Float[np.ndarray, "rep obs"]
Means = Float[np.ndarray, "*rep moment"]
Values = Float[np.ndarray, "*rep"]
Loss = Callable[[Block, Block], Block]
# A spread below this share of the mean square is the rounding of one that is zero.
RESOLUTION = 2.0**-40
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Metric:
    """A smooth function of means over the observations, identified by its name.

    `moments` are from responses and predictions (rep, obs, moment); `value` and `gradient` take
    their means (..., moment). A value that does not exist (the R² of a constant response) is NaN.
    """

    name: str
    moments: Callable[[Block, Block], Float[np.ndarray, "rep obs moment"]]
    value: Callable[[Means], Values]
    gradient: Callable[[Means], Means]
    lower_is_better: bool = True

    def identity_text(self) -> str:
        """The text that represents the metric in random streams and in the store."""
        return repr(self.name)

    def __str__(self) -> str:
        return self.name


# ---------------------------------------------------------------- means of losses
def squared_error(y: Block, prediction: Block) -> Block:
    return np.asarray(np.square(y - prediction))


def absolute_error(y: Block, prediction: Block) -> Block:
    return np.asarray(np.abs(y - prediction))


def absolute_percentage_error(y: Block, prediction: Block) -> Block:
    """A proportion; not finite where y = 0, which has no percentage."""
    return np.asarray(np.abs(y - prediction) / np.abs(y))


def mean_metric(name: str, loss: Loss) -> Metric:
    """The metric of the mean of a loss, a function of responses and predictions."""
    return Metric(name, partial(_one_moment, loss), _first_mean, np.ones_like)


def _one_moment(loss: Loss, y: Block, prediction: Block) -> Float[np.ndarray, "rep obs 1"]:
    return loss(y, prediction)[..., np.newaxis]


def _first_mean(means: Means) -> Values:
    return np.asarray(means[..., 0])


def tweedie_deviance(power: float) -> Metric:
    """The mean Tweedie deviance, for a variance power strictly between 1 and 2.

    Not defined, NaN, where a response is negative or a prediction not above 0 (Jørgensen 1987,
    J. R. Stat. Soc. B 49(2), 127-162).
    """
    return mean_metric(f"tweedie_{power:g}", partial(_tweedie_loss, power))


def _tweedie_loss(power: float, y: Block, mu: Block) -> Block:
    a, b = 1 - power, 2 - power
    with np.errstate(all="ignore"):
        deviance = 2 * (np.maximum(y, 0) ** b / (a * b) - y * mu**a / a + mu**b / b)
    return np.where(np.isfinite(mu) & (mu > 0) & (y >= 0), deviance, np.nan)


# ---------------------------------------------------------------- functions of several means
def _about_mean(x: Block) -> Block:
    """Distances from the replicate's mean: metrics blind to location lose no digits to it."""
    equal = x.min(axis=1, keepdims=True) == x.max(axis=1, keepdims=True)
    return np.where(equal, 0.0, x - x.mean(axis=1, keepdims=True))


def _spread(first: Values, second: Values) -> Values:
    """Variance from two moments; NaN where it is zero but for rounding, and nothing divides."""
    variance = second - first**2
    return np.where(variance > RESOLUTION * second, variance, np.nan)


def _r2_moments(y: Block, prediction: Block) -> Float[np.ndarray, "rep obs 3"]:
    response = _about_mean(y)
    return np.stack([squared_error(y, prediction), response, response**2], axis=-1)


def _r2_value(means: Means) -> Values:
    return np.asarray(1 - means[..., 0] / _spread(means[..., 1], means[..., 2]))


def _r2_gradient(means: Means) -> Means:
    mse, mean, spread = means[..., 0], means[..., 1], _spread(means[..., 1], means[..., 2])
    return np.stack([-1 / spread, -2 * mse * mean / spread**2, mse / spread**2], axis=-1)


def _pair_moments(y: Block, prediction: Block) -> Float[np.ndarray, "rep obs 5"]:
    """Response, prediction, their squares and their product, about the replicate's means."""
    a, b = _about_mean(y), _about_mean(prediction)
    return np.stack([a, b, a * a, b * b, a * b], axis=-1)


def _correlation_value(means: Means) -> Values:
    a, b, aa, bb, ab = np.moveaxis(means, -1, 0)
    return np.asarray((ab - a * b) / np.sqrt(_spread(a, aa) * _spread(b, bb)))


def _correlation_gradient(means: Means) -> Means:
    a, b, aa, bb, _ = np.moveaxis(means, -1, 0)
    var_a, var_b, r = _spread(a, aa), _spread(b, bb), _correlation_value(means)
    scale = np.sqrt(var_a * var_b)
    by_a, by_b = -b / scale + r * a / var_a, -a / scale + r * b / var_b
    return np.stack([by_a, by_b, -r / (2 * var_a), -r / (2 * var_b), 1 / scale], axis=-1)


def _slope_value(means: Means) -> Values:
    a, b, _, bb, ab = np.moveaxis(means, -1, 0)
    return np.asarray((ab - a * b) / _spread(b, bb))


def _slope_gradient(means: Means) -> Means:
    a, b, _, bb, _ = np.moveaxis(means, -1, 0)
    var_b, slope = _spread(b, bb), _slope_value(means)
    by_b = (2 * slope * b - a) / var_b
    return np.stack([-b / var_b, by_b, np.zeros_like(a), -slope / var_b, 1 / var_b], axis=-1)


def _root_of_first(means: Means) -> Values:
    return np.asarray(np.sqrt(means[..., 0]))


def _root_gradient(means: Means) -> Means:
    """0 at 0: where all errors are 0 none of them pulls, however steep the root is."""
    some = means > 0
    return np.where(some, 0.5 / np.sqrt(np.where(some, means, 1.0)), 0.0)


MSE = mean_metric("mse", squared_error)
MAE = mean_metric("mae", absolute_error)
MAPE = mean_metric("mape", absolute_percentage_error)
RMSE = Metric("rmse", MSE.moments, _root_of_first, _root_gradient)
R2 = Metric("r2", _r2_moments, _r2_value, _r2_gradient, lower_is_better=False)
CORRELATION = Metric(
    "correlation", _pair_moments, _correlation_value, _correlation_gradient, lower_is_better=False
)
# Slope of the response on the prediction: 1 when calibrated, below 1 when predictions are extreme.
CALIBRATION_SLOPE = Metric(
    "calibration_slope", _pair_moments, _slope_value, _slope_gradient, lower_is_better=False
)


# ---------------------------------------------------------------- bootstrap
def metric_draws(
    metric: Metric,
    moments: Float[np.ndarray, "rep obs moment"],
    means_of: Callable[..., Float[np.ndarray, "rep boot column"]],
) -> tuple[
    Float[np.ndarray, "rep 1"], Float[np.ndarray, "rep boot 1"], Float[np.ndarray, "rep boot 1"]
]:
    """The metric (rep, 1), deviations of its resamples and their inner variances (rep, boot, 1).

    The inner variance is the influence-function one of the resample (Efron & Tibshirani 1993,
    section 21), which needs the means of the products of the moments too. All are resampled by
    `means_of`, on the same indices. NaN where the metric does not exist, in the sample or in a
    resample: R² of a resample that holds one observation n times, for example.
    """
    n_obs, n_moment = moments.shape[1:]
    finite = np.isfinite(moments).all(axis=(1, 2), keepdims=True)
    centre = np.where(finite, moments, np.nan).mean(axis=1, keepdims=True)
    about = np.where(finite, moments - centre, 0.0)
    first, second = np.triu_indices(n_moment)
    means = means_of(np.concatenate([about, about[..., first] * about[..., second]], axis=2))
    shift, products = means[..., :n_moment], means[..., n_moment:]
    with np.errstate(all="ignore"):
        at = centre + shift
        covariance = products - shift[..., first] * shift[..., second]
        gradient = metric.gradient(at)
        weight = np.where(first == second, 1.0, 2.0) * gradient[..., first] * gradient[..., second]
        spread, size = (weight * covariance).sum(axis=-1), np.abs(weight * products).sum(axis=-1)
        value = metric.value(centre)
        deviation = metric.value(at) - value
    inner = np.where(spread <= n_obs * EPS * size, 0.0, spread) / n_obs
    return value, deviation[..., np.newaxis], inner[..., np.newaxis]
