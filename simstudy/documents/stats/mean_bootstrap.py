"""Bootstrap of means, every replicate of a block at once, all columns on the same resamples."""

import numpy as np

from simstudy.array_types import Float, Int, UInt64

MAX_COUNTS = 1 << 15  # counts held at once without the compiled loop: they stay in the cache


def replicate_seeds(rng: np.random.Generator, n_rep: int) -> UInt64[np.ndarray, "rep 2"]:
    """Words that start each replicate's two streams: resamples, and inner resamples."""
    return rng.integers(0, 2**64, size=(n_rep, 2), dtype=np.uint64)


def resampled_means(
    values: Float[np.ndarray, "rep obs column"], rng: np.random.Generator, *, n_boot: int
) -> Float[np.ndarray, "rep boot column"]:
    """Mean of every column over every resample of each replicate's observations, compiled."""
    return means_of_streams(values, replicate_seeds(rng, len(values)), n_boot)


def means_of_streams(
    values: Float[np.ndarray, "rep obs column"], seeds: UInt64[np.ndarray, "rep 2"], n_boot: int
) -> Float[np.ndarray, "rep boot column"]:
    """`resampled_means` of the streams that these words start."""
    from simstudy.documents.stats import _resample_sums as compiled

    means = np.empty((len(values), values.shape[2], n_boot))
    columns = np.ascontiguousarray(values.transpose(0, 2, 1), float)
    compiled.resampled_means(columns, seeds[:, 0].copy(), means)
    return means.transpose(0, 2, 1)


def plain_resampled_means(
    values: Float[np.ndarray, "rep obs column"], rng: np.random.Generator, *, n_boot: int
) -> Float[np.ndarray, "rep boot column"]:
    """Means as of `resampled_means`, for other resamples, without a compiler."""
    n_rep, n_obs, n_column = values.shape
    means, at_once = np.empty((n_rep, n_boot, n_column)), max(1, MAX_COUNTS // n_obs)
    for rep in range(n_rep):
        for start in range(0, n_boot, at_once):
            n_here = min(at_once, n_boot - start)
            counts = _counts(rng.integers(0, n_obs, size=(n_here, n_obs)))
            means[rep, start : start + n_here] = counts @ values[rep] / n_obs
    return means


def inner_variances(
    values: Float[np.ndarray, "rep obs column"],
    seeds: UInt64[np.ndarray, "rep 2"],
    n_boot: int,
    n_inner: int,
) -> Float[np.ndarray, "rep boot column"]:
    """Variance of each column's mean over inner resamples of every resample.

    One pattern of inner positions serves all resamples of a replicate, as in published code.
    """
    n_rep, n_obs, n_column = values.shape
    variances = np.empty((n_rep, n_boot, n_column))
    for rep, (outer, inner) in enumerate(seeds):
        drawn = _indices(outer, n_boot, n_obs)
        weights = _counts(_indices(inner, n_inner, n_obs)).T / n_obs
        for column in range(n_column):
            inner_means = values[rep, :, column][drawn] @ weights
            variances[rep, :, column] = inner_means.var(axis=1)
    return variances


def _indices(seed: np.uint64, n_resample: int, n_obs: int) -> Int[np.ndarray, "resample obs"]:
    from simstudy.documents.stats import _resample_sums as compiled

    drawn = np.empty((n_resample, n_obs), np.uint32)
    compiled.fill_indices(seed, drawn)
    return drawn.astype(np.int64)


def _counts(drawn: Int[np.ndarray, "resample obs"]) -> Float[np.ndarray, "resample obs"]:
    """How often each resample holds each observation."""
    n_resample, n_obs = drawn.shape
    cells = drawn + n_obs * np.arange(n_resample)[:, np.newaxis]
    counts = np.bincount(cells.ravel(), minlength=cells.size)
    return counts.reshape(drawn.shape).astype(float)


def bootstrap_variance(
    losses: Float[np.ndarray, "rep obs metric"], rng: np.random.Generator, *, n_boot: int
) -> Float[np.ndarray, "rep metric"]:
    """Bootstrap variance of each mean loss, divisor `n_boot`, in the units of the loss squared."""
    centred = losses - losses.mean(axis=1, keepdims=True)
    return np.asarray(resampled_means(centred, rng, n_boot=n_boot).var(axis=1))


def ideal_variance(losses: Float[np.ndarray, "rep obs metric"]) -> Float[np.ndarray, "rep metric"]:
    """Bootstrap variance of infinitely many resamples: population variance over n.

    Efron & Tibshirani (1993), An Introduction to the Bootstrap, equation 5.12.
    """
    return np.asarray(losses.var(axis=1) / losses.shape[1])
