"""Checks that replicates are independent, for mistakes that raise no error.

A mean without `axis=1`, or centring across replicates, makes rows depend on each other. So a few
rows of each method's first block are analysed again on their own. If the method cannot analyse so
few, half of the rows are analysed again, each twice and in another order.

After the run the spread of block means is compared with that of independent replicates. If
replicates of a block share a random number, block means differ more. If blocks repeat the same
values, block means do not differ at all. Both make Monte Carlo errors too small.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Plan, WorkUnit, parameters_of
from simstudy.engine.columns import validate_columns
from simstudy.engine.error_policy import BlockContext
from simstudy.engine.methods import EachReplicate, call_method, has_rows
from simstudy.errors import StudyError
from simstudy.lazy import pc, special
from simstudy.provenance.streams import Streams
from simstudy.store.arrow_schema import NOT_COMPARED
from simstudy.store.blocks import Store

NO_STREAMS, ROWS_DIFFER, ALL_ALIKE = "no streams", "rows differ", "all alike"
MAX_ROWS_COMPARED = 1024  # rows of a block to search for replicates that differ

N_ROWS = 4  # rows that are analysed again
RTOL = 1e-6  # an iterative method may stop at another step if there are fewer rows
MIN_ROWS = 2 * N_ROWS  # replicates in a block that is checked


# ---------------------------------------------------------------- streams
def is_deterministic(value: object) -> bool:
    """Whether a scenario declares itself deterministic."""
    return bool(getattr(getattr(value, "scenario", value), "deterministic", False))


def check_streams(
    context: BlockContext, scenario: object, streams: Streams, columns: Any, n_rep: int
) -> None:
    """Record that replicates differ although no random stream was used."""
    events = context.rng_events
    if events is None or streams.asked or is_deterministic(scenario):
        return
    if isinstance(columns, Mapping) and any(_differs(array, n_rep) for array in columns.values()):
        events[NO_STREAMS] = None


def check_alike(
    context: BlockContext,
    scenario: object,
    columns: Mapping[str, np.ndarray],
    data: Mapping[str, Any] | None = None,
) -> None:
    """Record that replicates have the same data and the same numbers, as by a fixed seed.

    Without data, numbers that are all whole, such as rejections, say nothing.
    """
    events = context.rng_events
    if events is None or is_deterministic(scenario):
        return
    numbers = [column for column in columns.values() if column.dtype.kind in "biuf"]
    rows = [values for values in (data or {}).values() if has_rows(values)]
    whole = data is None and all((column == np.round(column)).all() for column in numbers)
    if numbers and not whole and all(map(_are_alike, [*numbers, *rows])):
        events[ALL_ALIKE] = None


def _are_alike(rows: Any) -> bool:
    """Whether rows are equal; objects that cannot be compared are not."""
    first, others = np.asarray(rows[0]), rows[1:MAX_ROWS_COMPARED]
    return len(others) > 0 and all(np.array_equal(first, np.asarray(each)) for each in others)


def _differs(array: Any, n_rep: int) -> bool:
    """Whether an array has replicates that are not all equal."""
    is_column = isinstance(array, np.ndarray) and array.shape[:1] == (n_rep,)
    if not is_column or array.dtype.kind not in "biuf":
        return False
    few = array[:MAX_ROWS_COMPARED]
    is_number = ~np.isnan(few) & ~np.isnan(few[:1])
    return bool(((few != few[:1]) & is_number).any())


# ---------------------------------------------------------------- the axis of replicates
def refuse_transposed(
    context: BlockContext, plan: Plan, raw: Any, analyse_one: Callable[[], Any]
) -> None:
    """Refuse a column whose replicates are not on the first axis, but on one of the same length.

    Such a column has an allowed shape, as `np.quantile(x, levels, axis=1)` with as many levels as
    replicates in a block. The shape for one replicate alone tells it.

    Parameters
    ----------
    raw
        What `simulate` or a method returned for the whole block.
    analyse_one
        Function that returns the same for one replicate.

    Raises
    ------
    StudyError
        If the length of another axis is that of the replicates.
    """
    size = plan.block_size
    if context.rng_events is None or not isinstance(raw, Mapping) or size < 2:
        return
    square = [name for name, x in raw.items() if isinstance(x, np.ndarray) and size in x.shape[1:]]
    try:
        alone = analyse_one() if square else {}
    except Exception:  # a method may need more than one replicate
        return
    for name in square:
        full, one = raw[name].shape, np.shape(alone.get(name, 0.0))
        moved = [at for at in range(1, len(one)) if (*full[:at], 1, *full[at + 1 :]) == one]
        if moved and full[0] == size:
            raise StudyError(
                f"column {name!r} has its replicates on axis {moved[0]}, not on the first: for one "
                f"replicate its shape is {one}, where {(1, *full[1:])} is asked. Return "
                f"np.moveaxis({name}, {moved[0]}, 0)."
            )


def some_rows(data: Mapping[str, Any], rows: Any) -> dict[str, Any]:
    """Select replicates of the data of a block, by an index of the first axis."""
    return {
        name: x[rows] if isinstance(x, np.ndarray) and x.ndim else x for name, x in data.items()
    }


# ---------------------------------------------------------------- rows that depend on each other
def check_rows(
    context: BlockContext,
    plan: Plan,
    scenario: WorkUnit,
    streams: Streams,
    data: Mapping[str, Any],
    columns: Mapping[str, np.ndarray],
) -> None:
    """Record a method of whole blocks whose rows depend on other rows.

    Methods with random numbers are not checked, nor those named in `across_replicates`.

    Parameters
    ----------
    data
        Data of the whole block: arrays with the replicate first, and constants.
    columns
        Checked columns of the whole block.
    """
    events, method = context.rng_events, scenario.method
    if events is None or isinstance(method.function, EachReplicate):
        return
    asked = {each.name for each in parameters_of(method.function)}
    may_differ = method.name in plan.rules.across_replicates or "streams" in asked
    has_arrays = any(isinstance(x, np.ndarray) and x.ndim for x in data.values())
    if may_differ or plan.block_size < MIN_ROWS or not has_arrays:
        return

    def differ(rows: np.ndarray) -> bool | None:
        """Whether rows have other results if analysed on their own; None if they cannot be."""
        few = replace(plan, block_size=len(rows))
        try:
            with np.errstate():  # changes by the method end with the call
                made = call_method(scenario, some_rows(data, rows), streams, len(rows))
            alone = validate_columns(few, scenario, made, "it")
        except StudyError:  # for example not one row per replicate
            return True
        except Exception:  # a method may need more rows than these
            return None
        both = columns.keys() & alone.keys()
        return not all(_agree(columns[name], alone[name], rows) for name in both)

    verdict = differ(np.arange(1, plan.block_size, plan.block_size // N_ROWS)[:N_ROWS])
    if verdict is None:  # too few rows for the method: half of the rows, each twice
        half = np.repeat(np.arange(plan.block_size // 2), 2)
        twice = np.resize(np.random.default_rng(0).permutation(half), plan.block_size)
        verdict = differ(twice)
    if verdict:
        events[ROWS_DIFFER] = None


def _agree(full: np.ndarray, alone: np.ndarray, rows: np.ndarray) -> bool:
    """Whether rows are equal up to rounding (infinite values exactly); texts are not compared."""
    if full.dtype.kind not in "biuf" or alone.dtype.kind not in "biuf":
        return True
    expected = full[rows]
    if expected.shape != alone.shape:
        return False
    expected, alone = expected.astype(float), alone.astype(float)
    spread = np.max(np.abs(expected), where=np.isfinite(expected), initial=0.0)
    return np.allclose(alone, expected, rtol=RTOL, atol=RTOL * spread, equal_nan=True)


# ---------------------------------------------------------------- spread of block means
LEVEL = 2e-8  # significance level for all tests of a run; false alarms may be ten times as frequent
MIN_BLOCKS, MAX_BLOCKS = 5, 200
MIN_EVENTS = 45  # expected rare values per group of blocks, times the root of their number
MIN_SECONDS, MAX_SECONDS = 0.1, 1.0  # time after which no further scenario is tested
PART_OF_RUN = 0.05  # the same, as a part of the run
MAX_CELLS = 8  # tested cells per column with axes
MOSTLY = 0.9  # share of different values from which on a small spread of block means is tested too
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


def odd_spreads(
    plan: Plan, store: Store, keys: Iterable[str], run_seconds: float = math.inf
) -> list[Spread]:
    """Find columns whose block means contradict independent replicates.

    Uses the Kruskal-Wallis test with at most 200 blocks. A false alarm in a run is less probable
    than 1e-6, whatever the distribution of the columns.

    Parameters
    ----------
    keys
        Keys of scenarios (or scenarios and methods); those with fewer than five blocks are skipped.
    run_seconds
        Duration of the run. The test may take 5% of it, at least 0.1 and at most one second; then
        no further scenario is tested.
    """
    end = time.monotonic() + min(MAX_SECONDS, max(MIN_SECONDS, PART_OF_RUN * run_seconds))
    tests: list[tuple[Spread, float]] = []
    n_tests = 0
    for key in keys:
        n_blocks = min(store.n_blocks(key), MAX_BLOCKS)
        if time.monotonic() > end or n_blocks < MIN_BLOCKS or is_deterministic(plan.keys[key]):
            continue
        names = sorted({name for names in plan.reads.values() for name in names})
        table = store.read(key, n_blocks * plan.block_size, names)
        for name, values in tested_columns(plan, table):
            n_tests += 1
            ratio, p_value = block_spread(values.reshape(n_blocks, -1))
            tests.append((Spread(key, name, ratio), p_value))
    return [spread for spread, p_value in tests if p_value * n_tests < LEVEL]


def tested_columns(plan: Plan, table: pa.Table) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the numeric columns without missing values, cell by cell, as means of groups."""
    skipped = {*NOT_COMPARED, *plan.rules.unrepeatable}  # seconds follow the load of the machine
    for name in table.column_names:
        matrix = None if name in skipped else _first_cells(table.column(name), len(table))
        if matrix is not None and matrix.size:  # none if every replicate failed
            means = matrix.reshape(-1, plan.rules.group_size, matrix.shape[1]).mean(axis=1)
            yield from ((name, cell) for cell in means.T if np.isfinite(cell).all())


def _first_cells(column: pa.ChunkedArray, n_rows: int) -> np.ndarray | None:
    """Return numbers with one row per replicate; None for other types or missing values."""
    while pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
        column = pc.list_flatten(column)
    kind = column.type
    is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    if not is_number or column.null_count or not n_rows or len(column) % n_rows:
        return None
    matrix: np.ndarray = column.to_numpy().reshape(n_rows, -1)
    return matrix[:, :MAX_CELLS].astype(float)


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
        independent, and the p-value: of a larger variance, or, where most values are different, of
        a larger or smaller one. It is 0 if all blocks have the same values, and 1 if there are too
        few blocks.

    References
    ----------
    Kruskal and Wallis (1952), Journal of the American Statistical Association 47, 583-621.
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    n_values = len(counts)
    if n_values < 2:
        return 1.0, 1.0
    if (values == values[0]).all() and n_values >= MIN_VALUES:
        return 0.0, 0.0
    mean_ranks = counts.cumsum() - (counts - 1) / 2  # equal values share one
    ranks = mean_ranks[places].reshape(values.shape)
    scores = (ranks - ranks.mean()) / ranks.std(ddof=1)
    groups = _joined(scores)
    n_groups, size = groups.shape
    if n_groups < MIN_BLOCKS or size < 2:
        return 1.0, 1.0
    statistic = size * ((groups.mean(axis=1) - groups.mean()) ** 2).sum()
    p_value = float(special.chdtrc(n_groups - 1, statistic))
    if n_values > MOSTLY * values.size:
        p_value = 2 * min(p_value, float(special.chdtr(n_groups - 1, statistic)))
    return float(statistic / (n_groups - 1)), p_value


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
