"""Checks of stored blocks after a run, for errors that no replicate shows.

First blocks are drawn again in another process and compared bit by bit. That process has another
hash seed, runs at another time and has new generators. So the comparison finds numbers that depend
on generators other than the streams, the order of sets, the time or the network.

The spread of block means is compared with that of independent replicates. If replicates of a block
share a random number, block means differ more. If blocks repeat the same values, block means do not
differ at all. Both make Monte Carlo errors too small.
"""

import atexit
import hashlib
import math
import os
import pickle
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Plan, base_scenario, method_of
from simstudy.engine.block import draw_block
from simstudy.engine.executors import (
    begin_worker,
    deaf_to_interrupts,
    packed,
    refuse_other_code,
    until_taken,
)
from simstudy.engine.provenance import LoadedCode
from simstudy.engine.rng_checks import is_deterministic
from simstudy.engine.thread_limits import limit_new_pools, single_threaded
from simstudy.errors import StaleCodeError
from simstudy.lazy import pc, special
from simstudy.store.arrow_schema import NOT_COMPARED, block_table
from simstudy.store.blocks import Store

MIN_SECONDS = 2.0  # time for the check after a short run
PART_OF_RUN = 0.05  # time for the check after a long run, as a part of the run
START_SECONDS = 0.5  # time left below which no process is started
HASH_SEED = "1"
IDLE_SECONDS = 300.0  # time without a check after which the process ends

Digests = Mapping[str, str]
"""Hashes of a block's columns, by name."""


def check_repeatable(
    plan: Plan,
    store: Store,
    keys: Iterable[str],
    *,
    code: LoadedCode | None,
    run_seconds: float,
) -> dict[str, list[str]]:
    """Draw stored first blocks again in another process, as many as the time allows.

    Parameters
    ----------
    keys
        Keys of scenarios (or scenarios and methods) whose first block is stored.
    code
        Code that the process must have loaded; None for no check.
    run_seconds
        Duration of the run, in seconds. The check may take 5% of it, or two seconds if that is
        more.

    Returns
    -------
    dict
        Names of the columns with other bits, by key.
    """
    end = time.monotonic() + max(MIN_SECONDS, PART_OF_RUN * run_seconds)
    found: dict[str, list[str]] = {}
    for key in _each_kind_first(plan, keys):
        if time.monotonic() > end - (0.0 if os.getpid() in _pools else START_SECONDS):
            break
        try:
            made = _redrawn(packed((code, plan.only([plan.keys[key]]))), end)
        except Exception:  # the study cannot be sent, the process has ended, or time is up
            break
        if made:
            stored = digests_of(store.read(key, plan.block_size))
            differing = [name for name, digest in made.items() if stored.get(name) != digest]
            found |= {key: differing} if differing else {}
    return found


def _each_kind_first(plan: Plan, keys: Iterable[str]) -> list[str]:
    """Order keys so that each scenario class and each method comes early."""
    n_before: dict[tuple[type, str], int] = {}
    order = {}
    for key in keys:
        kind = type(base_scenario(plan.keys[key])), method_of(plan.keys[key])
        order[key] = n_before[kind] = n_before.get(kind, 0) + 1
    return sorted(order, key=order.__getitem__)


def digests_of(table: pa.Table) -> Digests:
    """Hash each column that is compared, by name."""
    names = [name for name in table.column_names if name not in NOT_COMPARED]
    return {name: _digest(table.column(name)) for name in names}


def _digest(column: pa.ChunkedArray) -> str:
    return hashlib.sha256(repr(_as_doubles(column.to_pylist())).encode()).hexdigest()


def _as_doubles(value: Any) -> Any:
    """Convert whole numbers and booleans to doubles, as in a file with doubles of other methods."""
    if isinstance(value, list):
        return [_as_doubles(each) for each in value]
    return float(value) if isinstance(value, int) else value


# ---------------------------------------------------------------- the other process
_pools: dict[int, Any] = {}
"""The pool with the other process, by the process that started it: later runs use it again."""
atexit.register(_pools.clear)  # a pool that lives until Python takes modules apart prints an error


def _redrawn(payload: bytes, end: float) -> Digests | None:
    """Draw a first block in the other process; None if it failed there.

    Raises
    ------
    Exception
        If the process ends, or is not done at `end`.
    """
    while True:
        had_one, future = os.getpid() in _pools, None
        try:
            with deaf_to_interrupts():
                future = _pool().submit(_digests_here, payload, tuple(sys.path))
            found: Digests | None = future.result(max(0.0, end - time.monotonic()))
        except BaseException as error:
            until_taken(future)
            if pool := _pools.pop(os.getpid(), None):  # none if it could not be made
                pool.shutdown(kill_workers=True)
            if isinstance(error, StaleCodeError) and had_one:
                continue  # it has loaded a module that was edited since
            raise
        return found


def _pool() -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    if os.getpid() not in _pools:
        other = "0" if os.environ.get("PYTHONHASHSEED") == HASH_SEED else HASH_SEED
        _pools[os.getpid()] = ProcessPoolExecutor(
            max_workers=1,
            timeout=IDLE_SECONDS,
            initializer=_begin_silent,
            initargs=(os.getpid(),),
            env={"PYTHONHASHSEED": other},
        )
    return _pools[os.getpid()]


def _begin_silent(parent: int) -> None:
    """Initialise the process; what the study prints there is discarded."""
    begin_worker(parent)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _digests_here(payload: bytes, paths: Sequence[str]) -> Digests | None:
    sys.path[:] = paths
    try:
        code, plan = pickle.loads(payload)
        refuse_other_code(code)
        (scenario,) = plan.keys.values()
        with single_threaded():
            for number in (1, 0):  # order that shows state left behind by a block
                block = draw_block(plan, scenario, number)
                limit_new_pools()
        return digests_of(block_table(plan, [block]))
    except StaleCodeError:
        raise
    except BaseException:  # the run itself reports failures
        return None


# ---------------------------------------------------------------- spread of block means
LEVEL = 2e-8  # significance level for all tests of a run; false alarms may be ten times as frequent
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


def odd_spreads(plan: Plan, store: Store, keys: Iterable[str]) -> list[Spread]:
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
        for name, values in _columns(plan, table):
            n_tests += 1
            ratio, p_value = block_spread(values.reshape(n_blocks, -1))
            found.append((Spread(key, name, ratio), p_value))
    return [spread for spread, p_value in found if p_value * n_tests < LEVEL]


def _columns(plan: Plan, table: pa.Table) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the numeric columns without missing values, cell by cell, as means of groups."""
    for name in table.column_names:
        matrix = None if name in NOT_COMPARED else _matrix(table.column(name), len(table))
        for cell in () if matrix is None else matrix.T[:MAX_CELLS]:
            if np.isfinite(cell).all():
                yield name, cell.reshape(-1, plan.group_size).mean(axis=1)


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
