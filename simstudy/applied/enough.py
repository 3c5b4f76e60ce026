"""How many scores an exact test needs: its power is computed, not approximated."""

from collections.abc import Callable

import numpy as np

from simstudy.shapes import Bool, Int
from simstudy.stats.integer_search import least_count

MOST = 20_000  # scores of each model: exact tests of more take seconds each


def enough_scores(power_of: Callable[[int], float], target: float) -> int | None:
    """An n whose power reaches the target while that of n - 1 does not; None beyond `MOST`.

    The power of a test of counts rises in a saw, so a smaller n may reach it as well, and a
    larger one may fall short of it by a tooth.
    """

    def reaches(n: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        return np.array([power_of(int(size)) >= target for size in n.flat]).reshape(n.shape)

    high = 2
    while not power_of(high) >= target:
        if high == MOST:
            return None
        high = min(2 * high, MOST)
    return int(least_count(reaches, np.array(1), np.array(high)))
