"""Compiled loops of the bootstrap of means: one file, so that the cache never goes stale.

Random indices come from a counter: word w of a stream is splitmix64 of `seed + (w + 1) * GOLDEN`
(Steele, Lea & Flood 2014), so the words of a resample are mixed eight at a time and nothing is
stored. The low halves of a resample's words give its first indices, the high halves its last, by
Lemire's (2019) multiplication; a half that would favour an index is replaced by that half of the
word mixed again. `loss_bootstrap.bootstrap_indices` says the same in slow NumPy.

Imported late, by the functions that need it: importing numba takes longer than a small run.
Sums run over the low and the high halves apart: two chains of additions, so that one does not
wait for the other. No sum is reordered by the compiler, and none depends on a number of threads.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import math

import numpy as np
from jaxtyping import Float, Int64, UInt32, UInt64
from numba import njit

Pattern = tuple[
    Int64[np.ndarray, "inner obs"], Float[np.ndarray, "inner obs"], Int64[np.ndarray, " inner"]
]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
U27, U30, U31, U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
ONE = np.uint64(1)
LOW = np.uint64(0xFFFFFFFF)
HIGH = np.uint64(0xFFFFFFFF00000000)
EPS = float(np.finfo(np.float64).eps)
CHUNK = 32  # outer resamples side by side in the inner Monte Carlo: their losses fit in the cache


@njit(nogil=True, cache=True)
def _mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> U30)) * MIX_1
    z = (z ^ (z >> U27)) * MIX_2
    return z ^ (z >> U31)


@njit(nogil=True, cache=True)
def _settle(word: np.uint64, shift: np.uint64, n: np.uint64, threshold: np.uint64) -> np.uint64:
    """The index from one half of a word, mixed again for as long as Lemire's test refuses it."""
    scaled = ((word >> shift) & LOW) * n
    while (scaled & LOW) < threshold:
        word = _mix(word + GOLDEN)
        scaled = ((word >> shift) & LOW) * n
    return scaled >> U32


@njit(nogil=True, cache=True)
def fill_indices(
    seed: np.uint64,
    resample: int,
    n: np.uint64,
    low: UInt32[np.ndarray, " half"],
    high: UInt32[np.ndarray, " half"],
) -> None:
    """One resample's indices, uniform on 0 to n - 1, into its two halves."""
    n_word = np.uint64(low.shape[0])
    first = np.uint64(resample) * n_word + ONE
    threshold = (ONE << U32) % n
    refused = np.uint64(0)
    for w in range(n_word):
        word = _mix(seed + (first + np.uint64(w)) * GOLDEN)
        at_low, at_high = (word & LOW) * n, (word >> U32) * n
        low[w] = at_low >> U32
        high[w] = at_high >> U32
        refused += np.uint64((at_low & LOW) < threshold) + np.uint64((at_high & LOW) < threshold)
    if refused > 0:  # once in 2^32 / n indices: kept out of the loop, which is vectorized
        for w in range(n_word):
            word = _mix(seed + (first + np.uint64(w)) * GOLDEN)
            low[w] = _settle(word, np.uint64(0), n, threshold)
            high[w] = _settle(word, U32, n, threshold)


@njit(nogil=True, cache=True)
def fill_pairs(
    seed: np.uint64, resample: int, n: np.uint64, pairs: UInt64[np.ndarray, " half"]
) -> None:
    """`fill_indices` with both indices of a word in one word: half the stores, half the loads.

    A half is refused where its low part is below the threshold: where adding 2^32 less the
    threshold does not carry into bit 32.
    """
    n_word, n = np.uint64(pairs.shape[0]), n & LOW
    first = np.uint64(resample) * n_word + ONE
    threshold = (ONE << U32) % n
    fits, accepted = (ONE << U32) - threshold, ~np.uint64(0)
    for w in range(n_word):
        word = _mix(seed + (first + np.uint64(w)) * GOLDEN)
        at_low, at_high = (word & LOW) * n, (word >> U32) * n
        pairs[w] = (at_low >> U32) | (at_high & HIGH)
        accepted &= ((at_low & LOW) + fits) & ((at_high & LOW) + fits)
    if (accepted >> U32) & ONE == 0:
        for w in range(n_word):
            word = _mix(seed + (first + np.uint64(w)) * GOLDEN)
            high = _settle(word, U32, n, threshold)
            pairs[w] = _settle(word, np.uint64(0), n, threshold) | (high << U32)


@njit(nogil=True, cache=True)
def _sums_of_one(
    values: Float[np.ndarray, " obs"], seed: np.uint64, sums: Float[np.ndarray, " boot"]
) -> None:
    """Sum of each resample. Four parts a half: an addition takes longer than a draw."""
    n_obs = values.shape[0]
    n_word, part = (n_obs + 1) // 2, n_obs // 8
    pairs = np.empty(n_word, np.uint64)
    pa, pb = pairs[:part], pairs[part:][:part]
    pc, pd = pairs[2 * part :][:part], pairs[3 * part :][:part]
    for b in range(sums.shape[0]):
        fill_pairs(seed, b, np.uint64(n_obs), pairs)
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for w in range(part):
            s0 += values[pa[w] & LOW]
            s1 += values[pb[w] & LOW]
            s2 += values[pc[w] & LOW]
            s3 += values[pd[w] & LOW]
            s4 += values[pa[w] >> U32]
            s5 += values[pb[w] >> U32]
            s6 += values[pc[w] >> U32]
            s7 += values[pd[w] >> U32]
        for w in range(4 * part, n_word):
            s0 += values[pairs[w] & LOW]
        for w in range(4 * part, n_obs - n_word):
            s4 += values[pairs[w] >> U32]
        sums[b] = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@njit(nogil=True, cache=True)
def _sums_of_four(
    values: Float[np.ndarray, "obs 4"], seed: np.uint64, sums: Float[np.ndarray, "boot 4"]
) -> None:
    """Sums of four columns of each resample, on the same indices."""
    n_obs = values.shape[0]
    n_word = (n_obs + 1) // 2
    pairs = np.empty(n_word, np.uint64)
    for b in range(sums.shape[0]):
        fill_pairs(seed, b, np.uint64(n_obs), pairs)
        s0 = s1 = s2 = s3 = r0 = r1 = r2 = r3 = 0.0
        for w in range(n_obs - n_word):
            i, j = pairs[w] & LOW, pairs[w] >> U32
            s0 += values[i, 0]
            s1 += values[i, 1]
            s2 += values[i, 2]
            s3 += values[i, 3]
            r0 += values[j, 0]
            r1 += values[j, 1]
            r2 += values[j, 2]
            r3 += values[j, 3]
        if n_obs % 2 == 1:
            i = pairs[n_word - 1] & LOW
            s0 += values[i, 0]
            s1 += values[i, 1]
            s2 += values[i, 2]
            s3 += values[i, 3]
        sums[b, 0], sums[b, 1], sums[b, 2], sums[b, 3] = s0 + r0, s1 + r1, s2 + r2, s3 + r3


@njit(nogil=True, cache=True)
def resampled_means(
    values: Float[np.ndarray, "rep obs column"],
    seeds: UInt64[np.ndarray, " rep"],
    means: Float[np.ndarray, "rep boot column"],
) -> None:
    """Mean of every column over every resample; all columns of a replicate on the same indices.

    Columns go four at a time; for the next four the stream is simply run again.
    """
    n_rep, n_obs, n_column = values.shape
    n_boot = means.shape[1]
    column, columns = np.empty(n_obs), np.zeros((n_obs, 4))
    one, four = np.empty(n_boot), np.empty((n_boot, 4))
    for rep in range(n_rep):
        if n_column == 1:
            for i in range(n_obs):
                column[i] = values[rep, i, 0]
            _sums_of_one(column, seeds[rep], one)
            for b in range(n_boot):
                means[rep, b, 0] = one[b] / n_obs
            continue
        for start in range(0, n_column, 4):
            n_here = min(4, n_column - start)
            for i in range(n_obs):
                for c in range(n_here):
                    columns[i, c] = values[rep, i, start + c]
            _sums_of_four(columns, seeds[rep], four)
            for b in range(n_boot):
                for c in range(n_here):
                    means[rep, b, start + c] = four[b, c] / n_obs


@njit(nogil=True, cache=True)
def _standardise(
    loss: Float[np.ndarray, " obs"], centred: Float[np.ndarray, " obs"]
) -> tuple[float, float]:
    """Mean and unit of a loss; `centred` is the loss about its mean, in that unit.

    The unit is a power of two near the largest deviation: dividing by it is exact, and squares
    neither overflow nor vanish. It is 0 for a constant loss, NaN where a loss is not finite;
    `centred` is then left as it was.
    """
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


@njit(nogil=True, cache=True)
def _inner_pattern(seed: np.uint64, n_inner: int, n_obs: int) -> Pattern:
    """Which positions of the outer resample each inner resample holds, and how often.

    Each row ends in up to three entries that weigh nothing, so that rows are read by fours.
    """
    n_word = (n_obs + 1) // 2
    low, high = np.empty(n_word, np.uint32), np.empty(n_word, np.uint32)
    where = np.zeros((n_inner, n_obs + 3), np.int64)
    times, length = np.zeros((n_inner, n_obs + 3)), np.zeros(n_inner, np.int64)
    for s in range(n_inner):
        fill_indices(seed, s, np.uint64(n_obs), low, high)
        counts = np.zeros(n_obs)
        for w in range(n_word):
            counts[low[w]] += 1.0
        for w in range(n_obs - n_word):
            counts[high[w]] += 1.0
        for i in range(n_obs):
            if counts[i] > 0.0:
                where[s, length[s]], times[s, length[s]] = i, counts[i]
                length[s] += 1
    return where, times, length


@njit(nogil=True, cache=True)
def _gather(
    centred: Float[np.ndarray, "obs 4"],
    seed: np.uint64,
    start: int,
    n_here: int,
    lanes: Float[np.ndarray, "obs lane"],
) -> None:
    """Losses of outer resamples `start`, `start` + 1, ...: one a lane, second metric after."""
    n_obs = centred.shape[0]
    n_word = (n_obs + 1) // 2
    low, high = np.empty(n_word, np.uint32), np.empty(n_word, np.uint32)
    for b in range(n_here):
        fill_indices(seed, start + b, np.uint64(n_obs), low, high)
        for i in range(n_obs):
            index = low[i] if i < n_word else high[i - n_word]
            lanes[i, b] = centred[index, 0]
            lanes[i, CHUNK + b] = centred[index, 1]


@njit(nogil=True, cache=True)
def _inner_sums(
    lanes: Float[np.ndarray, "obs lane"],
    where: Int64[np.ndarray, " obs"],
    times: Float[np.ndarray, " obs"],
    length: int,
    total: Float[np.ndarray, " lane"],
) -> None:
    """One inner resample's sum, in every lane at once: a row of counts times the losses."""
    total[:] = 0.0
    for i in range(0, length, 4):
        c0, c1, c2, c3 = times[i], times[i + 1], times[i + 2], times[i + 3]
        r0, r1, r2, r3 = (
            lanes[where[i]],
            lanes[where[i + 1]],
            lanes[where[i + 2]],
            lanes[where[i + 3]],
        )
        for lane in range(2 * CHUNK):  # known to the compiler: a quarter faster than a shape
            total[lane] += (c0 * r0[lane] + c1 * r1[lane]) + (c2 * r2[lane] + c3 * r3[lane])


@njit(nogil=True, cache=True)
def _lane_variances(
    lanes: Float[np.ndarray, "obs lane"],
    pattern: Pattern,
    about: Float[np.ndarray, " lane"],
    ddof: int,
) -> Float[np.ndarray, " lane"]:
    """Variance of the inner means of each lane; squares are of distances from the outer mean."""
    where, times, length = pattern
    n_inner, n_lane = where.shape[0], lanes.shape[1]
    total, first, second = np.empty(n_lane), np.zeros(n_lane), np.zeros(n_lane)
    for s in range(n_inner):
        _inner_sums(lanes, where[s], times[s], length[s], total)
        for lane in range(n_lane):
            distance = total[lane] / lanes.shape[0] - about[lane]
            first[lane] += distance
            second[lane] += distance * distance
    for lane in range(n_lane):
        second[lane] -= first[lane] * first[lane] / n_inner
        second[lane] /= n_inner - ddof
    return second


@njit(nogil=True, cache=True)
def _inner_variances(
    columns: Float[np.ndarray, "obs 4"],
    seed: np.uint64,
    pattern: Pattern,
    ddof: int,
    means: Float[np.ndarray, "boot 4"],
    variances: Float[np.ndarray, "boot 2"],
) -> None:
    """Variance over the inner resamples of each outer resample's mean, by Monte Carlo."""
    n_boot = variances.shape[0]
    lanes, about = np.zeros((columns.shape[0], 2 * CHUNK)), np.zeros(2 * CHUNK)
    for start in range(0, n_boot, CHUNK):
        n_here = min(CHUNK, n_boot - start)
        _gather(columns, seed, start, n_here, lanes)
        for b in range(n_here):
            about[b], about[CHUNK + b] = means[start + b, 0], means[start + b, 1]
        spread = _lane_variances(lanes, pattern, about, ddof)
        for b in range(n_here):
            variances[start + b, 0], variances[start + b, 1] = spread[b], spread[CHUNK + b]


@njit(nogil=True, cache=True)
def _select(values: Float[np.ndarray, " boot"], at: int) -> None:
    """Put order statistic `at` in its place, nothing larger before it, nothing smaller after.

    Hoare (1961), Commun. ACM 4(7), 321: Algorithm 65. `np.partition` takes seconds to compile.
    """
    low, high = 0, values.shape[0] - 1
    while low < high:
        pivot, i, j = values[at], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < at:
            low = i
        if at < i:
            high = j


@njit(nogil=True, cache=True)
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
    weight, step = position - below, after - at
    return after - step * (1.0 - weight) if weight >= 0.5 else at + step * weight


@njit(nogil=True, cache=True)
def _variance(values: Float[np.ndarray, " boot"], ddof: int) -> float:
    mean = 0.0
    for b in range(values.shape[0]):
        mean += values[b]
    mean /= values.shape[0]
    squares = 0.0
    for b in range(values.shape[0]):
        squares += (values[b] - mean) ** 2
    return squares / (values.shape[0] - ddof)


@njit(nogil=True, cache=True)
def studentize(
    deviation: Float[np.ndarray, " boot"],
    square: Float[np.ndarray, " boot"],
    inner: Float[np.ndarray, " boot"],
    n_obs: int,
    closed_form: bool,
) -> int:
    """Divide deviations by inner standard errors, in place; the number of constant resamples.

    A resample of equal losses has a standard error of zero: infinite, by the sign of its
    deviation, and zero where it has none. Below n roundings a spread is not told from none.
    """
    n_constant = 0
    for b in range(deviation.shape[0]):
        spread = square[b] - deviation[b] * deviation[b]
        is_constant = spread <= n_obs * EPS * square[b]
        variance = spread / n_obs if closed_form else inner[b]
        n_constant += is_constant
        if not is_constant and variance > 0.0:
            deviation[b] /= math.sqrt(variance)
        elif deviation[b] != 0.0:
            deviation[b] = math.copysign(math.inf, deviation[b])
    return n_constant


@njit(nogil=True, cache=True)
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
    n_rep, n_obs, n_metric = losses.shape
    mean, variance, quantile, n_constant = answers
    columns, centred, units = np.zeros((n_obs, 4)), np.empty(n_obs), np.empty(2)
    sums, inner = np.empty((n_boot, 4)), np.empty((n_boot, 2))
    pattern = _inner_pattern(np.uint64(0), 0, n_obs)
    for rep in range(n_rep):
        if n_inner > 0:
            pattern = _inner_pattern(seeds[rep, 1], n_inner, n_obs)
        for start in range(0, n_metric, 2):
            n_here = min(2, n_metric - start)
            columns[:] = 0.0
            for m in range(n_here):
                mean[rep, start + m], units[m] = _standardise(losses[rep, :, start + m], centred)
                for i in range(n_obs if units[m] > 0.0 else 0):
                    columns[i, m], columns[i, 2 + m] = centred[i], centred[i] * centred[i]
            _sums_of_four(columns, seeds[rep, 0], sums)
            sums /= n_obs
            if n_inner > 0:
                _inner_variances(columns, seeds[rep, 0], pattern, ddof, sums, inner)
            for m in range(n_here):
                at = rep, start + m
                if not units[m] > 0.0:  # constant, or not finite: no studentized quantile
                    variance[at], quantile[at] = 0.0 * units[m], math.nan
                    n_constant[at] = n_boot if units[m] == 0.0 else 0
                    continue
                t = sums[:, m].copy()
                variance[at] = _variance(t, ddof) * units[m] ** 2
                n_constant[at] = studentize(t, sums[:, 2 + m], inner[:, m], n_obs, n_inner == 0)
                quantile[at] = linear_quantile(t, probability)
