"""The context of the block being drawn, for functions that a study's own code calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from simstudy.design.plan import Plan

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
