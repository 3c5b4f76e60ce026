"""Bisection over whole numbers, for all elements of an array at once."""

from collections.abc import Callable

import numpy as np

from simstudy.array_types import Bool, Int

Counts = Int[np.ndarray, "..."]


def least_count(
    holds: Callable[[Counts], Bool[np.ndarray, "..."]], low: Counts, high: Counts
) -> Counts:
    """The least count in [low, high] where `holds` is true, taken to be true at `high`.

    `holds` is elementwise, takes arrays of at least one axis, and once true stays true for every
    larger count. Exact, after about log2(high − low) calls.
    """
    low, high = np.broadcast_arrays(np.asarray(low, np.int64), np.asarray(high, np.int64))
    shape = low.shape
    low, high = np.atleast_1d(low), np.atleast_1d(high)
    while (low < high).any():
        middle = (low + high) // 2
        true = holds(middle)
        high = np.where(true, middle, high)
        low = np.where(true, low, np.minimum(middle + 1, high))
    return high.reshape(shape)
