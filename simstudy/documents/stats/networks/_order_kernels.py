"""Compiled orders: one shuffle for each network, from one word."""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import numpy as np

from simstudy.array_types import Int, UInt64
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats.compiled.splitmix64 import BITS_32, GOLDEN, HALF, mixed, place_of_half


@kernel
def _place(word: np.uint64, n: np.uint64) -> np.uint64:
    """`place_of_half` of the upper half, without its division where that decides nothing."""
    scaled = (word >> BITS_32) * n
    if (scaled & HALF) < n:  # once in millions of times
        return place_of_half(word, BITS_32, n)
    return scaled >> BITS_32


@kernel
def shuffle_each(
    rows: Int[np.ndarray, "network draw"],
    seeds: UInt64[np.ndarray, " network"],
    out: Int[np.ndarray, "network draw"],
) -> None:
    """Each row in an order drawn by the stream of its seed (Fisher-Yates, from the front)."""
    n = rows.shape[1]
    for k in range(rows.shape[0]):
        state, order = seeds[k], out[k]
        order[:] = rows[k]
        for i in range(n - 1):
            state += GOLDEN
            j = i + np.int64(_place(mixed(state), np.uint64(n - i)))
            order[i], order[j] = order[j], order[i]
