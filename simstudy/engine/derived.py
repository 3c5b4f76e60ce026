"""Derived columns: functions of a block's columns or of stored columns."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from simstudy.design import AnyScenario
from simstudy.design.plan import Derived, Plan, base_scenario
from simstudy.engine.columns import validate_column
from simstudy.engine.methods import parameters_of, scenario_arguments, select_arguments
from simstudy.errors import StudyError, describe, nearest
from simstudy.store.arrow_schema import ERROR, SCENARIO, failed_cell_mask, failed_cells
from simstudy.store.columns import nan_where_failed

Columns = Mapping[str, np.ndarray]


def apply_derived_columns(
    plan: Plan, scenario: AnyScenario, columns: Columns
) -> dict[str, np.ndarray]:
    """Add the derived columns that are computed when a block is drawn, in place of vectors.

    Raises
    ------
    StudyError
        If a derived column reads an unknown name. Columns that are computed later, from stored
        blocks, are checked as well.
    """
    if not plan.derived or set(columns) <= {ERROR}:
        return dict(columns)
    _refuse_unknown(plan, scenario, columns)
    made = dict(columns)
    for derived in plan.derived:
        if derived.name in plan.at_drawing:
            read = {
                name: made[name] for name in (*read_by(derived.function), ERROR) if name in made
            }
            there = nan_where_failed(_full(plan, read), plan.vectors)
            made[derived.name] = derived_column(plan, derived, scenario, there)
    return _without_vectors(plan, made)


def _without_vectors(plan: Plan, columns: Columns) -> dict[str, np.ndarray]:
    dropped = plan.vectors.keys() - set(plan.stored_vectors)
    return {name: column for name, column in columns.items() if name not in dropped}


def _full(plan: Plan, columns: Columns) -> dict[str, np.ndarray]:
    """Broadcast constants to columns, as the store returns them."""
    return {
        name: np.broadcast_to(column, plan.block_size) if column.ndim == 0 else column
        for name, column in columns.items()
    }


def derived_column(
    plan: Plan, derived: Derived, scenario: AnyScenario, columns: Columns
) -> np.ndarray:
    """Compute a derived column from a block's columns: `(rep,)` or `(rep, *axes)`.

    The function gets numbers as floats, and its numbers are stored as floats, so that the result
    does not depend on the other columns. Failed cells are NaN, which counts as missing.
    """
    what = _named(derived)
    known = {**scenario_arguments(base_scenario(scenario)), **_as_floats(columns)}
    unknown = partial(_unknown, derived, known)
    arguments = select_arguments(derived.function, known, unknown)
    try:
        value = derived.function(**arguments)
    except StudyError:
        raise
    except (Exception, SystemExit) as error:  # a user's function may raise anything
        raise StudyError(f"{what} of {scenario!r}: {describe(error)}") from error
    column = validate_column(plan, derived.name, value, what)
    if column.ndim == 0:
        raise StudyError(
            f"{what} is one value for all replicates: return one for each, such as x.mean(axis=-1) "
            "and not x.mean(), or np.full(len(x), value)."
        )
    return _without_failures(column, columns)


def _as_floats(columns: Columns) -> dict[str, np.ndarray]:
    """Convert numbers to read-only floats; text is unchanged."""
    floats = {
        name: column.astype(float) if column.dtype.kind in "biuf" else column.copy()
        for name, column in columns.items()
    }
    for column in floats.values():
        column.flags.writeable = False
    return floats


def _without_failures(column: np.ndarray, columns: Columns) -> np.ndarray:
    is_number = column.dtype.kind in "biuf"
    made = column.astype(float if is_number else object)
    void = failed_cell_mask(made, failed_cells(columns))
    nothing: Any = np.nan if is_number else None
    return made if void is None else np.where(void, nothing, made)


def _refuse_unknown(plan: Plan, scenario: AnyScenario, columns: Columns) -> None:
    """Refuse derived columns that read unknown names or have the name of a stored column."""
    known = {**scenario_arguments(base_scenario(scenario)), **dict.fromkeys(columns)}
    for derived in plan.derived:
        if derived.name in columns:
            raise StudyError(
                f"{_named(derived)} has the name of a stored column, so it is unclear which of "
                "them a measure reads: rename it."
            )
        unknown = partial(_unknown, derived, known)
        select_arguments(derived.function, known, unknown)
        known[derived.name] = None


def _unknown(derived: Derived, names: Iterable[str], name: str) -> StudyError:
    return StudyError(
        f"{_named(derived)} reads {name!r}, which is neither a stored column nor a factor; "
        f"{nearest(name, names)}"
    )


def _named(derived: Derived) -> str:
    return f"derived column {derived.name!r}"


def read_by(function: Callable[..., Any]) -> list[str]:
    """List the columns that a function reads: its parameters without `scenario`."""
    names = [parameter.name for parameter in parameters_of(function)]
    return [name for name in names if name != SCENARIO]


def optional(derived: Derived) -> set[str]:
    """Collect the parameters with a default, whose columns may be missing."""
    return {each.name for each in parameters_of(derived.function) if each.default is not each.empty}


def derived_at_drawing(all_derived: Sequence[Derived], vectors: Collection[str]) -> tuple[str, ...]:
    """Name the derived columns that read a vector, and the derived columns that these read."""
    wanted = set[str]()
    for derived in reversed(all_derived):  # each may read those before it
        names = read_by(derived.function)
        if derived.name in wanted or not set(vectors).isdisjoint(names):
            wanted |= {derived.name, *names}
    return tuple(derived.name for derived in all_derived if derived.name in wanted)
