"""Compiled permutation tests of two samples: random partitions, and statistics at any shift.

For the test at another difference the first sample is shifted and the same partitions are used. Of
each partition four sums over the smaller group say all that is needed for that, so a shift costs a
pass over the partitions and not over their observations.

Random words are those of SplitMix64: the upper half of a word gives a place by Lemire's (2019)
multiplication, and a word that would favour a place is mixed again.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import math

import numpy as np

from simstudy.array_types import Float, Int64, UInt64
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats.compiled.splitmix64 import GOLDEN, mixed, place_of_half

U32 = np.uint64(32)  # shift to the upper half of a word
ROOT_EPS = math.sqrt(float(np.finfo(np.float64).eps))
HALVINGS = 26  # relative width of a bracket: closer values are ties
# Standard errors: a limit beyond it is infinite. A shift costs sums of squares as many digits as
# its square has; with this, half are left.
FAR = 2.0**10

# Sums over the smaller group, by row: of values, of their squares, of the first sample's values,
# and how many of the first sample there are.
SUM, SQUARES, OF_FIRST, COUNT = 0, 1, 2, 3


@kernel
def _place(state: np.uint64, n: int) -> np.int64:
    """In 0 to n - 1, each with the same probability."""
    return np.int64(place_of_half(mixed(state), U32, np.uint64(n)))


@kernel
def shuffle_on(state: np.uint64, order: Int64[np.ndarray, " obs"], n_drawn: int) -> np.uint64:
    """Draw a group into the first `n_drawn` places, from any order; the state after it.

    The first steps of the shuffle of Fisher and Yates (Durstenfeld 1964, Commun. ACM 7(7), 420).
    """
    for i in range(n_drawn):
        state += GOLDEN
        j = i + _place(state, order.shape[0] - i)
        order[i], order[j] = order[j], order[i]
    return state


@kernel
def _fill_sums(
    values: Float[np.ndarray, " obs"],
    n_first: int,
    seed: np.uint64,
    sums: Float[np.ndarray, "4 perm"],
) -> None:
    """The four sums of each partition of a replicate."""
    order, state = np.arange(values.shape[0]), seed
    n_drawn = min(n_first, values.shape[0] - n_first)
    for b in range(sums.shape[1]):
        state = shuffle_on(state, order, n_drawn)
        total, squares, of_first, count = 0.0, 0.0, 0.0, 0
        for i in order[:n_drawn]:
            value = values[i]
            total += value
            squares += value * value
            of_first += value if i < n_first else 0.0
            count += i < n_first
        sums[SUM, b], sums[SQUARES, b] = total, squares
        sums[OF_FIRST, b], sums[COUNT, b] = of_first, count


@kernel(error_model="numpy")
def _count_extreme(
    values: Float[np.ndarray, " obs"],
    n_first: int,
    sums: Float[np.ndarray, "4 perm"],
    shift: float,
    studentized: bool,
) -> int:
    """Partitions at least as extreme as the samples, after the first is moved down by `shift`.

    The samples have mean 0, and a standard error of 1 for their difference: their own statistic is
    then the shift. Statistics that agree in half the digits of a double are ties.
    """
    n = values.shape[0]
    m = min(n_first, n - n_first)
    rest = n - m
    squares_of_all = 0.0
    for i in range(n):
        moved = values[i] - (shift if i < n_first else 0.0)
        squares_of_all += moved * moved
    sum_of_all, size = -shift * n_first, abs(shift)
    reach = max(0.0, size - ROOT_EPS * max(1.0, size)) ** 2
    per_m, per_rest = 1.0 / m, 1.0 / rest
    in_m, in_rest = 1.0 / (m * (m - 1.0)), 1.0 / (rest * (rest - 1.0))
    n_extreme = 0
    for b in range(sums.shape[1]):
        count = sums[COUNT, b]
        total = sums[SUM, b] - shift * count
        squares = sums[SQUARES, b] - shift * (2.0 * sums[OF_FIRST, b] - shift * count)
        other = sum_of_all - total
        difference = total * per_m - other * per_rest
        variance = 1.0
        if studentized:
            variance = (squares - total * total * per_m) * in_m
            variance += (squares_of_all - squares - other * other * per_rest) * in_rest
        n_extreme += difference * difference >= reach * variance
    return n_extreme


@kernel
def _limit(
    values: Float[np.ndarray, " obs"],
    n_first: int,
    sums: Float[np.ndarray, "4 perm"],
    direction: float,
    studentized: bool,
    n_needed: int,
) -> float:
    """The furthest shift in a direction at which as many partitions as needed are as extreme."""
    inside, outside = 0.0, 1.0
    while _count_extreme(values, n_first, sums, direction * outside, studentized) >= n_needed:
        inside, outside = outside, 2.0 * outside
        if outside > FAR:
            return direction * math.inf
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + outside)
        if _count_extreme(values, n_first, sums, direction * middle, studentized) >= n_needed:
            inside = middle
        else:
            outside = middle
    return direction * inside


@kernel
def permutation_tests(
    values: Float[np.ndarray, "rep obs"],
    n_first: int,
    statistic: Float[np.ndarray, " rep"],
    seeds: UInt64[np.ndarray, " rep"],
    studentized: bool,
    n_needed: int,
    sums: Float[np.ndarray, "4 perm"],
    answer: Float[np.ndarray, "rep 3"],
) -> None:
    """How many partitions are as extreme, and the lowest and highest shift that is kept.

    `values` are about the mean of their own sample, in standard errors of the difference, the
    first sample before the second; `sums` is room. NaN where the statistic is.
    """
    for rep in range(values.shape[0]):
        if not math.isfinite(statistic[rep]):
            answer[rep] = math.nan
            continue
        here = values[rep]
        _fill_sums(here, n_first, seeds[rep], sums)
        answer[rep, 0] = _count_extreme(here, n_first, sums, -statistic[rep], studentized)
        answer[rep, 1] = _limit(here, n_first, sums, -1.0, studentized, n_needed)
        answer[rep, 2] = _limit(here, n_first, sums, 1.0, studentized, n_needed)
