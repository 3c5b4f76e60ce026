"""A copy of a matplotlib Figure, of which neither its owner nor pyplot notices anything."""

from __future__ import annotations

import pickle
from io import BytesIO
from types import FunctionType, ModuleType
from typing import Any


def copy_of(figure: Any) -> Any:
    """A Figure that can be changed while the one it was copied from stays as it is.

    Parameters
    ----------
    figure
        A matplotlib Figure. Functions and classes that it refers to, such as a formatter of its
        axes, are shared. A copy of pyplot's own figures is none of pyplot's.
    """
    shared: list[Any] = []

    class Out(pickle.Pickler):
        def persistent_id(self, obj: Any) -> int | None:
            if not isinstance(obj, FunctionType | ModuleType | type):
                return None
            shared.append(obj)
            return len(shared) - 1

    class Back(pickle.Unpickler):
        def persistent_load(self, pid: int) -> Any:
            return shared[pid]

    content = BytesIO()
    canvas = figure.canvas
    manager, canvas.manager = canvas.manager, None  # by which a copy would be shown beside it
    try:
        Out(content, protocol=pickle.HIGHEST_PROTOCOL).dump(figure)
    finally:
        canvas.manager = manager
    content.seek(0)
    return Back(content).load()
