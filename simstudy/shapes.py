"""Shapes in annotations: executed where jaxtyping was imported first, as our tests do.

Elsewhere they are words for the reader and for mypy: a run checks no shapes, and need not wait for
the library that would.
"""

import sys
from typing import TYPE_CHECKING, Any

__all__ = ["Bool", "Float", "Int", "Int64", "Shaped", "UInt16", "UInt32", "UInt64"]


class _Words:
    """`Float[np.ndarray, "rep obs"]` is `np.ndarray` to anyone who asks at run time."""

    def __class_getitem__(cls, said: tuple[Any, str]) -> Any:
        return said[0]


if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int, Int64, Shaped, UInt16, UInt32, UInt64
else:
    Bool = Float = Int = Int64 = Shaped = UInt16 = UInt32 = UInt64 = _Words
