"""SplitMix64: the mixer that makes random words of counters, written once.

The state of the generator is a word of 64 bits that grows by `GOLDEN` with each draw, modulo 2^64;
the draw is the state, mixed. So draw w of a stream is `mixed(seed + (w + 1) * GOLDEN)`: nothing is
stored, any draw can be had alone, and eight can be had at once (module `lanes`).
A word mixed again after another `GOLDEN` is the first draw of another stream; that is where
what is refused takes its further words from.

References
----------
Steele, Lea & Flood (2014), OOPSLA, 453-472; the constants are variant 13 of Stafford (2011).
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import inspect

import numpy as np

from simstudy.array_types import UInt64
from simstudy.documents.stats.compiled.kernel import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # the odd number nearest to 2^64 over the golden ratio
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
BITS_27, BITS_30, BITS_31 = np.uint64(27), np.uint64(30), np.uint64(31)
ONE, BITS_32, HALF = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFF)


@kernel
def mixed(state: np.uint64) -> np.uint64:
    """The output of the generator in a state, a bijection of words; eight at once for eight.

    All constants are words of 64 bits: next to a signed integer numba would make floats of them.
    """
    word = (state ^ (state >> BITS_30)) * FIRST_FACTOR
    word = (word ^ (word >> BITS_27)) * SECOND_FACTOR
    return word ^ (word >> BITS_31)


@kernel
def place_of_half(word: np.uint64, shift: np.uint64, n: np.uint64) -> np.uint64:
    """A place from 0 to n - 1, each with the same probability, from the half of a word at a shift.

    Lemire's (2019, ACM Trans. Model. Comput. Simul. 29(1), 3) multiplication; a word whose half
    would favour a place is mixed again.
    """
    threshold, scaled = (ONE << BITS_32) % n, ((word >> shift) & HALF) * n
    while (scaled & HALF) < threshold:
        word = mixed(word + GOLDEN)
        scaled = ((word >> shift) & HALF) * n
    return scaled >> BITS_32


def mixed_by_numpy(states: UInt64[np.ndarray, "*any"]) -> UInt64[np.ndarray, "*any"]:
    """`mixed` of an array, by the same lines uncompiled: slow, for what is only looked at."""
    return np.asarray(inspect.unwrap(mixed)(states))
