"""Array shapes in annotations, checked at run time where jaxtyping is imported first.

Elsewhere they are words for the reader and for mypy: a run need not wait for the library that would
check them. `stated` reads them back in either case, for whoever checks arguments of its own.
"""

import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

__all__ = ["Bool", "Float", "Int", "Int64", "Shaped", "UInt16", "UInt32", "UInt64"]


class Stated(NamedTuple):
    """What an annotation says of an array: "Float", say, and "rep obs"."""

    kind: str
    axes: str


class _Words:
    """`Float[np.ndarray, "rep obs"]` is `np.ndarray` with a note of kind and axes."""

    def __class_getitem__(cls, spec: tuple[Any, str]) -> Any:
        return Annotated[spec[0], Stated(cls.__name__, spec[1])]


if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int, Int64, Shaped, UInt16, UInt32, UInt64
else:
    Bool, Float, Int, Int64, Shaped, UInt16, UInt32, UInt64 = (
        type(name, (_Words,), {}) for name in __all__
    )


def stated(annotation: Any) -> Stated | None:
    """Kind and axes of an annotated array; None of anything else."""
    for note in getattr(annotation, "__metadata__", ()):
        if isinstance(note, Stated):
            return note
    axes = getattr(annotation, "dim_str", None)  # of jaxtyping's
    return None if axes is None else Stated(annotation.dtype.__name__, axes)
