"""Array shapes in annotations, checked at run time if jaxtyping is imported first.

Otherwise they only inform readers and mypy, so that a run does not wait for the import of the
library that checks them.
"""

import sys
from typing import TYPE_CHECKING, Annotated, Any

__all__ = ["Bool", "Float", "Int", "Int64", "Shaped", "UInt16", "UInt32", "UInt64"]


class _Unchecked:
    """An annotation without a check: `np.ndarray` with kind and axes as metadata."""

    def __class_getitem__(cls, spec: tuple[Any, str]) -> Any:
        return Annotated[spec[0], cls.__name__, spec[1]]


if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int, Int64, Shaped, UInt16, UInt32, UInt64
else:
    Bool, Float, Int, Int64, Shaped, UInt16, UInt32, UInt64 = (
        type(name, (_Unchecked,), {}) for name in __all__
    )
