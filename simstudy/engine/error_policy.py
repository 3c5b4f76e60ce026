"""Runs methods that may fail: keeps what they return and records their errors.

A failed cell carries its error as text in the column `error`; the engine then stores no values for
it. `raising` lets the errors of one replicate through, for a replay. Memory or a disk that has run
out says nothing about a method: that is let through as well. What fails in every replicate of a
first block, in one and the same line, is a mistake in the study: `raising_if_all_failed` has it
raised.
"""

import errno
import itertools
import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.engine.context import current
from simstudy.errors import (
    AlwaysFailsError,
    NotHereError,
    ReturnedError,
    StudyError,
    describe,
    swallowed,
)
from simstudy.provenance.modules import is_own_file
from simstudy.validation import refuse_inexact, unmasked

SAYING = frozenset({"error", "warning"})  # columns that say something and hold no values

OUT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)
OUT_OF_HANDLES = (errno.EMFILE, errno.ENFILE, errno.EAGAIN)
NETWORK = [
    getattr(errno, name)
    for name in ("ESTALE", "ETIMEDOUT", "ENOTCONN", "EREMOTEIO")
    if hasattr(errno, name)  # some systems lack a few
]
MACHINE_TROUBLE = frozenset({*OUT_OF_ROOM, *OUT_OF_HANDLES, *NETWORK, errno.EIO})
TROUBLE_TEXTS = ("can't start new thread", os.strerror(getattr(errno, "ESTALE", errno.EIO)))


def should_reraise(row: int | None, n_rep: int, error: BaseException) -> bool:
    """Whether an error of this row is raised: in a replay, or if the machine is at fault.

    A library that is not installed is the machine's, too.

    None stands for the whole block. Rows of something else than the block, such as the models of
    one replicate, are other rows.
    """
    replayed = current().raises
    is_replayed = replayed is not None and replayed[1] == n_rep and row in (None, replayed[0])
    ends_run = isinstance(error, AlwaysFailsError | NotHereError | ReturnedError)
    return is_replayed or ends_run or is_machine_trouble(error)


# ---------------------------------------------------------------- mistakes, which always fail
def raise_if_all_failed(n_rep: int, error: BaseException, name: str = "") -> None:
    """Raise an error that all replicates of a first block share."""
    if n_rep == current().refuses_all_failed:
        raise always_fails(n_rep, error, name) from error


def always_fails(n_rep: int, error: BaseException, name: str = "") -> AlwaysFailsError:
    """The message for an error that all replicates of a first block share."""
    frames = frames_of(error)
    at, why = f", in {frames[-1]}" if frames else "", reason(error).removesuffix(".")
    return AlwaysFailsError(
        f"{name}all {n_rep:,} replicates of the first block failed with {why}{at}. That "
        "is what a mistake in the study looks like, and each later block would fail as this one "
        "did: mend it and run again. Where a method cannot work in a scenario, and that is a "
        "result, say Study(max_failed=1), and it is recorded.",
        frames,
    )


def frames_of(error: BaseException) -> tuple[str, ...]:
    """The frames of the user's code in a traceback, one line each, the innermost last."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not is_own_file(frame.filename)]
    return tuple(
        f"{frame.filename}, line {frame.lineno}, {frame.name}: {frame.line or ''}".strip(": ")
        for frame in theirs
    )


def error_signature(error: BaseException) -> tuple[type, str, int]:
    """The type of an error and the innermost line of user code: equal for errors of one cause.

    Their texts may differ, as where they name what failed. Of an error that no code of a user's
    was in, the innermost line of any.
    """
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    theirs = [frame for frame in frames if not is_own_file(frame[0])]
    return (type(error), *(theirs or frames or [("", 0)])[-1])


# ---------------------------------------------------------------- the machine's troubles
def is_machine_trouble(error: BaseException) -> bool:
    """Whether memory, disk or another resource ran out: a later run may succeed.

    An error that was raised from such a one, or while it was handled, is one too.
    """
    unseen: list[BaseException | None] = [error]
    seen: set[int] = set()
    while unseen:
        behind = unseen.pop()
        if behind is None or id(behind) in seen:
            continue
        has_run_out = isinstance(behind, OSError) and behind.errno in MACHINE_TROUBLE
        is_told = isinstance(behind, RuntimeError | ImportError) and any(
            text in str(behind) for text in TROUBLE_TEXTS
        )
        if isinstance(behind, MemoryError) or has_run_out or is_told:
            return True
        seen.add(id(behind))
        unseen += [behind.__cause__, behind.__context__, *getattr(behind, "exceptions", ())]
    return False


def reason(error: BaseException) -> str:
    """Why a method failed; NumPy's refusal to write into data says what to do instead."""
    text = describe(error)
    if isinstance(error, ValueError) and "read-only" in text:
        return f"{text}: data are shared by methods, so write into a copy of them"
    return text


# ---------------------------------------------------------------- several methods on one block
def by_method(
    methods: Mapping[str, Callable[[], Mapping[str, np.ndarray]]], n_rep: int
) -> dict[str, np.ndarray]:
    """Run several methods on one block; stack their columns along a first axis of methods.

    A method that raises costs itself the block, and no other method anything.

    Parameters
    ----------
    methods
        By name, as the study's axis has them: functions without arguments that return columns
        `(rep,)` or `(rep, *further axes)`, the same names for each method.
    n_rep
        Replicates in the block.

    Returns
    -------
    dict
        Columns `(rep, method, *further axes)`, the methods in the order of the study's axis; of
        those that have no further axes, as `error` may have none, these are of size 1 where any
        other column has them.

    Raises
    ------
    StudyError
        If methods return different columns, or the study has no axis of their names.
    """
    made = {name: _attempt_method(name, run, n_rep) for name, run in methods.items()}
    made = {name: made[name] for name in _in_order(tuple(made))}
    _refuse_other_columns(made)
    names = dict.fromkeys(name for columns in made.values() for name in columns)
    widest = max(column.ndim for columns in made.values() for column in columns.values())
    return {name: _stacked([c.get(name) for c in made.values()], n_rep, widest) for name in names}


def _in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names in the order of the study's axis of methods."""
    if not current().is_of_study:
        return names
    axes = current().axes
    for labels in axes.values():
        if set(labels) == set(names):
            return labels
    there = ", ".join(f"{axis!r} with {', '.join(labels)}" for axis, labels in axes.items())
    raise StudyError(
        f"by_method was given {', '.join(names)}, and the study has "
        + (f"axes {there}: " if there else "no axes: ")
        + "one method would be shown under another's name. Say "
        + f"Study(axes={{'method': {names}}}), or give by_method the methods of an axis."
    )


def _refuse_other_columns(by_method: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Refuse methods that return different columns; a method that failed completely is exempt."""
    values = {
        name: set(columns) - SAYING
        for name, columns in by_method.items()
        if set(columns) != {"error"} or not all(columns["error"].flat)
    }
    for (first, one), (name, other) in itertools.pairwise(values.items()):
        for alone in sorted(one ^ other):
            raise StudyError(
                f"methods {first!r} and {name!r} return different columns: only "
                f"{first if alone in one else name!r} returns {alone!r}, so the other would have "
                "numbers there that were not computed. Return the same columns from every method, "
                "NaN where there is nothing to say (may_be_missing names such columns)."
            )


def _attempt_method(
    method: str, run: Callable[[], Mapping[str, np.ndarray]], n_rep: int
) -> dict[str, np.ndarray]:
    """The columns of one method, or its error in every replicate."""
    try:
        returned = run()
    except Exception as error:
        if should_reraise(None, n_rep, error):
            raise
        swallowed(error)
        raise_if_all_failed(n_rep, error, f"method {method!r}: ")
        return {"error": np.full(n_rep, reason(error), dtype=object)}
    if not isinstance(returned, Mapping):
        raise StudyError(
            f"method {method!r} returned {type(returned).__name__}, not columns by name: return a "
            "dict of arrays."
        )
    return {
        name: _column_of(f"method {method!r}: column {name!r}", name, column, n_rep)
        for name, column in returned.items()
    }


def _column_of(what: str, name: str, value: Any, n_rep: int) -> np.ndarray:
    column = unmasked(value, name)
    refuse_inexact(name, column)
    if column.shape[:1] != (n_rep,):
        raise ReturnedError(f"{what} has shape {column.shape}; its first axis must be {n_rep}")
    return column.astype(object) if name in SAYING else column


def _stacked(columns: Sequence[np.ndarray | None], n_rep: int, n_dims: int) -> np.ndarray:
    """Stack columns of methods along axis 1; a failed method gets missing values.

    One that only lacks texts has nothing to say. A column with fewer axes than others gets axes of
    size 1, over which it is broadcast.
    """
    there = next(column for column in columns if column is not None)
    blank: Any = None if there.dtype == object else np.zeros((), there.dtype)
    wide = [
        np.full((n_rep,) + (1,) * (n_dims - 1), blank, dtype=there.dtype)
        if column is None
        else column.reshape(column.shape + (1,) * (n_dims - column.ndim))
        for column in columns
    ]
    return np.stack(np.broadcast_arrays(*wide), axis=1)
