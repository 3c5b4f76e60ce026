"""Metrics of samples that are rows of a pool: cases drawn again, groups of cases, merged rows.

A row holds the moments of a case or, with its size in the last column, the sums of a group's. The
metric of sums over sizes is a function of means as well, so groups are resampled as cases are.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simstudy.array_types import Float, Int
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
    """Compute the moments of each case, or of each group.

    Parameters
    ----------
    metric
        A function of means.
    y, prediction : float array (case,)
        Responses and predictions.
    codes : int array (case,), optional
        Group of each case, from 0; then rows are the groups' sums and, last, their sizes, relative
        to the mean size.

    Returns
    -------
    float array (row, moment)
        The pool.

    Raises
    ------
    DesignError
        If a case has no finite moment.
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
    """Merge the rows of a large pool into 10,000 random groups.

    To first order the bootstrap of the groups is that of the rows.

    Parameters
    ----------
    pool : float array (row, moment)
        The pool.
    rng
        Decides which rows go together.
    has_sizes
        Whether the last column holds sizes already.

    Returns
    -------
    float array (row, moment)
        A pool with sizes in the last column.
    """
    sized = pool if has_sizes else np.insert(pool, pool.shape[1], 1.0, 1)
    return _sums(sized, rng.permutation(len(pool)) % N_MERGED)


def _sums(sized: Pool, codes: Int[np.ndarray, " case"]) -> Pool:
    """Sums of each group, over the mean size."""
    sums = np.stack([np.bincount(codes, weights=column) for column in sized.T], axis=1)
    return np.asarray(sums / sums[:, -1].mean())


def pooled_metric(metric: Metric, pool: Pool, *, has_sizes: bool) -> Metric:
    """Make the metric of cases that are given by their row in a pool of moments.

    Parameters
    ----------
    metric
        The metric.
    pool : float array (row, moment)
        The pool.
    has_sizes
        Whether its last column holds sizes.

    Returns
    -------
    Metric
        Its `moments` take rows of the pool in the place of responses.
    """

    def rows(y: Any, _: Any) -> Any:
        return np.asarray(pool[np.asarray(y, dtype=np.intp)])

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
    """Compute the stage of samples that are rows of a pool.

    Parameters
    ----------
    metric
        From `pooled_metric`.
    rows : int array (rep, case)
        Rows of the pool, one sample in each row.
    rng
        Generator of the resamples.
    k
        Standard errors from the estimate to the bound.
    n_boot
        Resamples.

    Returns
    -------
    Stage
        The stage.
    """
    block = rows.astype(float)
    return stage_of_metric(metric, block, np.zeros_like(block), rng, k=k, n_boot=n_boot)
