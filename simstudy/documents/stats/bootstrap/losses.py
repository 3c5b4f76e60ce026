"""Bootstrap of performance metrics that are means of per-observation losses (MSE, MAE, ...).

Every replicate of a block at once, every metric on the same resamples. The variance over
resamples says how far a metric of n observations scatters; the studentized quantile says how much
further it reaches than a normal would, and the adjusted standard error has that reach built in.

The inner standard error of a studentized statistic has a closed form for a mean: infinitely many
inner resamples give the population variance of the outer resample over n. Inner Monte Carlo is
there too, for comparison with published work.
"""

from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int, UInt64
from simstudy.documents.stats.arguments import check_count, check_word
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

MIN_TAIL_DRAWS = 5


class StudentizedBootstrap(NamedTuple):
    """Results of a studentized bootstrap of each replicate's metrics.

    Attributes
    ----------
    mean : float array (*rep_metric)
        The metric itself.
    variance : float array (*rep_metric)
        Its bootstrap variance, in its units squared.
    quantile : float array (*rep_metric)
        The Φ(-k) quantile of t* = (metric* - metric) / inner standard error; NaN where it would
        be infinite, where the losses are constant, and where a loss is not finite.
    n_constant : int array (*rep_metric)
        Resamples without any spread, whose t* is infinite.
    k
        The quantile is that at Φ(-k).
    """

    mean: Float[np.ndarray, "*rep_metric"]
    variance: Float[np.ndarray, "*rep_metric"]
    quantile: Float[np.ndarray, "*rep_metric"]
    n_constant: Int[np.ndarray, "*rep_metric"]
    k: float

    @property
    def std_error(self) -> Float[np.ndarray, "*rep_metric"]:
        """Bootstrap standard error, in the units of the metric."""
        return np.asarray(np.sqrt(self.variance))

    @property
    def adjusted_std_error(self) -> Float[np.ndarray, "*rep_metric"]:
        """See `adjusted_std_error`."""
        return adjusted_std_error(self.std_error, self.quantile, k=self.k)

    @property
    def upper_bound(self) -> Float[np.ndarray, "*rep_metric"]:
        """The studentized bound `mean - quantile * std_error`, of nominal level Φ(k)."""
        return np.asarray(self.mean - self.quantile * self.std_error)

    @property
    def failed(self) -> Bool[np.ndarray, "*rep_metric"]:
        """Whether a metric has no studentized answer."""
        return np.asarray(np.isnan(self.adjusted_std_error))


@reading
def adjusted_std_error(
    std_error: Float[np.ndarray, "*rep_metric"],
    quantile: Float[np.ndarray, "*rep_metric"],
    *,
    k: float,
) -> Float[np.ndarray, "*rep_metric"]:
    """Rescale a standard error so that k of them reach as far as the studentized quantile.

    Parameters
    ----------
    std_error
        Bootstrap standard error, in the units of the metric.
    quantile
        The Φ(-k) quantile of the studentized statistic; about -k where nothing is skewed.
    k
        How many standard errors the bound lies above the estimate.

    Returns
    -------
    Float[np.ndarray, "*rep_metric"]
        `std_error * (-quantile) / k`. NaN where the quantile is on the wrong side of zero: a scale
        is not negative, and its square would hide the sign. That is met for small k, where the
        skewness of the metric outweighs k.

        At k = 0 it is `std_error`, unscaled: the adjustment equates a reach of -quantile with one
        of k, there is no reach to equate, and -quantile / k has no limit unless the median of the
        studentized statistic is exactly zero. Its median is then a correction of location and not
        of scale: `StudentizedBootstrap.upper_bound` applies it.
    """
    if k == 0:
        return np.where(np.isnan(quantile), np.nan, std_error)
    factor = -quantile / k
    return np.where(factor > 0, std_error * factor, np.nan)


def replicate_seeds(rng: np.random.Generator, n_rep: int) -> UInt64[np.ndarray, "rep 2"]:
    """Draw the words that start each replicate's two streams: resamples, and inner resamples.

    Parameters
    ----------
    rng
        Gives two words per replicate.
    n_rep
        Replicates.

    Returns
    -------
    uint64 array (rep, 2)
        A row for each replicate.
    """
    return rng.integers(0, 2**64, size=(n_rep, 2), dtype=np.uint64)


@reading
def bootstrap_indices(seed: int, n_obs: int, n_boot: int) -> Int[np.ndarray, "boot obs"]:
    """Return the very indices that the compiled bootstraps draw from one stream: slow, for tests.

    Parameters
    ----------
    seed
        One word of `replicate_seeds`.
    n_obs
        Indices lie in 0 to `n_obs` - 1, each with probability 1 / `n_obs` exactly.
    n_boot
        Number of resamples; the first of many are those of few.

    Returns
    -------
    int array (boot, obs)
        Indices from 0, a row for each resample.

    References
    ----------
    Steele, Lea & Flood (2014), OOPSLA, 453-472: the generator, run from a counter.
    Lemire (2019), ACM Trans. Model. Comput. Simul. 29(1), 3: unbiased integers in a range.
    """
    check_word("seed", seed)
    check_count("n_obs", n_obs, least=1, meaning="an index")
    check_count("n_boot", n_boot, least=1, meaning="a bootstrap")
    from simstudy.documents.stats.compiled.splitmix64 import GOLDEN, mixed_by_numpy

    bits, n_word = (16, -(-n_obs // 32) * 8) if n_obs < 2**16 else (32, (n_obs + 1) // 2)
    counter = np.arange(1, n_boot * n_word + 1, dtype=np.uint64).reshape(n_boot, n_word)
    words = mixed_by_numpy(np.uint64(seed) + counter * GOLDEN)
    parts = [_to_index(words, n_obs, bits, shift) for shift in range(0, 64, bits)]
    return np.stack(parts, axis=-1).reshape(n_boot, -1)[:, :n_obs]


def _to_index(
    words: UInt64[np.ndarray, "*words"], n_obs: int, bits: int, shift: int
) -> Int[np.ndarray, "*words"]:
    """The index from one part of each word, which is mixed again where that part is refused."""
    from simstudy.documents.stats.compiled.splitmix64 import GOLDEN, mixed_by_numpy

    words, part = words.copy(), np.uint64(2**bits - 1)
    n, threshold = np.uint64(n_obs), np.uint64(2**bits % n_obs)
    while True:
        scaled = ((words >> np.uint64(shift)) & part) * n
        refused = (scaled & part) < threshold
        if not refused.any():
            return np.asarray(scaled >> np.uint64(bits), dtype=np.int64)
        words[refused] = mixed_by_numpy(words[refused] + GOLDEN)


@reading
def resampled_means(
    values: Float[np.ndarray, "rep obs column"], rng: np.random.Generator, *, n_boot: int
) -> Float[np.ndarray, "rep boot column"]:
    """Average every column over every bootstrap resample of each replicate's observations.

    Parameters
    ----------
    values
        One replicate per block of rows; columns of a replicate share their resamples.
    rng
        Gives two words per replicate, whatever the sizes; `replicate_seeds` says which.
    n_boot
        Resamples per replicate, at least 2. The answer holds `n_boot` doubles per column.

    Returns
    -------
    float array (rep, boot, column)
        Means, in the units of the values.
    """
    _check_sizes(values, n_boot)
    from simstudy.documents.stats.bootstrap import _loss_kernels as kernels

    means = np.empty((values.shape[0], n_boot, values.shape[2]))
    seeds = replicate_seeds(rng, len(values))[:, 0].copy()
    kernels.resampled_means(_plain(values), seeds, means)
    return means


@reading
def bootstrap_variance(
    losses: Float[np.ndarray, "rep obs metric"],
    rng: np.random.Generator,
    *,
    n_boot: int = 1000,
    ddof: int = 1,
) -> Float[np.ndarray, "rep metric"]:
    """Compute the bootstrap variance of each mean loss, in the units of the loss squared.

    Parameters
    ----------
    losses
        One loss per replicate, observation and metric. A replicate with a loss that is not finite
        has the answer NaN.
    rng
        See `resampled_means`.
    n_boot
        Resamples per replicate, at least 2.
    ddof
        1 (default) for the variance whose mean over resamples is `ideal_variance`; 0 to divide by
        `n_boot`, as `np.var` does.

    Returns
    -------
    float array (rep, metric)
        Variances.
    """
    _check_sizes(losses, n_boot)
    _check_ddof(ddof)
    from simstudy.documents.stats.bootstrap import _loss_kernels as kernels

    answer = np.empty((losses.shape[0], losses.shape[2]))
    seeds = replicate_seeds(rng, len(losses))[:, 0].copy()
    kernels.variances(_plain(losses), seeds, n_boot, ddof, answer)
    return answer


@reading
def ideal_variance(losses: Float[np.ndarray, "rep obs metric"]) -> Float[np.ndarray, "rep metric"]:
    """Compute the bootstrap variance of infinitely many resamples: population variance over n.

    Parameters
    ----------
    losses : float array (rep, obs, metric)
        One loss per replicate, observation and metric.

    Returns
    -------
    float array (rep, metric)
        Variances, in the units of the loss squared.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, equation 5.12.
    """
    with np.errstate(invalid="ignore"):
        variance = losses.var(axis=1) / losses.shape[1]
    return np.where(_is_constant(losses), 0.0, variance)


@reading
def studentized_bootstrap(
    losses: Float[np.ndarray, "rep obs metric"],
    rng: np.random.Generator,
    *,
    k: float,
    n_boot: int = 1000,
    n_inner: int | None = None,
    ddof: int = 1,
) -> StudentizedBootstrap:
    """Compute the bootstrap variance and the studentized quantile of each mean loss.

    Parameters
    ----------
    losses
        One loss per replicate, observation and metric; all metrics share the resamples. A loss
        that is not finite fails its own replicate and metric, and no other.
    rng
        See `resampled_means`.
    k
        The quantile is taken at Φ(-k), by the linear interpolation of `np.quantile`.
    n_boot
        Outer resamples. Refused where fewer than 5 lie beyond the quantile on average.
    n_inner
        Inner resamples of Monte Carlo, at least 2; None (default) for the closed form of
        infinitely many. As in published code, one pattern of inner positions per replicate serves
        all of its outer resamples.
    ddof
        Divisor of both variances: 1 (default) for n - 1, 0 for n as in `np.var`.

    Returns
    -------
    StudentizedBootstrap
        Variance and quantile of each replicate and metric.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, section 12.5.
    """
    _check_sizes(losses, n_boot)
    check_knobs(k=k, n_boot=n_boot, n_inner=n_inner, ddof=ddof)
    from simstudy.documents.stats.bootstrap import _loss_kernels as kernels

    answers = np.empty((4, losses.shape[0], losses.shape[2]))
    seeds, probability = replicate_seeds(rng, len(losses)), float(special.ndtr(-k))
    kernels.studentized(_plain(losses), seeds, n_boot, n_inner or 0, probability, ddof, answers)
    mean, variance, quantile, n_constant = answers
    return StudentizedBootstrap(mean, variance, quantile, n_constant.astype(np.int64), float(k))


def _plain(values: Float[np.ndarray, "rep obs column"]) -> Float[np.ndarray, "rep obs column"]:
    """Convert to one memory layout and one type: any other would be compiled anew."""
    return np.ascontiguousarray(values, dtype=np.float64)


def _is_constant(losses: Float[np.ndarray, "rep obs metric"]) -> Bool[np.ndarray, "rep metric"]:
    """Whether losses are constant, by their range: a mean of equal numbers may be rounded."""
    equal = losses.min(axis=1) == losses.max(axis=1)
    return np.asarray(equal & np.isfinite(losses[:, 0]))


def _check_sizes(values: Float[np.ndarray, "..."], n_boot: int) -> None:
    if values.ndim != 3 or values.shape[1] < 2 or values.shape[2] < 1:
        raise DesignError(
            f"The bootstrap was given values of shape {values.shape}, and it resamples the middle "
            "axis of (replicate, observation, metric). Give it at least 2 observations and 1 "
            "metric; one metric alone is values[:, :, None]."
        )
    if values.shape[1] >= 2**32:
        raise DesignError(
            f"{values.shape[1]} observations need more than 32 random bits per index, so some "
            "would never be drawn. Split the sample into parts below 2^32."
        )
    if n_boot < 2:
        raise DesignError(
            f"n_boot={n_boot} resamples have no variance, so there is no standard error. Use at "
            "least 2, or `ideal_variance`, which needs none."
        )


def check_knobs(*, k: float, n_boot: int, ddof: int, n_inner: int | None = None) -> None:
    """Raise an error for what leaves a studentized bootstrap without an answer.

    Parameters
    ----------
    k
        The quantile is taken at Φ(-k).
    n_boot
        Outer resamples.
    ddof
        0 or 1.
    n_inner
        Inner resamples, at least 2; None for infinitely many.

    Raises
    ------
    DesignError
        If one is out of range, or fewer than 5 resamples lie beyond the quantile on average.
    """
    _check_ddof(ddof)
    _check_tail(k, n_boot)
    _check_inner(n_inner)


def _check_ddof(ddof: int) -> None:
    if ddof not in (0, 1):
        raise DesignError(
            f"ddof={ddof} is no divisor of a bootstrap variance. Use 1, which is unbiased for "
            "infinitely many resamples, or 0, which is what `np.var` does."
        )


def _check_tail(k: float, n_boot: int) -> None:
    if not np.isfinite(k):
        raise DesignError(f"k={k} names no quantile of the bootstrap. Use a finite k, such as 1.5.")
    tail = float(special.ndtr(-abs(k)))
    if n_boot * tail < MIN_TAIL_DRAWS:
        raise DesignError(
            f"n_boot={n_boot} leaves {n_boot * tail:.2g} resamples beyond the quantile at k={k:g}, "
            f"so the quantile would be one of the few most extreme draws. Use n_boot >= "
            f"{_least(MIN_TAIL_DRAWS, tail)}, or a smaller k."
        )


def _least(draws: int, tail: float) -> Any:
    """Resamples for which `draws` lie beyond the quantile, in words a person can read."""
    least = draws / tail if tail > 0 else np.inf
    return f"{least:.2g}" if least > 1e9 else int(np.ceil(least))


def _check_inner(n_inner: int | None) -> None:
    if n_inner is not None and n_inner < 2:
        raise DesignError(
            f"n_inner={n_inner} inner resamples have no variance, so nothing can be studentized. "
            "Use at least 2 (published work uses 250), or None for infinitely many in closed form."
        )
