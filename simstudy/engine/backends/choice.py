"""From the name of a backend to the backend, with what it is told beside."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from simstudy.engine.backends.dask import Dask
from simstudy.engine.backends.processes import Processes
from simstudy.engine.backends.protocol import Backend
from simstudy.engine.backends.threads import Threads
from simstudy.engine.workers import Workers
from simstudy.errors import ConfigError, describe, nearest

OURS = ("n_workers", "expected")  # what a backend is told by the engine, if it asks for it


def backend_of(workers: Workers, expected: str) -> Backend:
    """The backend that workers are, where they are not this process.

    Parameters
    ----------
    expected
        Hash of the code that workers must have loaded.

    Raises
    ------
    ConfigError
        Where there is none of that name, or it cannot be told what it is to be told.
    """
    make = maker_of(workers)
    names = _parameters(make)
    ours = {"n_workers": workers.count, "expected": expected}
    told = {name: value for name, value in ours.items() if name in names}
    return _made(workers.backend, partial(make, **told, **workers.options))


def maker_of(workers: Workers) -> Callable[..., Backend]:
    """What makes the backend that workers are, and takes each of their options.

    Raises
    ------
    ConfigError
        Where there is none of that name, or it has no such option.
    """
    known: Mapping[str, Callable[..., Backend]] = {"threads": Threads, "dask": Dask}
    if ":" in workers.backend:
        make = _class_at(workers.backend)
    else:
        make = known.get(workers.backend, Processes)
    names = set(_parameters(make)) - set(OURS)
    for name in workers.options:
        if name not in names:
            raise ConfigError(
                f"backend.{name}: backend {workers.backend} has no such setting; "
                + nearest(name, names)
            )
    return make


def _class_at(place: str) -> Callable[..., Backend]:
    module, _, kind = place.partition(":")
    try:
        found: Callable[..., Backend] = getattr(importlib.import_module(module), kind)
    except Exception as error:  # whatever a module raises that cannot be imported
        raise ConfigError(
            f"backend={place} cannot be imported: {describe(error)}. Name a class of a module that "
            "Python finds, as module:Class."
        ) from error
    if not hasattr(found, "receipts"):
        raise ConfigError(
            f"backend={place} has no method receipts, which turns tasks into receipts: see "
            "simstudy.engine.backends.protocol.Backend."
        )
    return found


def _parameters(make: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(make).parameters)


def _made(name: str, make: Callable[[], Backend]) -> Backend:
    try:
        return make()
    except ConfigError:  # which says it already
        raise
    except Exception as error:  # whatever a backend makes of its settings
        raise ConfigError(f"backend={name} cannot be started: {describe(error)}") from error
