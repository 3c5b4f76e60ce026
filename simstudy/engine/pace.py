"""Blocks that are done replicate by replicate: how far one is, and how far it is to go."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

NOT_ANALYSED = "not analysed: a run of whole blocks does"  # of replicates beyond those wanted

Listener = Callable[[int, int], None]
"""Is told how many replicates of how many are done."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_wanted: ContextVar[tuple[int, int] | None] = ContextVar("wanted", default=None)


@contextlib.contextmanager
def telling(listener: Listener | None) -> Iterator[None]:
    """Within it, in this thread, methods that go replicate by replicate say how far they are."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(done: int, of: int) -> None:
    """Say it, where somebody wants to hear."""
    listener = _listener.get()
    if listener is not None:
        listener(done, of)


@contextlib.contextmanager
def analysing(first: int, block_size: int) -> Iterator[None]:
    """Within it, methods that go one by one analyse the first so many of a block; 0 for all."""
    token = _wanted.set((first, block_size) if first else None)
    try:
        yield
    finally:
        _wanted.reset(token)


def wanted_of(n_rep: int) -> int:
    """How many of some replicates are to be analysed: fewer, where they are a block's."""
    wanted = _wanted.get()
    return min(wanted[0], n_rep) if wanted and wanted[1] == n_rep else n_rep
