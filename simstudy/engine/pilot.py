"""The pilot: twenty small blocks show whether replicates depend on each other.

In a run of fewer than five blocks, block means cannot be compared. So twenty blocks of each
scenario class and each method are drawn in the other process, at addresses of their own, and are
not stored. Their means are put through the test of a long run.
"""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Plan
from simstudy.engine.block import draw_block
from simstudy.engine.executors import packed
from simstudy.engine.graceful_stop import BlockTimeoutError
from simstudy.engine.independence import (
    MIN_BLOCKS,
    Spread,
    block_spread,
    is_deterministic,
    ranks_of,
    tested_columns,
)
from simstudy.engine.provenance import LoadedCode
from simstudy.engine.second_draw import (
    PART_OF_RUN,
    in_other_process,
    kind_of,
    last_of_each_kind_first,
    processor_time,
)
from simstudy.engine.thread_limits import single_threaded
from simstudy.errors import describe
from simstudy.lazy import special
from simstudy.store.arrow_schema import block_table
from simstudy.store.blocks import Store

N_BLOCKS, MIN_ROWS = 20, 20
FIRST_BLOCK = 1 << 40  # no run has so many blocks
LEVEL = 1e-6  # for all columns together; false alarms may be ten times as frequent
PART = 0.1  # of its time, if the order of stored replicates shows nothing
MAX_Z = 3.0  # of products of neighbouring ranks, above which the pilot takes its full time


class Pilot(NamedTuple):
    """What the pilot found, and what it could not see.

    Attributes
    ----------
    spreads
        Columns whose block means contradict independent replicates.
    least
        Least spread of a number that a block's replicates share which would have been found with
        probability one half, in units of a replicate's spread; 0 if nothing was tested.
    unseen
        Columns that could not be tested, each with the reason.
    unchecked
        Scenario classes or methods of which no pilot was drawn.
    why
        Why not.
    """

    spreads: Sequence[Spread] = ()
    least: float = 0.0
    unseen: Sequence[str] = ()
    unchecked: Sequence[str] = ()
    why: str = ""


class _Order(NamedTuple):
    """A unit to draw within a processor time, of which the blocks may take a part."""

    code: LoadedCode | None
    plan: Plan
    seconds: float
    part: float


Tests = Sequence[tuple[str, float, float]]
"""Column, ratio and p-value of each test."""


class _Answer(NamedTuple):
    tests: Tests
    unseen: Sequence[str]
    n_rows: int
    seconds: float
    why: str = ""


def draw_pilot(
    plan: Plan,
    store: Store,
    keys: Iterable[str],
    *,
    code: LoadedCode | None,
    run_seconds: float,
    seconds: float,
) -> Pilot:
    """Draw a pilot of the units that have fewer than five blocks.

    Parameters
    ----------
    keys
        Keys of scenarios (or scenarios and methods) whose first block is stored.
    code
        Code that the process must have loaded; None for no check.
    run_seconds
        Duration of the run, in seconds.
    seconds
        Processor time that the pilot may take; infinite for no limit. Further scenarios of a class
        or method are drawn only within 5% of the run.
    """
    short = [
        key
        for key in keys
        if store.n_blocks(key) < MIN_BLOCKS and not is_deterministic(plan.keys[key])
    ]
    kinds = {key: kind_of(plan, key) for key in last_of_each_kind_first(plan, short)}
    share, left = seconds / max(1, len(set(kinds.values()))), seconds
    for_more = seconds if math.isinf(seconds) else PART_OF_RUN * run_seconds
    done, why, unseen = set[str](), "", dict[str, None]()
    tests: list[tuple[Spread, float]] = []
    sizes: list[int] = []
    for key, kind in kinds.items():
        if kind in done and seconds - left > for_more:
            continue
        only, limit = plan.only([plan.keys[key]]), min(share, left)
        if limit <= 0:
            why = why or "its time was over"
            break
        part = 1.0 if _is_in_order(plan, store, key) else PART
        try:
            answer = in_other_process(_tests_here, packed(_Order(code, only, limit, part)), limit)
        except Exception as error:  # the study cannot be sent, the process has ended or hangs
            why = why or describe(error) or "it took too long"
            break
        left -= answer.seconds
        if answer.why:
            why = why or answer.why
            continue
        done.add(kind)
        sizes.append(answer.n_rows // plan.rules.group_size)
        tests += [(Spread(key, name, ratio), p) for name, ratio, p in answer.tests]
        unseen |= dict.fromkeys(answer.unseen)
    found = [spread for spread, p_value in tests if p_value * len(tests) < LEVEL]
    unchecked = [kind for kind in dict.fromkeys(kinds.values()) if kind not in done]
    least = least_spread(min(sizes), len(tests)) if tests else 0.0
    return Pilot(found, least, tuple(unseen), unchecked, why)


def least_rows(plan: Plan) -> int:
    """The replicates of the smallest block: 20 in whole groups, or the study's block size."""
    group = plan.rules.group_size
    return min(plan.block_size, math.ceil(MIN_ROWS / group) * group)


def pilot_size(plan: Plan, row_seconds: float, seconds: float, most_seconds: float) -> int | None:
    """Choose the replicates of a block: a multiple of the group size, and of 20 if it can.

    Parameters
    ----------
    row_seconds
        Time for a replicate.
    seconds
        Time for the pilot.
    most_seconds
        Time for the smallest pilot.

    Returns
    -------
    int or None
        From `least_rows` to the study's block size; None without the time.
    """
    full, of_all = plan.block_size, N_BLOCKS * row_seconds

    def allowed(time: float) -> int:
        return full if of_all * full <= time else int(time / of_all)

    unit, least = math.lcm(plan.rules.group_size, MIN_ROWS), least_rows(plan)
    size = allowed(seconds) // unit * unit
    return size or (least if allowed(most_seconds) >= least else None)


def least_spread(n_rows: int, n_tests: int) -> float:
    """Compute the least shared spread that is found with probability one half.

    Parameters
    ----------
    n_rows
        Replicates in a block, or groups of them.
    n_tests
        Number of tests that share the level.
    """
    ratio = special.chdtri(N_BLOCKS - 1, LEVEL / n_tests) / (N_BLOCKS - 1)
    return float(np.sqrt(max(ratio - 1, 0.0) / n_rows))


def _is_in_order(plan: Plan, store: Store, key: str) -> bool:
    """Whether neighbouring replicates are alike, or unlike: then the pilot takes its full time."""
    names = sorted(plan.columns_read)
    table = store.read(key, store.n_blocks(key) * plan.block_size, names)
    return any(abs(neighbours(values)) > MAX_Z for _, values in tested_columns(plan, table))


def neighbours(values: np.ndarray) -> float:
    """Compute the mean product of neighbouring standard ranks, in units of its error."""
    ranks = ranks_of(values)
    spread = ranks.std()
    if len(values) < 2 or not spread:
        return 0.0
    scores = (ranks - ranks.mean()) / spread
    return float((scores[1:] * scores[:-1]).sum() / np.sqrt(len(values) - 1))


# ---------------------------------------------------------------- in the other process
def _tests_here(payload: bytes) -> _Answer:
    order: _Order = pickle.loads(payload)
    (scenario,), plan = order.plan.keys.values(), order.plan
    began = time.process_time()

    def answer(
        size: int = 0, why: str = "", tests: Tests = (), unseen: Sequence[str] = ()
    ) -> _Answer:
        return _Answer(tests, unseen, size, time.process_time() - began, why)

    try:
        with single_threaded(), processor_time(order.seconds):
            few = replace(plan, block_size=least_rows(plan))
            draw_block(few, scenario, FIRST_BLOCK - 1)  # loads and compiles what it needs
            loaded, clock = time.process_time(), time.perf_counter()
            draw_block(few, scenario, FIRST_BLOCK - 2)
            spent = (time.process_time() - loaded) or time.perf_counter() - clock  # if it is coarse
            row_seconds = spent / few.block_size
            left = order.seconds - (loaded - began)
            size = pilot_size(plan, row_seconds, order.part * left, left)
            if size is None:
                return answer(why="its time was over")
            few = replace(plan, block_size=size)
            blocks = [draw_block(few, scenario, FIRST_BLOCK + at) for at in range(N_BLOCKS)]
    except BlockTimeoutError:
        return answer(why="its time was over")
    except BaseException as error:  # a block of another size may be a mistake in the study
        return answer(why=f"drawing a block of {few.block_size} failed: {describe(error)}")
    tests, unseen = list[tuple[str, float, float]](), list[str]()
    for name, values, why_not in _columns(few, block_table(few, blocks)):
        ratio, p_value = block_spread(values.reshape(N_BLOCKS, -1)) if not why_not else (1.0, 1.0)
        if why_not or (ratio, p_value) == (1.0, 1.0):
            unseen.append(f"{name} ({why_not or _why_not(values)})")
        else:
            tests.append((name, ratio, p_value))
    return answer(size, tests=tests, unseen=unseen)


def _columns(plan: Plan, table: pa.Table) -> Iterator[tuple[str, np.ndarray, str]]:
    """Yield the numeric columns that measures read, and those that cannot be tested."""
    read = table.select([name for name in table.column_names if name in plan.columns_read])
    seen = set()
    for name, values in tested_columns(plan, read):
        seen.add(name)
        yield name, values, ""
    for name in read.column_names:
        if name not in seen and not pa.types.is_string(read.column(name).type):
            yield name, np.zeros(0), "missing or infinite values"


def _why_not(values: np.ndarray) -> str:
    """Say why block means of a column show nothing."""
    levels, counts = np.unique(values, return_counts=True)
    if len(levels) < 2:
        return f"always {levels[0]:g}"
    return f"share of {counts.min() / len(values):.2g}" if len(levels) == 2 else "rare values"
