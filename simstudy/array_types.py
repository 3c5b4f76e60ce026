"""Array shapes in annotations, checked at run time if jaxtyping is imported first.

Otherwise they only inform readers and mypy, so that a run does not wait for the import of the
library that checks them. `stated` reads them in both cases, for code that checks its own arguments.
"""

import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

__all__ = ["Bool", "Float", "Int", "Int64", "Shaped", "UInt16", "UInt32", "UInt64"]


class Stated(NamedTuple):
    """Kind and axes of an array in an annotation, such as "Float" and "rep obs"."""

    kind: str
    axes: str


class _Unchecked:
    """An annotation without a check: `np.ndarray` with kind and axes as metadata."""

    def __class_getitem__(cls, spec: tuple[Any, str]) -> Any:
        return Annotated[spec[0], Stated(cls.__name__, spec[1])]


if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int, Int64, Shaped, UInt16, UInt32, UInt64
else:
    Bool, Float, Int, Int64, Shaped, UInt16, UInt32, UInt64 = (
        type(name, (_Unchecked,), {}) for name in __all__
    )


def stated(annotation: Any) -> Stated | None:
    """Return kind and axes of an annotated array; None for other annotations."""
    for note in getattr(annotation, "__metadata__", ()):
        if isinstance(note, Stated):
            return note
    axes = getattr(annotation, "dim_str", None)  # set by jaxtyping
    return None if axes is None else Stated(annotation.dtype.__name__, axes)
