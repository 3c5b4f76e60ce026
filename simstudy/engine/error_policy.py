"""Rules for errors of methods: which are recorded as failures, and which are raised.

The error of a failed cell is stored as text in the column `error`, without values. Three kinds of
errors are raised instead: those of the replicate that `replay` draws; those of the machine, such as
a full disk or memory, which no method causes; and an error that all replicates of a first block
share, which is a mistake in the study.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simstudy.design.plan import Plan
from simstudy.errors import (
    AlwaysFailsError,
    NotHereError,
    ReturnedError,
    SimstudyError,
    StudyError,
    describe,
    how_to_install,
    swallowed,
)
from simstudy.provenance.modules import is_own_file
from simstudy.validation import refuse_inexact, unmasked

OnRow = Callable[[int, int], None]
"""Function of the number of finished replicates and of all replicates in the block."""


@dataclass(frozen=True)
class BlockContext:
    """The context of the block being drawn.

    The engine's functions get it as an argument. `by_method` and `each_replicate` may be called by
    a scenario's own code, which cannot pass it on: they get it from `current`.

    Parameters
    ----------
    axes
        Axes of the study, with the names of their positions.
    refuses_all_failed
        Number of replicates in a block whose replicates must not all fail with the same error; 0
        for no such check.
    raises
        Row of the block to replay, and the number of replicates in the block: errors of that row
        are raised instead of recorded.
    on_row
        Function that is called after each replicate of a method that analyses one at a time.
    rng_events
        Findings about random numbers in a scenario's first block; None in other blocks.
    """

    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refuses_all_failed: int = 0
    raises: tuple[int, int] | None = None
    on_row: OnRow | None = None
    rng_events: dict[str, None] | None = None

    @classmethod
    def of_block(cls, plan: Plan, index: int, on_row: OnRow | None = None) -> BlockContext:
        """Make the context of a block that is drawn for the store."""
        is_first = index == 0 and plan.max_failed is None
        return cls(
            axes=plan.axes,
            refuses_all_failed=plan.block_size if is_first else 0,
            on_row=on_row,
            rng_events={} if index == 0 else None,
        )

    @property
    def is_of_study(self) -> bool:
        """Whether a study's block is drawn; false if a user calls a method to try it out."""
        return self is not _OUTSIDE

    @property
    def within_replicate(self) -> BlockContext:
        """The context for the code of one replicate, which cannot know whether all fail."""
        return replace(self, refuses_all_failed=0) if self.refuses_all_failed else self


_OUTSIDE = BlockContext()
_context: ContextVar[BlockContext] = ContextVar("block_context", default=_OUTSIDE)


def current() -> BlockContext:
    """Return the context of the block being drawn; an empty one outside of a block."""
    return _context.get()


@contextlib.contextmanager
def drawing(context: BlockContext) -> Iterator[BlockContext]:
    """Set the context while a block is drawn."""
    token = _context.set(context)
    try:
        yield context
    finally:
        _context.reset(token)


TEXT_COLUMNS = frozenset({"error", "warning"})  # columns with messages, without values

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
    """Whether an error is raised and not recorded: in a replay, or if the machine is at fault.

    A library that is not installed counts as the machine's fault, too.

    Parameters
    ----------
    row
        Row of the block; None for the whole block.
    n_rep
        Number of rows. If it is not that of the block, the rows are something else, such as the
        models of one replicate, and a replay does not refer to them.
    """
    replayed = current().raises
    is_replayed = replayed is not None and replayed[1] == n_rep and row in (None, replayed[0])
    ends_run = isinstance(error, AlwaysFailsError | NotHereError | ReturnedError)
    return is_replayed or ends_run or is_machine_trouble(error)


# ---------------------------------------------------------------- mistakes in the study
def raise_if_all_failed(n_rep: int, error: BaseException, name: str = "") -> None:
    """Raise an error that all replicates of a first block share."""
    if n_rep == current().refuses_all_failed:
        raise always_fails(n_rep, error, name) from error


def always_fails(n_rep: int, error: BaseException, name: str = "") -> SimstudyError:
    """Make the exception for an error that all replicates of a first block share."""
    if advice := how_to_install(error):
        why = reason(error).removesuffix(".")
        return NotHereError(f"{name}{why}. {'' if 'pip install' in why else advice}".strip())
    frames = frames_of(error)
    at, why = f", in {frames[-1]}" if frames else "", reason(error).removesuffix(".")
    return AlwaysFailsError(
        f"{name}all {n_rep:,} replicates of the first block failed with {why}{at}. This "
        "looks like a mistake in the study, and every block would fail: correct it and run again. "
        "If a method cannot work in some scenarios, Rules(max_failed=1) records that.",
        frames,
    )


def frames_of(error: BaseException) -> tuple[str, ...]:
    """List the frames of the user's code in a traceback, one line each, the innermost last."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not is_own_file(frame.filename)]
    return tuple(
        f"{frame.filename}, line {frame.lineno}, {frame.name}: {frame.line or ''}".strip(": ")
        for frame in theirs
    )


def error_signature(error: BaseException) -> tuple[type, str, int]:
    """Return the type of an error and its innermost line of user code.

    Errors with the same cause have equal signatures, although their texts may name different
    values. If no user code is in the traceback, the innermost line of any code is used.
    """
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    theirs = [frame for frame in frames if not is_own_file(frame[0])]
    return (type(error), *(theirs or frames or [("", 0)])[-1])


# ---------------------------------------------------------------- errors of the machine
def is_machine_trouble(error: BaseException) -> bool:
    """Whether memory, disk or another resource ran out: a later run may succeed.

    An error that was raised from such an error, or while it was handled, counts as well.
    """
    unseen: list[BaseException | None] = [error]
    seen: set[int] = set()
    while unseen:
        behind = unseen.pop()
        if behind is None or id(behind) in seen:
            continue
        has_run_out = isinstance(behind, OSError) and behind.errno in MACHINE_TROUBLE
        is_by_text = isinstance(behind, RuntimeError | ImportError) and any(
            text in str(behind) for text in TROUBLE_TEXTS
        )
        if isinstance(behind, MemoryError) or has_run_out or is_by_text:
            return True
        seen.add(id(behind))
        unseen += [behind.__cause__, behind.__context__, *getattr(behind, "exceptions", ())]
    return False


def reason(error: BaseException) -> str:
    """Describe why a method failed; advice is added to NumPy's error about read-only data."""
    text = describe(error)
    if isinstance(error, ValueError) and "read-only" in text:
        return f"{text}: data are shared by methods, so write into a copy of them"
    return text


# ---------------------------------------------------------------- several methods on one block
def by_method(
    methods: Mapping[str, Callable[[], Mapping[str, np.ndarray]]], n_rep: int
) -> dict[str, np.ndarray]:
    """Run several methods on one block and stack their columns along a first axis of methods.

    If a method raises, all its replicates of the block fail; other methods are not affected.

    Parameters
    ----------
    methods
        Functions without arguments, by their names on the study's axis. They return columns
        `(rep,)` or `(rep, *further axes)`, all with the same names.
    n_rep
        Replicates in the block.

    Returns
    -------
    dict
        Columns `(rep, method, *further axes)`, the methods in the order of the study's axis. A
        column without further axes, such as `error`, gets axes of size 1 if other columns have
        them.

    Raises
    ------
    StudyError
        If methods return different columns, or no axis of the study has their names.

    Examples
    --------
    >>> import numpy as np
    >>> from simstudy import by_method
    >>> x = np.array([[1.0, 2.0, 6.0], [0.0, 1.0, 5.0]])
    >>> columns = by_method(
    ...     {
    ...         "mean": lambda: {"b": x.mean(axis=1)},
    ...         "median": lambda: {"b": np.median(x, axis=1)},
    ...     },
    ...     n_rep=2,
    ... )
    >>> columns["b"].tolist()
    [[3.0, 2.0], [2.0, 1.0]]
    """
    made = {name: _attempt_method(name, run, n_rep) for name, run in methods.items()}
    made = {name: made[name] for name in _in_order(tuple(made))}
    _refuse_other_columns(made)
    names = dict.fromkeys(name for columns in made.values() for name in columns)
    widest = max(column.ndim for columns in made.values() for column in columns.values())
    return {name: _stacked([c.get(name) for c in made.values()], n_rep, widest) for name in names}


def _in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """Put names in the order of the study's axis of methods."""
    if not current().is_of_study:
        return names
    axes = current().axes
    for labels in axes.values():
        if set(labels) == set(names):
            return labels
    there = ", ".join(f"{axis!r} with {', '.join(labels)}" for axis, labels in axes.items())
    raise StudyError(
        f"by_method got the methods {', '.join(names)}, which no axis has: the study has "
        + (f"axes {there}. " if there else "no axes. ")
        + f"Use Study(axes={{'method': {names}}}), or give by_method the methods of an axis."
    )


def _refuse_other_columns(by_method: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Refuse methods that return different columns; a method that failed completely is exempt."""
    values = {
        name: set(columns) - TEXT_COLUMNS
        for name, columns in by_method.items()
        if set(columns) != {"error"} or not all(columns["error"].flat)
    }
    for (first, one), (name, other) in itertools.pairwise(values.items()):
        for alone in sorted(one ^ other):
            raise StudyError(
                f"methods {first!r} and {name!r} return different columns: only "
                f"{first if alone in one else name!r} returns {alone!r}. Return the same columns "
                "from every method, with NaN if there is no value (may_be_missing names such "
                "columns)."
            )


def _attempt_method(
    method: str, run: Callable[[], Mapping[str, np.ndarray]], n_rep: int
) -> dict[str, np.ndarray]:
    """Call one method and return its columns, or its error in every replicate."""
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
    return column.astype(object) if name in TEXT_COLUMNS else column


def _stacked(columns: Sequence[np.ndarray | None], n_rep: int, n_dims: int) -> np.ndarray:
    """Stack columns of methods along axis 1; None becomes a column of missing values.

    A column with fewer axes than others gets axes of size 1, and is broadcast along them.
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
