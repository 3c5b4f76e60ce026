"""Work side by side, in threads; what comes of it keeps its order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")


def side_by_side(
    work: Callable[[Item], Found], items: Iterable[Item], n_threads: int
) -> Iterator[Found]:
    """What the work makes of each item, in their order.

    No more items are taken than threads have to do, and one; so memory holds what is made of these.

    Parameters
    ----------
    work
        Leaves the GIL to others for most of its time, as NumPy does, and writes nothing that two
        items share.
    items
        Taken in the thread that asks.
    """
    if n_threads < 2:
        yield from map(work, items)
        return
    waiting: deque[Future[Found]] = deque()
    with ThreadPoolExecutor(n_threads) as threads:
        for item in items:
            waiting.append(threads.submit(copy_context().run, work, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
