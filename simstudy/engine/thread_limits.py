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
from functools import partial
from typing import Any

from simstudy.provenance.policy import THREAD_VARIABLES

_lock = threading.RLock()
_lift = contextlib.ExitStack()  # restores the settings when the last holder leaves
_n_holders = 0
_of_thread = threading.local()  # the libraries that were loaded when a thread last looked


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """Limit all thread pools to one thread within this context.

    Contexts may be nested, and several threads may enter them at once: the last one to leave
    restores the settings. A library that read its variable within keeps one thread.
    """
    global _n_holders
    with _lock:
        if not _n_holders:
            before = {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}
            _lift.callback(os.environ.update, before)
            for name in THREAD_VARIABLES:
                _lift.callback(os.environ.pop, name, None)
                os.environ[name] = "1"
        _n_holders += 1
    try:
        limit_pools()
        yield
    finally:
        with _lock:
            _n_holders -= 1
            if not _n_holders:
                _lift.close()


def limit_pools() -> bool:
    """Limit the thread pools of loaded libraries, if one was loaded since this thread last did.

    The check takes one or two milliseconds.

    Returns
    -------
    bool
        Whether a pool had more than one thread.
    """
    own, loaded = vars(_of_thread), libraries_loaded()
    if own.get("loaded") == loaded:
        return False
    from threadpoolctl import ThreadpoolController

    with _lock:
        pools = ThreadpoolController().lib_controllers
        found = [(partial(_set_native, pool), pool.num_threads or 1) for pool in pools]
        for name, running in (("numba", "threading_layer"), ("torch", "get_num_threads")):
            library: Any = sys.modules.get(name)
            with contextlib.suppress(AttributeError, ValueError):  # absent, or its pool is not
                getattr(library, running)()
                found.append((library.set_num_threads, library.get_num_threads()))
        wide = [(set_threads, n_threads) for set_threads, n_threads in found if n_threads > 1]
        for set_threads, n_threads in wide:
            set_threads(1)
            _lift.callback(set_threads, n_threads)
        own["loaded"] = loaded
        _lift.callback(own.pop, "loaded", None)
    return bool(wide)


def libraries_loaded() -> object:
    """Return a value that changes when a library is loaded: the size of all mapped code.

    Linux provides it within microseconds. Elsewhere it is the number of Python's modules.
    """
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as file:
        _, label, rest = file.read().partition(b"VmLib:")
        if label:
            return rest.partition(b"\n")[0]
    return len(sys.modules)


def _set_native(pool: Any, n_threads: int) -> None:
    """Set the number of threads; OpenBLAS otherwise accepts it only from the first thread."""
    release = getattr(pool, "clear_controlling_thread", lambda **_: None)
    release(force=True)
    pool.set_num_threads(n_threads)
    release(force=True)
