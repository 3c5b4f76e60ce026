"""Compiled bootstrap resamples of several columns: random indices, and sums over them.

Random indices come from a counter: word w of a stream is splitmix64 of `seed + (w + 1) · GOLDEN`
(Steele, Lea & Flood 2014), so nothing is stored, and a resample's words are mixed eight at a time.
Each quarter of a word gives one index by Lemire's (2019) multiplication; a quarter that would
favour an index is replaced by that quarter of the word mixed again. So there are fewer than 2^16
observations, and one more place for nothing.

No sum is reordered by the compiler, and none depends on a number of threads.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import numpy as np

from simstudy.array_types import Float, UInt32, UInt64
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats.compiled.lanes import (
    PER_CHUNK,
    add,
    aligned_zeros,
    counted,
    load,
    place_indices,
    store,
    zeros,
)
from simstudy.documents.stats.compiled.splitmix64 import GOLDEN, mixed

Room = tuple[UInt64[np.ndarray, " word"], UInt32[np.ndarray, "2 chunk"]]

ONE, TWO = np.uint64(1), np.uint64(2)
U16, U32, U48 = np.uint64(16), np.uint64(32), np.uint64(48)
# Parts of a word: the lowest first, as a little-endian view of the words has them.
QUARTER = np.uint64(0xFFFF)
QUARTERS_LIMIT = 2**16 - 1  # observations: one more place is for nothing
WORDS_PER_CHUNK = PER_CHUNK // 4
ALL = np.uint32(2**PER_CHUNK - 1)
CHUNKS_AT_ONCE = 64  # resamples are drawn by batches of these: 4 KB
COLUMNS = 4


@kernel
def _chunks(n_obs: int) -> int:
    return (n_obs + PER_CHUNK - 1) // PER_CHUNK


@kernel
def _room(n_obs: int, n_resample: int) -> Room:
    """Words for the indices of some resamples, and room to note which of them are refused."""
    n_chunk = _chunks(n_obs) * n_resample
    words = aligned_zeros(n_chunk * WORDS_PER_CHUNK).view(np.uint64)
    return words, np.empty((2, n_chunk), np.uint32)


@kernel
def _draw(state: np.uint64, n_obs: int, n_resample: int, room: Room) -> np.uint64:
    """Indices of the next resamples, by fours in the words of `room`; the state after them.

    Each resample begins a chunk. Up to a multiple of eight its indices are followed by `n_obs`:
    the index of nothing.
    """
    # Three passes over a batch instead of one: drawing has no branch in it, and what is refused (of
    # n observations a share of (2^16 mod n) / 2^16, at most half and mostly far less) is redrawn
    # by chunks afterwards. A chunk is 32 indices, of which the bits of `left` say which to redraw.
    words, (left, chunks) = room[0], room[1]
    n, per_resample = np.uint64(n_obs), _chunks(n_obs)
    threshold, start, n_chunk = (ONE << U16) % n, state, per_resample * n_resample
    for chunk in range(n_chunk):
        drawn = mixed(counted(state, GOLDEN))
        left[chunk] = place_indices(drawn, n, threshold, ALL, words, chunk * WORDS_PER_CHUNK)
        state += np.uint64(WORDS_PER_CHUNK) * GOLDEN
    n_refused = 0
    for chunk in range(n_chunk):  # no branch: it would be guessed wrong
        chunks[n_refused] = chunk
        n_refused += left[chunk] != 0
    for marked in chunks[:n_refused]:
        at, refused = np.int64(marked) * WORDS_PER_CHUNK, left[marked]
        # The chunk's words once more. It may be drawn several times, and each round mixes the words
        # of the round before: an index depends on its own word alone.
        drawn = mixed(counted(start + np.uint64(at) * GOLDEN, GOLDEN))
        while refused != 0:
            drawn = mixed(drawn + GOLDEN)
            refused = place_indices(drawn, n, threshold, refused, words, at)
    # The sums below look up eight at a time: what is left over looks up the row of zeros.
    indices = words.view(np.uint16)
    for resample in range(n_resample):
        first = resample * per_resample * PER_CHUNK
        for nothing in range(n_obs, (n_obs + 7) // 8 * 8):
            indices[first + nothing] = n_obs
    return state


@kernel
def fill_indices(seed: np.uint64, n_obs: int, indices: UInt32[np.ndarray, "boot obs"]) -> None:
    """Indices of the first resamples of the stream that `seed` starts."""
    room, state = _room(n_obs, 1), seed + GOLDEN
    for b in range(indices.shape[0]):
        state = _draw(state, n_obs, 1, room)
        drawn = room[0].view(np.uint16)
        for i in range(n_obs):
            indices[b, i] = drawn[i]


@kernel
def _sum_column(column: Float[np.ndarray, " place"], words: UInt64[np.ndarray, " word"]) -> float:
    """Eight chains of additions, so that none waits for another."""
    # An addition takes about four cycles and a core begins two in each: one chain would wait
    # for itself. The chains are added as a balanced tree, in this order on every machine.
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    w = np.uint64(0)
    for _ in range(words.shape[0] // 2):
        here, beside = words[w], words[w + ONE]
        s0 += column[here & QUARTER]
        s1 += column[(here >> U16) & QUARTER]
        s2 += column[(here >> U32) & QUARTER]
        s3 += column[here >> U48]
        s4 += column[beside & QUARTER]
        s5 += column[(beside >> U16) & QUARTER]
        s6 += column[(beside >> U32) & QUARTER]
        s7 += column[beside >> U48]
        w += TWO
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@kernel
def _row(rows: Float[np.ndarray, " place_column"], index: np.uint64):  # type: ignore[no-untyped-def]
    return load(rows, np.int64(index) * COLUMNS)


@kernel
def _sum_columns(
    rows: Float[np.ndarray, " place_column"],
    words: UInt64[np.ndarray, " word"],
    sums: Float[np.ndarray, " boot_column"],
    at: int,
) -> None:
    """Four chains of additions of four columns."""
    # Lane m of each chain belongs to column m, so a column's sum has one order whatever stands
    # next to it. A chain for each quarter of a word: four additions under way at once.
    a, b, c, d = zeros(), zeros(), zeros(), zeros()
    for word in words:
        a = add(a, _row(rows, word & QUARTER))
        b = add(b, _row(rows, (word >> U16) & QUARTER))
        c = add(c, _row(rows, (word >> U32) & QUARTER))
        d = add(d, _row(rows, word >> U48))
    store(sums, at * COLUMNS, add(add(a, b), add(c, d)))


@kernel
def resampled_sums(
    values: Float[np.ndarray, " place_column"],
    n_obs: int,
    seed: np.uint64,
    sums: Float[np.ndarray, " boot_column"],
) -> None:
    """Sums over each resample of one column, or of four side by side, on the same indices.

    Both arrays are flat, row after row. After the observations `values` has a row of zeros.
    """
    n_column = values.shape[0] // (n_obs + 1)
    n_boot, n_word = sums.shape[0] // n_column, (n_obs + 7) // 8 * 2
    # Some resamples at a time: their words (4 KB) stay in the nearest cache between the passes.
    at_once = max(1, CHUNKS_AT_ONCE // _chunks(n_obs))
    room, state = _room(n_obs, at_once), seed + GOLDEN
    for start in range(0, n_boot, at_once):
        n_here = min(at_once, n_boot - start)
        state = _draw(state, n_obs, n_here, room)
        for b in range(n_here):
            words = room[0][b * _chunks(n_obs) * WORDS_PER_CHUNK :][:n_word]
            if n_column == 1:
                sums[start + b] = _sum_column(values, words)
            else:
                _sum_columns(values, words, sums, start + b)


@kernel
def resampled_means(
    values: Float[np.ndarray, "rep column obs"],
    seeds: UInt64[np.ndarray, " rep"],
    means: Float[np.ndarray, "rep column boot"],
) -> None:
    """Mean of every column over every resample; all columns of a replicate on the same indices.

    Columns go four at a time; for the next four the stream is simply run again.
    """
    n_rep, n_column, n_obs = values.shape
    n_boot = means.shape[2]
    width = 1 if n_column == 1 else COLUMNS
    some, sums = aligned_zeros((n_obs + 1) * width), np.empty(n_boot * width)
    for rep in range(n_rep):
        for start in range(0, n_column, width):
            n_here = min(width, n_column - start)
            for c in range(n_here):
                for i in range(n_obs):
                    some[i * width + c] = values[rep, start + c, i]
            resampled_sums(some, n_obs, seeds[rep], sums)
            for c in range(n_here):
                for b in range(n_boot):
                    means[rep, start + c, b] = sums[b * width + c] / n_obs
