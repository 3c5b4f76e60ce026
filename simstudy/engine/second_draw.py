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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Plan, WorkUnit, base_scenario, method_of
from simstudy.engine import executors, independence
from simstudy.engine.block import draw_block
from simstudy.engine.graceful_stop import BlockTimeoutError
from simstudy.engine.independence import Spread
from simstudy.engine.methods import EachReplicate
from simstudy.engine.provenance import LoadedCode
from simstudy.engine.thread_limits import limit_pools, single_threaded
from simstudy.errors import StaleCodeError, describe, first_few
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


@dataclass
class Findings:
    """Results from the other process.

    Attributes
    ----------
    seconds_left
        Processor time that is left.
    other
        Names of the columns with other bits, by key.
    spreads
        Columns whose block means contradict independent replicates.
    least
        Least spread of a number that a block's replicates share which the pilot would have found
        with probability one half, in units of a replicate's spread; 0 if nothing was tested.
    unseen
        Columns that could not be tested: constant, missing or infinite values, or rare ones.
    unchecked
        Questions that have no answer for some scenario classes or methods, with the reason.
    """

    seconds_left: float = 0.0
    other: dict[str, list[str]] = field(default_factory=dict)
    spreads: list[Spread] = field(default_factory=list)
    least: float = 0.0
    unseen: dict[str, None] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)


class Order(NamedTuple):
    """A unit to draw in the other process.

    Attributes
    ----------
    work
        Function that draws it; it returns what it found, or why it found nothing.
    seconds
        Processor time that may pass.
    blocks
        Numbers of the blocks to draw, of which the last counts.
    """

    work: Callable[[Order], Any]
    code: LoadedCode | None
    plan: Plan
    seconds: float
    blocks: tuple[int, ...] = ()


class Answer(NamedTuple):
    """Findings of the other process; None and the reason if drawing failed or took too long."""

    found: Any
    seconds: float
    why: str = ""


def check_repeatable(
    plan: Plan,
    store: Store,
    keys: Iterable[str],
    *,
    code: LoadedCode | None,
    run_seconds: float,
    block_seconds: Mapping[str, float],
    in_full: bool = False,
) -> Findings:
    """Draw stored blocks again in another process, as many as the time allows.

    Scenarios are drawn in another order than by the run, the last first.

    Parameters
    ----------
    keys
        Keys of scenarios (or scenarios and methods) whose first block is stored.
    code
        Code that the process must have loaded; None for no check.
    run_seconds
        Duration of the run, in seconds. The check may take 5% of it, or two seconds if that is
        more, in processor time for drawing and comparing; the start of the other process and its
        imports do not count. Further scenarios of a class or method that was drawn again are drawn
        only within 5% of it, or 0.3 seconds.
    block_seconds
        Time for a block, by key.
    in_full
        Whether the time of the check has no limit.
    """
    of_run = PART_OF_RUN * run_seconds
    findings = Findings(math.inf if in_full else max(MIN_SECONDS, of_run))
    for_more = math.inf if in_full else max(MORE_SECONDS, of_run)

    def order_of(key: str, share: float) -> Order:
        unit, seconds = plan.keys[key], block_seconds.get(key, 0.0)
        only = plan.only([unit])
        block = random.SystemRandom().randrange(min(FIRST_BLOCKS, max(1, store.n_blocks(key))))
        other = ((block + 1) % FIRST_BLOCKS,)  # it shows state that blocks leave behind
        is_method = isinstance(unit, WorkUnit) and isinstance(unit.method.function, EachReplicate)
        draws_one_by_one = is_method and hasattr(base_scenario(unit), "draw_one")
        if seconds > share and draws_one_by_one:  # each replicate has its own generators
            n_rows = max(MIN_ROWS, int(plan.block_size * share / seconds))
            n_rows = min(n_rows, plan.block_size)
            only = replace(only, block_size=n_rows, full_size=plan.block_size)
        blocks = (*(other if 2 * seconds < share else ()), block)
        return Order(_rows_of_block, code, only, findings.seconds_left, blocks)

    def compare(key: str, order: Order, drawn: Any) -> bool:
        number = order.blocks[-1]
        rows = store.rows_between(key, number, number + 1).slice(0, order.plan.block_size)
        if drawn is None:  # no finding if every stored replicate failed as well
            return ERROR in rows.column_names and not rows.column(ERROR).null_count
        declared = {*NOT_COMPARED, *plan.rules.unrepeatable}
        differing = different_columns(rows, drawn, rtol={}, usual=0.0).keys() - declared
        if differing:
            findings.other[key] = sorted(differing)
        return True

    what = "whether another process draws the same numbers of {}"
    _draw_in_turns(plan, keys, findings, what, order_of, compare, for_more)
    return findings


def _draw_in_turns(
    plan: Plan,
    keys: Iterable[str],
    findings: Findings,
    question: str,
    order_of: Callable[[str, float], Order],
    take: Callable[[str, Order, Any], bool],
    for_more: float,
) -> None:
    """Draw units in the other process, one of each scenario class and method first.

    Parameters
    ----------
    order_of
        Function of a key, and of the processor time for each class or method.
    take
        Function of a key, its order and what was found; it returns whether that is an answer.
    for_more
        Processor time within which further scenarios of a class or method are drawn.
    """
    kinds = {key: kind_of(plan, key) for key in reversed(list(keys))}
    first = {kind: key for key, kind in reversed(kinds.items())}
    unanswered, why, spent = dict.fromkeys(first), "", 0.0
    share = findings.seconds_left / max(1, len(first))
    for key in dict.fromkeys([*reversed(first.values()), *kinds]):
        kind = kinds[key]
        if findings.seconds_left <= 0:
            why = why or OVER
            break
        if kind not in unanswered and spent > for_more:
            continue
        order = order_of(key, share)
        try:
            answer = in_other_process(executors.packed(order), order.seconds)
        except Exception as error:  # the study cannot be sent, the process has ended or hangs
            why = why or describe(error) or "it took too long"
            break
        began = time.process_time()
        if take(key, order, answer.found):
            unanswered.pop(kind, None)
        seconds = answer.seconds + time.process_time() - began
        findings.seconds_left -= seconds
        spent += seconds
        why = why or answer.why
    if unanswered:
        findings.unchecked.append(f"{question.format(first_few(list(unanswered)))} ({why})")


def kind_of(plan: Plan, key: str) -> str:
    drawn = plan.keys[key]
    kind = type(base_scenario(drawn)).__name__
    return f"method {method_of(drawn)} of {kind}" if method_of(drawn) else kind


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
    differences: dict[str, float] = {}
    for name in dict.fromkeys([*first.column_names, *second.column_names]):
        most = rtol.get(name, usual)
        if difference := _difference(name, _values(first, name), _values(second, name), most):
            differences[name] = difference
    return differences


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
# the pool with the other process, by the process that started it: later runs use it again
_pools: dict[int, Any] = {}
atexit.register(_pools.clear)  # a pool that lives until Python takes modules apart prints an error


def in_other_process(payload: bytes, seconds: float) -> Answer:
    """Draw blocks in the other process.

    Parameters
    ----------
    payload
        The packed order.
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
                future = _pool().submit(_answered, payload)
            answer: Answer = future.result(min(seconds * PATIENCE * busy, threading.TIMEOUT_MAX))
        except BaseException as error:
            executors.until_taken(future)
            if pool := _pools.pop(os.getpid(), None):  # none if it could not be made
                pool.shutdown(kill_workers=True)
            if isinstance(error, StaleCodeError) and had_one:
                continue  # it has loaded a module that was edited since
            raise
        return answer


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


def _answered(payload: bytes) -> Answer:
    """Do the work of an order within its time."""
    order, began, result = pickle.loads(payload), time.process_time(), None
    try:
        with single_threaded(), processor_time(order.seconds):
            result = order.work(order)
    except BlockTimeoutError:
        result = OVER
    except BaseException as error:  # the run itself reports failures
        result = f"drawing failed there: {describe(error)}"
    seconds = time.process_time() - began
    return Answer(None, seconds, result) if isinstance(result, str) else Answer(result, seconds)


def _rows_of_block(order: Order) -> pa.Table | str:
    (scenario,), plan = order.plan.keys.values(), order.plan
    for number in order.blocks:
        block = draw_block(plan, scenario, number)
    if limit_pools():  # a library that was loaded has used several threads
        block = draw_block(plan, scenario, order.blocks[-1])
    if block.n_failed == plan.block_size:
        return f"drawing failed there: {np.ravel(block.columns[ERROR])[0]}"
    return block_table(plan, [block])


# ---------------------------------------------------------------- the pilot
N_BLOCKS, MIN_PILOT_ROWS = 20, 20
PILOT_BLOCK = 1 << 40  # no run has so many blocks
LEVEL = 1e-6  # for all columns together; false alarms may be ten times as frequent


def draw_pilot(
    plan: Plan,
    store: Store,
    keys: Iterable[str],
    findings: Findings,
    *,
    code: LoadedCode | None,
    run_seconds: float,
) -> None:
    """Draw a pilot of the units that have fewer than five blocks, in the time that is left.

    Parameters
    ----------
    keys
        Keys of scenarios (or scenarios and methods) whose first block is stored.
    findings
        Findings, to which those of the pilot are added.
    code
        Code that the process must have loaded; None for no check.
    run_seconds
        Duration of the run, in seconds. Further scenarios of a class or method are drawn only
        within 5% of it.
    """
    stochastic = (key for key in keys if not independence.is_deterministic(plan.keys[key]))
    short = [key for key in stochastic if store.n_blocks(key) < independence.MIN_BLOCKS]
    tests: list[tuple[Spread, float]] = []
    sizes: list[int] = []

    def order_of(key: str, share: float) -> Order:
        seconds = min(share, findings.seconds_left)
        return Order(_tests_of_unit, code, plan.only([plan.keys[key]]), seconds)

    def take(key: str, _order: Order, drawn: Any) -> bool:
        if drawn is not None:
            tested, unseen, n_rows = drawn
            tests.extend((Spread(key, name, ratio), p_value) for name, ratio, p_value in tested)
            findings.unseen.update(dict.fromkeys(unseen))
            sizes.append(n_rows // plan.rules.group_size)
        return drawn is not None

    what = "whether replicates of {} depend on each other"
    _draw_in_turns(plan, short, findings, what, order_of, take, PART_OF_RUN * run_seconds)
    findings.spreads = [spread for spread, p_value in tests if p_value * len(tests) < LEVEL]
    findings.least = least_spread(min(sizes), len(tests)) if tests else 0.0


def pilot_size(plan: Plan, row_seconds: float, seconds: float) -> int | None:
    """Choose the replicates of a block: all of the study's, or a multiple of the smallest block.

    They take half of the time if possible, since later blocks may be slower than the first.

    Parameters
    ----------
    row_seconds
        Time for a replicate.
    seconds
        Time for the pilot.

    Returns
    -------
    int or None
        From `least_rows` to the study's block size; None without the time.
    """
    of_one, least = N_BLOCKS * row_seconds, least_rows(plan)
    if 2 * of_one * plan.block_size <= seconds:
        return plan.block_size
    whole = int(seconds / (2 * of_one)) // least * least
    return whole or (least if of_one * least <= seconds else None)


def least_rows(plan: Plan) -> int:
    """The replicates of the smallest block: at least 20 in whole groups, or all of the study's."""
    return min(plan.block_size, math.lcm(plan.rules.group_size, MIN_PILOT_ROWS))


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


# ---------------------------------------------------------------- in the other process
def _tests_of_unit(order: Order) -> tuple[list[tuple[str, float, float]], list[str], int] | str:
    """Column, ratio and p-value of each test; columns without a test; rows of each block."""
    (scenario,), plan = order.plan.keys.values(), order.plan
    began, few = time.process_time(), replace(plan, block_size=least_rows(plan))
    draw_block(few, scenario, PILOT_BLOCK - 1)  # loads and compiles what it needs
    loaded, clock = time.process_time(), time.perf_counter()
    draw_block(few, scenario, PILOT_BLOCK - 2)
    spent = (time.process_time() - loaded) or time.perf_counter() - clock  # if it is coarse
    size = pilot_size(plan, spent / few.block_size, order.seconds - (loaded - began))
    if size is None:
        return OVER
    few = replace(plan, block_size=size)
    blocks = [draw_block(few, scenario, PILOT_BLOCK + at) for at in range(N_BLOCKS)]
    table = block_table(few, blocks)
    read = table.select([name for name in table.column_names if name in plan.columns_read])
    tests = [
        (name, *independence.block_spread(values.reshape(N_BLOCKS, -1)))
        for name, values in independence.tested_columns(few, read)
    ]
    tests = [test for test in tests if test[1:] != (1.0, 1.0)]  # constant or rare values
    numeric = {name for name in read.column_names if not pa.types.is_string(read[name].type)}
    return tests, sorted(numeric.difference(name for name, *_ in tests)), size
