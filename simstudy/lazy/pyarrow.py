"""pyarrow's compute functions: thirty milliseconds of registering them."""

from typing import TYPE_CHECKING

from simstudy.lazy import LazyModule

__all__ = ["pc"]

if TYPE_CHECKING:
    import pyarrow.compute as pc
else:
    pc = LazyModule("pyarrow.compute")
