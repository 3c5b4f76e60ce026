"""Objects by their class and what they hold: also those that stand for functions."""

import contextvars
import ctypes
import enum
import functools
import hashlib
import secrets
import threading
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

from simstudy.identity.fingerprint.modules.places import is_project, source_file
from simstudy.identity.fingerprint.objects import (
    BUILT_IN,
    CACHED,
    class_attribute,
    is_global_generator,
    is_random,
    module_of,
    python_of,
    state_of,
)
from simstudy.identity.fingerprint.plain_values import inherited_content
from simstudy.identity.fingerprint.walk.functions import function_token
from simstudy.identity.fingerprint.walk.notes import Walk
from simstudy.identity.fingerprint.walk.wholes import whole, whole_or_library

_ENUMS_OWN = {"_value_", "_name_", "__objclass__", "_sort_order_", "__order__"}


def instance_token(walk: Walk, value: object, where: str) -> str:
    """Any object that is neither plain, nor a function of Python, a class or a module."""
    if isinstance(value, BUILT_IN):
        return _built_in(walk, value, where)
    if isinstance(value, MethodType):
        function, owner = (walk.token(part, where) for part in (value.__func__, value.__self__))
        return f"<{function} of {owner}>"
    if isinstance(value, ctypes.CDLL):
        return _shared_library(value)
    compiled = python_of(value)
    if compiled is not None:
        return _dispatcher(walk, value, compiled)
    parts = _wrapped(walk, value)
    if parts is not None:
        return f"<{type(value).__qualname__} {walk.tokens(parts, where)}>"
    return _by_state(walk, value, where)


# ---------------------------------------------------------------- what stands for functions
def _built_in(walk: Walk, value: Any, where: str) -> str:
    """A function without Python code; one of a compiled module of the project, by its file."""
    module = str(getattr(value, "__module__", None) or "")
    owner = getattr(value, "__self__", None)
    is_bound = not (owner is None or isinstance(owner, ModuleType))
    bound = walk.token(owner, where) if is_bound else ""
    whole_or_library(walk, module)
    return f"<{module}.{value.__qualname__} {bound}>"


def _wrapped(walk: Walk, value: object) -> tuple[object, ...] | None:
    """What is inside an object that stands for functions, or for a value; None where it is none."""
    if isinstance(value, functools.partial | functools.partialmethod):
        return value.func, value.args, value.keywords
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, staticmethod | classmethod):
        return (value.__func__,)
    if isinstance(value, functools.cached_property):
        return (value.func,)
    if isinstance(value, functools.singledispatchmethod):
        return value.dispatcher, value.func
    if isinstance(value, CACHED):
        walk.remembering.append(value)
        return value.__wrapped__, value.cache_parameters()
    if isinstance(value, contextvars.ContextVar):
        return value.name, value.get(None)
    return (type(value), dict(vars(value))) if isinstance(value, threading.local) else None


def _shared_library(library: ctypes.CDLL) -> str:
    path = Path(str(library._name))
    content = path.read_bytes() if path.is_file() else str(path).encode()
    return f"<shared library {hashlib.sha256(content).hexdigest()}>"


def _dispatcher(walk: Walk, value: object, function: FunctionType) -> str:
    """Compiled code: its function, how it is compiled, and the whole of its module."""
    module = module_of(function)
    walk.library("numba")
    walk.library("llvmlite")
    if source_file(module) is not None:
        whole(walk, module)
    walk.compiled[f"{module}.{function.__qualname__}"] = value
    options = getattr(value, "targetoptions", {})
    shown = sorted((name, repr(option)) for name, option in options.items())
    return f"<compiled {function_token(walk, function)} {shown}>"


# ---------------------------------------------------------------- by what they hold
def _by_state(walk: Walk, value: object, where: str) -> str:
    """An object by its class and what it holds, wherever its class comes from."""
    kind = type(value)
    name = walk.token(kind, where)
    if is_random(kind):
        return _without_content(walk, value, where, name)
    name += f".{value.name}" if isinstance(value, enum.Enum) else ""
    held = inherited_content(value, lambda inner: walk.token(inner, where))
    inner = {field: walk.token(part, where) for field, part in _state(value).items()}
    if inner or isinstance(value, enum.Enum) or is_project(kind.__module__):
        return f"<{name} {held} {inner}>"
    return _reduced(walk, value, where, name)


def _state(value: object) -> dict[str, object]:
    """Fields, without what an object works out once, and what every enum's member has."""
    kind, state = type(value), dict(state_of(value))
    skipped = {n for n in state if isinstance(class_attribute(kind, n), functools.cached_property)}
    skipped |= _ENUMS_OWN if isinstance(value, enum.Enum) else set()
    return {name: part for name, part in state.items() if name not in skipped}


def _reduced(walk: Walk, value: object, where: str, name: str) -> str:
    """An object written in C, by what it would be made anew from."""
    try:
        parts = value.__reduce_ex__(4)
    except Exception:  # whatever a library's reduction raises
        return _without_content(walk, value, where, name)
    if isinstance(parts, str):
        return f"<{name} {parts}>"
    rest = [list(part) if hasattr(part, "__next__") else part for part in parts[1:]]
    return f"<{name} {walk.tokens(rest, where)}>"


def _without_content(walk: Walk, value: object, where: str, name: str) -> str:
    """Where a source says how it was made, that source; else it counts as changed."""
    if is_global_generator(value):
        return f"<{name} of everybody>"
    module = where.partition(":")[0]
    if source_file(module) is not None:
        whole(walk, module)
        return f"<{name}>"
    walk.unfollowed[where.replace(":", ".")] = name.strip("<>")
    return f"<{name} {'' if walk.without_main else secrets.token_hex(8)}>"
