"""Methods that may fail: what they returned is kept, and what went wrong is data.

A failed cell carries its error as text in the column `error`; the engine then stores no values for
it. `raising` lets the errors of one replicate through, for a replay. Memory or a disk that has run
out says nothing about a method: that is let through as well.
"""

import contextlib
import errno
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, overload

import numpy as np

from simstudy.engine.thread_warnings import warnings_of_this_thread
from simstudy.errors import StudyError, describe

_row_that_raises: ContextVar[int | None] = ContextVar("row_that_raises", default=None)

OUT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)
OUT_OF_HANDLES = (errno.EMFILE, errno.ENFILE, errno.EAGAIN)
MACHINE_TROUBLE = frozenset({*OUT_OF_ROOM, *OUT_OF_HANDLES, errno.EIO})


@contextlib.contextmanager
def raising(row: int) -> Iterator[None]:
    """Within it, errors of this row of the block are raised and not recorded."""
    token = _row_that_raises.set(row)
    try:
        yield
    finally:
        _row_that_raises.reset(token)


def is_machine_trouble(error: BaseException) -> bool:
    """Whether the machine had run out of something, and not the method: another run may succeed.

    An error that was raised from such a one, or while it was handled, is one too.
    """
    unseen: list[BaseException | None] = [error]
    seen: set[int] = set()
    while unseen:
        behind = unseen.pop()
        if behind is None or id(behind) in seen:
            continue
        if isinstance(behind, MemoryError) or _has_run_out(behind):
            return True
        seen.add(id(behind))
        unseen += [behind.__cause__, behind.__context__, *getattr(behind, "exceptions", ())]
    return False


def _has_run_out(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in MACHINE_TROUBLE


def reason(error: BaseException) -> str:
    """Why a method failed; NumPy's refusal to write into data says what to do instead."""
    text = describe(error)
    if isinstance(error, ValueError) and "read-only" in text:
        return f"{text}: data are shared by methods, so write into a copy of them"
    return text


@dataclass(frozen=True)
class EachReplicate:
    """A method that analyses replicates one by one; made by `each_replicate`.

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
        """Columns `(rep,)` of data given by name, as a study would give them: to try it out."""
        lengths = {len(v) for v in given.values() if isinstance(v, np.ndarray) and v.ndim}
        if len(lengths) != 1:
            raise StudyError(
                f"the arrays given have {sorted(lengths)} entries on their first axis, which is "
                "the replicate: give arrays of one length, at least one."
            )
        return self.columns(given, lengths.pop())

    def columns(self, given: Mapping[str, Any], n_rep: int) -> dict[str, np.ndarray]:
        """Columns `(rep,)` of a block.

        Parameters
        ----------
        given
            By parameter: arrays with the replicate as first axis, of which each replicate gets its
            own row; constants; and as `rng` a function from a row to its generator.
        """
        calls = (partial(self._analyse_row, given, row) for row in range(n_rep))
        return _columns_of(calls, self.returns)

    def _analyse_row(self, given: Mapping[str, Any], row: int) -> Any:
        replicate = {name: _of_row(value, row) for name, value in given.items() if name != "rng"}
        if "rng" in given:
            replicate["rng"] = given["rng"](row)
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
) -> dict[str, np.ndarray]: ...
def each_replicate(
    analyse: Callable[..., Any],
    *data: np.ndarray,
    returns: str | Sequence[str] | None = None,
) -> Any:
    """Analyse replicates one by one, for a method that cannot take a block.

    Parameters
    ----------
    analyse
        Takes one replicate of each of `data`; returns a number for each name in `returns`, or one
        number where there is one name. Without `data` its parameters name what it is given, and
        may include `rng`, a generator of that replicate's own.
    *data
        Arrays with the replicate as first axis. None makes a method of a study.
    returns
        Names of the columns; None takes those of the first replicate that succeeds.

    Returns
    -------
    dict or EachReplicate
        Columns `(rep,)`; `error` says why a row has no values, and `warning` what a method that
        did return warned of. Either is there only if it is needed. Without `data`, a method that
        gives these.
    """
    names = (returns,) if isinstance(returns, str) else None if returns is None else tuple(returns)
    if not data:
        return EachReplicate(analyse, names)
    calls = (partial(analyse, *(part[row] for part in data)) for row in range(len(data[0])))
    return _columns_of(calls, names)


class _Row(NamedTuple):
    """What came of one replicate."""

    numbers: dict[str, float] | None  # None where it failed
    error: str | None = None
    warning: str | None = None


def _columns_of(
    calls: Iterable[Callable[[], Any]], names: Sequence[str] | None
) -> dict[str, np.ndarray]:
    """Columns `(rep,)` from a call for each replicate."""
    rows: list[_Row] = []
    known = names
    for at, call in enumerate(calls):
        rows.append(_attempt_replicate(call, names, known, at))
        known = tuple(rows[-1].numbers or ()) if known is None and rows[-1].numbers else known
    values: dict[str, Any] = {
        name: np.array([np.nan if row.numbers is None else row.numbers[name] for row in rows])
        for name in known or ()
    }
    return values | _texts({"error": [r.error for r in rows], "warning": [r.warning for r in rows]})


def _texts(columns: Mapping[str, list[str | None]]) -> dict[str, np.ndarray]:
    """Those in which anything is said."""
    return {
        name: np.array(column, dtype=object)
        for name, column in columns.items()
        if any(text is not None for text in column)
    }


def _attempt_replicate(
    call: Callable[[], Any], names: Sequence[str] | None, known: Sequence[str] | None, at: int
) -> _Row:
    """One replicate.

    Parameters
    ----------
    names
        Of the columns, as the study says; `known` also where they are those of a row before.
    """
    try:
        with warnings_of_this_thread() as said:
            values = call()
        _refuse_nameless(values, known)
        numbers = _numbers(values, names, known)
    except NamelessError:
        raise
    except Exception as error:
        if _row_that_raises.get() == at or is_machine_trouble(error):
            raise
        return _Row(None, reason(error))
    return _Row(numbers, None, "; ".join(dict.fromkeys(said)) or None)


class NamelessError(StudyError):
    """A method returned a number, and nobody says what it is called."""


def _refuse_nameless(values: Any, known: Sequence[str] | None) -> None:
    if known is None and not isinstance(values, Mapping):
        raise NamelessError(
            f"each_replicate: the function returned {type(values).__name__}, not numbers by name, "
            'so its columns have no names. Return a dict, or say each_replicate(..., returns="p").'
        )


def _numbers(
    values: Any, names: Sequence[str] | None, known: Sequence[str] | None
) -> dict[str, float]:
    """A number for each name; names that nobody said are those of every replicate."""
    if not isinstance(values, Mapping) and known is not None and len(known) == 1:
        values = {known[0]: values}
    if names is None and known is not None and set(values) != set(known):
        raise StudyError(f"it returned {sorted(values)}, and replicates before {sorted(known)}")
    return {name: _number(values, name) for name in (values if known is None else known)}


def _number(values: Mapping[str, Any], name: str) -> float:
    value = np.asarray(values[name])
    if value.size != 1:
        raise StudyError(f"{name} has shape {value.shape}, not one number per replicate")
    return float(value.item())


def by_method(
    methods: Mapping[str, Callable[[], Mapping[str, np.ndarray]]], n_rep: int
) -> dict[str, np.ndarray]:
    """Run several methods on one block; stack their columns along a first axis of methods.

    A method that raises costs itself the block, and no other method anything.

    Parameters
    ----------
    methods
        By name, in the order of the study's axis: functions without arguments that return columns
        `(rep,)` or `(rep, *further axes)`, the same names for each method.

    Returns
    -------
    dict
        Columns `(rep, method, *further axes)`.
    """
    made = [_attempt_method(run, n_rep) for run in methods.values()]
    names = list(dict.fromkeys(name for columns in made for name in columns))
    return {name: _stacked([columns.get(name) for columns in made], n_rep) for name in names}


def _attempt_method(
    run: Callable[[], Mapping[str, np.ndarray]], n_rep: int
) -> dict[str, np.ndarray]:
    try:
        columns = {name: np.asarray(column) for name, column in run().items()}
        for name, column in columns.items():
            if column.shape[:1] != (n_rep,):
                raise StudyError(f"{name} has shape {column.shape}; its first axis must be {n_rep}")
        return columns
    except Exception as error:
        if _row_that_raises.get() is not None or is_machine_trouble(error):
            raise
        return {"error": np.full(n_rep, reason(error), dtype=object)}


def _stacked(columns: Sequence[np.ndarray | None], n_rep: int) -> np.ndarray:
    """Along axis 1; a method without the column gets a placeholder that its error voids."""
    there = [column for column in columns if column is not None]
    largest = max(there, key=np.ndim)
    blank: Any = None if largest.dtype == object else np.zeros((), largest.dtype)
    empty = np.full((n_rep, *largest.shape[1:]), blank, dtype=largest.dtype)
    full = [empty if column is None else _widened(column, largest.shape) for column in columns]
    return np.stack(full, axis=1)


def _widened(column: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    missing = len(shape) - column.ndim
    return np.broadcast_to(column.reshape(column.shape + (1,) * missing), shape)
