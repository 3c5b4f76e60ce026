"""Rules for errors of methods: which are recorded as failures, and which are raised.

The error of a failed cell is stored as text in the column `error`, without values. Three kinds of
errors are raised instead: those of the replicate that `replay` draws; those of the machine, such as
a full disk or memory, which no method causes; and an error of a first block in which all
replicates failed, which is a mistake in the study.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field

from simstudy import errors
from simstudy.design.plan import Plan, WarningFilter
from simstudy.provenance.modules import is_own_file


@dataclass(frozen=True)
class BlockContext:
    """The context of the block being drawn.

    Parameters
    ----------
    axes
        Axes of the study, with the names of their positions.
    refuses_all_failed
        Whether the replicates of the block must not all fail.
    raises_row
        Row of the block to replay: its errors are raised instead of recorded.
    warning_filters
        Filters that turn warnings of a replicate into its failure.
    rng_events
        Findings about random numbers in a scenario's first block; None in other blocks.
    """

    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refuses_all_failed: bool = False
    raises_row: int | None = None
    warning_filters: tuple[WarningFilter, ...] = ()
    rng_events: dict[str, None] | None = None

    @classmethod
    def of_block(cls, plan: Plan, index: int) -> BlockContext:
        """Make the context of a block that is drawn for the store."""
        return cls(
            axes=plan.axes,
            refuses_all_failed=index == 0 and plan.rules.max_failed is None,
            warning_filters=plan.warning_filters,
            rng_events={} if index == 0 else None,
        )

    @classmethod
    def of_replay(cls, plan: Plan, row: int) -> BlockContext:
        """Make the context of a block that is drawn for one of its replicates."""
        return cls(plan.axes, raises_row=row, warning_filters=plan.warning_filters)


OUTSIDE = BlockContext()  # the context of a method that a user calls to try it out

OUT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)
OUT_OF_HANDLES = (errno.EMFILE, errno.ENFILE, errno.EAGAIN)
MACHINE_TROUBLE = {*OUT_OF_ROOM, *OUT_OF_HANDLES, errno.EIO, errno.ESTALE, errno.ETIMEDOUT}


def should_reraise(context: BlockContext, row: int, error: BaseException) -> bool:
    """Whether an error is raised and not recorded: in a replay, or if the machine is at fault."""
    ending = errors.AlwaysFailsError | errors.NotHereError | errors.ReturnedError
    is_of_machine = is_machine_trouble(error) or lacks_library(error)
    return context.raises_row == row or is_of_machine or isinstance(error, ending)


# ---------------------------------------------------------------- mistakes in the study
def always_fails(n_rep: int, error: BaseException, name: str = "") -> errors.SimstudyError:
    """Make the exception for a first block in which all replicates failed."""
    frames = frames_of(error)
    at, why = f", in {frames[-1]}" if frames else "", reason(error).removesuffix(".")
    return errors.AlwaysFailsError(
        f"{name}all {n_rep:,} replicates of the first block failed with {why}{at}. This "
        "looks like a mistake in the study, and every block would fail: correct it and run again. "
        "If a method cannot work in some scenarios, Rules(max_failed=1) records that.",
        frames,
    )


def frames_of(error: BaseException) -> tuple[str, ...]:
    """List the frames of the user's code in a traceback, one line each, the innermost last."""
    return tuple(
        f"{frame.filename}, line {frame.lineno}, {frame.name}: {frame.line or ''}".strip(": ")
        for frame in traceback.extract_tb(error.__traceback__)
        if not is_own_file(frame.filename)
    )


# ---------------------------------------------------------------- errors of the machine
def lacks_library(error: BaseException) -> bool:
    """Whether a library is missing here: whatever block it is, the run ends."""
    return any(isinstance(each, ModuleNotFoundError) for each in (error, error.__cause__))


def not_here(error: BaseException, name: str) -> errors.NotHereError:
    """Make the exception for a library that is missing, with how to install it."""
    why, frames = reason(error).removesuffix("."), frames_of(error)
    known = errors.how_to_install(error)
    advice = "" if "pip install" in why else known or "Install it, or leave out what needs it."
    at = f", in {frames[-1]}" if frames and not known else ""
    return errors.NotHereError(f"{name}{why}{at}. {advice}".strip())


def is_machine_trouble(error: BaseException) -> bool:
    """Whether memory, disk or another resource ran out: a later run may succeed.

    An error that was raised from such an error, or while it was handled, counts as well.
    """
    chain: list[BaseException] = []
    behind: BaseException | None = error
    while behind is not None and behind not in chain:
        chain.append(behind)
        behind = behind.__cause__ or behind.__context__
    return any(
        isinstance(each, MemoryError)
        or (isinstance(each, OSError) and each.errno in MACHINE_TROUBLE)
        for each in chain
    )


def reason(error: BaseException) -> str:
    """Describe why a method failed; advice is added to NumPy's error about read-only data."""
    text = errors.describe(error)
    if isinstance(error, ValueError) and "read-only" in text:
        return f"{text}: data are shared by methods, so write into a copy of them"
    return text
