"""Records the warnings of one thread, independently of other threads."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any


class _Recorder(threading.local):
    """The lists that collect this thread's warnings, the innermost last."""

    def __init__(self) -> None:
        self.lists: list[list[str]] = []


_recorder = _Recorder()
_lock = threading.Lock()  # filters and `showwarning` are shared by all threads
_held: list[contextlib.ExitStack] = []  # holds the changed filters while any thread records
_n_recording = 0


@contextlib.contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Collect the texts of this thread's warnings in a list, within the context.

    Warnings of other threads are shown as usual, once for each place. Warnings of files left open
    are ignored: they come with a garbage collection, in any later replicate.
    """
    global _n_recording
    texts: list[str] = []
    with _lock:
        if not _n_recording:
            _held.append(_dispatching())
        _n_recording += 1
    _recorder.lists.append(texts)
    try:
        yield texts
    finally:
        _recorder.lists.pop()
        with _lock:
            _n_recording -= 1
            if not _n_recording:
                _held.pop().close()


def _dispatching() -> contextlib.ExitStack:
    """Send warnings to the list of their thread until the returned stack is closed."""
    held = contextlib.ExitStack()
    held.enter_context(warnings.catch_warnings())
    show, shown = warnings.showwarning, set[tuple[Any, ...]]()

    def dispatch(message: Any, category: type[Warning], filename: str, lineno: int,
                 *more: Any, **named: Any) -> None:  # fmt: skip
        if _recorder.lists:
            _recorder.lists[-1].append(f"{category.__name__}: {message}")
        elif (place := (str(message), category, filename, lineno)) not in shown:
            shown.add(place)
            show(message, category, filename, lineno, *more, **named)

    warnings.showwarning = dispatch
    warnings.simplefilter("always")
    warnings.simplefilter("ignore", ResourceWarning)
    return held
