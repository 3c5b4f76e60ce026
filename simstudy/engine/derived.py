"""Derived columns: functions of what a block returned, or of what is stored of it."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from simstudy.design import OfSomeClass
from simstudy.engine.columns import checked_column
from simstudy.engine.parameters import given, parameters_of, said_by
from simstudy.errors import StudyError, describe, nearest
from simstudy.plan import Derived, Plan, scenario_behind
from simstudy.store.columns import void_where_failed
from simstudy.store.layout import ERROR, SCENARIO, failed_cells, void_cells

Columns = Mapping[str, np.ndarray]


def reduced(plan: Plan, scenario: OfSomeClass, columns: Columns) -> dict[str, np.ndarray]:
    """A block's columns as they are stored: with what is derived of them at once.

    Raises
    ------
    StudyError
        Where a derived column reads what there is not, even if it is to be made later.
    """
    if not plan.derived:
        return dict(columns)
    _refuse_unknown(plan, scenario, columns)
    made = dict(columns)
    for derived in plan.derived:
        if derived.name in plan.at_drawing:
            there = void_where_failed(_full(plan, made), plan.vectors)
            made[derived.name] = derived_column(plan, derived, scenario, there)
    dropped = () if plan.keep_vectors else plan.vectors
    return {name: column for name, column in made.items() if name not in dropped}


def _full(plan: Plan, columns: Columns) -> dict[str, np.ndarray]:
    """A constant as a column of its own, as it would be read from the store."""
    return {
        name: np.broadcast_to(column, plan.block_size) if column.ndim == 0 else column
        for name, column in columns.items()
    }


def derived_column(
    plan: Plan, derived: Derived, scenario: OfSomeClass, columns: Columns
) -> np.ndarray:
    """What a function makes of a block's columns: `(rep,)` or `(rep, *axes)`.

    NaN, which counts as missing, in the cells that failed.
    """
    what = f"derived column {derived.name!r}"
    known = {**said_by(scenario_behind(scenario)), **columns}
    unknown = partial(_unknown, derived, known)
    arguments = given(what, derived.function, known, unknown)
    try:
        value = derived.function(**arguments)
    except StudyError:
        raise
    except Exception as error:  # whatever a user's function may raise
        raise StudyError(f"{what} of {scenario!r}: {describe(error)}") from error
    column = checked_column(plan, derived.name, value, what)
    column = np.broadcast_to(column, plan.block_size) if column.ndim == 0 else column
    return _without_failures(column, columns)


def _without_failures(column: np.ndarray, columns: Columns) -> np.ndarray:
    void = void_cells(column, failed_cells(columns))
    return column if void is None or not void.any() else np.where(void, np.nan, column)


def _refuse_unknown(plan: Plan, scenario: OfSomeClass, columns: Columns) -> None:
    """Refuse a function that asks for what a block that came back does not have."""
    if set(columns) <= {ERROR}:
        return
    known = {**said_by(scenario_behind(scenario)), **dict.fromkeys(columns)}
    for derived in plan.derived:
        if derived.name in columns:
            raise StudyError(
                f"derived column {derived.name!r} has the name of a column that is stored, so a "
                "measure that reads it could mean either: rename it."
            )
        for parameter in parameters_of(f"derived column {derived.name!r}", derived.function):
            if parameter.name not in known and parameter.default is parameter.empty:
                raise _unknown(derived, known, parameter.name)
        known[derived.name] = None


def _unknown(derived: Derived, known: Iterable[str], name: str) -> StudyError:
    return StudyError(
        f"derived column {derived.name!r} reads {name!r}, which is neither a column that is "
        f"stored nor a factor; {nearest(name, known)}"
    )


def read_by(derived: Derived) -> list[str]:
    """What a function's parameters name, but for the scenario, which no column holds."""
    what = f"derived column {derived.name!r}"
    named = (parameter.name for parameter in parameters_of(what, derived.function))
    return [name for name in named if name != SCENARIO]


def behind(all_derived: Sequence[Derived], derived: Derived) -> list[Derived]:
    """A derived column after those that it is made of."""
    before = all_derived[: list(all_derived).index(derived)]
    found: dict[str, Derived] = {}
    for each in before:
        if each.name in read_by(derived):
            found |= {deeper.name: deeper for deeper in behind(all_derived, each)}
    return [*found.values(), derived]


def columns_behind(all_derived: Sequence[Derived], derived: Derived) -> list[str]:
    """What it reads, and what those that it is made of read: columns, factors, each once."""
    parts = behind(all_derived, derived)
    made = {part.name for part in parts}
    return list(dict.fromkeys(n for part in parts for n in read_by(part) if n not in made))
