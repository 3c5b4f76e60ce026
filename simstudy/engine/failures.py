"""Methods that may fail: what they returned is kept, and what went wrong is data.

A failed cell carries its error as text in the column `error`; the engine then stores no values for
it. `raising` lets the errors of one replicate through, for a replay. Memory or a disk that has run
out says nothing about a method: that is let through as well.
"""

import contextlib
import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

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


def lets_through(row: int | None, error: BaseException) -> bool:
    """Whether an error of a row of the block is raised: it is replayed, or the machine's.

    None stands for the whole block.
    """
    replayed = _row_that_raises.get()
    return (replayed is not None and row in (None, replayed)) or is_machine_trouble(error)


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
        if lets_through(None, error):
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
