"""How many scores an exact test needs: its power is computed as far as that is quick."""

from collections.abc import Callable

import numpy as np

from simstudy.shapes import Bool, Int
from simstudy.stats.accuracy import design
from simstudy.stats.integer_search import least_count

MOST = 10_000  # scores of each model: beyond, the normal formula says it, to a per cent


def about_enough(effect: float, alpha: float, beta: float, sigma: float) -> int:
    """By the normal formula, at least 1; an effect without any spread is seen in one score.

    Parameters
    ----------
    sigma
        Of one score, at least 0: the difference of two means of n has variance 2 sigma² / n.
    """
    return int(design.sample_size(effect, alpha, beta, sigma)) if sigma > 0 else 1


def enough_scores(power_of: Callable[[int], float], target: float, about: int) -> int:
    """An n whose power reaches the target while that of n - 1 does not.

    The power of a test of counts rises in a saw, so a smaller n may reach it as well, and a
    larger one may fall short of it by a tooth.

    Parameters
    ----------
    power_of
        Of a number of scores; it comes to be above the target.
    about
        The number by the normal formula, which is the answer if it is more than `MOST`.
    """
    if about > MOST:
        return about

    def reaches(n: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        return np.array([power_of(int(size)) >= target for size in n.flat]).reshape(n.shape)

    low, high = max(about // 2, 1), about
    while power_of(high) < target:
        low, high = high, high + max(about // 4, 1)
    if low < about and power_of(low) >= target:
        low = 1
    return int(least_count(reaches, np.array(low), np.array(high)))
