"""pandas: more than a tenth of a second that a run without data frames does not pay."""

from typing import TYPE_CHECKING

from simstudy.lazy import LazyModule

__all__ = ["pd"]

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = LazyModule("pandas")
