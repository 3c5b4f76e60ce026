"""Methods: of a whole block or of each replicate, their data, arguments and return values.

If a call of a method for one replicate raises, its replicate has failed. A value that cannot be
stored (a wrong shape, text among numbers, other names than in earlier replicates) is a mistake in
the study, and is raised.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import inspect
import itertools
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from simstudy.design import Scenario
from simstudy.design import plan as plans
from simstudy.design.plan import Method, WarningFilter, WorkUnit, parameters_of, properties_in
from simstudy.engine import error_policy
from simstudy.errors import ReturnedError, StudyError, in_one_line, nearest, swallowed
from simstudy.provenance.streams import Streams
from simstudy.store.arrow_schema import ERROR, SCENARIO
from simstudy.validation import refuse_inexact, unmasked

Data = Mapping[str, Any]  # arrays with the replicate first, or constants, by name
RNG_PARAMETERS = ("streams", "rng")  # for random numbers: of a block, or of one replicate
RESERVED_PARAMETERS = (SCENARIO, *RNG_PARAMETERS)  # neither data nor factors
IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, np.number, np.bool_, np.datetime64)
TEXTS = (ERROR, "warning")  # columns that a method has only if there are messages


# ---------------------------------------------------------------- functions called by name
def select_arguments(
    function: Callable[..., Any], available: Mapping[str, Any], unknown: Callable[[str], StudyError]
) -> dict[str, Any]:
    """Select the arguments that a function's parameters name; missing ones keep their defaults.

    Parameters
    ----------
    available
        Possible arguments, by name.
    unknown
        Function that makes the error for a parameter without an argument or a default.
    """
    arguments = {}
    for parameter in parameters_of(function):
        if parameter.name in available:
            arguments[parameter.name] = available[parameter.name]
        elif parameter.default is parameter.empty:
            raise unknown(parameter.name)
    return arguments


def scenario_arguments(scenario: Scenario) -> dict[str, Any]:
    """Return the scenario's factors by name, and the scenario itself as `scenario`."""
    return {SCENARIO: scenario} | {f.name: getattr(scenario, f.name) for f in fields(scenario)}


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
    scenario: Any, streams: Streams, n_rep: int, context: error_policy.BlockContext
) -> OneByOne:
    """Call `draw_one` for each replicate, each time with another generator.

    If a call raises, its replicate has failed; if all calls raise, so does this function. Data may
    differ in size between replicates. A value that is not a dict gets the name `data`. What a call
    returns is copied at once, since the next call may fill the same array or table again.

    Raises
    ------
    StudyError
        If the names differ from replicate to replicate.
    """
    drawn: list[Mapping[str, Any]] = []
    failed: dict[int, Exception] = {}
    filters = context.warning_filters
    with recorded_warnings(filters, keeps=False) if filters else contextlib.nullcontext():
        for row in range(n_rep):
            try:
                returned = scenario.draw_one(streams.of_replicate(row))
            except Exception as error:
                if error_policy.should_reraise(context, row, error):
                    raise
                failed[row] = error
                returned = {}
            named = returned if isinstance(returned, Mapping) else {DATA: returned}
            drawn.append({name: _own(value) for name, value in named.items()})
    if len(failed) == n_rep:
        raise failed[0]
    names = next(each.keys() for row, each in enumerate(drawn) if row not in failed)
    for row, each in enumerate(drawn):
        if row not in failed and each.keys() != names:
            raise StudyError(
                f"draw_one returned {', '.join(map(str, each)) or 'nothing'} for one replicate and "
                f"{', '.join(map(str, names))} for others: return the same names each time."
            )
    return OneByOne({name: Rows(each.get(name) for each in drawn) for name in names}, failed)


def _own(value: Any) -> Any:
    """Copy a value that its maker could change; an array becomes read-only."""
    if type(value) is np.ndarray and not value.dtype.hasobject:
        made = value.copy(order="K")
        made.flags.writeable = False
        return made.view()  # a method cannot make it writable
    try:
        return value if _is_fixed(value) else copy.deepcopy(value)
    except Exception:  # an object of a C library, for example
        return value


def _is_fixed(value: Any) -> bool:
    """Whether all methods may share a value: an array, which is read-only, or a constant."""
    is_array = type(value) is np.ndarray and not value.dtype.hasobject
    return is_array or isinstance(value, IMMUTABLE)


def checked_data(scenario: Scenario, raw: Any, n_rep: int) -> Data:
    """Check the data that `draw` returned, and make its arrays read-only."""
    if not isinstance(raw, Mapping):
        raise StudyError(
            f"draw returned {type(raw).__name__}, not data by name: return a dict of arrays, and "
            "methods get those that their parameters name."
        )
    taken = {*scenario_arguments(scenario), *RESERVED_PARAMETERS}
    for name, value in raw.items():
        if name in taken:
            raise StudyError(
                f"draw returned {name!r}, which is also a factor of {type(scenario).__name__} or "
                f"one of {', '.join(RESERVED_PARAMETERS)}, so it is unclear which of them a "
                "method's parameter means: rename the data."
            )
        if isinstance(value, np.ndarray) and value.ndim and len(value) != n_rep:
            raise StudyError(
                f"draw returned {name!r} of shape {value.shape}; with n_rep={n_rep} its first "
                f"axis must be {n_rep}, one entry for each replicate. If it is the same for all "
                "replicates, make it a property of the scenario, which methods can name."
            )
    if isinstance(raw, OneByOne):
        return raw
    return {name: _read_only(name, value) for name, value in raw.items()}


def _read_only(name: str, value: Any) -> Any:
    """Return a read-only view of what a block may share: arrays, constants, dicts of these."""
    if isinstance(value, Mapping):
        return MappingProxyType({label: _read_only(name, each) for label, each in value.items()})
    if not _is_fixed(value):
        raise StudyError(
            f"draw returned {name!r} as {type(value).__name__}: return an array of numbers with "
            "the replicate as first axis. What is the same for all replicates is a property of "
            "the scenario, which methods can name, and data of other kinds are drawn by draw_one."
        )
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def checksums(data: Data) -> dict[str, bytes]:
    """Hash the arrays under each name of the data."""
    hashes = {}
    for name, value in data.items():
        items = value if isinstance(value, Rows) else [value]
        arrays = [each for each in items if type(each) is np.ndarray and not each.dtype.hasobject]
        hashed = hashlib.blake2b(digest_size=16)
        for array in arrays:
            hashed.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        hashes[name] = hashed.digest()
    return hashes


def refuse_changed_data(method: str, before: Mapping[str, bytes], data: Data) -> None:
    """Refuse a method that changed its data, which other methods of the block use as well.

    The read-only flag does not stop compiled code, such as LAPACK with `overwrite_a=True`.
    """
    after = checksums(data) if before else {}
    for name, hashed in before.items():
        if after[name] != hashed:
            raise StudyError(
                f"method {method!r} changed its data {name!r}, which other methods use as well: "
                f"let it work on a copy, {name}.copy(), or leave out options such as "
                "overwrite_a=True."
            )


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
            data = draw()
            self.seconds += time.perf_counter() - start
            rows = data.values() if isinstance(data, OneByOne) else ()
            if not all(map(_is_fixed, itertools.chain.from_iterable(rows))):
                return data
            self._of, self._data = (scenario, block), data
        return self._data


# ---------------------------------------------------------------- arguments of a method
def call_method(
    drawn: WorkUnit,
    data: Data,
    streams: Streams,
    n_rep: int,
    vectors: Collection[str] = (),
    context: error_policy.BlockContext = error_policy.OUTSIDE,
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
        failed = data.failed if isinstance(data, OneByOne) else {}
        rows = {n for n, v in given.items() if n == "rng" or (n in data and has_rows(v))}
        return ReplicateLoop(function, n_rep, vectors, context).columns(given, rows, failed)
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
    asked = [p.name for p in parameters_of(function) if p.name not in known]
    for name in properties_in(scenario, asked) if asked else ():
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
        f"{type(scenario).__name__} nor a factor or property of it; {nearest(name, available)}"
        + " (what draw_one returns is named data, if it is no dict)"
        * (DATA in available)
    )


# ---------------------------------------------------------------- one replicate at a time
DATA = "data"  # name of what `draw_one` returns, if it is no dict
NUMBERS = frozenset({float, bool, np.float64, np.bool_})  # types that need no check

NUMBER, TEXT = "a number", "text"
Kind = str | tuple[int, ...]  # `NUMBER`, `TEXT`, or the shape of an array


class Rows(list[Any]):
    """Data of any type, one item per replicate, as `draw_one` returns them."""


@dataclass(frozen=True)
class EachReplicate:
    """A method that analyses one replicate at a time; made by `each_replicate`.

    Parameters
    ----------
    analyse
        Function of one replicate; its parameters name its arguments.
    returns
        Names of the columns. Default: those of the first replicate that succeeds.
    """

    analyse: Callable[..., Any]
    returns: tuple[str, ...] | None = None

    def __call__(self, **given: Any) -> dict[str, np.ndarray]:
        """Analyse data by name, to try the method out, and return columns of shape `(rep,)`."""
        lengths = {len(value) for value in given.values() if has_rows(value)}
        if len(lengths) != 1:
            raise StudyError(
                f"the arrays have {sorted(lengths)} entries on their first axis, which is the "
                "replicate: give at least one array, and all of the same length."
            )
        rows = {n for n, v in given.items() if has_rows(v) or n == "rng"}
        return ReplicateLoop(self, lengths.pop()).columns(given, rows)


def has_rows(value: Any) -> bool:
    """Whether data have one item for each replicate."""
    return isinstance(value, Rows) or (isinstance(value, np.ndarray) and value.ndim > 0)


def each_replicate(
    analyse: Callable[..., Any], *, returns: str | Sequence[str] | None = None
) -> EachReplicate:
    """Make a method that is called once per replicate.

    If a call raises, its replicate has failed, and the error is recorded.

    Parameters
    ----------
    analyse
        Function of one replicate. It returns a dict of numbers by column, or one number if there
        is one column. In a study with further `axes` it may return an array with a number for each
        position, such as `{"estimate": np.array([b_1, b_2])}`; NaN means that this position failed.
        Its parameters name its arguments, and may include `rng`, the replicate's own generator.
    returns
        Names of the columns. Default: those of the first replicate that succeeds.

    Returns
    -------
    EachReplicate
        A method for a study. It returns columns `(rep,)` or `(rep, *axes)`. If needed there are
        two more: `error`, the reason why a row has no values, and `warning`, the warnings of calls
        that returned. Called with arrays by name, it analyses them at once, to try it out.

    Examples
    --------
    >>> import numpy as np
    >>> from simstudy import each_replicate
    >>> def logarithm(x):  # of one data set
    ...     if x.mean() <= 0:
    ...         raise ValueError("the mean is not positive")
    ...     return {"estimate": np.log(x.mean())}
    >>> method = each_replicate(logarithm)  # for `Study(methods={"logarithm": method})`
    >>> columns = method(x=np.array([[1.0, 1.0], [-1.0, -2.0]]))
    >>> columns["estimate"].tolist(), columns["error"][1]
    ([0.0, nan], 'ValueError: the mean is not positive')
    """
    names = (returns,) if isinstance(returns, str) else None if returns is None else tuple(returns)
    return EachReplicate(analyse, names)


class ReplicateLoop:
    """The replicates of a block, analysed one after the other.

    Parameters
    ----------
    vectors
        Names of the columns with several numbers per replicate.
    """

    def __init__(
        self,
        method: EachReplicate,
        n_rep: int,
        vectors: Collection[str] = (),
        context: error_policy.BlockContext = error_policy.OUTSIDE,
    ) -> None:
        self.function, self.names = method.analyse, method.returns
        self.n_rep, self.vectors, self.context = n_rep, vectors, context
        self._kinds: dict[str, Kind] = {}
        self._rows: list[tuple[Any, ...] | None] = []  # values in the order of `_kinds`
        self._failures: dict[int, str] = {}
        self._warnings: dict[int, str] = {}

    def columns(
        self,
        given: Mapping[str, Any],
        by_row: Collection[str],
        failed: Mapping[int, Exception] = MappingProxyType({}),
    ) -> dict[str, np.ndarray]:
        """Compute the columns of a block: `(rep,)`, or `(rep, value)` for vectors.

        Parameters
        ----------
        given
            Arguments by parameter.
        by_row
            Names of the arrays and `Rows` with the replicate first, of which each call gets one
            item, and `rng` for a function from a row to its generator. The other arguments are the
            same for all replicates.
        failed
            Errors of drawing data sets, by row.
        """
        constants = {name: value for name, value in given.items() if name not in by_row}
        analyse = partial(self.function, **constants) if constants else self.function
        first = parameters_of(self.function)[: len(by_row)]
        ordered = {parameter.name: parameter.kind for parameter in first}
        plain = {inspect.Parameter.POSITIONAL_OR_KEYWORD}
        by_position = ordered.keys() == {*by_row} and plain.issuperset(ordered.values())  # faster
        order = list(ordered if by_position else by_row)
        each = range(self.n_rep)
        first_error: Exception | None = None
        varying = [map(given["rng"], each) if name == "rng" else given[name] for name in order]
        names, types = list[Any](), list[type]()  # of the latest row, if it needs no more checks
        with recorded_warnings(self.context.warning_filters) as warned:
            for row, *items in zip(each, *varying, strict=False):
                try:
                    if row in failed:
                        raise failed[row]
                    if by_position:
                        returned = analyse(*items)
                    else:
                        returned = analyse(**dict(zip(order, items, strict=True)))
                except Exception as error:
                    if error_policy.should_reraise(self.context, row, error):
                        raise
                    swallowed(error, row)
                    self._failures[row] = error_policy.reason(error)
                    first_error = first_error or error
                    self._rows.append(None)
                else:
                    values = (*returned.values(),) if type(returned) is dict else ()
                    if not types or [*map(type, values)] != types or [*returned] != names:
                        values = self._checked(row, returned)
                        names, types = self._plain_kinds(returned)
                    self._rows.append(values)
                if warned:
                    if row not in self._failures:
                        self._warnings[row] = "; ".join(dict.fromkeys(warned))
                    warned.clear()
        all_failed = len(self._failures) == self.n_rep
        if all_failed and first_error and self.context.refuses_all_failed:
            raise error_policy.always_fails(self.n_rep, first_error) from first_error
        return self._assembled()

    def _plain_kinds(self, returned: Any) -> tuple[list[Any], list[type]]:
        """The names and types of a row; empty if further rows like it need checks.

        Numbers by name in the order of the columns need none.
        """
        if type(returned) is dict and [*returned] == [*self._kinds]:
            types = [*map(type, returned.values())]
            if NUMBERS.issuperset(types) and set(self._kinds.values()) == {NUMBER}:
                return [*returned], types
        return [], []

    def _checked(self, row: int, returned: Any) -> tuple[Any, ...]:
        """Check the values of a replicate and put them in the order of the columns."""
        by_column, made = self._by_column(row, returned), []
        for name, value in by_column.items():
            is_vector = name in self.vectors
            checked, kind = _checked_value(name, value, self.context.axes, is_vector=is_vector)
            before = self._kinds.setdefault(name, kind)
            if before != kind:
                raise ReturnedError(
                    f"{name} is {_shown(kind)} in one replicate and {_shown(before)} in "
                    "earlier ones: return the same kind of value from each replicate, and NaN if "
                    "there is no number."
                )
            made.append(checked)
        return tuple(made)

    def _by_column(self, row: int, returned: Any) -> Mapping[str, Any]:
        """Get the values by column name, and check that they have the names of earlier rows."""
        expected = self.names or tuple(self._kinds)
        if not isinstance(returned, Mapping):
            if len(expected) != 1:
                raise ReturnedError(
                    f"the method returned {type(returned).__name__}, not numbers by name: return a "
                    'dict such as {"estimate": value}, or use each_replicate(..., '
                    'returns="estimate") for a single column.'
                )
            returned = {expected[0]: returned}
        absent = [name for name in expected if name not in returned]
        more = [name for name in returned if expected and name not in expected]
        if absent or (more and self.names is None):
            name, where = (absent[0], "lacks") if absent else (more[0], "has")
            raise ReturnedError(
                f"a replicate (row {row} of its block) {where} the column {name!r}, unlike the "
                "others: return the same names from each replicate, with "
                f'"{name}": np.nan if there is no number (may_be_missing names columns in which '
                "that is no failure)."
            )
        return {name: returned[name] for name in expected or returned}

    def _assembled(self) -> dict[str, np.ndarray]:
        """Make columns of numbers, arrays and text, with NaN or None in failed replicates."""
        kinds: Mapping[str, Kind] = self._kinds or dict.fromkeys(self.names or (), NUMBER)
        nothing, made = (None,) * len(kinds), dict[str, np.ndarray]()
        columns = zip(*(row or nothing for row in self._rows), strict=True)
        for (name, kind), values in zip(kinds.items(), columns, strict=True):
            if isinstance(kind, tuple):
                hole = np.full(kind, np.nan)
                made[name] = np.stack([hole if v is None else v for v in values])
            else:  # None becomes NaN
                made[name] = np.array(values, dtype=object if kind is TEXT else float)
        for name, texts in (("error", self._failures), ("warning", self._warnings)):
            if texts:
                made[name] = np.array([texts.get(row) for row in range(self.n_rep)], dtype=object)
        return made


def _shown(kind: Kind) -> str:
    return kind if isinstance(kind, str) else f"an array of shape {kind}"


def _checked_value(name: str, returned: Any, axes: Axes, *, is_vector: bool) -> tuple[Any, Kind]:
    """Check a number, text, vector or array over the study's axes; return it with its kind."""
    if isinstance(returned, str):
        return returned, TEXT
    if type(returned) in NUMBERS and not is_vector:
        return float(returned), NUMBER
    value = unmasked(returned if is_vector else over_named_axis(name, returned, axes), name)
    refuse_inexact(name, value)
    is_numeric = value.dtype.kind in "biuf"
    if is_vector:
        if value.ndim != 1 or not is_numeric:
            raise ReturnedError(
                f"{name} holds {value.dtype} of shape {value.shape}, not one row of numbers"
            )
        return value.copy(), value.shape  # the method may fill the same array again
    shape = tuple(map(len, axes.values()))
    if axes and value.shape == shape and is_numeric:
        return value.astype(float), shape
    at = f" or an array {shape} over {', '.join(axes)}" if axes else ""
    if value.ndim:
        raise ReturnedError(
            f"{name} has shape {value.shape}, not one number per replicate{at}. Return a number: "
            "an item of the array, its mean, or its length."
        )
    number = value.item()
    if not is_numeric:
        raise ReturnedError(
            f"{name} is {number!r} of type {type(number).__name__}, not one number or text per "
            f"replicate{at}. Return NaN for a missing number, and a text such as '' for a missing "
            "text."
        )
    return float(number), NUMBER


# ---------------------------------------------------------------- warnings of a thread
Recorder = tuple[list[str] | None, Sequence[WarningFilter]]  # a list of texts, filters in force
_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)  # by thread
_lock = threading.Lock()  # filters and `showwarning` are shared by all threads
_held = contextlib.ExitStack()  # restores them when no thread records any more
_n_recording = 0


@contextlib.contextmanager
def recorded_warnings(
    filters: Sequence[WarningFilter] = (), *, keeps: bool = True
) -> Iterator[list[str]]:
    """Collect the texts of this thread's warnings in a list, within the context.

    Warnings of other threads are shown as usual, once for each place. Warnings of files left open
    are ignored: they come with a garbage collection, in any later replicate.

    Parameters
    ----------
    filters
        Filters that turn warnings into errors, which are raised where they arise.
    keeps
        Whether to collect the other warnings; they are shown otherwise.
    """
    global _n_recording
    texts: list[str] = []
    with _lock:
        if not _n_recording:
            _dispatch_by_thread()
        _n_recording += 1
    token = _recorder.set((texts if keeps else None, filters))
    try:
        yield texts
    finally:
        _recorder.reset(token)
        with _lock:
            _n_recording -= 1
            if not _n_recording:
                _held.close()


def _dispatch_by_thread() -> None:
    """Send warnings to the list of their thread until `_held` is closed."""
    of_process = plans.current_filters()
    _held.enter_context(warnings.catch_warnings())
    show, shown = warnings.showwarning, set[tuple[Any, ...]]()

    def dispatch(message: Any, category: type[Warning], filename: str, lineno: int,
                 *more: Any, **named: Any) -> None:  # fmt: skip
        if issubclass(category, ResourceWarning):
            return
        texts, filters = _recorder.get() or (None, of_process)
        place = str(message), category, filename, lineno
        if plans.action_of(filters, category) == "error":
            raise message if isinstance(message, Warning) else category(message)
        if texts is not None:
            texts.append(f"{category.__name__}: {message}")
        elif place not in shown:
            shown.add(place)
            show(message, category, filename, lineno, *more, **named)

    warnings.showwarning = dispatch
    warnings.simplefilter("always")


# ---------------------------------------------------------------- values with labels
Axes = Mapping[str, Sequence[str]]


def is_from_pandas(value: Any, kind: str) -> bool:
    """Whether a value is of this pandas class, without importing pandas."""
    of_pandas = getattr(sys.modules.get("pandas"), kind, None)
    return of_pandas is not None and isinstance(value, of_pandas)


def over_named_axis(name: str, value: Any, axes: Axes, *, of_block: bool = False) -> Any:
    """Spread labelled values over all axes, of size 1 but for that of the labels.

    Other values are unchanged.

    Parameters
    ----------
    name
        Name of the column, for error messages.
    value
        Value of any type. A dict, or a Series of one replicate, is aligned by its labels; labels
        that no axis has are left out.
    of_block
        Whether the value is that of a whole block: a dict has an array for each label, and the
        first axis of the result is the replicate, of size 1 if there is one value for each label.

    Raises
    ------
    StudyError
        If a label of the axis is missing or occurs twice, or the value is another pandas object.
    """
    is_series = is_from_pandas(value, "Series") and not of_block
    if is_from_pandas(value, "Series" if of_block else "DataFrame"):
        raise StudyError(
            f"{name} is a {type(value).__name__}: return an array, or a dict with the values of "
            "each label."
        )
    if not axes or not (is_series or isinstance(value, Mapping)):
        return np.asarray(value) if is_series else value
    by_label = {str(label): each for label, each in value.items()}
    axis = next((axis for axis, labels in axes.items() if {*labels} <= by_label.keys()), "")
    if not axis or len(by_label) < len(value):
        known = "; ".join(f"{axis}: {', '.join(map(str, of))}" for axis, of in axes.items())
        raise StudyError(
            f"{name} has the labels {in_one_line(', '.join(map(str, value.keys())))[:200]}, which "
            f"lack or repeat some of the study's axes ({known}). Return one value for each label "
            "(NaN for a missing one), or an array in the order of the axis."
        )
    values = [by_label[label] for label in axes[axis]]
    shapes = {np.shape(each) for each in values} - {()}
    if len(shapes) > 1 or any(len(shape) > of_block for shape in shapes):
        raise StudyError(
            f"{name} holds, for the labels of {axis}, arrays of the shapes {sorted(shapes)}: "
            "return one number for each label, or one per replicate."
        )
    array = np.stack(np.broadcast_arrays(*values), axis=-1)
    shape = [len(labels) if each == axis else 1 for each, labels in axes.items()]
    return array.reshape(-1, *shape) if of_block else array.reshape(shape)
