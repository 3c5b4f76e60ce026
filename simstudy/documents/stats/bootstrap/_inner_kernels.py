"""Compiled inner Monte Carlo of a double bootstrap: a matrix of counts times resampled losses.

Sixteen outer resamples of two metrics lie side by side, and every inner resample is a weighted sum
of their rows. Rows are taken a tile at a time, so that they stay in the nearest cache while all
inner resamples pass over them.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import numpy as np

from simstudy.array_types import Float, Int64, UInt16, UInt32
from simstudy.documents.stats.bootstrap._resample_kernels import COLUMNS, fill_indices
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats.compiled.lanes import WIDTH, add_multiple, aligned_zeros, load, store

Pattern = tuple[
    UInt32[np.ndarray, " entry"], Float[np.ndarray, " entry"], Int64[np.ndarray, "tile inner_end"]
]

OUTER = 16  # resamples side by side
LANES = 2 * OUTER
TILE = 100  # rows of `LANES` doubles at most: 25 of the 32 KB that most machines have nearest


@kernel
def inner_room(n_inner: int, n_obs: int) -> Pattern:
    """Room for the pattern of one replicate after another."""
    n_tile, n_entry = (n_obs + TILE - 1) // TILE, n_inner * n_obs + 1
    begin = np.zeros((n_tile, n_inner + 1), np.int64)
    return np.empty(n_entry, np.uint32), np.empty(n_entry), begin


@kernel
def _draw_counts(seed: np.uint64, counts: UInt16[np.ndarray, "inner obs"]) -> None:
    """How often each inner resample holds each position."""
    counts[:] = 0
    drawn = np.empty((1, counts.shape[1]), np.uint32)
    for s in range(counts.shape[0]):
        fill_indices(seed, s, counts.shape[1], drawn)
        for i in drawn[0]:
            counts[s, i] += 1


@kernel
def fill_pattern(
    seed: np.uint64, counts: UInt16[np.ndarray, "inner obs"], pattern: Pattern
) -> None:
    """Which positions of an outer resample each inner resample holds, and how often.

    Entries go by tile, then by inner resample; the last array says where each begins.
    """
    _draw_counts(seed, counts)
    where, times, begin = pattern
    n_inner, n_obs = counts.shape
    # Tiles of nearly equal size, so that none is a short rest: loading and storing the totals would
    # cost more there than its few rows.
    n_row = (n_obs + begin.shape[0] - 1) // begin.shape[0]
    entry = 0
    for tile in range(begin.shape[0]):
        begin[tile, 0] = entry
        for s in range(n_inner):
            for i in range(tile * n_row, min(n_obs, (tile + 1) * n_row)):
                where[entry], times[entry] = i, counts[s, i]
                entry += counts[s, i] > 0  # without a branch: the next overwrites what is not
            begin[tile, s + 1] = entry


@kernel
def _gather(
    columns: Float[np.ndarray, " place_column"],
    indices: UInt32[np.ndarray, "outer obs"],
    lanes: Float[np.ndarray, " obs_lane"],
) -> None:
    """Losses of some outer resamples: one resample a lane, the second metric after the first."""
    for i in range(indices.shape[1]):
        for b in range(indices.shape[0]):
            index = np.int64(indices[b, i]) * COLUMNS
            lanes[i * LANES + b] = columns[index]
            lanes[i * LANES + OUTER + b] = columns[index + 1]


@kernel
def _add_rows(
    lanes: Float[np.ndarray, " obs_lane"],
    where: UInt32[np.ndarray, " entry"],
    times: Float[np.ndarray, " entry"],
    total: Float[np.ndarray, " inner_lane"],
    at: int,
) -> None:
    """Add some rows, each so many times, to the totals from `at` on: all in registers."""
    # Eight vectors of four lanes are the 32 lanes: totals stay in registers while rows pass by.
    # Each product is rounded before it is added, so machines with and without a fused unit agree.
    a, b = load(total, at), load(total, at + WIDTH)
    c, d = load(total, at + 2 * WIDTH), load(total, at + 3 * WIDTH)
    e, f = load(total, at + 4 * WIDTH), load(total, at + 5 * WIDTH)
    g, h = load(total, at + 6 * WIDTH), load(total, at + 7 * WIDTH)
    for entry in range(where.shape[0]):
        row, count = np.int64(where[entry]) * LANES, times[entry]
        a = add_multiple(a, count, load(lanes, row))
        b = add_multiple(b, count, load(lanes, row + WIDTH))
        c = add_multiple(c, count, load(lanes, row + 2 * WIDTH))
        d = add_multiple(d, count, load(lanes, row + 3 * WIDTH))
        e = add_multiple(e, count, load(lanes, row + 4 * WIDTH))
        f = add_multiple(f, count, load(lanes, row + 5 * WIDTH))
        g = add_multiple(g, count, load(lanes, row + 6 * WIDTH))
        h = add_multiple(h, count, load(lanes, row + 7 * WIDTH))
    store(total, at, a)
    store(total, at + WIDTH, b)
    store(total, at + 2 * WIDTH, c)
    store(total, at + 3 * WIDTH, d)
    store(total, at + 4 * WIDTH, e)
    store(total, at + 5 * WIDTH, f)
    store(total, at + 6 * WIDTH, g)
    store(total, at + 7 * WIDTH, h)


@kernel
def _inner_sums(
    lanes: Float[np.ndarray, " obs_lane"], pattern: Pattern, total: Float[np.ndarray, " inner_lane"]
) -> None:
    """Every inner resample's sum, in every lane."""
    where, times, begin = pattern
    total[:] = 0.0
    for tile in range(begin.shape[0]):
        for s in range(begin.shape[1] - 1):
            here = slice(begin[tile, s], begin[tile, s + 1])
            _add_rows(lanes, where[here], times[here], total, s * LANES)


@kernel(error_model="numpy")
def _lane_variances(
    total: Float[np.ndarray, " inner_lane"],
    n_obs: int,
    about: Float[np.ndarray, " lane"],
    ddof: int,
) -> Float[np.ndarray, " lane"]:
    """Variance of the inner means of each lane; squares are of distances from the outer mean."""
    n_inner = total.shape[0] // LANES
    # About the outer mean, which the inner means scatter around: squares of the means themselves
    # would cancel where the spread is small next to the mean. What is left of the distance, their
    # mean, is taken out below.
    first, second, per_obs = np.zeros(LANES), np.zeros(LANES), 1.0 / n_obs
    for s in range(n_inner):
        here = total[s * LANES : (s + 1) * LANES]
        for lane in range(LANES):
            distance = here[lane] * per_obs - about[lane]
            first[lane] += distance
            second[lane] += distance * distance
    for lane in range(LANES):
        second[lane] = (second[lane] - first[lane] * first[lane] / n_inner) / (n_inner - ddof)
    return second


@kernel
def inner_variances(
    columns: Float[np.ndarray, " place_column"],
    seed: np.uint64,
    pattern: Pattern,
    ddof: int,
    means: Float[np.ndarray, "4 boot"],
    variances: Float[np.ndarray, "2 boot"],
) -> None:
    """Variance over the inner resamples of each outer resample's mean, of the first two columns.

    `columns` is flat, four to a row, with a row of zeros after the observations.
    """
    n_obs, n_boot = columns.shape[0] // COLUMNS - 1, variances.shape[1]
    lanes, about = aligned_zeros(n_obs * LANES), np.zeros(LANES)
    total = aligned_zeros((pattern[2].shape[1] - 1) * LANES)
    drawn = np.empty((OUTER, n_obs), np.uint32)
    for start in range(0, n_boot, OUTER):
        n_here = min(OUTER, n_boot - start)
        # Lanes beyond `n_here`, in the last round, hold what the round before left: it is added up
        # with the others, as a vector has no lanes to leave out, and not read.
        fill_indices(seed, start, n_obs, drawn[:n_here])
        _gather(columns, drawn[:n_here], lanes)
        # One by one: to say in which way shapes might differ is what takes long to compile.
        for b in range(n_here):
            about[b], about[OUTER + b] = means[0, start + b], means[1, start + b]
        _inner_sums(lanes, pattern, total)
        spread = _lane_variances(total, n_obs, about, ddof)
        for b in range(n_here):
            variances[0, start + b], variances[1, start + b] = spread[b], spread[OUTER + b]
