"""Plain values by content: type and value, the same text in every process."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from types import EllipsisType, NoneType, NotImplementedType
from typing import Any

import numpy as np


class UnknownValueError(TypeError):
    """No plain value."""


ATOMS = (NoneType, bool, int, float, complex, str, bytes, EllipsisType, NotImplementedType)
SHOWN = ("datetime", "decimal", "fractions", "uuid", "zoneinfo")  # modules whose reprs say it all
FRAMES = ("DataFrame", "Series", "Index", "RangeIndex", "MultiIndex", "Categorical",
          "DatetimeIndex", "CategoricalIndex", "Table", "LazyFrame")  # fmt: skip


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
    if kind in ATOMS:
        text = repr(value)
        return f"{kind.__name__} {text if len(text) < 200 else _digest(text.encode())}"
    if kind in (tuple, list):
        return f"{kind.__name__}[{','.join(map(inner, value))}]"
    if kind in (set, frozenset):
        return f"{kind.__name__}{{{','.join(sorted(map(inner, value)))}}}"
    if isinstance(value, Mapping) and _is_plain_mapping(kind):
        pairs = (f"{inner(key)}:{inner(one)}" for key, one in list(value.items()))
        return f"{kind.__name__}{{{','.join(pairs)}}}"
    return _token_of_data(value, kind, inner)


def _is_plain_mapping(kind: type) -> bool:
    return kind.__module__ in ("builtins", "collections") and kind.__name__ != "UserDict"


def _token_of_data(value: Any, kind: type, inner: Callable[[Any], str]) -> str:
    if kind is np.ndarray:
        return _token_of_array(value, inner)
    if isinstance(value, np.generic):
        return f"{value.dtype.str} {value!r}"
    if kind in (range, slice, np.dtype) or kind.__module__ in SHOWN:
        return f"{kind.__qualname__} {value!r}"
    if isinstance(value, PurePath | re.Pattern):
        return f"{kind.__name__} {value!r}"
    if kind is np.ufunc:
        return f"ufunc {value.__name__}"
    if kind.__name__ in FRAMES and kind.__module__.split(".")[0] in ("pandas", "pyarrow", "polars"):
        return f"{kind.__qualname__} {_digest_of_frame(value, inner)}"
    raise UnknownValueError(repr(kind))


def _token_of_array(array: np.ndarray, inner: Callable[[Any], str]) -> str:
    if array.dtype.hasobject:
        held = _digest(",".join(map(inner, array.ravel().tolist())).encode())
    else:
        held = _digest(np.ascontiguousarray(array).tobytes())
    return f"array {array.dtype.str} {array.shape} {held}"


def _digest_of_frame(value: Any, inner: Callable[[Any], str]) -> str:
    """Of a table: what its columns hold, by name, type and value."""
    if hasattr(value, "to_pandas") and not hasattr(value, "index"):
        value = value.to_pandas()
    if hasattr(value, "columns"):
        names = [inner(value.index), inner(value.columns)]
        parts: Iterable[Any] = (value.iloc[:, i] for i in range(value.shape[1]))
        return _digest("|".join([*names, *(_digest_of_frame(p, inner) for p in parts)]).encode())
    said = [str(value.dtype), str(getattr(value, "name", ""))]
    if hasattr(value, "index") and not callable(value.index):
        said.append(inner(value.index))
    return _digest("|".join([*said, inner(np.asarray(value))]).encode())


def _digest(content: bytes) -> str:
    return "#" + hashlib.sha256(content).hexdigest()[:32]
