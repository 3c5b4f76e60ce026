"""Checks that a method's rows do not depend on each other, by analysing some of them alone.

A mean without `axis=1`, centring across replicates, or a generator that nobody seeded makes rows
that belong to each other, and no replicate fails of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simstudy.design.plan import Analysed, Method, Plan
from simstudy.engine.call_by_name import parameters_of
from simstudy.engine.columns import validate_columns
from simstudy.engine.per_replicate import EachReplicate
from simstudy.engine.rng_checks import note_odd
from simstudy.errors import StudyError

ROWS_DIFFER = "rows differ"
N_ROWS = 4  # that are analysed again, of the first block: no two in the same place
RTOL = 1e-6  # an iteration may stop elsewhere when others are not there
FEWEST = 2 * N_ROWS  # replicates of a block


def may_check_rows(plan: Plan, method: Method) -> bool:
    """Whether a method takes whole blocks without random numbers and must not mix rows."""
    function = method.function
    if isinstance(function, EachReplicate) or method.name in plan.across_replicates:
        return False
    names = {each.name for each in parameters_of(f"method {method.name!r}", function)}
    return "streams" not in names


def check_rows(
    plan: Plan,
    scenario: Analysed,
    data: Mapping[str, Any],
    result: Any,
    analyse: Callable[[Mapping[str, Any]], Any],
) -> None:
    """Record rows that change when they are analysed alone.

    Parameters
    ----------
    data
        Of the whole block: arrays with the replicate first, and constants.
    result
        What the method returned of it.
    analyse
        From data to what the method returns.
    """
    arrays = {name: x for name, x in data.items() if isinstance(x, np.ndarray) and x.ndim}
    if plan.block_size < FEWEST or not arrays:
        return
    rows = np.arange(1, plan.block_size, plan.block_size // N_ROWS)[:N_ROWS]
    alone = {name: x[rows] if name in arrays else x for name, x in data.items()}
    try:
        columns = validate_columns(plan, scenario, result, "it")
    except StudyError:  # which is said where the block is checked
        return
    try:
        found = validate_columns(
            replace(plan, block_size=len(rows)), scenario, analyse(alone), "it"
        )
    except StudyError:  # not a row for each replicate
        note_odd(ROWS_DIFFER)
        return
    except Exception:  # a method may need more rows than these
        return
    if not all(_agree(columns[name], found[name], rows) for name in columns.keys() & found.keys()):
        note_odd(ROWS_DIFFER)


def _agree(full: np.ndarray, alone: np.ndarray, rows: np.ndarray) -> bool:
    """Whether rows are equal up to rounding; texts are not compared."""
    if full.dtype.kind not in "biuf" or alone.dtype.kind not in "biuf":
        return True
    expected = full[rows] if full.ndim else full
    if expected.shape != alone.shape and full.ndim:
        return False
    spread = np.nanmax(np.abs(expected), initial=0.0)
    return np.allclose(expected, alone, rtol=RTOL, atol=RTOL * spread, equal_nan=True)
