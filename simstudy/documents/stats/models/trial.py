"""The two-stage trial of a fitted model: two stages of a metric, and the verdict.

The first stage estimates a metric and its standard error on a test sample and sets the bound that
is k standard errors worse; the second tests on a prospective sample the null that the true metric
is no better than the bound. Each stage has two standard errors: the bootstrap's own ("vanilla"),
and that adjusted by the studentized quantile, so that k of it reach as far as the studentized
bound (Efron & Tibshirani 1993, An Introduction to the Bootstrap, section 12.5).
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.mean_bootstrap import (
    inner_variances,
    means_of_streams,
    replicate_seeds,
)
from simstudy.documents.stats.models.metrics import Metric, metric_draws
from simstudy.documents.stats.two_stage import TwoStageDesign, solve_design
from simstudy.errors import DesignError
from simstudy.lazy import special

METHODS = ("studentized", "vanilla")
MIN_TAIL_DRAWS = 5  # resamples beyond the studentized quantile, on average
MAX_DOUBLES = 4_000_000  # resampled means held at once: 32 MB
EPS = float(np.finfo(float).eps)

NOT_FINITE = "the metric is not a finite number"
NO_SPREAD = "the losses are constant, so their bootstrap has no standard error"
WRONG_SIDE = "the studentized quantile is on the wrong side of zero or infinite: nothing to scale"
REASONS = np.array([None, WRONG_SIDE, NO_SPREAD, NOT_FINITE], dtype=object)  # the last outweighs


class Stage(NamedTuple):
    """A metric on one sample, with standard errors by method, in the metric's units.

    `reach` is the distance of the bound in standard errors: minus the studentized quantile, and k
    itself for the vanilla bootstrap.
    """

    estimate: Float[np.ndarray, "rep 1 metric"]
    std_error: Float[np.ndarray, "rep method metric"]
    reach: Float[np.ndarray, "rep method metric"]


def _stage(
    estimate: Float[np.ndarray, "rep metric"],
    deviation: Float[np.ndarray, "rep boot metric"],
    inner: Float[np.ndarray, "rep boot metric"],
    k: float,
) -> Stage:
    """Both methods' standard errors, from deviations of resamples and their inner variances.

    The adjusted one is NaN where the quantile at Phi(-k) is infinite or on the wrong side of zero,
    as a scale is not negative. At k = 0 there is no reach to equate: it is the vanilla one.
    """
    std_error = deviation.std(axis=1)
    with np.errstate(all="ignore"):
        t = np.where(deviation == 0, 0.0, deviation / np.sqrt(inner))
        quantile = _quantile(t, float(special.ndtr(-k)))
    quantile = np.where(np.isfinite(quantile) & (std_error > 0), quantile, np.nan)
    factor = -quantile / k if k else np.where(np.isnan(quantile), np.nan, 1.0)
    adjusted = np.where(factor > 0, std_error * factor, np.nan)
    reach = [-quantile * np.copysign(1.0, k), np.full_like(quantile, abs(k))]
    return Stage(estimate[:, np.newaxis], np.stack([adjusted, std_error], 1), np.stack(reach, 1))


def _quantile(
    t: Float[np.ndarray, "rep boot metric"], probability: float
) -> Float[np.ndarray, "rep metric"]:
    """Quantile of the resamples, as `np.quantile`, in a third of its time."""
    place, n_boot = probability * (t.shape[1] - 1), t.shape[1]
    below = int(place)
    ordered = np.sort(t.transpose(0, 2, 1), axis=2)
    at, after = ordered[..., below], ordered[..., min(below + 1, n_boot - 1)]
    quantile = at + (place - below) * (after - at)
    return np.where(np.isnan(ordered[..., -1]), np.nan, quantile)


def stage_of_errors(
    error: Float[np.ndarray, "rep obs"],
    rng: np.random.Generator,
    *,
    k: float,
    n_boot: int,
    n_inner: float,
) -> Stage:
    """The stage of MSE and MAE, on the same resamples; `n_inner` = inf is the closed form."""
    seeds, n_obs = replicate_seeds(rng, len(error)), error.shape[1]
    with np.errstate(all="ignore"):  # errors that are not finite
        losses = np.stack([error**2, np.abs(error)], axis=1)
        estimate = losses.mean(axis=2)
        is_constant = losses.min(axis=2) == losses.max(axis=2)
        centre = np.where(is_constant, losses[..., 0], estimate)
        centred = losses - centre[..., np.newaxis]
        columns = np.concatenate([centred, centred**2], axis=1).transpose(0, 2, 1)
        means = means_of_streams(columns, seeds, n_boot)
        shift, square = means[..., :2], means[..., 2:]
        spread = square - shift**2
        inner = spread / n_obs
        if np.isfinite(n_inner):
            inner = inner_variances(columns[..., :2], seeds, n_boot, int(n_inner))
        inner = np.where(spread <= n_obs * EPS * square, 0.0, inner)
        return _stage(estimate, shift, inner, k)


def stage_of_metric(
    metric: Metric,
    moments: Float[np.ndarray, "rep obs moment"],
    rng: np.random.Generator,
    *,
    k: float,
    n_boot: int,
    resample: Callable[..., Float[np.ndarray, "rep boot column"]],
) -> Stage:
    """The stage of one metric by its moments; `resample` is one of `mean_bootstrap`.

    If more is better, losses are minus the metric: so is k.
    """
    n_moment = moments.shape[2]
    at_once = max(1, MAX_DOUBLES // (n_boot * n_moment * (n_moment + 3) // 2))
    means_of = functools.partial(resample, rng=rng, n_boot=n_boot)
    parts = [
        _stage(*metric_draws(metric, moments[at : at + at_once], means_of), _toward(metric, k))
        for at in range(0, len(moments), at_once)
    ]
    return Stage(*map(np.concatenate, zip(*parts, strict=True)))


def _toward(metric: Metric, k: float) -> float:
    return k if metric.lower_is_better else -k


def joined(stages: list[Stage]) -> Stage:
    """Stages of several metrics on the same sample, along the axis of metrics."""
    return Stage(*(np.concatenate(part, axis=-1) for part in zip(*stages, strict=True)))


def verdict(
    first: Stage, second: Stage, *, k: float, limit: float, sign: Any = 1
) -> dict[str, np.ndarray]:
    """Test a prospective sample against the bound from the test sample.

    `sign` is 1 where lower is better, -1 where higher is, for each metric. The answer has `bound`,
    `z` and `reject`, and `error` where a method has no answer.
    """
    bound = first.estimate + sign * k * first.std_error
    with np.errstate(divide="ignore", invalid="ignore"):
        z = sign * (second.estimate - bound) / second.std_error
    columns = {"bound": bound, "z": z, "reject": z < limit}
    reason = np.maximum(_reason(first), _reason(second))
    if reason.any():
        columns["error"] = REASONS[reason]
    return columns


def _reason(stage: Stage) -> np.ndarray:
    """Index into `REASONS`, 0 where nothing is wrong."""
    wrong = np.where(np.isfinite(stage.std_error), 0, 1)
    constant = stage.std_error[:, 1:] == 0
    return np.where(~np.isfinite(stage.estimate), 3, np.where(constant, 2, wrong))


def null_columns(
    bound: Float[np.ndarray, "..."],
    risk: Float[np.ndarray, "..."],
    *,
    suffix: str = "",
    sign: Any = 1,
) -> dict[str, np.ndarray]:
    """Whether the null, that the risk is no better than the bound, is false, and is true."""
    is_false = sign * (bound - risk) > 0
    return {f"null_is_false{suffix}": is_false, f"null_is_true{suffix}": ~is_false}


@functools.lru_cache(maxsize=256)
def trial_design(n_test: int, k: float, alpha: float, power: float) -> TwoStageDesign:
    """The prospective sample size and critical value, once for all blocks of a scenario."""
    return solve_design(n1=n_test, k=k, alpha=alpha, power=power)


def refuse_few_resamples(k: float, n_boot: int) -> None:
    """Refuse a quantile among the few most extreme resamples."""
    tail = float(special.ndtr(-abs(k)))
    if not n_boot * tail >= MIN_TAIL_DRAWS:
        least = MIN_TAIL_DRAWS / max(tail, 1e-300)
        raise DesignError(
            f"n_boot={n_boot} leaves {n_boot * tail:.2g} resamples beyond the quantile at k={k:g}, "
            "so the quantile would be one of the few most extreme draws. Use n_boot >= "
            f"{f'{least:.2g}' if least > 1e9 else int(np.ceil(least))}, or a smaller k."
        )
