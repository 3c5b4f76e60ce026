"""What a process has read, kept at hand: the latest, as far as there is room for it."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

KEPT_BYTES = 1 << 30  # in each process; the latest is kept whatever its size

Content = TypeVar("Content", bound="np.ndarray | bytes | pd.DataFrame")

_lock = threading.RLock()
_cache: "OrderedDict[Hashable, tuple[object, int]]" = OrderedDict()


def kept(key: Hashable, load: Callable[[], Content]) -> Content:
    """What was loaded under this key, or is now; the longest unused is forgotten.

    A key with an option in it that cannot be looked up keeps nothing.
    """
    with _lock:
        try:
            known = key in _cache
        except TypeError:  # not hashable after all
            return load()
        if not known:
            content = load()
            _cache[key] = content, _size(content)
            _forget()
        _cache.move_to_end(key)
        return cast(Content, _cache[key][0])


def _forget() -> None:
    size = sum(size for _, size in _cache.values())
    while len(_cache) > 1 and size > KEPT_BYTES:
        size -= _cache.popitem(last=False)[1][1]


def _size(content: "np.ndarray | bytes | pd.DataFrame") -> int:
    if isinstance(content, np.ndarray):
        return content.nbytes
    if isinstance(content, bytes):
        return len(content)
    return int(content.memory_usage(deep=True).sum())


def frozen(value: object) -> tuple[object, ...]:
    """A key for options: by value and type, since 0 and False say different things to pandas."""
    if isinstance(value, dict):
        return tuple((name, frozen(option)) for name, option in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(map(frozen, value))
    return type(value), value
