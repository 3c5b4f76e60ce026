"""Methods that may fail: what they returned is kept, and what went wrong is data.

A failed cell carries its error as text in the column `error`; the engine then stores no values for
it. `raising` lets the errors of one replicate through, for a replay.
"""

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from simstudy.errors import StudyError

_row_that_raises: ContextVar[int | None] = ContextVar("row_that_raises", default=None)
_one_at_a_time = threading.Lock()  # recording warnings changes a process-wide filter


@contextlib.contextmanager
def raising(row: int) -> Iterator[None]:
    """Within it, errors of this row of the block are raised and not recorded."""
    token = _row_that_raises.set(row)
    try:
        yield
    finally:
        _row_that_raises.reset(token)


def describe(error: BaseException) -> str:
    """An exception in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def each_replicate(
    analyse: Callable[..., Mapping[str, Any]], *data: np.ndarray, returns: Sequence[str]
) -> dict[str, np.ndarray]:
    """Analyse replicates one by one, for a method that cannot take a block.

    Parameters
    ----------
    analyse
        Takes one replicate of each of `data`; returns a number for each name in `returns`.
    *data
        Arrays with the replicate as first axis.
    returns
        Names of the columns.

    Returns
    -------
    dict
        Columns `(rep,)`; `error` says why a row has no values, and `warning` what a method that
        did return warned of. Either is there only if it is needed.
    """
    outcomes = [
        _one(analyse, tuple(part[row] for part in data), tuple(returns), row)
        for row in range(len(data[0]))
    ]
    numbers = np.array([values for values, _, _ in outcomes], dtype=float)
    columns = {name: numbers[:, i] for i, name in enumerate(returns)}
    texts = {"error": [e for _, e, _ in outcomes], "warning": [w for _, _, w in outcomes]}
    for name, column in texts.items():
        if any(text is not None for text in column):
            columns[name] = np.array(column, dtype=object)
    return columns


def _one(
    analyse: Callable[..., Mapping[str, Any]],
    replicate: tuple[Any, ...],
    returns: tuple[str, ...],
    row: int,
) -> tuple[tuple[float, ...], str | None, str | None]:
    try:
        with _one_at_a_time, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            values = analyse(*replicate)
        numbers = tuple(_number(values, name) for name in returns)
    except Exception as error:
        if _row_that_raises.get() == row:
            raise
        return (np.nan,) * len(returns), describe(error), None
    said = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught)
    return numbers, None, "; ".join(said) or None


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
    made = [_attempted(run, n_rep) for run in methods.values()]
    names = list(dict.fromkeys(name for columns in made for name in columns))
    return {name: _stacked([columns.get(name) for columns in made], n_rep) for name in names}


def _attempted(run: Callable[[], Mapping[str, np.ndarray]], n_rep: int) -> dict[str, np.ndarray]:
    try:
        columns = {name: np.asarray(column) for name, column in run().items()}
        for name, column in columns.items():
            if column.shape[:1] != (n_rep,):
                raise StudyError(f"{name} has shape {column.shape}; its first axis must be {n_rep}")
        return columns
    except Exception as error:
        if _row_that_raises.get() is not None:
            raise
        return {"error": np.full(n_rep, describe(error), dtype=object)}


def _stacked(columns: Sequence[np.ndarray | None], n_rep: int) -> np.ndarray:
    """Along axis 1; a method without the column gets a placeholder that its error voids."""
    there = [column for column in columns if column is not None]
    largest = max(there, key=np.ndim)
    blank: Any = None if largest.dtype == object else np.zeros((), largest.dtype)
    empty = np.full((n_rep, *largest.shape[1:]), blank, dtype=largest.dtype)
    full = [empty if one is None else _widened(one, largest.shape) for one in columns]
    return np.stack(full, axis=1)


def _widened(column: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    missing = len(shape) - column.ndim
    return np.broadcast_to(column.reshape(column.shape + (1,) * missing), shape)
