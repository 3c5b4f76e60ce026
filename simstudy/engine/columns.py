"""The kinds of columns that measures may read, and the sources of their values.

=============  ===============================================================================
returned       by `simulate` or a method; stored
drawn          a number in what `draw` returned, one per replicate; stored with each method
vector         several values per replicate, returned or drawn; stored if nothing is derived from
               it, or if the study says so
derived        a function of other columns: of a vector computed when a block is drawn, and stored;
               of stored numbers computed when it is read
converged      1, or NaN in failed cells; from the stored errors
of a scenario  a number that is a factor or a property: the same for all replicates, never stored
=============  ===============================================================================
"""

import contextlib
import itertools
import numbers
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from simstudy.design import AnyScenario
from simstudy.design.plan import (
    Derived,
    Method,
    Plan,
    base_scenario,
    number_factors,
    properties_in,
)
from simstudy.engine.methods import (
    TEXTS,
    Data,
    parameters_of,
    scenario_arguments,
    select_arguments,
)
from simstudy.engine.per_replicate import Rows
from simstudy.engine.returned import (
    STORED_COLUMNS,
    TOLERANCE,
    fits,
    in_axis_order,
    validate_column,
    with_all_axes,
)
from simstudy.errors import StudyError, describe, nearest
from simstudy.store.arrow_schema import (
    CONVERGED,
    ERROR,
    SCENARIO,
    WARNING,
    failed_cell_mask,
    failed_cells,
)
from simstudy.store.columns import nan_where_failed
from simstudy.store.provenance import Provenance

Columns = Mapping[str, np.ndarray]

NOT_OF_DATA = frozenset({*STORED_COLUMNS, *TEXTS, "block", "address", "measure", "data"})
"""Names that data may have, but columns of a table may not."""
RTOL = 1e-9  # relative difference up to which a returned number counts as the drawn one


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


# ---------------------------------------------------------------- drawn
def drawn_columns(plan: Plan, method: Method, data: Data, columns: Any) -> dict[str, np.ndarray]:
    """Find the drawn numbers, and drawn vectors of the study, that a method did not return.

    A drawn number has one value per replicate, one per replicate and cell of the axes, or one for
    all. It is stored with every method's columns, so that any measure can read it later.

    Raises
    ------
    StudyError
        If a method returned other values under the name of a drawn number.
    """
    if not isinstance(columns, Mapping) or set(columns) <= {*TEXTS}:  # every replicate failed
        return {}
    names = data.keys() - NOT_OF_DATA - {method.axis, *plan.axes, *(d.name for d in plan.derived)}
    vectors = {n: data[n] for n in sorted(names & plan.vectors.keys()) if n not in columns}
    read = {*columns, *itertools.chain.from_iterable(plan.reads.values())}
    numbers = {}
    for name in sorted(names - vectors.keys()):
        with contextlib.suppress(*() if name in read else (Exception,)):  # data of any other kind
            if (number := drawn_number(plan, name, data[name])) is not None:
                numbers[name] = number
    for name in numbers.keys() & columns.keys():
        if not _agrees(columns[name], numbers[name]):
            raise StudyError(
                f"a method returned {name!r}, which draw returned with other values, so it is "
                f"unclear which of them a measure reads: rename the method's column, such as "
                f"{name + '_hat'!r}."
            )
    return vectors | {name: numbers[name] for name in numbers if name not in columns}


def drawn_number(plan: Plan, name: str, value: Any) -> np.ndarray | None:
    """Convert a drawn number to shape `(rep,)` or `(rep, *axes)`; None for other data."""
    if isinstance(value, Rows):
        if not all(item is None or isinstance(item, numbers.Real) for item in value.items):
            return None
        value = np.array(value.items, dtype=float)  # None, from a failed draw, becomes NaN
    if isinstance(value, tuple) or (plan.axes and isinstance(value, Mapping)):
        value = np.asarray(in_axis_order(f"{name!r} of draw", value, plan.axes))
        value = value[np.newaxis] if value.shape == plan.shape else value
    if not isinstance(value, np.ndarray | np.generic | int | float):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return None
    if array.ndim == 0:
        return np.full(plan.block_size, value)
    if array.ndim > 1 and array.shape[1:] != plan.shape:
        return None
    return np.broadcast_to(array, (plan.block_size, *array.shape[1:]))


def _agrees(column: Any, drawn: np.ndarray) -> bool:
    """Whether a column that a method returned equals a drawn number, except where it is NaN."""
    returned = np.asarray(column)
    if returned.dtype.kind not in "biuf":
        return False
    wide = max(returned.ndim, drawn.ndim)
    one, other = (x.reshape(x.shape + (1,) * (wide - x.ndim)) for x in (returned, drawn))
    try:
        is_equal = np.isclose(one, other, rtol=RTOL, atol=0.0) | np.isnan(one.astype(float))
    except ValueError:  # the check of columns refuses wrong shapes
        return True
    return bool(is_equal.all())


# ---------------------------------------------------------------- of a scenario
def check_columns_read(
    plan: Plan, scenario: AnyScenario, columns: Mapping[str, np.ndarray]
) -> None:
    """Refuse measures and settings that name a column which the block does not have.

    The check is made before anything is stored: of the names once, of the values in each block.
    Numeric factors count as columns.
    """
    if set(columns) <= {ERROR, WARNING}:
        return
    names = frozenset(columns)
    reads = partial(_constants_read, plan, scenario, names)
    refuse_other_values(scenario, plan.once(scenario, names, reads), columns)


def _constants_read(
    plan: Plan, scenario: AnyScenario, columns: Collection[str]
) -> dict[str, float | np.ndarray]:
    """Refuse unknown names of columns; return the constants whose names columns have, too."""
    known = {*columns, *(each.name for each in plan.derived), CONVERGED}
    known |= number_factors(scenario).keys()  # also those that only error messages name
    read = set(itertools.chain.from_iterable(plan.reads.values()))
    known |= scenario_columns(plan, scenario, read - known).keys()
    readers = {f"measure {name!r} reads": (names, known) for name, names in plan.reads.items()}
    for setting, names in plan.named.items():
        readers[f"{setting} names"] = names, known.union(plan.vectors)
    for who, (names, there) in readers.items():
        for name in sorted(set(names) - there):
            raise StudyError(
                f"{who} column {name!r}, which is neither returned, drawn nor derived, nor a "
                f"numeric factor or property; {nearest(name, there)}"
            )
    return constants_named(plan, scenario, plan.reads.values(), columns)


def scenario_columns(
    plan: Plan, scenario: AnyScenario, names: Iterable[str]
) -> dict[str, float | np.ndarray]:
    """Find the numbers of a scenario among some names: factors and properties.

    A property is a number, or several numbers with the labels of an axis. These are an array over
    all axes, of size 1 along those that the property does not have.
    """
    factors = number_factors(scenario)
    names = set(names)
    found: dict[str, float | np.ndarray] = {n: factors[n] for n in names & factors.keys()}
    behind = base_scenario(scenario)
    for name in properties_in(scenario, names - found.keys()):
        value = getattr(behind, name)
        if isinstance(value, numbers.Real):
            found[name] = float(value)
        elif plan.axes and not isinstance(value, str):
            array = np.asarray(in_axis_order(f"property {name!r}", value, plan.axes))
            if array.ndim and array.dtype.kind in "biuf" and array.shape != (1,):
                wide = with_all_axes(name, array[np.newaxis].astype(float), plan)
                if fits(wide, (1, *plan.shape)):
                    found[name] = wide[0]
    return found


def constants_named(
    plan: Plan,
    scenario: AnyScenario,
    reads: Iterable[Sequence[str]],
    columns: Collection[str],
) -> dict[str, float | np.ndarray]:
    """Find the factors and properties of a scenario whose names columns have, too.

    Only measures that read several columns are considered: they may take either one as the truth.

    Parameters
    ----------
    reads
        Names that each measure reads.
    columns
        Names of the columns.
    """
    compared = {name for names in reads if len(names) > 1 for name in names}.intersection(columns)
    behind = base_scenario(scenario)
    own = {name: getattr(behind, name) for name in compared & {f.name for f in fields(behind)}}
    own |= scenario_columns(plan, scenario, compared - own.keys())
    made = {n: float(v) if isinstance(v, numbers.Real) else v for n, v in own.items()}
    return {name: v for name, v in made.items() if isinstance(v, float | np.ndarray)}


def refuse_other_values(
    scenario: AnyScenario,
    constants: Mapping[str, float | np.ndarray],
    columns: Mapping[str, np.ndarray],
) -> None:
    """Refuse a column with the name of a factor or property, but with other values."""
    for name, value in constants.items():
        if not _same_values(columns[name], value):
            raise StudyError(
                f"column {name!r} has the name of a factor or property of "
                f"{type(base_scenario(scenario)).__name__} and other values, so it is unclear "
                f"which of them a measure reads: rename the column, such as {name + '_hat'!r}."
            )


def _same_values(column: np.ndarray, value: float | np.ndarray) -> bool:
    """Whether a column equals a constant of the scenario in all rows that are not missing."""
    if column.dtype.kind not in "biuf":
        return False
    found = column.astype(float)
    wide = found.reshape(found.shape + (1,) * (np.ndim(value) + 1 - found.ndim))
    agrees = np.isclose(wide, value, rtol=TOLERANCE, atol=0.0) | np.isnan(wide)
    return bool(agrees.all())


# ---------------------------------------------------------------- what stored blocks hold
VECTOR, DERIVED = "vector ", "derived column "  # beginnings of entries of a fingerprint


def vectors_among(provenance: Provenance) -> set[str]:
    """Find the vectors that blocks of this provenance hold."""
    names = itertools.chain.from_iterable(provenance.codes.values())
    return {name.removeprefix(VECTOR) for name in names if name.startswith(VECTOR)}
