"""Ways to end a process, where the process is the user's: made exceptions while blocks are drawn.

`os._exit` ends a process at once, with a status that the caller chooses: a block that calls it
would end the run with nothing published, and perhaps with the status of success.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


class EndedProcessError(SystemExit):
    """A block called `os._exit`, as one that calls `sys.exit` raises `SystemExit`."""


@dataclass
class _Held:
    """How many blocks are drawn at the moment, and what ends the process otherwise."""

    depth: int = 0
    end: Any = os._exit


_held, _lock = _Held(), threading.Lock()


@contextlib.contextmanager
def exits_raise() -> Iterator[None]:
    """Within it `os._exit` raises, in any thread, but not in processes that a block starts.

    A name that was bound to it before, as by `from os import _exit`, still ends the process.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    with _lock:
        if not _held.depth:
            _held.end = os._exit
            os._exit = _raising(_held.end, os.getpid())
        _held.depth += 1


def _leave() -> None:
    with _lock:
        _held.depth -= 1
        if not _held.depth:
            os._exit = _held.end


def _raising(end: Callable[[int], Any], process: int) -> Any:
    def raise_or_end(status: int) -> None:
        if os.getpid() != process:  # a copy of this one, which ends as it should
            end(status)
        raise EndedProcessError(f"os._exit({status}) would have ended the whole run")

    return raise_or_end
