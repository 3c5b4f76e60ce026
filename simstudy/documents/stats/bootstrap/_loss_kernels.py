"""Compiled loops of the bootstrap of mean losses: variances, and studentized quantiles.

Imported late, by the functions that need it: importing numba takes longer than a small run.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import math

import numpy as np

from simstudy.array_types import Float, UInt64
from simstudy.documents.stats.bootstrap._inner_kernels import (
    fill_pattern,
    inner_room,
    inner_variances,
)
from simstudy.documents.stats.bootstrap._resample_kernels import (
    COLUMNS,
    resampled_means,
    resampled_sums,
)
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats.compiled.lanes import aligned_zeros

__all__ = ["linear_quantile", "resampled_means", "studentized", "variances"]

EPS = float(np.finfo(np.float64).eps)


@kernel
def _standardise(
    loss: Float[np.ndarray, " obs"], centred: Float[np.ndarray, " obs"]
) -> tuple[float, float]:
    """Mean and unit of a loss; `centred` is the loss about its mean, in that unit.

    The unit is a power of two near the largest deviation: dividing by it is exact, and squares
    neither overflow nor vanish. It is 0 for a constant loss, NaN where a loss is not finite;
    `centred` is then left as it was.
    """
    # Range and mean in one pass. Equality is decided by the range: the mean of equal numbers may
    # differ from them by a rounding. A plain sum will do to centre by, as what it misses is common
    # to all resamples and drops out of their variance.
    n_obs, total, least, most = loss.shape[0], 0.0, loss[0], loss[0]
    for i in range(n_obs):
        total += loss[i]
        least, most = min(least, loss[i]), max(most, loss[i])
    mean = total / n_obs
    largest = max(most - mean, mean - least)
    if not (math.isfinite(mean) and math.isfinite(largest)):
        return math.nan, math.nan
    if least == most:
        return least, 0.0
    unit = math.ldexp(1.0, max(math.frexp(largest)[1] - 1, -1000))
    for i in range(n_obs):
        centred[i] = (loss[i] - mean) / unit
    return mean, unit


@kernel
def _split(
    values: Float[np.ndarray, " boot"], low: int, high: int, pivot: float, or_equal: bool
) -> int:
    """Move values below the pivot (or equal to it) to the front; where the others begin.

    Lomuto's partition (Bentley 1986, Programming Pearls, column 11) without a branch: half of its
    outcomes would be guessed wrong, at fifteen times the cost of an exchange.
    """
    end = low
    for i in range(low, high):
        value = values[i]
        values[i], values[end] = values[end], value
        end += value < pivot or (or_equal and value == pivot)
    return end


@kernel
def _select(values: Float[np.ndarray, " boot"], at: int) -> None:
    """Put order statistic `at` in its place, nothing larger before it, nothing smaller after.

    `np.partition` takes seconds to compile.
    """
    low, high = 0, values.shape[0]
    while high - low > 1:
        # The value there is the pivot: draws of a bootstrap come in no order, and many
        # are equal, which the second partition takes out at once.
        pivot = values[at]
        middle = _split(values, low, high, pivot, False)
        if at < middle:
            high = middle
            continue
        low = _split(values, middle, high, pivot, True)
        if at < low or math.isnan(pivot):
            return


@kernel
def linear_quantile(values: Float[np.ndarray, " boot"], probability: float) -> float:
    """`np.quantile` by its linear default, to the last bit. NaN where it would touch infinity.

    Reorders `values`.
    """
    position = probability * (values.shape[0] - 1)
    below = math.floor(position)
    _select(values, below)
    at = after = values[below]
    if below + 1 < values.shape[0]:
        after = values[below + 1]
        for b in range(below + 2, values.shape[0]):
            after = min(after, values[b])
    if not (math.isfinite(at) and math.isfinite(after)):
        return math.nan
    # NumPy goes from the nearer end, which makes the interpolation monotone in the weight.
    weight, step = position - below, after - at
    return after - step * (1.0 - weight) if weight >= 0.5 else at + step * weight


@kernel
def _sum(values: Float[np.ndarray, " boot"]) -> float:
    """Four chains of additions, so that none waits for another."""
    s0 = s1 = s2 = s3 = 0.0
    whole = values.shape[0] // 4 * 4
    for b in range(0, whole, 4):
        s0 += values[b]
        s1 += values[b + 1]
        s2 += values[b + 2]
        s3 += values[b + 3]
    for b in range(whole, values.shape[0]):
        s0 += values[b]
    return (s0 + s1) + (s2 + s3)


@kernel
def _variance(
    values: Float[np.ndarray, " boot"], ddof: int, scratch: Float[np.ndarray, " boot"]
) -> float:
    # Two passes, about the mean of the resamples: one pass of squares would cancel.
    mean = _sum(values) / values.shape[0]
    for b in range(values.shape[0]):
        scratch[b] = (values[b] - mean) ** 2
    return _sum(scratch) / (values.shape[0] - ddof)


@kernel
def variances(
    losses: Float[np.ndarray, "rep obs metric"],
    seeds: UInt64[np.ndarray, " rep"],
    n_boot: int,
    ddof: int,
    answer: Float[np.ndarray, "rep metric"],
) -> None:
    """Bootstrap variance of each mean loss: 0 for a constant loss, NaN where one is not finite."""
    n_rep, n_obs, n_metric = losses.shape
    # A lone column is summed by eight scalar chains, not as one lane of four.
    width = 1 if n_metric == 1 else COLUMNS
    columns, units, centred = aligned_zeros((n_obs + 1) * width), np.empty(width), np.empty(n_obs)
    sums, means, scratch = aligned_zeros(n_boot * width), np.empty(n_boot), np.empty(n_boot)
    for rep in range(n_rep):
        for start in range(0, n_metric, width):
            n_here = min(width, n_metric - start)
            for m in range(n_here):
                _, units[m] = _standardise(losses[rep, :, start + m], centred)
                for i in range(n_obs):
                    columns[i * width + m] = centred[i] if units[m] > 0.0 else 0.0
            resampled_sums(columns, n_obs, seeds[rep], sums)
            for m in range(n_here):
                for b in range(n_boot):
                    means[b] = sums[b * width + m] / n_obs
                answer[rep, start + m] = _variance(means, ddof, scratch) * units[m] ** 2


@kernel(error_model="numpy")
def studentize(
    deviation: Float[np.ndarray, " boot"],
    square: Float[np.ndarray, " boot"],
    inner: Float[np.ndarray, " boot"],
    n_obs: int,
    closed_form: bool,
) -> int:
    """Divide deviations by inner standard errors, in place; the number of constant resamples.

    A resample of equal losses has a standard error of zero: infinite, by the sign of its
    deviation, and zero where it has none. Below n roundings a spread counts as none.
    The loop has no branches: several resamples go side by side.
    """
    n_constant = 0
    for b in range(deviation.shape[0]):
        spread = square[b] - deviation[b] * deviation[b]
        is_constant = spread <= n_obs * EPS * square[b]
        n_constant += is_constant
        variance = spread / n_obs if closed_form else inner[b]
        variance = 0.0 if is_constant or variance < 0.0 else variance
        deviation[b] = deviation[b] / math.sqrt(variance) if deviation[b] != 0.0 else 0.0
    return n_constant


@kernel
def studentized(
    losses: Float[np.ndarray, "rep obs metric"],
    seeds: UInt64[np.ndarray, "rep 2"],
    n_boot: int,
    n_inner: int,
    probability: float,
    ddof: int,
    answers: Float[np.ndarray, "4 rep metric"],
) -> None:
    """Mean, bootstrap variance, studentized quantile and number of constant resamples.

    Metrics go two at a time, each with its square, on the same indices. `n_inner` = 0 takes the
    inner standard error of infinitely many inner resamples.
    """
    # A row of four is two metrics and their two squares: the inner variance of a resample is the
    # mean square less the square of the mean, and both come from one look-up.
    n_rep, n_obs, n_metric = losses.shape
    mean, variance, quantile, n_constant = answers
    columns, centred, units = aligned_zeros((n_obs + 1) * COLUMNS), np.empty(n_obs), np.empty(2)
    sums, means = aligned_zeros(n_boot * COLUMNS), np.empty((COLUMNS, n_boot))
    inner, scratch = np.empty((2, n_boot)), np.empty(n_boot)
    pattern, counts = inner_room(n_inner, n_obs), np.empty((n_inner, n_obs), np.uint16)
    for rep in range(n_rep):
        for start in range(0, n_metric, 2):
            n_here = min(2, n_metric - start)
            columns[:] = 0.0
            for m in range(n_here):
                mean[rep, start + m], units[m] = _standardise(losses[rep, :, start + m], centred)
                for i in range(n_obs if units[m] > 0.0 else 0):
                    columns[i * COLUMNS + m] = centred[i]
                    columns[i * COLUMNS + 2 + m] = centred[i] * centred[i]
            resampled_sums(columns, n_obs, seeds[rep, 0], sums)
            for c in range(COLUMNS):
                for b in range(n_boot):
                    means[c, b] = sums[b * COLUMNS + c] / n_obs
            if n_inner > 0:
                fill_pattern(seeds[rep, 1], counts, pattern)
                inner_variances(columns, seeds[rep, 0], pattern, ddof, means, inner)
            for m in range(n_here):
                at = rep, start + m
                if not units[m] > 0.0:  # constant, or not finite: no studentized quantile
                    variance[at], quantile[at] = 0.0 * units[m], math.nan
                    n_constant[at] = n_boot if units[m] == 0.0 else 0
                    continue
                variance[at] = _variance(means[m], ddof, scratch) * units[m] ** 2
                n_constant[at] = studentize(means[m], means[2 + m], inner[m], n_obs, n_inner == 0)
                quantile[at] = linear_quantile(means[m], probability)
