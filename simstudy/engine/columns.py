"""The columns of a block: which kinds measures may read, and what may be returned as a column.

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
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from simstudy.design import AnyScenario
from simstudy.design import plan as plans
from simstudy.design.plan import Derived, Plan, base_scenario, parameters_of, read_by
from simstudy.engine import methods
from simstudy.engine.methods import TEXTS, over_named_axis, scenario_arguments, select_arguments
from simstudy.errors import StudyError, describe, in_one_line, nearest, writable
from simstudy.store import arrow_schema
from simstudy.store.arrow_schema import CONVERGED, ERROR, MISSING, RESERVED, WARNING
from simstudy.store.provenance import Provenance
from simstudy.validation import refuse_inexact, unmasked

Columns = Mapping[str, np.ndarray]

STORED_COLUMNS = frozenset({*RESERVED, CONVERGED})  # names that a study cannot return
TOLERANCE = float(np.sqrt(np.finfo(float).eps))  # half of the digits, for numbers of two machines
MAX_BYTES = 8  # of the widest numbers that a table stores


def validate_columns(
    plan: Plan, scenario: AnyScenario, raw: Any, who: str = "simulate"
) -> dict[str, np.ndarray]:
    """Check the columns that `simulate` or a method returned, and broadcast them to full shape."""
    if not isinstance(raw, Mapping):
        raise StudyError(
            f"{who} returned {type(raw).__name__}, not columns by name: return a dict of arrays."
        )
    lengths = plan.lengths_of(scenario)
    absent = [] if ERROR in raw else [name for name in lengths if name not in raw]
    if absent:
        raise StudyError(
            f"{who} did not return the vector {absent[0]!r}, which the study declares; "
            + nearest(absent[0], map(str, raw))
        )
    columns = {
        name: validate_column(plan, name, value, who, lengths.get(name))
        for name, value in raw.items()
    }
    missing = {}
    for name, array in columns.items():  # NaN is a failure, if it may not be missing
        may_fail = array.dtype.kind == "f" and name not in plan.rules.may_be_missing
        if may_fail and np.count_nonzero(np.isnan(array)):  # faster than `any` for short columns
            cells = np.isnan(array)
            missing[name] = cells.any(axis=-1) if name in plan.rules.vectors else cells
    if missing:
        columns[ERROR] = _errors_with(columns.get(ERROR), missing)
    return columns


def validate_column(
    plan: Plan, name: str, value: Any, who: str, length: int | None = None
) -> np.ndarray:
    """Check one column and broadcast it; a vector has one more axis, of the given length."""
    if not isinstance(name, str) or not name:
        raise StudyError(
            f"{who} returned a column named {name!r}: the name of a column must be a text that is "
            "not empty, such as 'estimate'."
        )
    if name in STORED_COLUMNS or name in plan.axes:
        raise StudyError(
            f"{who} returned a column {name!r}, which is a reserved name or that of an axis: "
            f"rename it, such as {'is_' + name!r}."
        )
    if length is None and not isinstance(value, np.ndarray):
        value = over_named_axis(f"column {name!r}", value, plan.axes, of_block=True)
    array = _own_array(name, value)
    if length is not None:
        return _vector(plan, name, array, length)
    return _of_full_shape(plan, name, array)


def _own_array(name: str, value: Any) -> np.ndarray:
    """Copy an array, so that later changes by the caller do not reach what is stored."""
    array = np.array(unmasked(value, name))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    is_message = name in (ERROR, WARNING)
    if array.dtype.kind in "UO":  # messages are in one line, and None if they are empty
        clean = in_one_line if is_message else writable
        texts = [clean(text) if isinstance(text, str) else text for text in array.flat]
        texts = [None if is_message and text == "" else text for text in texts]
        if texts != array.ravel().tolist():
            array = np.array([*texts, None], dtype=object)[:-1].reshape(array.shape)
    refuse_inexact(name, array)
    kind = array.dtype.kind
    is_text = kind == "U" or (kind == "O" and all(isinstance(v, str | None) for v in array.flat))
    is_number = kind in "biuf" and array.dtype.itemsize <= MAX_BYTES
    if not is_text and (is_message or not is_number):
        storable = "booleans, integers, floats or text"
        what = f"text, and None where there is no {name}" if is_message else storable
        texts = [v for v in array.flat if isinstance(v, str)]
        others = [v for v in array.flat if not isinstance(v, str | None)]
        odd = texts[0] if texts and not is_message else next(iter(others), None)
        example = f" such as {in_one_line(repr(odd))[:60]}" if array.dtype == object else ""
        raise StudyError(f"column {name!r} holds {array.dtype}{example}: return {what}.")
    return array


def _vector(plan: Plan, name: str, array: np.ndarray, length: int) -> np.ndarray:
    short, full = (plan.block_size, length), (plan.block_size, *plan.shape, length)
    if array.dtype.kind not in "biuf":
        raise StudyError(f"vector {name!r} holds {array.dtype}: return numbers.")
    if length == 1 and array.shape in (short[:-1], full[:-1]):
        return array[..., np.newaxis]
    if array.shape not in (short, full):
        raise StudyError(
            f"vector {name!r} has shape {array.shape}; with n_rep={plan.block_size} and the "
            f"declared length {length} it must be {short}"
            + (f" or {full}." if full != short else ".")
        )
    return array


def _of_full_shape(plan: Plan, name: str, array: np.ndarray) -> np.ndarray:
    full = (plan.block_size, *plan.shape)
    if array.shape in (full, full[:1]):
        return array
    if array.ndim == 0:
        return np.broadcast_to(array, full[:1])
    wide = with_all_axes(name, array, plan) if 1 < array.ndim < len(full) else array
    if not fits(wide, full):
        axes = ", ".join(f"{axis}: {len(labels)}" for axis, labels in plan.axes.items())
        raise StudyError(
            f"column {name!r} has shape {array.shape}; with n_rep={plan.block_size} it must be "
            f"{full[:1]}"
            + (f" or {full} (axes {axes}; 1 for one that it lacks)" if axes else "")
            + "."
        )
    return np.broadcast_to(wide, full)


def fits(array: np.ndarray, full: tuple[int, ...]) -> bool:
    """Whether an array broadcasts to the shape of the replicates and axes."""
    sizes = zip(array.shape, full, strict=False)
    return array.ndim == len(full) > 1 and all(n in (1, wanted) for n, wanted in sizes)


def with_all_axes(name: str, array: np.ndarray, plan: Plan) -> np.ndarray:
    """Broadcast a column that has only some of the axes, of which that of the methods is none."""
    sizes = [n for n in array.shape[1:] if n != 1]
    own = [at for at, axis in enumerate(plan.axes) if axis != plan.methods_axis]
    fitting = [
        chosen
        for chosen in itertools.combinations(own, len(sizes))
        if [plan.shape[at] for at in chosen] == sizes
    ]
    if len(fitting) > 1:
        axes = list(plan.axes)
        either = " or ".join(", ".join(axes[at] for at in chosen) for chosen in fitting)
        raise StudyError(
            f"column {name!r} has shape {array.shape}, whose axes could be {either}, which have "
            "the same size: return a dict with the labels of its axis, or add an axis of size 1 "
            "(np.newaxis) for each axis that it lacks."
        )
    wide = [n if fitting and at in fitting[0] else 1 for at, n in enumerate(plan.shape)]
    return array.reshape(len(array), *wide) if fitting else array


def _errors_with(errors: np.ndarray | None, missing: Mapping[str, np.ndarray]) -> np.ndarray:
    """Add the columns with NaN to the errors, in cells that have no error of their own."""
    own = np.full(1, None) if errors is None else errors
    own, *masks = np.broadcast_arrays(*(x.T for x in (own, *missing.values())))  # first axes agree
    made = own.astype(object)
    for cell in zip(*np.nonzero(np.any(masks, axis=0)), strict=True):
        names = ", ".join(name for name, mask in zip(missing, masks, strict=True) if mask[cell])
        made[cell] = made[cell] or f"{MISSING}{names}"
    return made.T


def count_failed(plan: Plan, errors: np.ndarray | None) -> int:
    """Count the replicates that failed in any cell."""
    if errors is None:
        return 0
    counted = arrow_schema.has_text(arrow_schema.counted_errors(plan, errors))
    return int(counted.reshape(len(errors), -1).any(axis=1).sum())


# ---------------------------------------------------------------- derived
# names that data may have, but columns of a table may not
NOT_OF_DATA = frozenset({*STORED_COLUMNS, *TEXTS, "block", "address", "measure", "data"})


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
        if derived.name in plan.stored_derived:
            names = {*read_by(derived.function), ERROR}
            read = {name: column for name, column in made.items() if name in names}
            read = arrow_schema.nan_where_failed(read, plan.rules.vectors)
            made[derived.name] = derived_column(plan, derived, scenario, read)
    dropped = plan.rules.vectors.keys() - set(plan.stored_vectors)
    return {name: column for name, column in made.items() if name not in dropped}


def derived_column(
    plan: Plan, derived: Derived, scenario: AnyScenario, columns: Columns
) -> np.ndarray:
    """Compute a derived column from a block's columns: `(rep,)` or `(rep, *axes)`.

    The function gets numbers as floats, and its numbers are stored as floats, so that the result
    does not depend on the other columns. Failed cells are NaN, which counts as missing.
    """
    what = _named(derived)
    floats = {
        name: column.astype(float) if column.dtype.kind in "biuf" else column.copy()
        for name, column in columns.items()
    }
    for column in floats.values():
        column.flags.writeable = False
    known = {**scenario_arguments(base_scenario(scenario)), **floats}
    unknown = partial(_unknown, derived, known)
    arguments = select_arguments(derived.function, known, unknown)
    try:
        value = derived.function(**arguments)
    except StudyError:
        raise
    except (Exception, SystemExit) as error:  # a user's function may raise anything
        raise StudyError(f"{what} of {scenario!r}: {describe(error)}") from error
    if np.ndim(value) == 0:
        raise StudyError(
            f"{what} is one value for all replicates: return one for each, such as x.mean(axis=-1) "
            "and not x.mean(), or np.full(len(x), value)."
        )
    column = validate_column(plan, derived.name, value, what)
    is_number = column.dtype.kind in "biuf"
    made = column.astype(float if is_number else object)
    failed = arrow_schema.failed_cells(columns, plan.inputs_of(read_by(derived.function)))
    void = arrow_schema.failed_cell_mask(made, failed)
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
        f"{_named(derived)} reads {name!r}, which is neither a stored column nor a factor (a "
        f"property is read from the parameter `scenario`); {nearest(name, names)}"
    )


def _named(derived: Derived) -> str:
    return f"derived column {derived.name!r}"


def optional(derived: Derived) -> set[str]:
    """Collect the parameters with a default, whose columns may be missing."""
    return {each.name for each in parameters_of(derived.function) if each.default is not each.empty}


# ---------------------------------------------------------------- drawn
def drawn_columns(plan: Plan, axis: str, data: methods.Data, columns: Any) -> dict[str, np.ndarray]:
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
    taken = {axis, *plan.axes, *(derived.name for derived in plan.derived)}
    names = data.keys() - NOT_OF_DATA - taken
    vectors = {n: data[n] for n in sorted(names & plan.rules.vectors.keys()) if n not in columns}
    read = {*columns, *itertools.chain.from_iterable(plan.reads.values())}
    numbers = {}
    for name in sorted(names - vectors.keys()):
        with contextlib.suppress(*() if name in read else (Exception,)):  # data of any other kind
            if (number := drawn_number(plan, name, data[name])) is not None:
                numbers[name] = number
    for name in numbers.keys() & columns.keys():
        if not _equal(columns[name], numbers[name]):
            raise StudyError(
                f"a method returned {name!r}, which draw returned with other values, so it is "
                f"unclear which of them a measure reads: rename the method's column, such as "
                f"{name + '_hat'!r}."
            )
    return vectors | {name: numbers[name] for name in numbers if name not in columns}


def drawn_number(plan: Plan, name: str, value: Any) -> np.ndarray | None:
    """Convert a drawn number to shape `(rep,)` or `(rep, *axes)`; None for other data."""
    if isinstance(value, methods.Rows):
        return _drawn_one_by_one(plan, name, value)
    if isinstance(value, Mapping):
        value = over_named_axis(f"{name!r} of draw", value, plan.axes, of_block=True)
    if not isinstance(value, np.ndarray | np.generic | int | float):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return None
    full = (plan.block_size, *plan.shape)
    if array.ndim == 0:
        return np.full(plan.block_size, value)
    if fits(array, full):
        return np.broadcast_to(array, full)
    return array if array.shape == full[:1] else None


def _drawn_one_by_one(plan: Plan, name: str, items: Sequence[Any]) -> np.ndarray | None:
    """Numbers that `draw_one` returned, `(rep,)`, or values over the axes; NaN for failed draws."""
    if all(item is None or isinstance(item, numbers.Real) for item in items):
        return np.array(items, dtype=float)
    if not plan.axes or name not in itertools.chain.from_iterable(plan.reads.values()):
        return None  # anything else may be data
    made = np.full((len(items), *plan.shape), np.nan)
    for row, item in enumerate(items):
        if item is not None:
            value = np.asarray(over_named_axis(f"{name!r} of draw_one", item, plan.axes))
            if value.dtype.kind not in "biuf" or not fits(value[np.newaxis], made[:1].shape):
                return None
            made[row] = value
    return made


def _equal(column: Any, value: Any) -> bool:
    """Whether a column equals other values of it where it is not missing, up to rounding."""
    one, other = np.asarray(column).T, np.asarray(value).T  # first axes agree
    if one.dtype.kind not in "biuf":
        return False
    try:
        is_equal = np.isclose(one, other, rtol=TOLERANCE, atol=0.0) | np.isnan(one.astype(float))
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
    plan.cached(scenario, names, partial(_refuse_unknown_reads, plan, scenario, names))
    refuse_other_values(plan, scenario, plan.reads.values(), columns)


def _refuse_unknown_reads(plan: Plan, scenario: AnyScenario, columns: Collection[str]) -> None:
    known = {*columns, *(each.name for each in plan.derived), CONVERGED}
    known |= plans.number_factors(scenario).keys()  # also those that only error messages name
    read = set(itertools.chain.from_iterable(plan.reads.values()))
    known |= scenario_columns(plan, scenario, read - known).keys()
    readers = {f"measure {name!r} reads": (names, known) for name, names in plan.reads.items()}
    if not plan.has_classes:  # otherwise other classes may have the column
        readers["may_be_missing names"] = plan.rules.may_be_missing, known.union(plan.rules.vectors)
    for who, (names, there) in readers.items():
        for name in sorted(set(names) - there):
            raise StudyError(
                f"{who} column {name!r}, which is neither returned, drawn nor derived, nor a "
                f"numeric factor or property; {nearest(name, there)}"
            )


def scenario_columns(
    plan: Plan, scenario: AnyScenario, names: Iterable[str]
) -> dict[str, float | np.ndarray]:
    """Find the numbers of a scenario among some names: factors and properties.

    A property is a number, or several numbers with the labels of an axis. These are an array over
    all axes, of size 1 along those that the property does not have.
    """
    factors = plans.number_factors(scenario)
    names = set(names)
    of_scenario: dict[str, float | np.ndarray] = {n: factors[n] for n in names & factors.keys()}
    behind = base_scenario(scenario)
    own_shape = tuple(len(of) for axis, of in plan.axes.items() if axis != plan.methods_axis)
    for name in plans.properties_in(scenario, names - of_scenario.keys()):
        value = getattr(behind, name)
        if isinstance(value, numbers.Real):
            of_scenario[name] = float(value)
        elif isinstance(value, Mapping | Sequence | np.ndarray) and not isinstance(value, str):
            array = np.asarray(over_named_axis(f"property {name!r}", value, plan.axes))
            if array.shape == own_shape:  # it has no axis of the methods, which is the first
                array = array.reshape(*(1,) * (len(plan.shape) - array.ndim), *own_shape)
            if array.dtype.kind in "biuf" and fits(array[np.newaxis], (1, *plan.shape)):
                of_scenario[name] = array.astype(float)
    return of_scenario


def refuse_other_values(
    plan: Plan, scenario: AnyScenario, reads: Iterable[Sequence[str]], columns: Columns
) -> None:
    """Refuse a column with the name of a factor or property, but with other values.

    Only measures that read several columns are considered: they may take either one as the truth.

    Parameters
    ----------
    reads
        Names that each measure reads.
    """
    compared = {name for names in reads if len(names) > 1 for name in names}
    names = frozenset(compared.intersection(columns))
    constants = partial(scenario_columns, plan, scenario, names)
    for name, value in plan.cached(scenario, ("constants", names), constants).items():
        if not _equal(columns[name], np.asarray(value)[np.newaxis]):
            raise StudyError(
                f"column {name!r} has the name of a factor or property of "
                f"{type(base_scenario(scenario)).__name__} and other values, so it is unclear "
                f"which of them a measure reads: rename the column, such as {name + '_hat'!r}."
            )


# ---------------------------------------------------------------- what stored blocks hold
VECTOR, DERIVED = "vector ", "derived column "  # beginnings of entries of a fingerprint


def vectors_among(provenance: Provenance) -> set[str]:
    """Find the vectors that blocks of this provenance hold."""
    names = itertools.chain.from_iterable(provenance.codes.values())
    return {name.removeprefix(VECTOR) for name in names if name.startswith(VECTOR)}
