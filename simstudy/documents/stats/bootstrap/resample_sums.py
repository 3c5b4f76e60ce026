"""Bootstrap resamples of several columns, compiled: random indices, and means over them.

Random indices come from a counter: word w of a stream is splitmix64 of `seed + (w + 1) · GOLDEN`
(Steele, Lea & Flood 2014), so nothing is stored, which takes a third of the time of NumPy's
`integers`. Half a word gives an index by Lemire's (2019) multiplication without its refusals: an
index is drawn with a probability that is off by less than n / 2^32 of itself.

What is compiled stays on disk until this file changes: it uses nothing of other files of ours.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import numba
import numpy as np

from simstudy.array_types import Float, Int32, UInt64

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
LOWER, HALF = np.uint64(2**32 - 1), np.uint64(32)
COLUMNS = 4  # side by side

kernel = numba.njit(nogil=True, cache=True, error_model="numpy")


@kernel
def draw_indices(seed: np.uint64, resample: int, indices: Int32[np.ndarray, " obs"]) -> None:
    """Indices of one resample of a stream: those of upper halves, then those of lower halves."""
    n, n_word = np.uint64(indices.size), (indices.size + 1) // 2
    begin = seed + np.uint64(resample * n_word) * GOLDEN
    for at in range(n_word):
        word = begin + np.uint64(at + 1) * GOLDEN
        word = (word ^ (word >> np.uint64(30))) * FIRST
        word = (word ^ (word >> np.uint64(27))) * SECOND
        word = word ^ (word >> np.uint64(31))
        indices[at] = ((word >> HALF) * n) >> HALF
        if n_word + at < indices.size:
            indices[n_word + at] = ((word & LOWER) * n) >> HALF
