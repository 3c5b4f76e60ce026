"""Metrics of samples that are rows of a pool: cases drawn again, groups of cases, merged rows.

A row holds the moments of a case or, with its size in the last column, the sums of a group's. The
metric of sums over sizes is a function of means as well, so groups are resampled as cases are.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.documents.stats.mean_bootstrap import plain_resampled_means
from simstudy.documents.stats.models import metrics
from simstudy.documents.stats.models.metrics import Metric
from simstudy.documents.stats.models.trial import Stage, stage_of_metric
from simstudy.errors import DesignError

METRICS: Mapping[str, Metric] = {
    each.name: each
    for each in (
        metrics.MAE, metrics.MSE, metrics.RMSE, metrics.MAPE, metrics.R2, metrics.CORRELATION,
        metrics.CALIBRATION_SLOPE,
    )
}  # fmt: skip
N_MERGED = 10_000  # groups of merged rows: sums have the same standard error and skewness

Pool = Float[np.ndarray, "row moment"]


def pool_of(
    metric: Metric,
    y: Float[np.ndarray, " case"],
    prediction: Float[np.ndarray, " case"],
    codes: Int[np.ndarray, " case"] | None = None,
) -> Pool:
    """The moments of each case or, by the codes of groups from 0, sums of each group and its size.

    Sizes, in the last column, are relative to the mean size.
    """
    with np.errstate(all="ignore"):
        moments = metric.moments(y[np.newaxis], prediction[np.newaxis])[0]
    if not np.isfinite(moments).all():
        row = int((~np.isfinite(moments).all(axis=1)).argmax())
        raise DesignError(
            f"row {row + 1} has no {metric.name} (y {y[row]:g}, prediction {prediction[row]:g}). "
            "Use another metric, or leave the row out."
        )
    return moments if codes is None else _sums(np.insert(moments, moments.shape[1], 1.0, 1), codes)


def merge_rows(pool: Pool, rng: np.random.Generator, *, has_sizes: bool) -> Pool:
    """Merge rows into 10,000 random groups, with sizes: to first order with the same bootstrap."""
    sized = pool if has_sizes else np.insert(pool, pool.shape[1], 1.0, 1)
    return _sums(sized, rng.permutation(len(pool)) % N_MERGED)


def _sums(sized: Pool, codes: Int[np.ndarray, " case"]) -> Pool:
    """Sums of each group, over the mean size."""
    sums = np.stack([np.bincount(codes, weights=column) for column in sized.T], axis=1)
    return np.asarray(sums / sums[:, -1].mean())


def pooled_metric(metric: Metric, pool: Pool, *, has_sizes: bool) -> Metric:
    """The metric whose `moments` take rows of the pool in the place of responses."""

    def rows(row: Any, _: Any) -> Any:
        return pool[row]

    def value(means: Any) -> Any:
        return metric.value(means[..., :-1] / means[..., -1:])

    def gradient(means: Any) -> Any:
        size = means[..., -1:]
        ratio = means[..., :-1] / size
        slope = metric.gradient(ratio)
        return np.concatenate([slope, -(slope * ratio).sum(axis=-1, keepdims=True)], axis=-1) / size

    if not has_sizes:
        return Metric(metric.name, rows, metric.value, metric.gradient, metric.lower_is_better)
    return Metric(metric.name, rows, value, gradient, metric.lower_is_better)


def stage_of_rows(
    metric: Metric,
    rows: Int[np.ndarray, "rep case"],
    rng: np.random.Generator,
    *,
    k: float,
    n_boot: int,
) -> Stage:
    """The stage of samples that are rows of a pool, by a metric from `pooled_metric`."""
    moments = metric.moments(rows, rows)
    return stage_of_metric(metric, moments, rng, k=k, n_boot=n_boot, resample=plain_resampled_means)
