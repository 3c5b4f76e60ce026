"""Plain values by content: type and value, the same text in every process."""

import hashlib
import math
import re
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import PurePath
from types import EllipsisType, NoneType, NotImplementedType
from typing import Any

import numpy as np


class UnknownValueError(TypeError):
    """No plain value."""


ATOMS = (NoneType, bool, int, float, complex, str, bytes, EllipsisType, NotImplementedType)
SHOWN = ("datetime", "decimal", "fractions", "uuid", "zoneinfo")  # modules whose reprs say it all
CONTAINERS = (tuple, list, set, frozenset, dict)
_FRAMES = """
DataFrame Series Index RangeIndex MultiIndex Categorical DatetimeIndex CategoricalIndex Table
LazyFrame
"""
FRAMES = frozenset(_FRAMES.split())


def plain_token(value: Any, inner: Callable[[Any], str]) -> str:
    """A value's text.

    Parameters
    ----------
    inner
        Gives the text of what a container holds.

    Raises
    ------
    UnknownValueError
        For anything but numbers, text, arrays, frames, and containers.
    """
    kind = type(value)
    if kind is float and math.isnan(value):
        return f"float nan {struct.pack('<d', value).hex()}"  # they have signs, and are shown alike
    if kind in ATOMS:
        text = repr(value)
        return f"{kind.__name__} {text if len(text) < 200 else _digest(text.encode())}"
    if kind in CONTAINERS:
        return held_by(value, kind, inner)
    return _token_of_data(value, kind, inner)


def held_by(value: Any, kind: type, inner: Callable[[Any], str]) -> str:
    """What a container, number or text of a built-in kind holds; also of one that inherits."""
    if issubclass(kind, tuple | list):
        parts = ",".join(map(inner, tuple(_iterated(value, kind))))
    elif issubclass(kind, set | frozenset):
        parts = ",".join(sorted(map(inner, tuple(_iterated(value, kind)))))
    else:
        pairs = [(key, dict.__getitem__(value, key)) for key in dict.__iter__(value)]
        parts = ",".join(f"{inner(key)}:{inner(part)}" for key, part in pairs)
    return f"{kind.__name__}[{parts}]"


def _iterated(value: Any, kind: type) -> Iterable[Any]:
    base = next(base for base in (tuple, list, set, frozenset) if issubclass(kind, base))
    return base.__iter__(value)  # a subclass may say something else


def inherited_content(value: Any, inner: Callable[[Any], str]) -> str:
    """What an instance holds by way of a built-in kind that its class inherits from."""
    for base in (tuple, list, set, frozenset, dict):
        if isinstance(value, base):
            return held_by(value, type(value), inner)
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
    if kind in (range, slice) or kind.__module__ in SHOWN or isinstance(value, PurePath):
        return f"{kind.__qualname__} {value!r}"
    if kind is np.ufunc and _is_known(value):
        return f"ufunc {value.__name__}"
    if kind.__name__ in FRAMES and kind.__module__.split(".")[0] in ("pandas", "pyarrow", "polars"):
        return f"{kind.__qualname__} {_digest_of_frame(value, inner)}"
    raise UnknownValueError(repr(kind))


def _is_known(ufunc: np.ufunc) -> bool:
    """Whether a ufunc is NumPy's or SciPy's, and not one that was made of a Python function."""
    homes = (np, sys.modules.get("scipy.special"))
    return any(getattr(home, ufunc.__name__, None) is ufunc for home in homes)


def _type_of(dtype: np.dtype) -> str:
    return repr(dtype.descr) if dtype.names else dtype.str


def _token_of_array(array: np.ndarray, inner: Callable[[Any], str]) -> str:
    if array.dtype.hasobject:
        held = _digest(",".join(map(inner, array.ravel().tolist())).encode())
    else:
        held = _digest(np.ascontiguousarray(array).tobytes())
    return f"array {_type_of(array.dtype)} {array.shape} {held}"


def _digest_of_frame(value: Any, inner: Callable[[Any], str]) -> str:
    """Of a table: what its columns hold, by name, type and value."""
    if hasattr(value, "to_pandas") and not hasattr(value, "index"):
        value = value.to_pandas()
    attrs = inner(dict(getattr(value, "attrs", {})))
    if hasattr(value, "columns"):
        names = [attrs, inner(value.index), inner(value.columns)]
        parts: Iterable[Any] = (value.iloc[:, i] for i in range(value.shape[1]))
        return _digest("|".join([*names, *(_digest_of_frame(p, inner) for p in parts)]).encode())
    said = [attrs, str(value.dtype), str(getattr(value, "name", ""))]
    said.append(str(getattr(value, "names", "")))
    categories = getattr(value.dtype, "categories", None)
    if categories is not None:
        said += [inner(np.asarray(categories)), str(value.dtype.ordered)]
    if hasattr(value, "index") and not callable(value.index):
        said.append(inner(value.index))
    return _digest("|".join([*said, inner(np.asarray(value))]).encode())


def _digest(content: bytes) -> str:
    return "#" + hashlib.sha256(content).hexdigest()[:32]
