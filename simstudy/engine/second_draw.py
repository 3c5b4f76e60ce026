"""The second drawing: some of the first blocks are drawn again in another process.

They are compared bit by bit. That process has another hash seed, runs at another time, has new
generators, and draws in another order. So the comparison finds numbers that depend on generators
other than the streams, the order of sets, the time, the network, or blocks that were drawn before.

In a run of fewer than five blocks, block means cannot be compared. So a pilot of twenty small
blocks of each scenario class and each method is drawn in that process, at other addresses, and is
not stored. The means are put through the test of a long run.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import pickle
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Plan, WorkUnit, base_scenario, method_of
from simstudy.engine import executors
from simstudy.engine.block import draw_block
from simstudy.engine.graceful_stop import BlockTimeoutError
from simstudy.engine.independence import (
    MIN_BLOCKS,
    Spread,
    block_spread,
    is_deterministic,
    ranks_of,
    tested_columns,
)
from simstudy.engine.methods import EachReplicate
from simstudy.engine.provenance import LoadedCode
from simstudy.engine.thread_limits import limit_new_pools, single_threaded
from simstudy.errors import StaleCodeError, describe
from simstudy.lazy import pd, special
from simstudy.store.arrow_schema import CELL_ERROR, ERROR, NOT_COMPARED, WARNING, block_table
from simstudy.store.blocks import Store

MIN_SECONDS = 2.0  # processor time for the check after a short run
PART_OF_RUN = 0.05  # processor time for the check after a long run, as a part of the run
MORE_SECONDS = 0.3  # processor time for further scenarios of a class or method, after a short run
START_SECONDS = 60.0  # time in which the process must have started and imported the study
PATIENCE = 3.0  # how often the processor time may pass on an idle machine
FIRST_BLOCKS = 10  # blocks among which one is chosen at random
MIN_ROWS = 2  # replicates to draw again, if each has a generator of its own
HASH_SEED = "1"
IDLE_SECONDS = 300.0  # time without a check after which the process ends
OVER = "its time was over"
RTOL = 1e-9  # relative difference of equal numbers, unless the study declares another
ATOL = 1e-12  # absolute difference of equal numbers, as a multiple of the column's median
UNIT_INTERVAL_ATOL = 1e-12  # absolute difference of equal numbers within [0, 1]
TEXTS = frozenset({ERROR, CELL_ERROR, WARNING})  # columns of which only the presence counts

Draw = Callable[[bytes], "Answer"]


class Repeated(NamedTuple):
    """Findings of the second drawing.

    Attributes
    ----------
    other
        Names of the columns with other bits, by key.
    unchecked
        Scenario classes or methods of which nothing was drawn again.
    why
        Why not.
    seconds_left
        Processor time that is left for the pilot.
    """

    other: Mapping[str, list[str]]
    unchecked: Sequence[str] = ()
    why: str = ""
    seconds_left: float = 0.0


class _Order(NamedTuple):
    """A block to draw in the other process.

    Attributes
    ----------
    seconds
        Processor time that may pass.
    before
        Another block, which is drawn first: it shows state that blocks leave behind.
    """

    code: LoadedCode | None
    plan: Plan
    seconds: float
    block: int
    before: int | None


class Answer(NamedTuple):
    """Findings of the other process; None and the reason if drawing failed or took too long."""

    found: Any
    seconds: float
    why: str = ""


class Turns:
    """Units to draw in the other process, one of each scenario class and method first.

    Parameters
    ----------
    draw
        Function of a packed order, which is called in the other process.
    seconds
        Processor time for all of them.
    for_more
        Part of it for further scenarios of a class or method.

    Attributes
    ----------
    done
        Scenario classes and methods of which a unit was drawn.
    why
        Why others were not.
    """

    def __init__(
        self, plan: Plan, keys: Iterable[str], draw: Draw, seconds: float, for_more: float
    ) -> None:
        self.kinds = {key: kind_of(plan, key) for key in last_of_each_kind_first(plan, keys)}
        self.draw, self.seconds, self.left, self.for_more = draw, seconds, seconds, for_more
        self.share = seconds / max(1, len(set(self.kinds.values())))
        self.done, self.why = set[str](), ""
        self._has_ended = False

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of the units."""
        for key, kind in self.kinds.items():
            if self._has_ended:
                return
            if self.left <= 0:
                self.why = self.why or OVER
                return
            if kind not in self.done or self.seconds - self.left <= self.for_more:
                yield key

    def ask(self, order: Any) -> Answer | None:
        """Have an order drawn; None if no further one can be."""
        try:
            answer = in_other_process(self.draw, executors.packed(order), order.seconds)
        except Exception as error:  # the study cannot be sent, the process has ended or hangs
            self.why = self.why or describe(error) or "it took too long"
            self._has_ended = True
            return None
        self.left -= answer.seconds
        if answer.found is None:
            self.why = self.why or answer.why
        return answer

    @property
    def unchecked(self) -> list[str]:
        """Scenario classes and methods of which no unit was drawn."""
        return [kind for kind in dict.fromkeys(self.kinds.values()) if kind not in self.done]


def check_repeatable(
    plan: Plan,
    store: Store,
    keys: Iterable[str],
    *,
    code: LoadedCode | None,
    run_seconds: float,
    block_seconds: Mapping[str, float],
) -> Repeated:
    """Draw stored blocks again in another process, as many as the time allows.

    Scenarios are drawn in another order than by the run, the last first.

    Parameters
    ----------
    keys
        Keys of scenarios (or scenarios and methods) whose first block is stored.
    code
        Code that the process must have loaded; None for no check.
    run_seconds
        Duration of the run, in seconds; infinite for no limit. The check may take 5% of it, or two
        seconds if that is more, in processor time for drawing and comparing; the start of the other
        process and its imports do not count. Further scenarios of a class or method that was drawn
        again are drawn only within 5% of it, or 0.3 seconds.
    block_seconds
        Time for a block, by key.
    """
    seconds = max(MIN_SECONDS, PART_OF_RUN * run_seconds)
    turns = Turns(plan, keys, _drawn_here, seconds, max(MORE_SECONDS, PART_OF_RUN * run_seconds))
    found: dict[str, list[str]] = {}
    for key in turns:
        drawn = _order(plan, store, key, code, turns, block_seconds.get(key, 0.0))
        if (answer := turns.ask(drawn)) is None:
            break
        began = time.process_time()
        rows = store.rows_between(key, drawn.block, drawn.block + 1)
        rows = rows.slice(0, drawn.plan.block_size)
        all_failed = ERROR in rows.column_names and not rows.column(ERROR).null_count
        if answer.found is None and not all_failed:
            continue
        turns.done.add(turns.kinds[key])
        names = different_columns(rows, answer.found, rtol={}, usual=0.0) if answer.found else ()
        turns.left -= time.process_time() - began
        if differing := [n for n in names if n not in (*NOT_COMPARED, *plan.rules.unrepeatable)]:
            found[key] = differing
    return Repeated(found, turns.unchecked, turns.why, turns.left)


def kind_of(plan: Plan, key: str) -> str:
    drawn = plan.keys[key]
    kind = type(base_scenario(drawn)).__name__
    return f"method {method_of(drawn)} of {kind}" if method_of(drawn) else kind


def last_of_each_kind_first(plan: Plan, keys: Iterable[str]) -> list[str]:
    """Order keys so that each scenario class and each method comes early, the last ones first."""
    n_of_kind, order = Counter[str](), dict[str, int]()
    for key in reversed(list(keys)):
        n_of_kind[kind_of(plan, key)] += 1
        order[key] = n_of_kind[kind_of(plan, key)]
    return sorted(order, key=order.__getitem__)


def _order(
    plan: Plan, store: Store, key: str, code: LoadedCode | None, turns: Turns, block_seconds: float
) -> _Order:
    """Choose a block, and how much of it the time allows."""
    only, share = plan.only([plan.keys[key]]), turns.share
    block = random.SystemRandom().randrange(min(FIRST_BLOCKS, max(1, store.n_blocks(key))))
    before = (block + 1) % FIRST_BLOCKS if 2 * block_seconds < share else None
    unit = plan.keys[key]
    is_method = isinstance(unit, WorkUnit) and isinstance(unit.method.function, EachReplicate)
    draws_one_by_one = is_method and hasattr(base_scenario(unit), "draw_one")
    if block_seconds > share and draws_one_by_one:  # each replicate has its own generators
        n_rows = max(MIN_ROWS, int(plan.block_size * share / block_seconds))
        if n_rows < plan.block_size:
            only = replace(only, block_size=n_rows, full_size=plan.block_size)
    return _Order(code, only, turns.left, block, before)


def different_columns(
    first: pa.Table, second: pa.Table, *, rtol: Mapping[str, float], usual: float = RTOL
) -> dict[str, float]:
    """Compare two blocks, and return the columns that differ with the largest difference.

    Whole numbers, booleans and texts are equal if they are the same; floating-point numbers up to
    the tolerance in `rtol`, or `usual`. With 0 they must be the same, where every NaN is. Of errors
    and warnings only the presence counts.

    Returns
    -------
    dict[str, float]
        Largest relative difference by column; infinite where no difference can be computed.
    """
    found: dict[str, float] = {}
    for name in dict.fromkeys([*first.column_names, *second.column_names]):
        most = rtol.get(name, usual)
        if difference := _difference(name, _values(first, name), _values(second, name), most):
            found[name] = difference
    return found


def _values(rows: pa.Table, name: str) -> np.ndarray:
    """A column with the values of lists side by side.

    It is missing if the table lacks it, or has it for other units alone.
    """
    if name not in rows.column_names or rows.column(name).null_count == len(rows):
        return np.full(len(rows), None)
    column = rows.column(name).combine_chunks()
    while pa.types.is_list(column.type):
        column = column.flatten()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _difference(name: str, first: np.ndarray, second: np.ndarray, rtol: float) -> float:
    if first.shape != second.shape:
        return math.inf
    if name in TEXTS:
        first, second = pd.isna(first), pd.isna(second)
    if first.dtype.kind == second.dtype.kind == "f":
        return _difference_of_floats(first, second, rtol)
    same = (pd.isna(first) & pd.isna(second)) | (first == second)
    return 0.0 if np.all(same) else math.inf


def _difference_of_floats(first: np.ndarray, second: np.ndarray, rtol: float) -> float:
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    if same.all():
        return 0.0
    finite = np.isfinite(first) & np.isfinite(second)
    if not (same | finite).all():
        return math.inf
    size = np.abs(second[finite & (second != 0)])
    tolerance = rtol * np.abs(second) + ATOL * (np.median(size) if size.size and rtol else 0.0)
    if rtol and np.all((second[finite] >= 0) & (second[finite] <= 1)):
        tolerance = np.maximum(tolerance, UNIT_INTERVAL_ATOL)
    with np.errstate(invalid="ignore"):
        difference = np.abs(first - second)
    far = ~same & (difference > tolerance)
    if not far.any():
        return 0.0
    return float((difference[far] / np.maximum(np.abs(second[far]), 1e-300)).max())


# ---------------------------------------------------------------- the other process
_pools: dict[int, Any] = {}
"""The pool with the other process, by the process that started it: later runs use it again."""
atexit.register(_pools.clear)  # a pool that lives until Python takes modules apart prints an error


def in_other_process(draw: Callable[[bytes], Answer], payload: bytes, seconds: float) -> Answer:
    """Draw blocks in the other process.

    Parameters
    ----------
    draw
        Function that reads the payload, whose first item is the code that must be loaded.
    seconds
        Processor time for it.

    Raises
    ------
    Exception
        If the process ends, or takes much longer than this time on a machine with this load.
    """
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)) if _has_load else 1.0
    while True:
        had_one, future = os.getpid() in _pools, None
        try:
            with executors.deaf_to_interrupts():
                future = _pool().submit(_imported, payload, tuple(sys.path))
            future.result(START_SECONDS)
            with executors.deaf_to_interrupts():
                future = _pool().submit(draw, payload)
            found: Answer = future.result(min(seconds * PATIENCE * busy, threading.TIMEOUT_MAX))
        except BaseException as error:
            executors.until_taken(future)
            if pool := _pools.pop(os.getpid(), None):  # none if it could not be made
                pool.shutdown(kill_workers=True)
            if isinstance(error, StaleCodeError) and had_one:
                continue  # it has loaded a module that was edited since
            raise
        return found


_has_load = hasattr(os, "getloadavg")  # Windows has none


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
    executors.begin_worker(parent)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _imported(payload: bytes, paths: Sequence[str]) -> None:
    """Import the study's modules, in the other process."""
    sys.path[:] = paths
    executors.refuse_other_code(pickle.loads(payload).code)


@contextlib.contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Raise `BlockTimeoutError` when the context has used this processor time, in seconds."""

    def stop(*_: Any) -> None:
        raise BlockTimeoutError

    is_limited = hasattr(signal, "setitimer") and math.isfinite(seconds)  # Windows has none
    if is_limited:
        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        if is_limited:
            signal.setitimer(signal.ITIMER_PROF, 0.0)


def answered(payload: bytes, work: Callable[[Any], Any]) -> Answer:
    """Do the work of an order within its time; a text or an error says why nothing was found."""
    order, began, found = pickle.loads(payload), time.process_time(), None
    try:
        with single_threaded(), processor_time(order.seconds):
            found = work(order)
    except BlockTimeoutError:
        found = OVER
    except BaseException as error:  # the run itself reports failures
        found = f"drawing failed there: {describe(error)}"
    seconds = time.process_time() - began
    return Answer(None, seconds, found) if isinstance(found, str) else Answer(found, seconds)


def _drawn_here(payload: bytes) -> Answer:
    return answered(payload, _rows_of_block)


def _rows_of_block(order: _Order) -> pa.Table | str:
    (scenario,), plan = order.plan.keys.values(), order.plan
    for number in (order.before, order.block):
        if number is not None:
            block = draw_block(plan, scenario, number)
    if limit_new_pools():  # a library that was loaded has used several threads
        block = draw_block(plan, scenario, order.block)
    if block.n_failed == plan.block_size:
        return f"drawing failed there: {np.ravel(block.columns[ERROR])[0]}"
    return block_table(plan, [block])


# ---------------------------------------------------------------- the pilot
N_BLOCKS, MIN_PILOT_ROWS = 20, 20
PILOT_BLOCK = 1 << 40  # no run has so many blocks
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


class _PilotOrder(NamedTuple):
    """A unit to draw within a processor time, of which the blocks may take a part."""

    code: LoadedCode | None
    plan: Plan
    seconds: float
    part: float


class _Found(NamedTuple):
    """Column, ratio and p-value of each test; columns without a test; rows of each block."""

    tests: Sequence[tuple[str, float, float]]
    unseen: Sequence[str]
    n_rows: int


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
    for_more = seconds if math.isinf(seconds) else PART_OF_RUN * run_seconds
    turns = Turns(plan, short, _tests_here, seconds, for_more)
    unseen = dict[str, None]()
    tests: list[tuple[Spread, float]] = []
    sizes: list[int] = []
    for key in turns:
        part = 1.0 if _is_in_order(plan, store, key) else PART
        only, limit = plan.only([plan.keys[key]]), min(turns.share, turns.left)
        if (answer := turns.ask(_PilotOrder(code, only, limit, part))) is None:
            break
        if answer.found is not None:
            turns.done.add(turns.kinds[key])
            found: _Found = answer.found
            sizes.append(found.n_rows // plan.rules.group_size)
            tests += [(Spread(key, name, ratio), p) for name, ratio, p in found.tests]
            unseen |= dict.fromkeys(found.unseen)
    spreads = [spread for spread, p_value in tests if p_value * len(tests) < LEVEL]
    least = least_spread(min(sizes), len(tests)) if tests else 0.0
    return Pilot(spreads, least, tuple(unseen), turns.unchecked, turns.why)


def least_rows(plan: Plan) -> int:
    """The replicates of the smallest block: 20 in whole groups, or the study's block size."""
    group = plan.rules.group_size
    return min(plan.block_size, math.ceil(MIN_PILOT_ROWS / group) * group)


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

    unit, least = math.lcm(plan.rules.group_size, MIN_PILOT_ROWS), least_rows(plan)
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
def _tests_here(payload: bytes) -> Answer:
    return answered(payload, _tests_of_unit)


def _tests_of_unit(order: _PilotOrder) -> _Found | str:
    (scenario,), plan = order.plan.keys.values(), order.plan
    began, few = time.process_time(), replace(plan, block_size=least_rows(plan))
    try:
        draw_block(few, scenario, PILOT_BLOCK - 1)  # loads and compiles what it needs
        loaded, clock = time.process_time(), time.perf_counter()
        draw_block(few, scenario, PILOT_BLOCK - 2)
        spent = (time.process_time() - loaded) or time.perf_counter() - clock  # if it is coarse
        left = order.seconds - (loaded - began)
        size = pilot_size(plan, spent / few.block_size, order.part * left, left)
        if size is None:
            return OVER
        few = replace(plan, block_size=size)
        blocks = [draw_block(few, scenario, PILOT_BLOCK + at) for at in range(N_BLOCKS)]
    except BlockTimeoutError:
        raise
    except BaseException as error:  # a block of another size may be a mistake in the study
        return f"drawing a block of {few.block_size} failed: {describe(error)}"
    tests, unseen = list[tuple[str, float, float]](), list[str]()
    for name, values, why_not in _columns(few, block_table(few, blocks)):
        ratio, p_value = block_spread(values.reshape(N_BLOCKS, -1)) if not why_not else (1.0, 1.0)
        if why_not or (ratio, p_value) == (1.0, 1.0):
            unseen.append(f"{name} ({why_not or _why_not(values)})")
        else:
            tests.append((name, ratio, p_value))
    return _Found(tests, unseen, size)


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
