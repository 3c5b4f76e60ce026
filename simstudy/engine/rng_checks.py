"""Checks of a first block: rows that depend on each other, and random numbers without a stream.

A mean without `axis=1`, or centring across replicates, makes rows depend on each other, without an
error. So a few rows of each method's first block are analysed again on their own. If the method
cannot analyse so few, half of the rows are analysed again, each twice and in another order.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simstudy.design.plan import Plan, WorkUnit, parameters_of
from simstudy.engine.columns import validate_columns
from simstudy.engine.error_policy import BlockContext
from simstudy.engine.methods import EachReplicate, call_method
from simstudy.errors import StudyError
from simstudy.provenance.streams import Streams

NO_STREAMS, ROWS_DIFFER, SHARED = "no streams", "rows differ", "shared"
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


def _differs(array: Any, n_rep: int) -> bool:
    """Whether an array has replicates that are not all equal."""
    if not isinstance(array, np.ndarray) or array.ndim == 0 or len(array) != n_rep:
        return False
    few = array[:MAX_ROWS_COMPARED]
    if few.dtype.kind not in "biuf":
        return False
    is_number = ~np.isnan(few) & ~np.isnan(few[:1])
    return bool(((few != few[:1]) & is_number).any())


def check_shared(
    context: BlockContext,
    data: Mapping[str, Any],
    draw_other: Callable[[], Mapping[str, Any]],
) -> None:
    """Record a random array that is the same for all replicates of a block.

    Parameters
    ----------
    data
        Data that `draw` returned.
    draw_other
        Function that draws another block: a fixed design is the same there, a random one is not.
    """
    events = context.rng_events
    if events is None:
        return
    alike = [name for name, array in data.items() if _is_repeated(array)]
    if not alike:
        return
    with contextlib.suppress(Exception):  # if the other block fails, its own draw reports it
        other = draw_other()
        if any(not np.array_equal(data[name], other[name]) for name in alike):
            events[SHARED] = None


def _is_repeated(array: Any) -> bool:
    """Whether all replicates of an array of floats are equal, but not all of its numbers."""
    if not isinstance(array, np.ndarray) or array.ndim < 2 or len(array) < MIN_ROWS:
        return False
    is_drawn = array.dtype.kind == "f" and bool((array[:1] != array.flat[0]).any())
    return is_drawn and bool((array == array[:1]).all())


# ---------------------------------------------------------------- rows that depend on each other
def check_rows(
    context: BlockContext,
    plan: Plan,
    scenario: WorkUnit,
    streams: Streams,
    data: Mapping[str, Any],
    result: Any,
) -> None:
    """Record a method of whole blocks whose rows depend on other rows.

    Methods with random numbers are not checked, nor those named in `across_replicates`.

    Parameters
    ----------
    data
        Data of the whole block: arrays with the replicate first, and constants.
    result
        Columns that the method returned for the whole block.
    """
    events, method = context.rng_events, scenario.method
    if events is None or isinstance(method.function, EachReplicate):
        return
    asked = {each.name for each in parameters_of(method.function)}
    may_differ = method.name in plan.rules.across_replicates or "streams" in asked
    has_arrays = any(isinstance(x, np.ndarray) and x.ndim for x in data.values())
    if may_differ or plan.block_size < MIN_ROWS or not has_arrays:
        return
    try:
        columns = validate_columns(plan, scenario, result, "it")
    except StudyError:  # the check of the block raises it
        return
    given = (plan, scenario, streams, data, columns)
    some = np.arange(1, plan.block_size, plan.block_size // N_ROWS)[:N_ROWS]
    verdict = _differ(some, *given)
    if verdict is None:  # too few rows for the method: half of the rows, each twice
        half = np.repeat(np.arange(plan.block_size // 2), 2)
        twice = np.resize(np.random.default_rng(0).permutation(half), plan.block_size)
        verdict = _differ(twice, *given)
    if verdict:
        events[ROWS_DIFFER] = None


def _differ(
    rows: np.ndarray,
    plan: Plan,
    scenario: WorkUnit,
    streams: Streams,
    data: Mapping[str, Any],
    columns: Mapping[str, np.ndarray],
) -> bool | None:
    """Whether rows have other results if analysed on their own; None if they cannot be."""
    some = {n: x[rows] if isinstance(x, np.ndarray) and x.ndim else x for n, x in data.items()}
    few = replace(plan, block_size=len(rows))
    try:
        with np.errstate():  # changes by the method end with the call
            made = call_method(scenario, some, streams, len(rows))
        found = validate_columns(few, scenario, made, "it")
    except StudyError:  # for example not one row per replicate
        return True
    except Exception:  # a method may need more rows than these
        return None
    both = columns.keys() & found.keys()
    return not all(_agree(columns[name], found[name], rows) for name in both)


def _agree(full: np.ndarray, alone: np.ndarray, rows: np.ndarray) -> bool:
    """Whether rows are equal up to rounding (infinite values exactly); texts are not compared."""
    if full.dtype.kind not in "biuf" or alone.dtype.kind not in "biuf":
        return True
    expected = full[rows] if full.ndim else full
    if expected.shape != alone.shape and full.ndim:
        return False
    expected, alone = np.broadcast_arrays(expected.astype(float), alone.astype(float))
    is_finite = np.isfinite(expected)
    if not np.array_equal(expected[~is_finite], alone[~is_finite], equal_nan=True):
        return False
    spread = np.max(np.abs(expected[is_finite]), initial=0.0)
    return np.allclose(expected[is_finite], alone[is_finite], rtol=RTOL, atol=RTOL * spread)
