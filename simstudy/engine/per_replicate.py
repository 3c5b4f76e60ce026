"""Methods that analyse one replicate at a time: each call gives one row or one failure."""

import contextlib
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, overload

import numpy as np

from simstudy.engine.error_policy import (
    error_signature,
    named_axes,
    raise_if_all_failed,
    raising_if_all_failed,
    reason,
    set_within,
    should_reraise,
)
from simstudy.engine.labels import frame_by_label, in_axis_order, is_from_pandas
from simstudy.errors import StudyError, swallowed
from simstudy.validation import refuse_inexact, unmasked

Listener = Callable[[int, int], None]
"""Is told how many replicates of how many are done."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_one_records = threading.RLock()  # recording changes filters, which belong to the process


@dataclass(frozen=True)
class EachReplicate:
    """A method that analyses one replicate at a time; made by `each_replicate`.

    Parameters
    ----------
    analyse
        Takes one replicate: its parameters name what it is given.
    returns
        Names of the columns; None takes those of the first replicate that succeeds.
    """

    analyse: Callable[..., Any]
    returns: tuple[str, ...] | None = None

    def __call__(self, **given: Any) -> dict[str, np.ndarray]:
        """Analyse data given by name, to try the method out; columns of shape `(rep,)`."""
        lengths = {len(v) for v in given.values() if isinstance(v, np.ndarray) and v.ndim}
        if len(lengths) != 1:
            raise StudyError(
                f"the arrays given have {sorted(lengths)} entries on their first axis, which is "
                "the replicate: give arrays of one length, at least one."
            )
        return self.columns(given, lengths.pop())

    def columns(
        self, values: Mapping[str, Any], n_rep: int, vectors: Collection[str] = ()
    ) -> dict[str, np.ndarray]:
        """The columns of a block: `(rep,)`, or `(rep, value)` for vectors.

        Parameters
        ----------
        values
            By parameter: arrays with the replicate as first axis, of which each replicate gets its
            own row; constants; and as `rng` a function from a row to its generator.
        """
        calls = (partial(self._analyse_row, values, row) for row in range(n_rep))
        return _Replicates(n_rep, self.returns, vectors).columns(calls)

    def _analyse_row(self, values: Mapping[str, Any], row: int) -> Any:
        replicate = {name: _of_row(value, row) for name, value in values.items() if name != "rng"}
        if "rng" in values:
            replicate["rng"] = values["rng"](row)
        return self.analyse(**replicate)


def _of_row(value: Any, row: int) -> Any:
    return value[row] if isinstance(value, np.ndarray) and value.ndim else value


@overload
def each_replicate(
    analyse: Callable[..., Any], *, returns: str | Sequence[str] | None = None
) -> EachReplicate: ...
@overload
def each_replicate(
    analyse: Callable[..., Any],
    first: np.ndarray,
    /,
    *data: np.ndarray,
    returns: str | Sequence[str] | None = None,
    vectors: Collection[str] = (),
) -> dict[str, np.ndarray]: ...
def each_replicate(
    analyse: Callable[..., Any],
    *data: np.ndarray,
    returns: str | Sequence[str] | None = None,
    vectors: Collection[str] = (),
) -> Any:
    """Make a method that is called once per replicate.

    Parameters
    ----------
    analyse
        Takes one replicate of each of `data`; returns a number for each name in `returns`, or one
        number where there is one name. In a study with further `axes` it may return an array with
        a number for each position, such as `{"estimate": np.array([b_1, b_2])}`; NaN there says
        that this position failed. Without `data` its parameters name what it is given, and
        may include `rng`, a generator of that replicate's own.
    *data
        Arrays with the replicate as first axis. None makes a method of a study.
    returns
        Names of the columns; None takes those of the first replicate that succeeds.
    vectors
        Those of them that have several numbers for each replicate, as many for all of them; a
        method is told by its study.

    Returns
    -------
    dict or EachReplicate
        Columns `(rep,)` or `(rep, *axes)`; `error` says why a row has no values, and `warning`
        what a method that did return warned of. Either is there only if it is needed. Without
        `data`, a method that gives these.
    """
    names = (returns,) if isinstance(returns, str) else None if returns is None else tuple(returns)
    if not data:
        return EachReplicate(analyse, names)
    calls = (partial(analyse, *(part[row] for part in data)) for row in range(len(data[0])))
    return _Replicates(len(data[0]), names, vectors).columns(calls)


class _Row(NamedTuple):
    """The result of one replicate, or its error."""

    numbers: dict[str, np.ndarray] | None  # None where it failed
    error: str | None = None
    warning: str | None = None
    cause: Exception | None = None  # of the first replicate's error
    mark: tuple[type, str, int] | None = None  # what errors of one cause share


@dataclass
class _Replicates:
    """The replicates of a block, analysed one after the other.

    Parameters
    ----------
    names
        Of the columns, as the study says.
    shapes
        Columns by name, each with the shape that the replicates so far have in it.
    """

    n_rep: int
    names: Sequence[str] | None
    vectors: Collection[str]
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def columns(self, calls: Iterable[Callable[[], Any]]) -> dict[str, np.ndarray]:
        """Assemble columns from one call per replicate."""
        rows: list[_Row] = []
        for at, call in enumerate(calls):
            rows.append(self._row(call, at))
            report_progress(len(rows), self.n_rep)
            if not self.shapes and rows[-1].numbers:
                self.shapes = {name: value.shape for name, value in rows[-1].numbers.items()}
        _refuse_hopeless(rows, self.n_rep)
        columns = self.shapes or dict.fromkeys(self.names or (), ())
        values = {name: _column(rows, name, shape) for name, shape in columns.items()}
        texts = {"error": [r.error for r in rows], "warning": [r.warning for r in rows]}
        return values | {
            name: np.array(column, dtype=object) for name, column in texts.items() if any(column)
        }

    def _row(self, call: Callable[[], Any], at: int) -> _Row:
        """Analyse one replicate."""
        try:
            with _recorded_warnings() as text, raising_if_all_failed(None):
                values = call()
            numbers = self._numbers(_by_name(values, self.names or tuple(self.shapes)))
        except NamelessError:
            raise
        except Exception as error:
            if should_reraise(at, self.n_rep, error):
                raise
            swallowed(error, at)
            cause = None if at else error
            return _Row(None, reason(error), cause=cause, mark=error_signature(error))
        return _Row(numbers, None, "; ".join(dict.fromkeys(text)) or None)

    def _numbers(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The values by name; default names are those of the first replicate."""
        shapes = self.shapes
        if self.names is None and shapes and set(values) != set(shapes):
            raise StudyError(
                f"it returned {sorted(values)}, and replicates before {sorted(shapes)}"
            )
        found = {
            name: _checked_value(name, values[name], is_vector=name in self.vectors)
            for name in (self.names or shapes or values)
        }
        for name, value in found.items():
            before = shapes.get(name, value.shape)
            if before != value.shape:
                raise StudyError(
                    f"{name} has shape {value.shape}, and in replicates before {before}"
                )
        return found


def _refuse_hopeless(rows: Sequence[_Row], n_rep: int) -> None:
    """Raise an error that all replicates of the first block share.

    In common is where it was raised, and its type: its text may name the replicate's data.
    """
    cause = rows[0].cause if rows else None
    if cause is not None and len({row.mark for row in rows}) == 1:
        raise_if_all_failed(n_rep, cause)


def _column(rows: Sequence[_Row], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """One value or vector per replicate; NaN where it failed."""
    missing = np.full(shape, np.nan)
    return np.stack([missing if row.numbers is None else row.numbers[name] for row in rows])


class NamelessError(StudyError):
    """A method returned a number without a column name."""


def _by_name(values: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """The returned values by column name; a single value takes the only name."""
    if is_from_pandas(values, "DataFrame"):
        if len(values) == 1:
            return {str(name): values[name].iloc[0] for name in values}
        by_label = frame_by_label(values, named_axes())
        if by_label is not None:
            return by_label
    if is_from_pandas(values, "Series"):
        values = {str(name): value for name, value in values.items()}
    if isinstance(values, Mapping):
        is_one_column = len(names) == 1 and names[0] not in values
        covered = any(set(labels) <= set(values) for labels in named_axes().values())
        return {names[0]: values} if is_one_column and covered else values
    if not names:
        raise NamelessError(
            f"each_replicate: the function returned {type(values).__name__}, not numbers by name, "
            'so its columns have no names. Return a dict, or say each_replicate(..., returns="p").'
        )
    if len(names) > 1:
        raise StudyError(
            f"it returned {type(values).__name__}, not {', '.join(names)} by name: return a dict"
        )
    return {names[0]: values}


def _checked_value(name: str, returned: Any, *, is_vector: bool) -> np.ndarray:
    """A number, an array with one value per cell of the study's axes, or a vector."""
    value = unmasked(returned if is_vector else in_axis_order(name, returned, named_axes()), name)
    refuse_inexact(name, value)
    is_numeric = value.dtype.kind in "biuf"
    if is_vector:
        if value.ndim != 1 or not is_numeric:
            raise StudyError(
                f"{name} holds {value.dtype} of shape {value.shape}, not one row of numbers"
            )
        return value
    axes = named_axes()
    shape = tuple(map(len, axes.values()))
    if axes and value.shape == shape and is_numeric:
        return value.astype(float)
    if value.size != 1:
        at = f" or an array {shape} over {', '.join(axes)}" if axes else ""
        raise StudyError(f"{name} has shape {value.shape}, not one number per replicate{at}")
    number = value.item()
    if isinstance(number, str | bytes):
        raise StudyError(f"{name} is the text {number!r}, not one number per replicate")
    return np.asarray(float(number))


# ---------------------------------------------------------------- how far a block is
def progress_reported_to(listener: Listener | None) -> AbstractContextManager[None]:
    """Context: methods that go replicate by replicate report their progress to this function."""
    return set_within(_listener, listener)


def report_progress(n_done: int, of: int) -> None:
    """Report progress, if anyone listens."""
    listener = _listener.get()
    if listener is not None:
        listener(n_done, of)


@contextlib.contextmanager
def _recorded_warnings() -> Iterator[list[str]]:
    """Context that records warnings as texts.

    One thread records at a time; what another thread warns of meanwhile, outside of code that is
    recorded, is counted here. Files that somebody left open are warned of when garbage is
    collected, which says nothing of a replicate.
    """
    texts: list[str] = []
    with _one_records, warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)
        yield texts
        texts += [f"{each.category.__name__}: {each.message}" for each in found]
