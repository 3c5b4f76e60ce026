"""Methods: their arguments, and the columns they must return."""

import copy
import functools
import hashlib
import inspect
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from simstudy.design import Scenario
from simstudy.design.plan import Analysed, Method, properties_in
from simstudy.engine.error_policy import OUTSIDE, BlockContext, should_reraise
from simstudy.engine.per_replicate import EachReplicate, Rows, has_rows
from simstudy.errors import StudyError, nearest
from simstudy.provenance.streams import Streams
from simstudy.store.arrow_schema import ERROR, SCENARIO

Data = Mapping[str, Any]
"""Data of a scenario by name: arrays with the replicate first, or constants."""

Unknown = Callable[[str], StudyError]
"""Function from the name of an unknown parameter to the error to raise."""

RNG_PARAMETERS = ("streams", "rng")
"""Parameters for random numbers: of a block, or of one replicate."""

RESERVED_PARAMETERS = (SCENARIO, *RNG_PARAMETERS)
"""Parameters of a method that are neither data nor factors."""

IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, np.generic)
TEXTS = (ERROR, "warning")  # columns that a method has only if there are messages


# ---------------------------------------------------------------- functions called by name
def select_arguments(
    function: Callable[..., Any], available: Mapping[str, Any], unknown: Unknown
) -> dict[str, Any]:
    """Select the arguments that a function's parameters name; missing ones keep their defaults.

    Parameters
    ----------
    available
        Possible arguments, by name.
    unknown
        Function that makes the error for a parameter without an argument or a default.
    """
    found = {}
    for parameter in parameters_of(function):
        if parameter.name in available:
            found[parameter.name] = available[parameter.name]
        elif parameter.default is parameter.empty:
            raise unknown(parameter.name)
    return found


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """List the parameters of a function that are not fixed by a `partial`."""
    fixed = function.keywords if isinstance(function, partial) else {}
    try:
        parameters = _signature(function).parameters
    except TypeError:  # it has no hash
        parameters = inspect.signature(function).parameters
    return [parameter for name, parameter in parameters.items() if name not in fixed]


_signature = functools.lru_cache(inspect.signature)  # every block needs it


def scenario_arguments(scenario: Scenario) -> dict[str, Any]:
    """Return the scenario's factors by name, and the scenario itself as `scenario`."""
    return {SCENARIO: scenario, **factors_by_name(scenario)}


def factors_by_name(scenario: Scenario) -> dict[str, Any]:
    """Return the fields of a scenario by name."""
    return {field.name: getattr(scenario, field.name) for field in fields(scenario)}


# ---------------------------------------------------------------- data
class OneByOne(dict[str, Any]):
    """Data of a block that were drawn one data set at a time: `Rows` by name.

    Attributes
    ----------
    failed
        Errors of drawing data sets, by row.
    """

    def __init__(self, data: Mapping[str, Any], failed: Mapping[int, Exception]) -> None:
        super().__init__(data)
        self.failed = failed


def drawn_one_by_one(
    scenario: Any, streams: Streams, n_rep: int, context: BlockContext
) -> OneByOne:
    """Call `draw_one` for each replicate, each time with another generator.

    If a call raises, its replicate has failed; if all calls raise, so does this function. Data may
    differ in size between replicates. A value that is not a dict gets the name `data`.

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
            if should_reraise(context, row, error):
                raise
            failed[row] = error
            returned = None
        is_by_name = isinstance(returned, Mapping)
        drawn.append(returned if is_by_name else {} if row in failed else {"data": returned})
    if len(failed) == n_rep:
        raise failed[0]
    names = next(each.keys() for row, each in enumerate(drawn) if row not in failed)
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
    if name in factors or name in RESERVED_PARAMETERS:
        raise StudyError(
            f"draw returned {name!r}, which is also a factor of {type(scenario).__name__} or one "
            f"of {', '.join(RESERVED_PARAMETERS)}, so it is unclear which of them a method's "
            "parameter means: rename the data."
        )


def _refuse_shape(name: str, value: Any, n_rep: int) -> None:
    if isinstance(value, list):
        raise StudyError(
            f"draw returned {name!r} as a list, which may have one item per replicate or be a "
            "constant: return an array with the replicate as first axis, or make a constant a "
            "property of the scenario, which methods can name."
        )
    if isinstance(value, np.ndarray) and value.ndim and len(value) != n_rep:
        raise StudyError(
            f"draw returned {name!r} of shape {value.shape}; with n_rep={n_rep} its first axis "
            f"must be {n_rep}, one entry for each replicate. If it is the same for all replicates, "
            f"make it a property of the scenario, which methods can name."
        )


def _read_only(value: Any) -> Any:
    """Make arrays, and arrays in tuples, read-only, so that a method cannot make them writable."""
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
    """Hash each array among the data."""
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
    """Refuse a method that changed its data, which other methods of the block use as well.

    The read-only flag does not stop compiled code, such as LAPACK with `overwrite_a=True`.
    """
    after = checksums(data)
    for name, hashed in before.items():
        if after[name] != hashed:
            raise StudyError(
                f"method {method!r} changed its data {name!r}, which other methods use as well: "
                f"let it work on a copy, {name}.copy(), or leave out options such as "
                "overwrite_a=True."
            )


def _is_fixed(value: Any) -> bool:
    """Whether a value cannot be modified, so that all methods may share it."""
    if isinstance(value, Rows):
        return all(map(_is_fixed, value.items))
    if type(value) is np.ndarray:
        return not value.dtype.hasobject
    if type(value) is tuple:
        return all(map(_is_fixed, value))
    return isinstance(value, IMMUTABLE) and not isinstance(value, np.void)


def _copied(data: Data) -> Data:
    """Copy data that a method could modify."""
    own = {name: value if _is_fixed(value) else _copy(value) for name, value in data.items()}
    return OneByOne(own, data.failed) if isinstance(data, OneByOne) else own


def _copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # a generator, for example: it is drawn again, not copied
        return value


class DatasetCache:
    """The data of the last block, kept for the other methods that analyse it.

    Data that a method could change are drawn again for each method, so that no number depends on
    the cache.

    Attributes
    ----------
    seconds
        Time spent on drawing so far.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._of: tuple[Scenario, int] | None = None
        self._data: Data = {}

    def __call__(self, scenario: Scenario, block: int, draw: Callable[[], Data]) -> Data:
        """Return the data of a block, from the cache or newly drawn."""
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


# ---------------------------------------------------------------- arguments of a method
def analysed(
    drawn: Analysed,
    data: Data,
    streams: Streams,
    n_rep: int,
    vectors: Collection[str] = (),
    context: BlockContext = OUTSIDE,
) -> Any:
    """Call a method on the data of a block.

    Raises
    ------
    StudyError
        If a parameter of the method is unknown.
    """
    scenario, function = drawn.scenario, drawn.method.function
    if isinstance(function, EachReplicate):
        own = {**data, "rng": streams.of_replicate}
        given = _select_data(drawn.method, function.analyse, scenario, own)
        rows = {n: v for n, v in given.items() if n == "rng" or (n in data and has_rows(v))}
        constants = {n: v for n, v in given.items() if n not in rows}
        failed = data.failed if isinstance(data, OneByOne) else None
        return function.columns(rows, constants, n_rep, vectors, failed, context)
    if isinstance(data, OneByOne):
        raise StudyError(
            f"method {drawn.method.name!r} takes a whole block, but {type(scenario).__name__} "
            "draws one data set at a time (draw_one): use each_replicate(method)."
        )
    given = _select_data(drawn.method, function, scenario, {**data, "streams": streams})
    return function(**given)


def _select_data(
    method: Method, function: Callable[..., Any], scenario: Scenario, data: Mapping[str, Any]
) -> dict[str, Any]:
    """Select the arguments that a method's parameters name: data, factors, properties."""
    known = {**scenario_arguments(scenario), **data}
    asked = [parameter.name for parameter in parameters_of(function)]
    for name in properties_in(scenario, [name for name in asked if name not in known]):
        known[name] = getattr(scenario, name)
    unknown = partial(_unknown, method, scenario, available=known)
    return select_arguments(function, known, unknown)


def _unknown(
    method: Method, scenario: Scenario, name: str, available: Mapping[str, Any]
) -> StudyError:
    if name in RNG_PARAMETERS:
        other = "each_replicate(...)" if name == "rng" else "methods of a whole block"
        here = " or ".join(own for own in RNG_PARAMETERS if own in available)
        return StudyError(
            f"method {method.name!r} has the parameter {name!r}, which is only for {other}; use "
            f"{here} here."
        )
    return StudyError(
        f"method {method.name!r} has the parameter {name!r}, which is neither drawn by "
        f"{type(scenario).__name__} nor a factor or property of it; " + nearest(name, available)
    )


# ---------------------------------------------------------------- types of columns
def without_truth_values(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Convert booleans to 0 and 1, so that methods may mix booleans and floats in one column."""
    return {
        name: column.astype(np.int8) if column.dtype.kind == "b" else column
        for name, column in columns.items()
    }
