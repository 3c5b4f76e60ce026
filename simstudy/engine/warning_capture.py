"""Records the warnings that a block raises."""

import contextlib
import threading
import warnings
from collections.abc import Iterator

_one_records = threading.RLock()  # recording changes filters, which belong to the process


@contextlib.contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Context that records warnings as texts.

    One thread records at a time; what another thread warns of meanwhile, outside of code that is
    recorded, is counted here. Files that somebody left open are warned of when garbage is
    collected, which says nothing of a replicate.
    """
    texts: list[str] = []
    with _one_records, warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)
        yield texts
        texts += [f"{each.category.__name__}: {each.message}" for each in found]
