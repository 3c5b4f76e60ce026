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

R2_FORMS = ("r2_mean_square", "r2_variance", "r2_misplaced", "r2_clipped", "r2_published")
UTILITIES = ("mae", "mse", "rmse", *R2_FORMS, "elpd")
CLIPPED_FROM = {"r2_clipped": "r2_variance", "r2_published": "r2_misplaced"}

PerObservation = Float[np.ndarray, "rep obs"]
PerReplicate = Float[np.ndarray, " rep"]


class Pointwise(NamedTuple):
    """Responses, their leave-one-out errors, and log predictive densities (None: elpd is NaN)."""

    y: Float[np.ndarray, "rep obs"]
    error: Float[np.ndarray, "rep obs"]
    log_density: Float[np.ndarray, "rep obs"] | None = None


class Estimate(NamedTuple):
    """Utilities in the order of `UTILITIES`, and their standard errors.

    MAE and RMSE are in the units of the response, MSE in their square, R² is a share, and elpd a
    sum over observations, in nats.
    """

    value: Float[np.ndarray, "rep utility"]
    std_error: Float[np.ndarray, "rep utility"]


def taylor(pointwise: Pointwise) -> Estimate:
    """Every utility with Taylor's standard error (Lindgren, equation for R²).

    R² of a constant response is NaN. A model without any error has RMSE 0 with standard error 0.
    """
    return _estimate(list(linearised(pointwise).values()))


def taylor_difference(first: Pointwise, second: Pointwise) -> Estimate:
    """Utilities of the first model less those of the second, on the same data."""
    pairs = zip(linearised(first).values(), linearised(second).values(), strict=True)
    return _estimate([(a - b, psi - other) for (a, psi), (b, other) in pairs])


def _estimate(parts: list[tuple[PerReplicate, PerObservation]]) -> Estimate:
    values, influences = zip(*parts, strict=True)
    n_obs = influences[0].shape[1]
    errors = [np.sqrt((psi**2).sum(axis=1) / (n_obs * (n_obs - 1))) for psi in influences]
    return Estimate(np.stack(values, axis=-1), np.stack(errors, axis=-1))


def linearised(pointwise: Pointwise) -> dict[str, tuple[PerReplicate, PerObservation]]:
    """Value and influences of each utility (Hampel 1974, J. Am. Stat. Assoc. 69, 383-393)."""
    n_obs, error = pointwise.y.shape[1], pointwise.error
    square, log_density = error**2, log_densities(pointwise)
    mse, psi = square.mean(axis=1), _centred(square)
    rmse = np.sqrt(mse)
    r2 = _r2_forms(pointwise.y, error)
    for name, raw in CLIPPED_FROM.items():  # small changes of weights do not move clipped values
        value, own = r2[raw]
        outside = (np.abs(value) >= 1)[:, np.newaxis] & ~np.isnan(own)
        r2[name] = np.clip(value, -1, 1), np.where(outside, 0.0, own)
    return {
        "mae": (np.abs(error).mean(axis=1), _centred(np.abs(error))),
        "mse": (mse, psi),
        "rmse": (rmse, psi / np.where(rmse > 0, 2 * rmse, 1.0)[:, np.newaxis]),
        **r2,
        "elpd": (log_density.sum(axis=1), n_obs * _centred(log_density)),
    }


def _r2_forms(
    y: PerObservation, error: PerObservation
) -> dict[str, tuple[PerReplicate, PerObservation]]:
    """1 - part / V with -(psi of the part - (1 - R²) psi of V) / V; NaN for a constant response.

    The mean of y has no influence on V.
    """
    n_obs, square = y.shape[1], error**2
    about, own_variance = about_mean(y) ** 2, _centred(error) ** 2
    total = about.mean(axis=1)
    total = np.where(total > 0, total, np.nan)
    mse = square.mean(axis=1)
    parts = {
        "r2_mean_square": (mse, _centred(square)),
        "r2_variance": (own_variance.mean(axis=1), _centred(own_variance)),
        "r2_misplaced": ((1 - 1 / n_obs) * mse, (1 - 2 / n_obs) * _centred(square)),
    }
    found = {}
    for name, (part, psi) in parts.items():
        share = part / total
        baseline = share[:, np.newaxis] * _centred(about)
        found[name] = 1 - share, (baseline - psi) / total[:, np.newaxis]
    return found


def _centred(values: PerObservation) -> PerObservation:
    return np.asarray(values - values.mean(axis=1, keepdims=True))


def about_mean(y: PerObservation) -> PerObservation:
    """Each row less its mean: exactly zero for a constant response."""
    return np.where(np.ptp(y, axis=1, keepdims=True) == 0, 0.0, _centred(y))


def log_densities(pointwise: Pointwise) -> PerObservation:
    """The log densities, or NaN where the model gave none."""
    if pointwise.log_density is None:
        return np.full_like(pointwise.y, np.nan)
    return pointwise.log_density
