"""Detects random numbers that do not come from the study's streams, and rows that know of others.

Such numbers make every block the same, or blocks that are never found again. A mean without
`axis=1`, or centring across replicates, makes rows that belong to each other. No replicate fails of
either. So the first two blocks of each scenario are watched as they are drawn, and compared; and
some rows of a method's first block are analysed alone.
"""

import contextlib
import hashlib
import math
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from simstudy.design.plan import Analysed, Plan
from simstudy.engine.columns import validate_columns
from simstudy.engine.error_policy import set_within
from simstudy.engine.methods import analysed, parameters_of, plain_columns
from simstudy.engine.per_replicate import EachReplicate
from simstudy.errors import StudyError
from simstudy.provenance.streams import Streams

BLOCKS_CHECKED = 2  # of each scenario: a mistake shows in the first
ROWS_COMPARED = 1024  # of a block: enough to tell shares of 1% from those of any other
CELLS_COMPARED = 64  # of a replicate
ENOUGH_BITS = 60  # that columns of as much surprise agree by chance has odds of 2^-60

DRAW_MEANWHILE = ("beartype", "distributed")
"""Libraries that draw from Python's global generator themselves, in this thread or another."""
NO_STREAMS, ROWS_DIFFER = "no streams", "rows differ"
NUMPY_MOVED, PYTHON_MOVED = "np.random", "random"

N_ROWS = 4  # that are analysed again, of the first block: no two in the same place
RTOL = 1e-6  # an iteration may stop elsewhere when others are not there
FEWEST = 2 * N_ROWS  # replicates of a block

_events: ContextVar[dict[str, None] | None] = ContextVar("rng_events", default=None)


class RngFinding(NamedTuple):
    """Findings about a block's random numbers, and hashes of the columns that must vary."""

    key: str
    block: int
    odd: tuple[str, ...]
    hashes: tuple[tuple[str, bytes], ...]


@contextlib.contextmanager
def watching_rng(block: int) -> Iterator[dict[str, None] | None]:
    """Context: findings about the random numbers of an early block are recorded."""
    events: dict[str, None] | None = {} if block < BLOCKS_CHECKED else None
    with set_within(_events, events):
        yield events


def finding_of(
    key: str, block: int, columns: Mapping[str, np.ndarray], events: dict[str, None]
) -> RngFinding:
    """The findings of a block that has been drawn."""
    heads = {
        name: _head(column)
        for name, column in columns.items()
        if column.ndim and column.size and column.dtype.kind in "biuf"
    }
    hashes = tuple((name, _hash(head)) for name, head in heads.items() if _must_vary(head))
    return RngFinding(key, block, tuple(events), hashes)


# ---------------------------------------------------------------- while a block is drawn
@contextlib.contextmanager
def watching_generators() -> Iterator[None]:
    """Context: changes of the global random generators are recorded.

    Libraries draw from them as they are imported: where any was, the next block will tell.
    """
    events = _events.get()
    if events is None:
        yield
        return
    before, n_loaded = _states(), len(sys.modules)
    yield
    if len(sys.modules) == n_loaded:
        events |= {name: None for name, state in _states().items() if state != before[name]}


def _states() -> dict[str, Any]:
    """The states of the global random generators."""
    numpys: Any = np.random.get_state()  # noqa: NPY002 - it is what is looked for
    states = {NUMPY_MOVED: (numpys[1].tobytes(), *numpys[2:]), PYTHON_MOVED: random.getstate()}
    if any(library in sys.modules for library in DRAW_MEANWHILE):
        del states[PYTHON_MOVED]
    return states


def is_deterministic(value: object) -> bool:
    """Whether a scenario declares itself deterministic."""
    return bool(getattr(getattr(value, "scenario", value), "deterministic", False))


def check_streams(scenario: object, streams: Streams, columns: Any, n_rep: int) -> None:
    """Record replicates that differ although no random stream was used."""
    events = _events.get()
    if events is None or streams.asked or is_deterministic(scenario):
        return
    if isinstance(columns, Mapping) and any(_differs(array, n_rep) for array in columns.values()):
        events[NO_STREAMS] = None


def _differs(array: Any, n_rep: int) -> bool:
    """Whether an array has replicates that are not all equal."""
    if not isinstance(array, np.ndarray) or array.ndim == 0 or len(array) != n_rep:
        return False
    few = array[:ROWS_COMPARED]
    if few.dtype.kind not in "biuf":
        return False
    is_number = ~np.isnan(few) & ~np.isnan(few[:1])
    return bool(((few != few[:1]) & is_number).any())


# ---------------------------------------------------------------- when it has been drawn
def _head(column: np.ndarray) -> np.ndarray:
    """The first replicates of a column, limited to a number of cells."""
    rows = column[:ROWS_COMPARED]
    return np.ascontiguousarray(rows.reshape(len(rows), -1)[:, :CELLS_COMPARED])


def _hash(head: np.ndarray) -> bytes:
    return hashlib.blake2b(head.tobytes(), digest_size=8).digest()


def _must_vary(head: np.ndarray) -> bool:
    """Whether two blocks cannot agree in this column by chance.

    Fractions that are all different were drawn from a continuum. Otherwise the order of the
    replicates decides: it is one of so many orders of these values. Values in rising or falling
    order were put there.
    """
    if _is_in_order(head):
        return False
    rows = head.view(np.dtype((np.void, head.itemsize * head.shape[1]))).ravel().tolist()
    counts, n = Counter(rows).values(), len(rows)
    if head.dtype.kind == "f" and len(counts) == n > 2 and (head % 1 != 0).any():
        return True
    return n * math.log2(n) - sum(count * math.log2(count) for count in counts) > ENOUGH_BITS


def _is_in_order(head: np.ndarray) -> bool:
    first, then = head[:-1], head[1:]
    return bool((first <= then).all() or (first >= then).all())


# ---------------------------------------------------------------- rows that know of each other
def check_rows(
    plan: Plan, scenario: Analysed, streams: Streams, data: Mapping[str, Any], result: Any
) -> None:
    """Record a method of whole blocks that gives rows other values when they are alone.

    Methods with random numbers are not checked, nor those that are right to look across.

    Parameters
    ----------
    data
        Of the whole block: arrays with the replicate first, and constants.
    result
        What the method returned of it.
    """
    events, method = _events.get(), scenario.method
    if events is None or isinstance(method.function, EachReplicate):
        return
    asked = {each.name for each in parameters_of(method.function)}
    may_differ = method.name in plan.across_replicates or "streams" in asked
    if not may_differ and _rows_differ(plan, scenario, streams, data, result):
        events[ROWS_DIFFER] = None


def _rows_differ(
    plan: Plan, scenario: Analysed, streams: Streams, data: Mapping[str, Any], result: Any
) -> bool:
    arrays = {name: x for name, x in data.items() if isinstance(x, np.ndarray) and x.ndim}
    if plan.block_size < FEWEST or not arrays:
        return False
    rows = np.arange(1, plan.block_size, plan.block_size // N_ROWS)[:N_ROWS]
    alone = {name: x[rows] if name in arrays else x for name, x in data.items()}
    try:
        columns = validate_columns(plan, scenario, result, "it")
    except StudyError:  # which is said where the block is checked
        return False
    few = replace(plan, block_size=len(rows))
    try:
        with np.errstate():  # which a method may set for itself alone
            made = plain_columns(analysed(scenario, alone, streams, len(rows)))
        found = validate_columns(few, scenario, made, "it")
    except StudyError:  # not a row for each replicate
        return True
    except Exception:  # a method may need more rows than these
        return False
    both = columns.keys() & found.keys()
    return not all(_agree(columns[name], found[name], rows) for name in both)


def _agree(full: np.ndarray, alone: np.ndarray, rows: np.ndarray) -> bool:
    """Whether rows are equal up to rounding; texts are not compared."""
    if full.dtype.kind not in "biuf" or alone.dtype.kind not in "biuf":
        return True
    expected = full[rows] if full.ndim else full
    if expected.shape != alone.shape and full.ndim:
        return False
    spread = np.nanmax(np.abs(expected), initial=0.0)
    return np.allclose(expected, alone, rtol=RTOL, atol=RTOL * spread, equal_nan=True)
