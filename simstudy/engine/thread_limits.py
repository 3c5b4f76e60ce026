"""Limits BLAS, OpenMP, numba and torch to one thread, so that sums do not depend on the cores.

Environment variables set the number for libraries that are loaded later, here and in worker
processes. That is not enough: a library may be loaded already, be loaded inside `simulate`, or
ignore its variable; OpenMP and numba have separate settings in each Python thread. So every thread
checks its pools before it draws, and again after a task in which a library was loaded. Blocks
that were drawn with more than one thread are drawn again.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from simstudy.errors import StudyError
from simstudy.provenance.policy import THREAD_VARIABLES

MAX_DRAWS = 10  # draws of a task; libraries that are loaded one by one need a few

Drawn = TypeVar("Drawn")


@dataclass
class _Limits:
    """The limits of this process, which the last holder to leave lifts."""

    n_holders: int = 0
    n_lifted: int = 0
    n_shared: int = 0  # limits that other threads notice
    lift: ExitStack = field(default_factory=ExitStack)


class _Thread(threading.local):
    """The libraries that a thread last saw."""

    looked_at: object = None
    has_drawn = False


_lock = threading.RLock()
_limits = _Limits()
_thread = _Thread()


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """Limit all thread pools to one thread within this context.

    Contexts may be nested, and several threads may enter them at once: the last one to leave
    restores the settings. A library that read its variable within keeps one thread.
    """
    with _lock:
        if not _limits.n_holders:
            _limits.lift.callback(
                _put_back, {name: os.environ.get(name) for name in THREAD_VARIABLES}
            )
            os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
        _limits.n_holders += 1
    try:
        limit_new_pools()
        yield
    finally:
        with _lock:
            _limits.n_holders -= 1
            if not _limits.n_holders:
                _limits.lift.close()
                _limits.n_lifted += 1
                _thread.has_drawn = False


def drawn_with_one_thread(draw: Callable[[], Drawn]) -> Drawn:
    """Call `draw`, again if a newly loaded library used more than one thread.

    The thread has checked its pools before: `single_threaded` and `limit_new_pools` do so.

    Parameters
    ----------
    draw
        Function that draws the same in every call. It is called again if a library that it loaded
        had more than one thread.

    Raises
    ------
    StudyError
        If there is more than one thread after every call.
    """
    n_wide = 0
    while n_wide < MAX_DRAWS:
        before = _limits.n_shared
        drawn = draw()
        _thread.has_drawn = True
        wide = limit_new_pools()
        if not wide and _limits.n_shared == before:
            return drawn
        n_wide += bool(wide)
    raise StudyError(
        f"simulate sets the number of threads itself: in each of {MAX_DRAWS} draws of a block "
        f"{', '.join(wide)} had more than one, so that sums depend on the machine. Remove the code "
        "that sets the number: the engine sets it to one."
    )


def _put_back(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def limit_new_pools() -> list[str]:
    """Limit new thread pools and return the names of those that had more than one thread.

    The check takes one or two milliseconds, so it is made only if a library may have been loaded,
    or settings were restored, since the last one.
    """
    now = (_limits.n_lifted, libraries_loaded())
    if now == _thread.looked_at:
        return []
    with _lock:
        wide = [*_limit_native(), *_limit_numba(), *_limit_torch()]
    _thread.looked_at = now
    return wide


def libraries_loaded() -> object:
    """Return a value that changes when a library is loaded: the size of all mapped code.

    Linux provides it within microseconds. Elsewhere it is the number of Python's modules, together
    with whether the thread has drawn, so that there is one more check after its first block.
    """
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as file:
        _, found, rest = file.read().partition(b"VmLib:")
        if found:
            return rest.partition(b"\n")[0]
    return len(sys.modules), _thread.has_drawn


def _limit_native() -> list[str]:
    """Limit BLAS and OpenMP; OpenMP has its own limit in each Python thread."""
    from threadpoolctl import ThreadpoolController

    wide = [pool for pool in ThreadpoolController().lib_controllers if (pool.num_threads or 1) > 1]
    for pool in wide:
        _limited(partial(_set_native, pool), pool.num_threads, shared=pool.user_api != "openmp")
    return [os.path.basename(pool.filepath) for pool in wide]


def _set_native(pool: Any, n_threads: int) -> None:
    """Set the number of threads; OpenBLAS otherwise accepts it only from the first thread."""
    is_openblas = hasattr(pool, "clear_controlling_thread")
    if is_openblas:
        pool.clear_controlling_thread(force=True)
    pool.set_num_threads(n_threads)
    if is_openblas:
        pool.clear_controlling_thread(force=True)


def _limit_numba() -> list[str]:
    """Limit numba's `parallel=True` pool if it runs; reading its size would start it."""
    numba: Any = sys.modules.get("numba")
    try:
        numba.threading_layer()
    except (AttributeError, ValueError):
        return []
    return _limit_where_more("numba", numba, shared=False)


def _limit_torch() -> list[str]:
    torch = sys.modules.get("torch")
    there = hasattr(torch, "get_num_threads") and hasattr(torch, "set_num_threads")
    return _limit_where_more("torch", torch, shared=True) if there else []


def _limit_where_more(name: str, library: Any, *, shared: bool) -> list[str]:
    n_threads = library.get_num_threads()
    if n_threads <= 1:
        return []
    _limited(library.set_num_threads, n_threads, shared=shared)
    return [name]


def _limited(set_threads: Callable[[int], Any], n_threads: int, *, shared: bool) -> None:
    """Limit one pool until the last context ends."""
    set_threads(1)
    _limits.lift.callback(set_threads, n_threads)
    _limits.n_shared += shared
