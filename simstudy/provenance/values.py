"""Values as text by type and content, the same in every process."""

import ctypes
import functools
import hashlib
import inspect
import io
import math
import random
import re
import struct
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path, PurePath
from types import EllipsisType, NoneType, NotImplementedType
from typing import Any

import numpy as np


class UnknownValueError(TypeError):
    """A value is not plain data."""


ATOMS = (NoneType, bool, int, float, complex, str, bytes, EllipsisType, NotImplementedType)
REPR_MODULES = ("datetime", "decimal", "fractions", "uuid", "zoneinfo")  # reprs are complete
CONTAINERS = (tuple, list, set, frozenset, dict)
_FRAMES = """
DataFrame Series Index RangeIndex MultiIndex Categorical DatetimeIndex CategoricalIndex Table
LazyFrame
"""
FRAMES = frozenset(_FRAMES.split())


def hash_of(content: str | bytes, n_hex: int = 16) -> str:
    """Return `#` and the first hexadecimal digits of a hash."""
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    return "#" + hashlib.sha256(data).hexdigest()[:n_hex]


# ---------------------------------------------------------------- plain values
def plain_token(value: Any, inner: Callable[[Any], str]) -> str:
    """Make the text of a plain value.

    Parameters
    ----------
    inner
        Function that makes the text of an item of a container.

    Raises
    ------
    UnknownValueError
        For anything but numbers, text, arrays, frames, and containers.
    """
    kind = type(value)
    if kind is float and math.isnan(value):
        return f"float nan {struct.pack('<d', value).hex()}"  # NaNs have signs, but one repr
    if kind in ATOMS:
        text = repr(value)
        return f"{kind.__name__} {text if len(text) < 200 else hash_of(text, 32)}"
    if kind in CONTAINERS:
        return _held_by(value, kind, inner)
    return _token_of_data(value, kind, inner)


def _held_by(value: Any, kind: type, inner: Callable[[Any], str]) -> str:
    """Describe the content of a built-in container or of a subclass."""
    if issubclass(kind, dict):
        pairs = [(key, dict.__getitem__(value, key)) for key in dict.__iter__(value)]
        parts = [f"{inner(key)}:{inner(part)}" for key, part in pairs]
    else:  # a subclass may have another __iter__
        base = next(base for base in CONTAINERS if issubclass(kind, base))
        parts = [inner(part) for part in tuple(base.__iter__(value))]
        parts = sorted(parts) if issubclass(kind, set | frozenset) else parts
    return f"{kind.__name__}[{','.join(parts)}]"


def inherited_content(value: Any, inner: Callable[[Any], str]) -> str:
    """Describe the content that an instance has through a built-in base class."""
    if isinstance(value, CONTAINERS):
        return _held_by(value, type(value), inner)
    for atom in (bool, int, float, complex, str, bytes):
        if isinstance(value, atom):
            return f"{atom.__name__} {atom.__repr__(value)}"
    if isinstance(value, np.ndarray):
        return _token_of_array(np.asarray(value), inner)
    return ""


def _token_of_data(value: Any, kind: type, inner: Callable[[Any], str]) -> str:
    if kind is np.ndarray:
        return _token_of_array(value, inner)
    if isinstance(value, np.generic):
        return f"{_type_of(value.dtype)} {value.tobytes().hex()}"
    if kind is re.Pattern:
        return f"pattern {value.pattern!r} {value.flags}"
    if isinstance(value, np.dtype):
        return f"dtype {_type_of(value)}"
    if kind in (range, slice) or kind.__module__ in REPR_MODULES or isinstance(value, PurePath):
        return f"{kind.__qualname__} {value!r}"
    if kind is np.ufunc and _is_known(value):
        return f"ufunc {value.__name__}"
    if kind.__name__ in FRAMES and top_of(kind) in ("pandas", "pyarrow", "polars"):
        return f"{kind.__qualname__} {_hash_of_frame(value)}"
    raise UnknownValueError(repr(kind))


def top_of(kind: type) -> str:
    """Return the package of a type; in types made by Cython 3.1.0, `__module__` is no text."""
    return str(kind.__module__).split(".")[0]


def _is_known(ufunc: np.ufunc) -> bool:
    """Whether a ufunc is one of NumPy or SciPy, not made from a Python function."""
    homes = (np, sys.modules.get("scipy.special"))
    return any(getattr(home, ufunc.__name__, None) is ufunc for home in homes)


def _type_of(dtype: np.dtype) -> str:
    return repr(dtype.descr) if dtype.names else dtype.str


def _token_of_array(array: np.ndarray, inner: Callable[[Any], str]) -> str:
    if array.dtype.hasobject:
        held = hash_of(",".join(map(inner, array.ravel().tolist())), 32)
    else:
        held = hash_of(np.ascontiguousarray(array).tobytes(), 32)
    return f"array {_type_of(array.dtype)} {array.shape} {held}"


def _hash_of_frame(frame: Any) -> str:
    """Hash a table: columns by name, type and value, index, attributes."""
    import joblib

    return str(joblib.hash(frame.to_pandas() if hasattr(frame, "to_pandas") else frame))


# ---------------------------------------------------------------- content of objects
def attributes(value: object) -> Mapping[str, Any]:
    """Return the stored attributes of an object, without calling its code."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, Mapping) else {}


def state_of(value: object) -> dict[str, Any]:
    """Return the fields of an instance in `__dict__` and slots, without cached properties."""
    found: Any = object.__getstate__(value)
    held, slots = found if isinstance(found, tuple) else (found, None)
    kind = type(value)
    return {
        name: field
        for name, field in (*sorted((held or {}).items()), *(slots or {}).items())
        if not isinstance(inspect.getattr_static(kind, name, None), functools.cached_property)
    }


CACHED = type(functools.cache(lambda: None))

CONTENTS: dict[Any, Callable[[Any], tuple[Any, ...]]] = {
    functools.partial: lambda value: (value.func, value.args, value.keywords),
    functools.cached_property: lambda value: (value.func,),
    property: lambda value: (value.fget, value.fset, value.fdel),
    (staticmethod, classmethod): lambda value: (value.__func__,),
    CACHED: lambda value: (value.__wrapped__,),
    types.MethodType: lambda value: (value.__func__, value.__self__),
    types.MappingProxyType: lambda value: (dict(value),),
    (io.StringIO, io.BytesIO): lambda value: (value.getvalue(), value.tell()),
    weakref.ref: lambda value: (value(),),
    ContextVar: lambda value: (value.name, value.get()),
    ctypes.CDLL: lambda value: (_bytes_of(str(value._name)),),
}
"""Functions that read the content of objects whose state does not show it, by type."""


def _bytes_of(file: str) -> object:
    return Path(file).read_bytes() if Path(file).is_file() else file


def content_of(value: object) -> tuple[Any, ...] | None:
    """Return the content of an object of a type in `CONTENTS`; None for other objects."""
    read = next((read for kinds, read in CONTENTS.items() if isinstance(value, kinds)), None)
    return None if read is None else read(value)


GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
"""Random generators, whose state cannot be compared: libraries seed theirs anew."""

_PARTS_OF_A_PROCESS = """
_thread.lock _thread.RLock threading.Thread logging.Logger logging.Handler _io._IOBase
_socket.socket concurrent.futures._base.Executor argparse._ActionsContainer
multiprocessing.pool.Pool subprocess.Popen
"""
NO_NUMBER = frozenset(_PARTS_OF_A_PROCESS.split())
"""Types whose objects (locks, files, executors, parsers) change no number, with subtypes."""


def moves_no_number(value: object) -> bool:
    """Whether an object is a lock, a file, or another part of a process."""
    names = {f"{base.__module__}.{base.__qualname__}" for base in type(value).__mro__}
    return not NO_NUMBER.isdisjoint(names)
