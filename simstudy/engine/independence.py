"""Test of the independence of replicates, by the spread of block means.

If replicates of a block share a random number, block means differ more than those of independent
replicates. If blocks repeat the same values, block means do not differ at all. Both make Monte
Carlo errors too small, without any error message.
"""

import math
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Plan
from simstudy.engine.rng_checks import is_deterministic
from simstudy.lazy import pc, special
from simstudy.store.arrow_schema import NOT_COMPARED
from simstudy.store.blocks import Store

LEVEL = 2e-8  # of all tests of a run; false alarms are up to ten times as frequent
MIN_BLOCKS, MAX_BLOCKS = 5, 200
MIN_EVENTS = 45  # expected rare values per group of blocks, times the root of their number
MAX_SECONDS = 1.0  # time after which no further scenario is tested
MAX_CELLS = 8  # tested cells per column with axes
MIN_VALUES = 10  # different values of a column below which equal blocks are no finding


class Spread(NamedTuple):
    """Block means of a column that differ too much, or not at all.

    Attributes
    ----------
    ratio
        Variance of the block means of ranks, divided by that for independent replicates.
    """

    key: str
    column: str
    ratio: float


def odd_spreads(plan: Plan, store: Store, keys: Iterable[str], group_size: int = 1) -> list[Spread]:
    """Find columns whose block means contradict independent replicates.

    Uses the Kruskal-Wallis test with at most 200 blocks. A false alarm in a run is less probable
    than 1e-6, whatever the distribution of the columns.

    Parameters
    ----------
    keys
        Keys of scenarios (or scenarios and methods); those with fewer than five blocks are skipped.
    group_size
        Number of consecutive replicates that may depend on each other: the test uses their means.
    """
    end = time.monotonic() + MAX_SECONDS
    found: list[tuple[Spread, float]] = []
    n_tests = 0
    for key in keys:
        n_blocks = min(store.n_blocks(key), MAX_BLOCKS)
        if time.monotonic() > end or n_blocks < MIN_BLOCKS or is_deterministic(plan.keys[key]):
            continue
        names = sorted({name for names in plan.reads.values() for name in names})
        table = store.read(key, n_blocks * plan.block_size, names)
        for name, values in _columns(plan, table, group_size):
            n_tests += 1
            ratio, p_value = block_spread(values.reshape(n_blocks, -1))
            found.append((Spread(key, name, ratio), p_value))
    return [spread for spread, p_value in found if p_value * n_tests < LEVEL]


def _columns(plan: Plan, table: pa.Table, group_size: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the numeric columns without missing values, cell by cell, as means of groups."""
    for name in table.column_names:
        matrix = None if name in NOT_COMPARED else _matrix(table.column(name), len(table))
        for cell in () if matrix is None else matrix.T[:MAX_CELLS]:
            if np.isfinite(cell).all() and plan.block_size % group_size == 0:
                yield name, cell.reshape(-1, group_size).mean(axis=1)


def _matrix(column: pa.ChunkedArray, n_rows: int) -> np.ndarray | None:
    """Return numbers with one row per replicate; None for other types or missing values."""
    while pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
        column = pc.list_flatten(column)
    kind = column.type
    is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    if not is_number or column.null_count or not n_rows or len(column) % n_rows:
        return None
    matrix: np.ndarray = column.to_numpy().astype(float).reshape(n_rows, -1)
    return matrix


def block_spread(values: np.ndarray) -> tuple[float, float]:
    """Compare block means of ranks with those of independent replicates (Kruskal-Wallis test).

    The chi-square distribution of the statistic holds far in its tail only if rare values, such as
    few rejections, are frequent enough in each block. Otherwise consecutive blocks are joined.

    Parameters
    ----------
    values
        Values of shape `(n_blocks, n_rep)`.

    Returns
    -------
    ratio, p_value : float
        Variance of the block means over that of independent replicates, about 1 if they are
        independent, and the p-value. It is 0 if all blocks have the same values, and 1 if there
        are too few blocks.

    References
    ----------
    Kruskal and Wallis (1952), Journal of the American Statistical Association 47, 583-621.
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum() - (counts - 1) / 2)[places].reshape(values.shape)  # mean ranks
    if len(counts) < 2:
        return 1.0, 1.0
    if (values == values[0]).all() and len(counts) >= MIN_VALUES:
        return 0.0, 0.0
    scores = (ranks - ranks.mean()) / ranks.std(ddof=1)
    groups = _joined(scores)
    n_groups, size = groups.shape
    if n_groups < MIN_BLOCKS or size < 2:
        return 1.0, 1.0
    statistic = size * ((groups.mean(axis=1) - groups.mean()) ** 2).sum()
    return float(statistic / (n_groups - 1)), float(special.chdtrc(n_groups - 1, statistic))


def _joined(scores: np.ndarray) -> np.ndarray:
    """Join consecutive blocks of scores until chi-square quantiles hold for their means.

    For a rare value of probability p, the squared skewness and the excess kurtosis are about 1/p.
    With k blocks, in each of which it is expected m times, tail probabilities of 1e-9 are at most
    ten times as large as those of chi-square if m * sqrt(k) is at least 45 (by importance sampling
    of multinomial counts).
    """
    n_blocks, size = scores.shape
    skewness, kurtosis = (scores**3).mean(), (scores**4).mean()
    needed = MIN_EVENTS * max(skewness**2, kurtosis - 3, 0) / size
    n_joined = max(1, math.ceil(needed**2 / n_blocks))
    n_groups = n_blocks // n_joined
    return scores[: n_groups * n_joined].reshape(n_groups, n_joined * size)
