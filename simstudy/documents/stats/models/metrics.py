"""Performance metrics that are smooth functions of means: estimate, standard error, bootstrap.

A metric is a row of means and three functions: what is averaged over the observations, the value
at those means, and its gradient there. The influence value of an observation is the gradient times
its distance from the means; the standard error is the root mean square influence over √n, and the
bootstrap needs no refit but the means of each resample. MSE and MAE are the simplest of the kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.bootstrap.losses import (
    StudentizedBootstrap,
    check_knobs,
    resampled_means,
)
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

Block = Float[np.ndarray, "rep obs"]
Means = Float[np.ndarray, "*rep moment"]
Loss = Callable[[Block, Block], Block]
# A spread below this share of the mean square is the rounding of one that is zero.
RESOLUTION = 2.0**-40
# Resampled means held at once: 4 million doubles, or 32 MB.
MAX_DOUBLES = 4_000_000
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Metric:
    """A smooth function of means over the observations.

    A value that does not exist (the R² of a constant response) is NaN. In a scenario a metric
    is identified by `name`.

    Parameters
    ----------
    name
        Name of the metric.
    moments
        From responses and predictions, the moments: (rep, obs, moment).
    value
        From the means of the moments (..., moment), the metric (...).
    gradient
        From the same means, derivatives of the metric (..., moment).
    lower_is_better
        Whether lower values are better.
    """

    name: str
    moments: Callable[[Block, Block], Float[np.ndarray, "rep obs moment"]]
    value: Callable[[Means], Float[np.ndarray, "*rep"]]
    gradient: Callable[[Means], Means]
    lower_is_better: bool = True

    def identity_text(self) -> str:
        """Return the text that represents the metric in random streams and in the store.

        Returns
        -------
        str
            The name, quoted.
        """
        return repr(self.name)

    def __str__(self) -> str:
        return self.name


class MetricEstimate(NamedTuple):
    """A metric of each replicate, with its standard error.

    Attributes
    ----------
    value : float array (rep,)
        The metric.
    std_error : float array (rep,)
        Its standard error, in the metric's units.
    """

    value: Float[np.ndarray, " rep"]
    std_error: Float[np.ndarray, " rep"]


# Losses: one number per observation ---------------------------------------------------------------


@reading
def squared_error(y: Block, prediction: Block) -> Block:
    """Compute (y - prediction)².

    Parameters
    ----------
    y, prediction
        Response and prediction, one replicate per row.

    Returns
    -------
    Block
        In squared units of the response.
    """
    return np.asarray(np.square(y - prediction))


@reading
def absolute_error(y: Block, prediction: Block) -> Block:
    """Compute |y - prediction|.

    Parameters
    ----------
    y, prediction
        Response and prediction, one replicate per row.

    Returns
    -------
    Block
        In the units of the response.
    """
    return np.asarray(np.abs(y - prediction))


@reading
def absolute_percentage_error(y: Block, prediction: Block) -> Block:
    """Compute |y - prediction| / |y|, a proportion.

    Parameters
    ----------
    y, prediction
        Response and prediction, one replicate per row.

    Returns
    -------
    Block
        Proportions; not finite where y = 0, which has no percentage.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.abs(y - prediction) / np.abs(y))


@reading
def tweedie_loss(power: float) -> Loss:
    """Return the unit deviance of the Tweedie family: its mean is the Tweedie deviance.

    Parameters
    ----------
    power
        Variance power: 0 is the squared error, 1 Poisson, 2 gamma, 3 inverse Gaussian. Between 0
        and 1 no such distribution exists, and it is refused. A response or prediction outside the
        domain (prediction > 0 unless `power` = 0; y >= 0 from 1 on, y > 0 from 2 on) gives NaN.

    Returns
    -------
    Loss
        A function of responses and predictions.

    Raises
    ------
    DesignError
        If `power` is between 0 and 1, or not finite.

    References
    ----------
    Jørgensen (1987), J. R. Stat. Soc. B 49(2), 127-162.
    """
    if 0 < power < 1 or not np.isfinite(power):
        raise DesignError(
            f"power={power:g} belongs to no Tweedie distribution, so it has no deviance. Use a "
            "power of at most 0 or at least 1: 0 is the squared error, 1 Poisson, 2 gamma."
        )
    return partial(_tweedie_loss, power)


def _tweedie_loss(power: float, y: Block, prediction: Block) -> Block:
    with np.errstate(all="ignore"):
        deviance = _unit_deviance(y, prediction, power)
    return np.where(_in_domain(y, prediction, power), deviance, np.nan)


def _unit_deviance(y: Block, mu: Block, power: float) -> Block:
    if power == 0:
        return squared_error(y, mu)
    if power == 1:
        return np.asarray(2 * (special.xlogy(y, y / mu) - y + mu))
    if power == 2:
        return np.asarray(2 * (np.log(mu / y) + y / mu - 1))
    a, b = 1 - power, 2 - power
    return np.asarray(2 * (np.maximum(y, 0) ** b / (a * b) - y * mu**a / a + mu**b / b))


def _in_domain(y: Block, mu: Block, power: float) -> Bool[np.ndarray, "rep obs"]:
    """An infinite prediction has a finite deviance beyond power 2, and is no prediction."""
    finite = np.isfinite(y) & np.isfinite(mu)
    if power == 0:
        return np.asarray(finite)
    if power < 0:
        return np.asarray(finite & (mu > 0))
    return np.asarray(finite & (mu > 0) & ((y > 0) if power >= 2 else (y >= 0)))


# Metrics: functions of means ----------------------------------------------------------------------


def mean_metric(name: str, loss: Loss) -> Metric:
    """Make a metric of the mean of a loss.

    Parameters
    ----------
    name
        Name of the metric.
    loss
        From responses and predictions, the loss of each observation.

    Returns
    -------
    Metric
        The metric.
    """
    return Metric(name, partial(_one_moment, loss), _first_mean, np.ones_like)


def _one_moment(loss: Loss, y: Block, prediction: Block) -> Float[np.ndarray, "rep obs 1"]:
    return loss(y, prediction)[..., np.newaxis]


def _first_mean(means: Means) -> Float[np.ndarray, "*rep"]:
    return np.asarray(means[..., 0])


def _root_of_first(means: Means) -> Float[np.ndarray, "*rep"]:
    return np.asarray(np.sqrt(means[..., 0]))


@reading
def tweedie_deviance(power: float) -> Metric:
    """Return the mean Tweedie deviance; see `tweedie_loss`.

    Parameters
    ----------
    power
        Variance power: 0 is the squared error, 1 Poisson, 2 gamma.

    Returns
    -------
    Metric
        The metric.
    """
    return mean_metric(f"tweedie_{power:g}", tweedie_loss(power))


def _about_mean(x: Block) -> Block:
    """Distances from the replicate's mean: metrics blind to location lose no digits to it."""
    equal = x.min(axis=1, keepdims=True) == x.max(axis=1, keepdims=True)
    return np.where(equal, 0.0, x - x.mean(axis=1, keepdims=True))


def _spread(
    first: Float[np.ndarray, "*rep"], second: Float[np.ndarray, "*rep"]
) -> Float[np.ndarray, "*rep"]:
    """Variance from two moments; NaN where it is zero but for rounding, and nothing divides."""
    variance = second - first**2
    return np.where(variance > RESOLUTION * second, variance, np.nan)


def _r2_moments(y: Block, prediction: Block) -> Float[np.ndarray, "rep obs 3"]:
    response = _about_mean(y)
    return np.stack([squared_error(y, prediction), response, response**2], axis=-1)


def _r2_value(means: Means) -> Float[np.ndarray, "*rep"]:
    return np.asarray(1 - means[..., 0] / _spread(means[..., 1], means[..., 2]))


def _r2_gradient(means: Means) -> Means:
    mse, mean, spread = means[..., 0], means[..., 1], _spread(means[..., 1], means[..., 2])
    return np.stack([-1 / spread, -2 * mse * mean / spread**2, mse / spread**2], axis=-1)


def _pair_moments(y: Block, prediction: Block) -> Float[np.ndarray, "rep obs 5"]:
    """Response, prediction, their squares and their product, about the replicate's means."""
    a, b = _about_mean(y), _about_mean(prediction)
    return np.stack([a, b, a * a, b * b, a * b], axis=-1)


def _correlation_value(means: Means) -> Float[np.ndarray, "*rep"]:
    a, b, aa, bb, ab = np.moveaxis(means, -1, 0)
    return np.asarray((ab - a * b) / np.sqrt(_spread(a, aa) * _spread(b, bb)))


def _correlation_gradient(means: Means) -> Means:
    a, b, aa, bb, _ = np.moveaxis(means, -1, 0)
    var_a, var_b, r = _spread(a, aa), _spread(b, bb), _correlation_value(means)
    scale = np.sqrt(var_a * var_b)
    by_a, by_b = -b / scale + r * a / var_a, -a / scale + r * b / var_b
    return np.stack([by_a, by_b, -r / (2 * var_a), -r / (2 * var_b), 1 / scale], axis=-1)


def _slope_value(means: Means) -> Float[np.ndarray, "*rep"]:
    a, b, _, bb, ab = np.moveaxis(means, -1, 0)
    return np.asarray((ab - a * b) / _spread(b, bb))


def _slope_gradient(means: Means) -> Means:
    a, b, _, bb, _ = np.moveaxis(means, -1, 0)
    var_b, slope = _spread(b, bb), _slope_value(means)
    by_b = (2 * slope * b - a) / var_b
    return np.stack([-b / var_b, by_b, np.zeros_like(a), -slope / var_b, 1 / var_b], axis=-1)


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


# Standard errors ----------------------------------------------------------------------------------


def _moments(metric: Metric, y: Block, prediction: Block) -> Float[np.ndarray, "rep obs moment"]:
    _check_blocks(y, prediction)
    with np.errstate(all="ignore"):
        return metric.moments(y, prediction)


@reading
def influence(metric: Metric, y: Block, prediction: Block) -> Float[np.ndarray, "rep obs"]:
    """Compute how far each observation pulls the metric: gradient times distance from the means.

    Parameters
    ----------
    metric
        A function of means.
    y, prediction
        Response and prediction, one replicate per row.

    Returns
    -------
    float array (rep, obs)
        Influences, in the metric's units.

    References
    ----------
    Hampel (1974), J. Am. Stat. Assoc. 69, 383-393.
    """
    moments = _moments(metric, y, prediction)
    with np.errstate(all="ignore"):
        means = moments.mean(axis=1, keepdims=True)
        return np.asarray((metric.gradient(means) * (moments - means)).sum(axis=-1))


@reading
def estimate(metric: Metric, y: Block, prediction: Block, *, ddof: int = 0) -> MetricEstimate:
    """Compute a metric and its influence-function standard error, for every replicate.

    Parameters
    ----------
    metric
        A function of means.
    y, prediction
        Response and prediction, one replicate per row. A replicate with a value that is not
        finite, or for which the metric does not exist, has the answer NaN.
    ddof
        0 (default) for the infinitesimal jackknife, which for a mean is the bootstrap of infinitely
        many resamples; 1 for the textbook standard error of a mean, s / √n. Others are refused.

    Returns
    -------
    MetricEstimate
        Metric and standard error.

    Raises
    ------
    DesignError
        If `ddof` is neither 0 nor 1.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, section 21.
    """
    if ddof not in (0, 1):
        raise DesignError(
            f"ddof={ddof} is no divisor of a standard error. Use 0, which is that of infinitely "
            "many resamples, or 1, the textbook's for a mean."
        )
    pulls = influence(metric, y, prediction)
    with np.errstate(all="ignore"):
        value = metric.value(_moments(metric, y, prediction).mean(axis=1))
        std_error = np.sqrt((pulls**2).sum(axis=1) / (y.shape[1] * (y.shape[1] - ddof)))
    known = np.isfinite(value) & np.isfinite(std_error)
    return MetricEstimate(np.where(known, value, np.nan), np.where(known, std_error, np.nan))


# Bootstraps ---------------------------------------------------------------------------------------


@reading
def metric_bootstrap(
    metric: Metric,
    y: Block,
    prediction: Block,
    rng: np.random.Generator,
    *,
    k: float,
    n_boot: int = 1000,
    ddof: int = 1,
) -> StudentizedBootstrap:
    """Compute the bootstrap variance and studentized quantile of a function of means.

    The inner standard error is the influence-function one of the resample, which needs the means
    of the products of the moments too: all are resampled by the compiled loop, on the same
    indices. For the mean of a loss this is `bootstrap.losses.studentized_bootstrap`.

    Parameters
    ----------
    metric
        A function of means.
    y, prediction
        One replicate per row.
    rng
        Two words per replicate, as in `bootstrap.losses.resampled_means`.
    k, n_boot, ddof
        See `bootstrap.losses.studentized_bootstrap`; `ddof` is that of the bootstrap variance.

    Returns
    -------
    StudentizedBootstrap
        One value per replicate. NaN where the metric does not exist, in the sample or in any
        resample: R² of a resample that holds one observation n times, for example.

    Raises
    ------
    DesignError
        If there is no replicate, or a setting is out of range.
    """
    check_knobs(k=k, n_boot=n_boot, ddof=ddof)
    if not len(y):
        raise DesignError(
            f"y of shape {np.shape(y)} holds no replicate, so there is nothing to resample. Give "
            "at least one row: y[np.newaxis] for one sample."
        )
    moments = _moments(metric, y, prediction)
    n_moment = moments.shape[2]
    at_once = max(1, MAX_DOUBLES // (n_boot * n_moment * (n_moment + 3) // 2))
    parts = [
        _bootstrap_part(metric, moments[start : start + at_once], rng, k, n_boot, ddof)
        for start in range(0, len(y), at_once)
    ]
    mean, variance, quantile, n_constant = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return StudentizedBootstrap(mean, variance, quantile, n_constant, float(k))


Columns = tuple[
    Float[np.ndarray, " rep"],
    Float[np.ndarray, " rep"],
    Float[np.ndarray, " rep"],
    Int[np.ndarray, " rep"],
]


def _bootstrap_part(
    metric: Metric,
    moments: Float[np.ndarray, "rep obs moment"],
    rng: np.random.Generator,
    k: float,
    n_boot: int,
    ddof: int,
) -> Columns:
    n_obs, n_moment = moments.shape[1:]
    finite = np.isfinite(moments).all(axis=(1, 2), keepdims=True)
    centre = np.where(finite, moments, np.nan).mean(axis=1)
    about = np.where(finite, moments - centre[:, np.newaxis], 0.0)
    first, second = np.triu_indices(n_moment)
    columns = np.concatenate([about, about[..., first] * about[..., second]], axis=2)
    means = resampled_means(columns, rng, n_boot=n_boot)
    shift, products = means[..., :n_moment], means[..., n_moment:]
    with np.errstate(all="ignore"):
        at = centre[:, np.newaxis] + shift
        covariance = products - shift[..., first] * shift[..., second]
        gradient = metric.gradient(at)
        weight = np.where(first == second, 1.0, 2.0) * gradient[..., first] * gradient[..., second]
        spread, size = (weight * covariance).sum(axis=-1), np.abs(weight * products).sum(axis=-1)
        value, draws = metric.value(centre), metric.value(at)
    inner = np.where(spread <= n_obs * EPS * size, 0.0, spread) / n_obs
    return _summarise(value, draws, inner, k, ddof)


def _summarise(
    value: Float[np.ndarray, " rep"],
    draws: Float[np.ndarray, "rep boot"],
    inner: Float[np.ndarray, "rep boot"],
    k: float,
    ddof: int,
) -> Columns:
    """Variance of the draws, and the quantile of their distances in inner standard errors."""
    distance = draws - value[:, np.newaxis]
    with np.errstate(all="ignore"):
        t = np.where((inner == 0) & (distance == 0), 0.0, distance / np.sqrt(inner))
        quantile = np.quantile(t, special.ndtr(-k), axis=1)
        variance = draws.var(axis=1, ddof=ddof)
    known = np.isfinite(quantile) & (variance > 0)
    return value, variance, np.where(known, quantile, np.nan), (inner == 0).sum(axis=1)


def _check_blocks(y: Float[np.ndarray, "..."], prediction: Float[np.ndarray, "..."]) -> None:
    if y.ndim != 2 or y.shape != prediction.shape or y.shape[1] < 2:
        raise DesignError(
            f"y has shape {y.shape} and the prediction {prediction.shape}, so observations cannot "
            "be paired. Give both one replicate per row and at least 2 columns: y[np.newaxis, :] "
            "for a single sample."
        )
