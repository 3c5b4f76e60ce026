"""Bootstrap resamples of several columns, compiled: random indices, and means over them.

Random indices come from a counter: word w of a stream is splitmix64 of `seed + (w + 1) · GOLDEN`
(Steele, Lea & Flood 2014), so nothing is stored, which takes a fraction of the time of NumPy's
`integers`. Half a word gives an index by Lemire's (2019) multiplication without its refusals: the
probability of an index is off by less than n / 2^32 of itself.

numba's cache on disk is renewed when this file changes, so no compiled function may call a function
or read a constant of another file.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import numba
import numpy as np

from simstudy.array_types import Float, UInt32, UInt64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
LOWER, HALF = np.uint64(2**32 - 1), np.uint64(32)
COLUMNS = 4  # summed side by side

compiled = numba.njit(nogil=True, cache=True, error_model="numpy")


@compiled
def draw_indices(
    seed: np.uint64, resample: int, n_obs: int, room: UInt32[np.ndarray, " index"]
) -> None:
    """Indices of a resample of a stream, from the upper and then from the lower halves of words.

    `room` has a place for both halves of every word: one more than `n_obs` where that is odd.
    """
    n, n_word = np.uint64(n_obs), room.size // 2
    upper, lower = room[:n_word], room[n_word:]
    begin = seed + np.uint64(resample * n_word) * GOLDEN
    for at in range(n_word):
        word = begin + np.uint64(at + 1) * GOLDEN
        word = (word ^ (word >> np.uint64(30))) * FIRST
        word = (word ^ (word >> np.uint64(27))) * SECOND
        word = word ^ (word >> np.uint64(31))
        upper[at] = ((word >> HALF) * n) >> HALF
        lower[at] = ((word & LOWER) * n) >> HALF


@compiled
def room_for(n_obs: int) -> UInt32[np.ndarray, " index"]:
    """Room for the indices of a resample."""
    return np.empty((n_obs + 1) // 2 * 2, np.uint32)


@compiled
def fill_indices(seed: np.uint64, indices: UInt32[np.ndarray, "boot obs"]) -> None:
    """Indices of the first resamples of a stream."""
    n_obs = indices.shape[1]
    room = room_for(n_obs)
    for b in range(indices.shape[0]):
        draw_indices(seed, b, n_obs, room)
        indices[b] = room[:n_obs]


@compiled
def add_column(
    rows: Float[np.ndarray, "obs four"],
    room: UInt32[np.ndarray, " index"],
    sums: Float[np.ndarray, " four"],
) -> None:
    """Sum of the first column over a resample, in four chains: no addition waits for another."""
    n = rows.shape[0]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for i in range(0, n - 3, 4):
        a += rows[room[i], 0]
        b += rows[room[i + 1], 0]
        c += rows[room[i + 2], 0]
        d += rows[room[i + 3], 0]
    for i in range(n // 4 * 4, n):
        a += rows[room[i], 0]
    sums[0] = (a + b) + (c + d)


@compiled
def add_columns(
    rows: Float[np.ndarray, "obs four"],
    room: UInt32[np.ndarray, " index"],
    sums: Float[np.ndarray, " four"],
) -> None:
    """Sums of four columns over a resample, in two chains each."""
    n = rows.shape[0]
    a0, a1, a2, a3, b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(0, n, 2):
        j = room[i]
        a0 += rows[j, 0]
        a1 += rows[j, 1]
        a2 += rows[j, 2]
        a3 += rows[j, 3]
        if i + 1 < n:
            j = room[i + 1]
            b0 += rows[j, 0]
            b1 += rows[j, 1]
            b2 += rows[j, 2]
            b3 += rows[j, 3]
    sums[0], sums[1], sums[2], sums[3] = a0 + b0, a1 + b1, a2 + b2, a3 + b3


@compiled
def resampled_means(
    values: Float[np.ndarray, "rep column obs"],
    seeds: UInt64[np.ndarray, " rep"],
    means: Float[np.ndarray, "rep column boot"],
) -> None:
    """Mean of every column over every resample; all columns of a replicate on the same indices."""
    n_rep, n_column, n_obs = values.shape
    rows, sums, room = np.zeros((n_obs, COLUMNS)), np.empty(COLUMNS), room_for(n_obs)
    for rep in range(n_rep):
        for start in range(0, n_column, COLUMNS):
            n_here = min(COLUMNS, n_column - start)
            for c in range(n_here):
                rows[:, c] = values[rep, start + c]
            for b in range(means.shape[2]):
                draw_indices(seeds[rep], b, n_obs, room)
                if n_here == 1:
                    add_column(rows, room, sums)
                else:
                    add_columns(rows, room, sums)
                for c in range(n_here):
                    means[rep, start + c, b] = sums[c] / n_obs
