"""Utilities of leave-one-out predictions, and their standard errors by Taylor's formula.

A utility is a function T of weights w on the observations, taken at w = 1/n. Close to there

    T(w) = T(1/n) + sum_i (w_i - 1/n) psi_i,    sum_i psi_i = 0,

and psi is the influence of each observation. Taylor's standard error is that of a mean of psi:

    SE² = sum_i psi_i² / (n (n - 1)).

The error of a difference of two models on the same data is that of the difference of their psi, so
what the two share cancels. `docs/documents/leave_one_out.md` derives every row.

R² has five forms. V is the mean square of y about its mean, e are leave-one-out errors.

================  ==============================================================================
`r2_mean_square`  1 - MSE / V: a ratio of two means, V about the mean of the sample
`r2_variance`     1 - Var(e) / Var(y), each about its own mean: the bootstrap's comparator, right
`r2_misplaced`    the same with a parenthesis misplaced: sum (w e)² for (sum w e)²
`r2_clipped`      `r2_variance`, clipped to [-1, 1]
`r2_published`    `r2_misplaced`, clipped to [-1, 1]: what rstanarm's `loo_R2` returns
================  ==============================================================================
"""

from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import check_choice, check_count
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError

R2_FORMS = ("r2_mean_square", "r2_variance", "r2_misplaced", "r2_clipped", "r2_published")
UTILITIES = ("mae", "mse", "rmse", *R2_FORMS, "elpd")
CLIPPED_FROM = {"r2_clipped": "r2_variance", "r2_published": "r2_misplaced"}

DOUBLES = np.finfo(float)
MIN_SIZE = float((DOUBLES.tiny / DOUBLES.eps**2) ** 0.25)  # fourth powers keep all digits

PerObservation = Float[np.ndarray, "rep obs"]


class Pointwise(NamedTuple):
    """Leave-one-out predictions of each observation by one model.

    Attributes
    ----------
    y : float array (rep, obs)
        The response.
    error : float array (rep, obs)
        The response less its leave-one-out prediction, in its units.
    log_density : float array (rep, obs) or None
        Log of the leave-one-out predictive density at the response; None where the model gives
        none, and elpd is then NaN.
    """

    y: Float[np.ndarray, "rep obs"]
    error: Float[np.ndarray, "rep obs"]
    log_density: Float[np.ndarray, "rep obs"] | None = None


class Estimate(NamedTuple):
    """Utilities in the order of `UTILITIES`, and their standard errors.

    MAE and RMSE are in the units of the response, MSE in their square, R² is a share, and elpd is
    a sum over observations, in nats.

    Attributes
    ----------
    value : float array (rep, utility)
        MAE and RMSE in the units of the response, MSE in their square, R² as a share, elpd as a
        sum over observations, in nats.
    std_error : float array (rep, utility)
        Standard errors, in the same units.
    """

    value: Float[np.ndarray, "rep utility"]
    std_error: Float[np.ndarray, "rep utility"]


@reading
def taylor_ratio(n_obs: int) -> float:
    """Compute Taylor's standard error over the Bayesian bootstrap's with infinitely many draws.

    sqrt((n + 1) / (n - 1)): for MAE, MSE, elpd and their differences always, for the others to
    first order. Weights of the Bayesian bootstrap have variance (n - 1) / (n² (n + 1)) each.

    Parameters
    ----------
    n_obs
        Observations, at least 2.

    Returns
    -------
    float
        The ratio, above 1.
    """
    check_count("n_obs", n_obs, least=2, meaning="a standard error")
    return float(np.sqrt((n_obs + 1) / (n_obs - 1)))


@reading
def taylor(pointwise: Pointwise) -> Estimate:
    """Compute every utility with Taylor's standard error.

    R² of a constant response is NaN: nothing is there to be explained. A model without any error
    has RMSE 0 with standard error 0.

    Parameters
    ----------
    pointwise
        One replicate per row, at least two observations.

    Returns
    -------
    Estimate
        Utilities with their standard errors.

    References
    ----------
    Lindgren, Analytical approximations for leave one out utility standard errors, equation for R².
    Vehtari, Gelman & Gabry (2017), Statistics and Computing 27, 1413-1432, for elpd.
    """
    check_pointwise(pointwise)
    values = [_value(pointwise, name) for name in UTILITIES]
    errors = [mean_std_error(_influence(pointwise, name)) for name in UTILITIES]
    return Estimate(np.stack(values, axis=-1), np.stack(errors, axis=-1))


@reading
def taylor_difference(first: Pointwise, second: Pointwise) -> Estimate:
    """Compare two models of the same data: first less second, in every utility.

    Parameters
    ----------
    first, second
        Predictions of two models of the same data.

    Returns
    -------
    Estimate
        Differences with their standard errors.

    Raises
    ------
    DesignError
        If the responses differ: the two are then not paired.
    """
    check_paired(first, second)
    values = [_value(first, name) - _value(second, name) for name in UTILITIES]
    errors = [
        mean_std_error(_influence(first, name) - _influence(second, name)) for name in UTILITIES
    ]
    return Estimate(np.stack(values, axis=-1), np.stack(errors, axis=-1))


@reading
def influence(pointwise: Pointwise, utility: str) -> PerObservation:
    """Compute the influence of each observation on one utility, in its units.

    Parameters
    ----------
    pointwise
        One replicate per row, at least two observations.
    utility
        One of `UTILITIES`.

    Returns
    -------
    PerObservation
        Influences; a row sums to zero.

    References
    ----------
    Hampel (1974), J. Am. Stat. Assoc. 69, 383-393.
    """
    check_choice("utility", utility, UTILITIES)
    check_pointwise(pointwise)
    return _influence(pointwise, utility)


@reading
def mean_std_error(psi: PerObservation) -> Float[np.ndarray, " rep"]:
    """Compute the standard error of a mean, divisor n - 1, from values about their mean.

    Parameters
    ----------
    psi
        Values about their mean, one replicate per row.

    Returns
    -------
    float array (rep,)
        Standard errors.
    """
    n_obs = psi.shape[1]
    return np.asarray(np.sqrt((psi**2).sum(axis=1) / (n_obs * (n_obs - 1))))


# ---------------------------------------------------------------- values at equal weights
def _mean(values: PerObservation) -> Float[np.ndarray, " rep"]:
    return np.asarray(values.mean(axis=1))


def _centred(values: PerObservation) -> PerObservation:
    return np.asarray(values - values.mean(axis=1, keepdims=True))


def _share(
    part: Float[np.ndarray, "*rep"], whole: Float[np.ndarray, "*rep"]
) -> Float[np.ndarray, "*rep"]:
    """NaN where the whole is nothing."""
    return np.asarray(np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0))


@reading
def about_mean(y: PerObservation) -> PerObservation:
    """Subtract the mean of each row: exactly zero for a constant response.

    Parameters
    ----------
    y
        Values, one replicate per row.

    Returns
    -------
    PerObservation
        The differences.
    """
    constant = np.ptp(y, axis=1, keepdims=True) == 0
    return np.where(constant, 0.0, _centred(y))


def _mse(pointwise: Pointwise) -> Float[np.ndarray, " rep"]:
    return _mean(pointwise.error**2)


def _total(pointwise: Pointwise) -> Float[np.ndarray, " rep"]:
    """V, the mean square that R² explains a share of."""
    return _mean(about_mean(pointwise.y) ** 2)


def _unexplained(pointwise: Pointwise, name: str) -> Float[np.ndarray, " rep"]:
    """The numerator of the share that is not explained."""
    if name == "r2_variance":
        return _mean(_centred(pointwise.error) ** 2)
    kept = 1 - 1 / pointwise.y.shape[1] if name == "r2_misplaced" else 1.0
    return np.asarray(kept * _mse(pointwise))


def _r2(pointwise: Pointwise, name: str) -> Float[np.ndarray, " rep"]:
    if name in CLIPPED_FROM:
        return np.asarray(np.clip(_r2(pointwise, CLIPPED_FROM[name]), -1, 1))
    return np.asarray(1 - _share(_unexplained(pointwise, name), _total(pointwise)))


@reading
def log_densities(pointwise: Pointwise) -> PerObservation:
    """Return the log densities, or NaN where the model gave none.

    Parameters
    ----------
    pointwise
        One replicate per row, at least two observations.

    Returns
    -------
    PerObservation
        Log densities.
    """
    if pointwise.log_density is None:
        return np.full_like(pointwise.y, np.nan)
    return pointwise.log_density


def _value(pointwise: Pointwise, name: str) -> Float[np.ndarray, " rep"]:
    if name in R2_FORMS:
        return _r2(pointwise, name)
    if name == "elpd":
        return np.asarray(log_densities(pointwise).sum(axis=1))
    if name == "mae":
        return _mean(np.abs(pointwise.error))
    mse = _mse(pointwise)
    return mse if name == "mse" else np.asarray(np.sqrt(mse))


# ---------------------------------------------------------------- influences
def _influence(pointwise: Pointwise, name: str) -> PerObservation:
    if name in CLIPPED_FROM:
        return _clipped_influence(pointwise, CLIPPED_FROM[name])
    if name in R2_FORMS:
        return _r2_influence(pointwise, name)
    if name == "elpd":
        return np.asarray(pointwise.y.shape[1] * _centred(log_densities(pointwise)))
    if name == "mae":
        return _centred(np.abs(pointwise.error))
    return _centred(pointwise.error**2) if name == "mse" else _rmse_influence(pointwise)


def _rmse_influence(pointwise: Pointwise) -> PerObservation:
    rmse = np.sqrt(_mse(pointwise))[:, np.newaxis]
    return np.asarray(_centred(pointwise.error**2) / np.where(rmse > 0, 2 * rmse, 1.0))


def _r2_influence(pointwise: Pointwise, name: str) -> PerObservation:
    """-(psi of the numerator - (1 - R²) psi of V) / V; the mean of y has no influence on V."""
    numerator, total = _unexplained(pointwise, name), _total(pointwise)
    around = _centred(pointwise.error) if name == "r2_variance" else pointwise.error
    kept = 1 - 2 / pointwise.y.shape[1] if name == "r2_misplaced" else 1.0
    own = kept * _centred(around**2)
    baseline = _centred(about_mean(pointwise.y) ** 2)
    share = _share(numerator, total)[:, np.newaxis]
    whole = np.where(total > 0, total, np.nan)[:, np.newaxis]
    return np.asarray((share * baseline - own) / whole)


def _clipped_influence(pointwise: Pointwise, name: str) -> PerObservation:
    """Influence of a utility, 0 where it is clipped: a small change of weights does not move it."""
    inside = np.abs(_r2(pointwise, name)) < 1
    psi = _r2_influence(pointwise, name)
    return np.where(inside[:, np.newaxis] | np.isnan(psi), psi, 0.0)


# ---------------------------------------------------------------- what is refused
def check_pointwise(pointwise: Pointwise) -> None:
    """Raise an error for anything but matching matrices of at least two observations.

    Parameters
    ----------
    pointwise
        One replicate per row, at least two observations.

    Raises
    ------
    DesignError
        If shapes differ, or there are fewer than two observations.
    """
    shapes = [part.shape for part in pointwise if part is not None]
    if len(set(shapes)) > 1 or len(shapes[0]) != 2:
        raise DesignError(
            f"pointwise parts have shapes {', '.join(map(str, shapes))}, so errors cannot be "
            "matched with responses. Give each as (replicate, observation)."
        )
    if shapes[0][1] < 2:
        raise DesignError(
            f"n_obs={shapes[0][1]} observations leave nothing to predict from once one is left "
            "out, and no spread. Give at least 2."
        )
    _check_size("errors", np.abs(pointwise.error).max(axis=1))
    _check_size("responses", np.ptp(pointwise.y, axis=1))


def _check_size(what: str, size: Float[np.ndarray, " rep"]) -> None:
    """Refuse what is not 0 and has no fourth power; NaN passes, and stays NaN."""
    off = ((size > 0) & (size < MIN_SIZE)) | (size > 1 / MIN_SIZE)
    if off.any():
        rep = int(np.argmax(off))
        raise DesignError(
            f"{what} of replicate {rep} spread over {size[rep]:.1g}, and the variance of their "
            f"squares is no double. Give the response in other units, so that it lies between "
            f"{MIN_SIZE:.0e} and {1 / MIN_SIZE:.0e}."
        )


def check_paired(first: Pointwise, second: Pointwise) -> None:
    """Raise an error for two models that did not see the same responses.

    Parameters
    ----------
    first, second
        Predictions of two models of the same data.

    Raises
    ------
    DesignError
        If the responses differ.
    """
    check_pointwise(first)
    check_pointwise(second)
    if not np.array_equal(first.y, second.y):
        raise DesignError(
            "the two models have different responses y, so their errors are not paired and the "
            "difference would have the wrong standard error. Predict the same y with both."
        )
