"""The second drawing: some of the first blocks are drawn again in another process.

They are compared bit by bit. That process has another hash seed, runs at another time, has new
generators, and draws in another order. So the comparison finds numbers that depend on generators
other than the streams, the order of sets, the time, the network, or blocks that were drawn before.
"""

import atexit
import contextlib
import hashlib
import math
import os
import pickle
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from simstudy.design.plan import Plan, WorkUnit, base_scenario, method_of
from simstudy.engine.block import draw_block
from simstudy.engine.executors import (
    begin_worker,
    deaf_to_interrupts,
    packed,
    refuse_other_code,
    until_taken,
)
from simstudy.engine.graceful_stop import BlockTimeoutError
from simstudy.engine.methods import EachReplicate
from simstudy.engine.provenance import LoadedCode
from simstudy.engine.thread_limits import limit_new_pools, single_threaded
from simstudy.errors import StaleCodeError, describe
from simstudy.store.arrow_schema import ERROR, NOT_COMPARED, block_table
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

Answer = TypeVar("Answer")
Digests = Mapping[str, str]
"""Hashes of a block's columns, by name."""


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
    before
        Another block, which is drawn first: it shows state that blocks leave behind.
    seconds
        Processor time that may pass.
    """

    code: LoadedCode | None
    plan: Plan
    block: int
    before: int | None
    seconds: float


class _Answer(NamedTuple):
    digests: Digests | None  # None if drawing failed or took too long
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
        seconds if that is more, in processor time of the other process, without its start and
        imports. Further scenarios of a class or method that was drawn again are drawn only within
        5% of it, or 0.3 seconds.
    block_seconds
        Time for a block, by key.
    """
    seconds = left = max(MIN_SECONDS, PART_OF_RUN * run_seconds)
    for_more = max(MORE_SECONDS, PART_OF_RUN * run_seconds)
    order = last_of_each_kind_first(plan, keys)
    kinds = {key: kind_of(plan, key) for key in order}
    share = left / max(1, len(set(kinds.values())))
    found: dict[str, list[str]] = {}
    done, why = set(), ""
    for key in order:
        if left <= 0:
            why = why or "its time was over"
            break
        if kinds[key] in done and seconds - left > for_more:
            continue
        drawn = _order(plan, store, key, code, share, left, block_seconds.get(key, 0.0))
        try:
            answer = in_other_process(_digests_here, packed(drawn), left)
        except Exception as error:  # the study cannot be sent, the process has ended or hangs
            why = why or describe(error) or "it took too long"
            break
        left -= answer.seconds
        rows = store.rows_between(key, drawn.block, drawn.block + 1)
        rows = rows.slice(0, drawn.plan.block_size)
        all_failed = ERROR in rows.column_names and not rows.column(ERROR).null_count
        if answer.digests is None and not all_failed:
            why = why or answer.why
            continue
        done.add(kinds[key])
        stored, made = digests_of(rows, plan.rules.unrepeatable), (answer.digests or {}).items()
        if differing := [name for name, digest in made if stored.get(name) != digest]:
            found[key] = differing
    unchecked = [kind for kind in dict.fromkeys(kinds.values()) if kind not in done]
    return Repeated(found, unchecked, why, left)


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
    plan: Plan, store: Store, key: str, code: LoadedCode | None, share: float, left: float,
    block_seconds: float,
) -> _Order:  # fmt: skip
    """Choose a block, and how much of it the time allows."""
    only = plan.only([plan.keys[key]])
    block = random.SystemRandom().randrange(min(FIRST_BLOCKS, max(1, store.n_blocks(key))))
    before = (block + 1) % FIRST_BLOCKS if 2 * block_seconds < share else None
    unit = plan.keys[key]
    is_method = isinstance(unit, WorkUnit) and isinstance(unit.method.function, EachReplicate)
    draws_one_by_one = is_method and hasattr(base_scenario(unit), "draw_one")
    if block_seconds > share and draws_one_by_one:  # each replicate has its own generators
        n_rows = max(MIN_ROWS, int(plan.block_size * share / block_seconds))
        if n_rows < plan.block_size:
            only = replace(only, block_size=n_rows, full_size=plan.block_size)
    return _Order(code, only, block, before, left)


def digests_of(table: pa.Table, without: Collection[str] = ()) -> Digests:
    """Hash each column that is compared, by name."""
    names = [n for n in table.column_names if n not in NOT_COMPARED and n not in without]
    return {name: _digest(table.column(name)) for name in names}


def _digest(column: pa.ChunkedArray) -> str:
    """Hash a column: lengths of lists, which values are missing, and numbers as doubles.

    Doubles, since whole numbers are doubles in a file with doubles of other methods. Arrow's
    buffers are read as they are: `to_numpy` would import pandas into the other process.
    """
    hashed = hashlib.blake2b(digest_size=16)
    array = pa.concat_arrays(column.chunks)
    while pa.types.is_list(array.type):
        hashed.update(_bytes_of(array.value_lengths()))
        array = array.flatten()
    is_number = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    if is_number or pa.types.is_boolean(array.type):
        hashed.update(_bytes_of(array))
    else:
        hashed.update(repr(array.to_pylist()).encode())
    return hashed.hexdigest()


def _bytes_of(numbers: pa.Array) -> bytes:
    """The bytes of which numbers are missing, and of the numbers as doubles.

    Missing ones are 0 and every NaN is the same.
    """
    if pa.types.is_boolean(numbers.type):
        numbers = numbers.cast(pa.int8())
    values, flags = _as_numpy(numbers.cast(pa.float64()), float), b""
    if numbers.null_count:
        missing = _as_numpy(numbers.is_null().cast(pa.int8()), np.int8)
        values, flags = np.where(missing, 0.0, values), missing.tobytes()
    is_nan = np.isnan(values)
    return flags + (np.where(is_nan, np.nan, values) if is_nan.any() else values).tobytes()


def _as_numpy(array: pa.Array, kind: type) -> np.ndarray:
    buffer = array.buffers()[1]
    if buffer is None:  # no value
        return np.zeros(0, kind)
    return np.frombuffer(buffer, kind)[array.offset : array.offset + len(array)]


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
            with deaf_to_interrupts():
                future = _pool().submit(_imported, payload, tuple(sys.path))
            future.result(START_SECONDS)
            with deaf_to_interrupts():
                future = _pool().submit(draw, payload)
            found: Answer = future.result(min(seconds * PATIENCE * busy, threading.TIMEOUT_MAX))
        except BaseException as error:
            until_taken(future)
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
    begin_worker(parent)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _imported(payload: bytes, paths: Sequence[str]) -> None:
    """Import the study's modules, in the other process."""
    sys.path[:] = paths
    refuse_other_code(pickle.loads(payload).code)


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


def _digests_here(payload: bytes) -> _Answer:
    order: _Order = pickle.loads(payload)
    (scenario,), plan = order.plan.keys.values(), order.plan
    began = time.process_time()

    def answer(digests: Digests | None, why: str = "") -> _Answer:
        return _Answer(digests, time.process_time() - began, why)

    try:
        with single_threaded(), processor_time(order.seconds):
            for number in (order.before, order.block):
                if number is not None:
                    block = draw_block(plan, scenario, number)
            if limit_new_pools():  # a library that was loaded has used several threads
                block = draw_block(plan, scenario, order.block)
        if block.n_failed == plan.block_size:
            return answer(None, f"drawing failed there: {np.ravel(block.columns[ERROR])[0]}")
        return answer(digests_of(block_table(plan, [block]), plan.rules.unrepeatable))
    except BlockTimeoutError:
        return answer(None, "its time was over")
    except BaseException as error:  # the run itself reports failures
        return answer(None, f"drawing failed there: {describe(error)}")
