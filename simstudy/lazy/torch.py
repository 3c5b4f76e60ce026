"""torch: a second that a run without networks does not pay, and a package that few need."""

from typing import TYPE_CHECKING

from simstudy.lazy import LazyModule

__all__ = ["torch"]

if TYPE_CHECKING:
    import torch
else:
    torch = LazyModule("torch")
