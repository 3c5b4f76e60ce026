"""What is known while a block is drawn, for functions that a study's own code calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from simstudy.design.plan import Plan

OnRow = Callable[[int, int], None]
"""Takes the number of replicates done, and of replicates in the block."""


@dataclass(frozen=True)
class BlockContext:
    """What is known while a block is drawn.

    A scenario's own code may call `by_method` and `each_replicate`, and cannot pass the context on:
    they find it with `current`. Everything else is given it.

    Parameters
    ----------
    axes
        The axes of the study whose block is drawn.
    refuses_all_failed
        Number of replicates that may not all fail by one error; 0 for no such limit.
    raises
        Row of the block, and its number of replicates: errors of that row are raised instead of
        recorded (`replay`).
    on_row
        Called after each replicate of a method that goes row by row.
    rng_events
        Findings about random numbers of a scenario's first block; None in other blocks.
    """

    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refuses_all_failed: int = 0
    raises: tuple[int, int] | None = None
    on_row: OnRow | None = None
    rng_events: dict[str, None] | None = None

    @classmethod
    def of_block(cls, plan: Plan, index: int, on_row: OnRow | None = None) -> BlockContext:
        """The context of a block that is drawn for the store."""
        is_first = index == 0 and plan.max_failed is None
        return cls(
            axes=plan.axes,
            refuses_all_failed=plan.block_size if is_first else 0,
            on_row=on_row,
            rng_events={} if index == 0 else None,
        )

    @property
    def is_of_study(self) -> bool:
        """Whether a study's block is drawn; false where a user calls a method to try it out."""
        return self is not _OUTSIDE

    @property
    def within_replicate(self) -> BlockContext:
        """The context of code that analyses one replicate, which says nothing of the others."""
        return replace(self, refuses_all_failed=0)


_OUTSIDE = BlockContext()
_context: ContextVar[BlockContext] = ContextVar("block_context", default=_OUTSIDE)


def current() -> BlockContext:
    """The context of the block that is drawn now; an empty one outside of a block."""
    return _context.get()


@contextlib.contextmanager
def drawing(context: BlockContext) -> Iterator[BlockContext]:
    """Context manager: a block is drawn."""
    token = _context.set(context)
    try:
        yield context
    finally:
        _context.reset(token)
