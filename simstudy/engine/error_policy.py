"""Runs methods that may fail: keeps what they return and records their errors.

A failed cell carries its error as text in the column `error`; the engine then stores no values for
it. `raising` lets the errors of one replicate through, for a replay. Memory or a disk that has run
out says nothing about a method: that is let through as well. What fails in every replicate of a
first block, in one and the same line, is a mistake in the study: `raising_if_all_failed` has it
raised.
"""

import contextlib
import errno
import traceback
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TypeVar

from simstudy.errors import AlwaysFailsError, NotHereError, describe
from simstudy.provenance.modules import is_own_file

_row_that_raises: ContextVar[tuple[int, int] | None] = ContextVar("row_that_raises", default=None)
_hopeless_if_all: ContextVar[int | None] = ContextVar("hopeless_if_all", default=None)
_axes: ContextVar[Mapping[str, tuple[str, ...]] | None] = ContextVar("axes", default=None)

Value = TypeVar("Value")

OUT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)
OUT_OF_HANDLES = (errno.EMFILE, errno.ENFILE, errno.EAGAIN)
MACHINE_TROUBLE = frozenset({*OUT_OF_ROOM, *OUT_OF_HANDLES, errno.EIO})


@contextlib.contextmanager
def set_within(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    """Context in which a variable has a value."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def raising(row: int, n_rep: int) -> AbstractContextManager[None]:
    """Context in which errors of one row of a block are raised instead of recorded (`replay`)."""
    return set_within(_row_that_raises, (row, n_rep))


def should_reraise(row: int, n_rep: int, error: BaseException) -> bool:
    """Whether an error of this row is raised: in a replay, or if the machine is at fault.

    A library that is not installed is the machine's, too.

    Rows of something else than the block, such as the models of one replicate, are other rows.
    """
    ends_run = isinstance(error, AlwaysFailsError | NotHereError)
    return _row_that_raises.get() == (row, n_rep) or ends_run or is_machine_trouble(error)


# ---------------------------------------------------------------- mistakes, which always fail
def raising_if_all_failed(n_rep: int | None) -> AbstractContextManager[None]:
    """Context in which an error shared by all replicates is raised.

    None for what is done within one replicate, which says nothing of the others.
    """
    return set_within(_hopeless_if_all, n_rep)


def raise_if_all_failed(n_rep: int, error: BaseException) -> None:
    """Raise an error that all replicates of a first block share."""
    if n_rep == _hopeless_if_all.get():
        raise always_fails(n_rep, error) from error


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
        if isinstance(behind, MemoryError) or has_run_out:
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


# ---------------------------------------------------------------- the axes of the study
def naming_axes(axes: Mapping[str, tuple[str, ...]]) -> AbstractContextManager[None]:
    """Context that gives methods the axes of the study."""
    return set_within(_axes, axes)


def named_axes() -> Mapping[str, tuple[str, ...]]:
    """The axes of the study whose method is called now; empty outside of a study."""
    return _axes.get() or {}
