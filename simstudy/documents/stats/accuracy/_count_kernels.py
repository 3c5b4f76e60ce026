"""Compiled draws of counts by alias, a word of random bits each, and decisions looked up by counts.

A table has a power of two of columns. A column holds two outcomes and how much of it belongs to the
first, so the upper bits of a word choose the column and all the others choose within it: no word is
refused, and a probability is off by at most its own rounding. Outcomes are counts packed in
one word (`simstudy.documents.stats.accuracy.prompts`), and packed counts add up as they are.

References
----------
Walker (1977), ACM Trans. Math. Softw. 3(3), 253-256: aliases; Vose (1991), IEEE Trans. Softw. Eng.
17(9), 972-975: how a table is filled.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import numpy as np

from simstudy.array_types import Bool, Float, Int64, UInt64
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats.compiled.splitmix64 import GOLDEN, mixed

WORD = 2.0**64
LARGEST = 0xFFFFFFFFFFFFFFFF  # a share of all of a column: its two outcomes are then one

# Of a column: the share of the first outcome in 2^-64, and both outcomes.
SHARE, FIRST, SECOND = 0, 1, 2


@kernel
def fill_table(
    probability: Float[np.ndarray, " outcome"],
    outcome: UInt64[np.ndarray, " outcome"],
    table: UInt64[np.ndarray, "column 3"],
) -> None:
    """Share out outcomes over columns of equal probability, at most two to each.

    `probability` sums to 1 but for rounding, and there are as many as columns.
    """
    n = probability.shape[0]
    left = probability * n
    small, large = np.empty(n, np.int64), np.empty(n, np.int64)
    n_small, n_large = 0, 0
    for i in range(n):
        table[i, SHARE], table[i, FIRST], table[i, SECOND] = LARGEST, outcome[i], outcome[i]
        if left[i] < 1.0:
            small[n_small] = i
            n_small += 1
        else:
            large[n_large] = i
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        i, j = small[n_small], large[n_large - 1]
        table[i, SHARE], table[i, SECOND] = np.uint64(left[i] * WORD), outcome[j]
        left[j] -= 1.0 - left[i]
        if left[j] < 1.0:
            small[n_small] = j
            n_small += 1
            n_large -= 1


@kernel
def add_drawn(
    table: UInt64[np.ndarray, "column 3"],
    n_bits: np.uint64,
    n_drawn: int,
    seed: np.uint64,
    totals: UInt64[np.ndarray, " rep"],
) -> None:
    """Add so many independent draws to each total; the table has 2^`n_bits` columns, at least 2."""
    state, shift = seed, np.uint64(64) - n_bits
    for rep in range(totals.shape[0]):
        total = totals[rep]
        for _ in range(n_drawn):
            state += GOLDEN
            word = mixed(state)
            column = table[np.int64(word >> shift)]
            is_first = (word << n_bits) < column[SHARE]
            total += column[FIRST] if is_first else column[SECOND]
        totals[rep] = total


@kernel
def look_up(
    right: Int64[np.ndarray, "count by_right"],
    lost: Int64[np.ndarray, "count by_lost"],
    reference: Int64[np.ndarray, " rep"],
    n_lost: Int64[np.ndarray, " rep"],
    n_gained: Int64[np.ndarray, " rep"],
    fails: Bool[np.ndarray, "rep test"],
) -> None:
    """Which tests fail each check: as many right answers or fewer, as many lost prompts or more."""
    n_right = right.shape[1]
    for rep in range(fails.shape[0]):
        check = reference[rep] - n_lost[rep] + n_gained[rep]
        for test in range(n_right):
            fails[rep, test] = check <= right[reference[rep], test]
        for test in range(lost.shape[1]):
            fails[rep, n_right + test] = n_lost[rep] >= lost[n_gained[rep], test]
