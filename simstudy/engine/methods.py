"""Methods: the arguments they are given, and the columns they must return."""

import copy
import hashlib
import inspect
import numbers
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from simstudy.design import Scenario
from simstudy.design.plan import Analysed, Method, Plan, properties_in
from simstudy.engine.error_policy import should_reraise
from simstudy.engine.labels import in_axis_order, is_from_pandas, rows_in_order
from simstudy.engine.per_replicate import EachReplicate, Rows
from simstudy.errors import StudyError, nearest
from simstudy.provenance.streams import Streams
from simstudy.store.arrow_schema import ERROR, SCENARIO

Data = Mapping[str, Any]
"""What a scenario draws, by name: arrays with the replicate first, or constants."""

Unknown = Callable[[str], StudyError]
"""From the name of a parameter that names nothing to the refusal."""

OWN = ("streams", "rng")
"""Random numbers that a method may ask for: of a block, or of one replicate."""

TAKEN = (SCENARIO, *OWN)
"""What a method may ask for that is neither data nor a factor."""

CONSTANTS = (type(None), bool, int, float, complex, str, bytes, np.generic)
SAME = 1e-9  # relative difference of a number that a method hands on, perhaps by another route
TEXTS = (ERROR, "warning")  # columns that a method has only where there is something to say


# ---------------------------------------------------------------- functions called by name
def select_arguments(
    function: Callable[..., Any], available: Mapping[str, Any], unknown: Unknown
) -> dict[str, Any]:
    """Select the arguments that a function's parameters name; missing ones keep their defaults.

    Parameters
    ----------
    available
        What there is, by name.
    """
    found = {}
    for parameter in parameters_of(function):
        if parameter.name in available:
            found[parameter.name] = available[parameter.name]
        elif parameter.default is parameter.empty:
            raise unknown(parameter.name)
    return found


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function that are not fixed by a `partial`."""
    fixed = function.keywords if isinstance(function, partial) else {}
    parameters = inspect.signature(function).parameters
    return [parameter for name, parameter in parameters.items() if name not in fixed]


def scenario_arguments(scenario: Scenario) -> dict[str, Any]:
    """The scenario's factors by name, and the scenario itself as `scenario`."""
    return {SCENARIO: scenario, **factors_by_name(scenario)}


def factors_by_name(scenario: Scenario) -> dict[str, Any]:
    """The fields of a scenario by name."""
    return {field.name: getattr(scenario, field.name) for field in fields(scenario)}


# ---------------------------------------------------------------- data
@dataclass(frozen=True)
class Constant:
    """A value of any type that is the same for all replicates of a block; made by `constant`."""

    value: Any


def constant(value: Any) -> Any:
    """Mark what `draw` returns as one value for all replicates of the block.

    Parameters
    ----------
    value
        Of any type: methods get it as it is. An array that is not marked has a row for each
        replicate.

    Returns
    -------
    Constant
        The marked value.
    """
    return Constant(_read_only(value))


class OneByOne(dict[str, Any]):
    """Data of a block that were drawn one data set at a time: `Rows` by name.

    Attributes
    ----------
    failed
        By row, the error of drawing its data set.
    """

    def __init__(self, data: Mapping[str, Any], failed: Mapping[int, Exception]) -> None:
        super().__init__(data)
        self.failed = failed


def drawn_one_by_one(scenario: Any, streams: Streams, n_rep: int) -> OneByOne:
    """Call `draw_one` for each replicate, with a generator of its own.

    A call that raises costs its replicate. What is returned may differ in size from replicate to
    replicate; a value that is no dict is called `data`.

    Raises
    ------
    StudyError
        If the names differ from replicate to replicate.
    """
    drawn: list[Mapping[str, Any]] = []
    failed: dict[int, Exception] = {}
    for row in range(n_rep):
        try:
            returned = scenario.draw_one(streams.of_replicate(row))
        except Exception as error:
            if should_reraise(row, n_rep, error):
                raise
            failed[row] = error
            returned = None
        is_by_name = isinstance(returned, Mapping)
        drawn.append(returned if is_by_name else {} if row in failed else {"data": returned})
    names = next((each.keys() for row, each in enumerate(drawn) if row not in failed), ())
    for row, each in enumerate(drawn):
        if row not in failed and each.keys() != names:
            raise StudyError(
                f"draw_one returned {', '.join(map(str, each)) or 'nothing'} for one replicate and "
                f"{', '.join(map(str, names))} for others: return the same names each time."
            )
    data = {name: Rows([_read_only(each.get(name)) for each in drawn]) for name in names}
    return OneByOne(data, failed)


def checked_data(scenario: Scenario, raw: Any, n_rep: int) -> Data:
    """Check the data that `draw` returned, and make its arrays read-only."""
    if not isinstance(raw, Mapping):
        raise StudyError(
            f"draw returned {type(raw).__name__}, not data by name: return a dict of arrays, and "
            "methods get those that their parameters name."
        )
    factors = factors_by_name(scenario)
    for name, value in raw.items():
        _refuse_name(scenario, name, factors)
        _refuse_shape(name, value, n_rep)
    if isinstance(raw, OneByOne):
        return raw
    return {name: _read_only(value) for name, value in raw.items()}


def _refuse_name(scenario: Scenario, name: Any, factors: Mapping[str, Any]) -> None:
    if name in factors or name in TAKEN:
        raise StudyError(
            f"draw returned {name!r}, which is a factor of {type(scenario).__name__} or one of "
            f"{', '.join(TAKEN)} too, so a method that asks for it could mean either: rename what "
            "draw returns."
        )


def _refuse_shape(name: str, value: Any, n_rep: int) -> None:
    if isinstance(value, list):
        raise StudyError(
            f"draw returned {name!r} as a list, which may be a replicate each or a constant: "
            "return an array with the replicate as first axis, or constant(...) of it."
        )
    if isinstance(value, np.ndarray) and value.ndim and len(value) != n_rep:
        raise StudyError(
            f"draw returned {name!r} of shape {value.shape}; with n_rep={n_rep} its first axis "
            f"must be {n_rep}, one entry for each replicate. Mark what is the same for all: "
            f"constant({name})."
        )


def _read_only(value: Any) -> Any:
    """A read-only array that a method cannot make writable; tuples of such."""
    if type(value) is tuple:
        return tuple(map(_read_only, value))
    if type(value) is not np.ndarray:
        return value
    if value.base is None:
        value.flags.writeable = False
    view = value.view()
    view.flags.writeable = False
    return view


def checksums(data: Data) -> dict[str, bytes]:
    """A hash of each array among the data."""
    found = {}
    for name, value in data.items():
        items = value.items if isinstance(value, Rows) else [value]
        arrays = [each for each in items if type(each) is np.ndarray and not each.dtype.hasobject]
        if arrays:
            hashed = hashlib.blake2b(digest_size=16)
            for array in arrays:
                hashed.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
            found[name] = hashed.digest()
    return found


def refuse_changed_data(method: str, before: Mapping[str, bytes], data: Data) -> None:
    """Refuse a method that changed its data, which other methods of the block are given too.

    A read-only flag does not stop compiled code, such as LAPACK with `overwrite_a=True`.
    """
    after = checksums(data)
    for name, hashed in before.items():
        if after[name] != hashed:
            raise StudyError(
                f"method {method!r} changed {name!r}, which the other methods are given too, so "
                f"their numbers would depend on it: let it work on a copy, {name}.copy(), or leave "
                "out overwrite_a=True and the like."
            )


def _is_fixed(value: Any) -> bool:
    """Whether no method can modify a value, so that all may share it."""
    if isinstance(value, Rows):
        return all(map(_is_fixed, value.items))
    if isinstance(value, Constant):
        return _is_fixed(value.value)
    if type(value) is np.ndarray:
        return not value.dtype.hasobject
    if type(value) is tuple:
        return all(map(_is_fixed, value))
    return isinstance(value, CONSTANTS) and not isinstance(value, np.void)


def _copied(data: Data) -> Data:
    """Copy data that a method could modify."""
    own = {name: value if _is_fixed(value) else _copy(value) for name, value in data.items()}
    return OneByOne(own, data.failed) if isinstance(data, OneByOne) else own


def _copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # what cannot be copied, such as a generator, is only drawn anew
        return value


class DatasetCache:
    """The data of the last block, kept for the other methods that analyse it.

    Data that a method could change are drawn anew for each, so that no number depends on whether
    they were kept.

    Attributes
    ----------
    seconds
        Spent on drawing so far.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._of: tuple[Scenario, int] | None = None
        self._data: Data = {}

    def __call__(self, scenario: Scenario, block: int, draw: Callable[[], Data]) -> Data:
        """The data of a block, drawn or from the cache."""
        if self._of is None or self._of[0] is not scenario or self._of[1] != block:
            self._of, self._data = None, {}
            start = time.perf_counter()
            try:
                data = draw()
            finally:
                self.seconds += time.perf_counter() - start
            if not all(map(_is_fixed, data.values())):
                return _copied(data)
            self._of, self._data = (scenario, block), data
        return self._data


# ---------------------------------------------------------------- what a method is given
def analysed(
    drawn: Analysed,
    data: Data,
    streams: Streams,
    n_rep: int,
    vectors: Collection[str] = (),
) -> Any:
    """Call a method on the data of a block.

    Raises
    ------
    StudyError
        If it asks for what there is not.
    """
    scenario, function = drawn.scenario, drawn.method.function
    if isinstance(function, EachReplicate):
        own = {**data, "rng": streams.of_replicate}
        given = _select_data(drawn.method, function.analyse, scenario, own)
        constants = {
            name: value.value if isinstance(value, Constant) else value
            for name, value in given.items()
            if name not in own or isinstance(value, Constant)
        }
        rows = {name: value for name, value in given.items() if name not in constants}
        failed = data.failed if isinstance(data, OneByOne) else None
        return function.columns(rows, constants, n_rep, vectors, failed)
    if isinstance(data, OneByOne):
        raise StudyError(
            f"method {drawn.method.name!r} takes a whole block, and {type(scenario).__name__} "
            "draws one data set at a time (draw_one): wrap it, as in each_replicate(method)."
        )
    given = _select_data(drawn.method, function, scenario, {**data, "streams": streams})
    plain = {n: value.value if isinstance(value, Constant) else value for n, value in given.items()}
    return function(**plain)


def _select_data(
    method: Method, function: Callable[..., Any], scenario: Scenario, data: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments that a method's parameters name: data, factors, properties."""
    known = {**scenario_arguments(scenario), **data}
    asked = [parameter.name for parameter in parameters_of(function)]
    for name in properties_in(scenario, [name for name in asked if name not in known]):
        known[name] = getattr(scenario, name)
    unknown = partial(_unknown, method, scenario, available=known)
    return select_arguments(function, known, unknown)


def _unknown(
    method: Method, scenario: Scenario, name: str, available: Mapping[str, Any]
) -> StudyError:
    if name in OWN:
        other = "each_replicate(...)" if name == "rng" else "a method that takes a whole block"
        return StudyError(
            f"method {method.name!r} asks for {name!r}, which {other} is given; "
            f"here ask for {' or '.join(own for own in OWN if own in available)}."
        )
    return StudyError(
        f"method {method.name!r} asks for {name!r}, which is neither drawn by "
        f"{type(scenario).__name__} nor a factor or property of it; " + nearest(name, available)
    )


def plain_columns(columns: Any) -> Any:
    """A method's columns as arrays; a pandas frame with a row per replicate is converted."""
    if is_from_pandas(columns, "DataFrame"):
        rows = rows_in_order("what a method returned", columns)
        return {str(name): rows[name].to_numpy() for name in rows}
    return columns


def with_drawn_columns(plan: Plan, data: Data, columns: Any) -> Any:
    """Add drawn numbers that a measure reads and that the method did not return.

    Such a column has one number for each replicate, one for each replicate and cell of the axes, or
    the same for all replicates. It is stored with every method's columns, so that each is complete
    by itself.

    Raises
    ------
    StudyError
        If a method returned other values under the name of a drawn number.
    """
    if not isinstance(columns, Mapping) or set(columns) <= {*TEXTS}:  # every replicate failed
        return columns
    read = {name for names in plan.reads.values() for name in names}
    drawn = {
        name: number
        for name in data.keys() & (read | columns.keys())
        for number in [drawn_number(plan, name, data[name])]
        if number is not None
    }
    for name in drawn.keys() & columns.keys():
        if not _agrees(columns[name], drawn[name]):
            raise StudyError(
                f"a method returned {name!r}, which draw returned with other values, so a measure "
                f"that reads {name!r} could mean either: rename what the method returns, such as "
                f"{name + '_hat'!r}."
            )
    return dict(columns) | {name: drawn[name] for name in drawn.keys() & read - columns.keys()}


def drawn_number(plan: Plan, name: str, value: Any) -> np.ndarray | None:
    """A drawn number `(rep,)` or `(rep, *axes)`; None for data of another shape."""
    if isinstance(value, Constant):
        value = value.value
    if isinstance(value, Rows):
        if not all(item is None or isinstance(item, numbers.Real) for item in value.items):
            return None
        value = np.array(value.items, dtype=float)  # None, of a draw that failed, becomes NaN
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
    """Whether a method handed a drawn number on, where it did not fail."""
    returned = np.asarray(column)
    if returned.dtype.kind not in "biuf":
        return False
    wide = max(returned.ndim, drawn.ndim)
    one, other = (x.reshape(x.shape + (1,) * (wide - x.ndim)) for x in (returned, drawn))
    try:
        is_equal = np.isclose(one, other, rtol=SAME, atol=0.0) | np.isnan(one.astype(float))
    except ValueError:  # shapes that do not fit are refused with the columns
        return True
    return bool(is_equal.all())


# ---------------------------------------------------------------- columns beside other methods'
def without_truth_values(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Booleans as 0 and 1, so that methods may mix booleans and floats in one column."""
    return {
        name: column.astype(np.int8) if column.dtype.kind == "b" else column
        for name, column in columns.items()
    }
