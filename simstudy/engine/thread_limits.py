"""Limits BLAS, OpenMP, numba and torch to one thread, so that sums do not depend on the cores.

Environment variables set the number for libraries that are loaded later, here and in worker
processes; `threadpoolctl` sets it for those that are loaded. OpenMP and numba have a setting in
each Python thread, so every thread checks its pools before it draws a task, if a library was loaded
since. A task that itself loaded a pool with several threads is drawn again.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

from simstudy.provenance.policy import THREAD_VARIABLES

_lock = threading.RLock()
_lift = ExitStack()  # restores the settings when the last holder leaves
_n_holders = 0
_n_lifted = 0
_seen = threading.local()  # the libraries that a thread has checked


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """Limit all thread pools to one thread within this context.

    Contexts may be nested, and several threads may enter them at once: the last one to leave
    restores the settings. A library that read its variable within keeps one thread.
    """
    global _n_holders, _n_lifted
    with _lock:
        if not _n_holders:
            _lift.callback(_put_back, {name: os.environ.get(name) for name in THREAD_VARIABLES})
            os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
        _n_holders += 1
    try:
        limit_new_pools()
        yield
    finally:
        with _lock:
            _n_holders -= 1
            if not _n_holders:
                _lift.close()
                _n_lifted += 1


def _put_back(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def limit_new_pools() -> bool:
    """Limit thread pools, if a library was loaded or settings were restored since the last time.

    The check takes one or two milliseconds.

    Returns
    -------
    bool
        Whether a pool had more than one thread.
    """
    now = (_n_lifted, libraries_loaded())
    if now == getattr(_seen, "libraries", None):
        return False
    with _lock:
        were_wide = _limit_pools()
    _seen.libraries = now
    return were_wide


def libraries_loaded() -> object:
    """Return a value that changes when a library is loaded: the size of all mapped code.

    Linux provides it within microseconds. Elsewhere it is the number of Python's modules.
    """
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as file:
        _, label, rest = file.read().partition(b"VmLib:")
        if label:
            return rest.partition(b"\n")[0]
    return len(sys.modules)


def _limit_pools() -> bool:
    from threadpoolctl import ThreadpoolController

    pools = ThreadpoolController().lib_controllers
    settings = [(partial(_set_native, pool), pool.num_threads or 1) for pool in pools]
    numba: Any = sys.modules.get("numba")
    with contextlib.suppress(AttributeError, ValueError):  # its pool does not run
        numba.threading_layer()
        settings.append((numba.set_num_threads, numba.get_num_threads()))
    torch: Any = sys.modules.get("torch")
    with contextlib.suppress(AttributeError):
        settings.append((torch.set_num_threads, torch.get_num_threads()))
    wide = [(set_threads, n_threads) for set_threads, n_threads in settings if n_threads > 1]
    for set_threads, n_threads in wide:
        set_threads(1)
        _lift.callback(set_threads, n_threads)
    return bool(wide)


def _set_native(pool: Any, n_threads: int) -> None:
    """Set the number of threads; OpenBLAS otherwise accepts it only from the first thread."""
    is_openblas = hasattr(pool, "clear_controlling_thread")
    if is_openblas:
        pool.clear_controlling_thread(force=True)
    pool.set_num_threads(n_threads)
    if is_openblas:
        pool.clear_controlling_thread(force=True)
