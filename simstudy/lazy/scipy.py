"""SciPy's special functions and distributions: a tenth of a second, and twice that."""

from typing import TYPE_CHECKING

from simstudy.lazy import LazyModule

__all__ = ["special", "stats"]

if TYPE_CHECKING:
    from scipy import special, stats
else:
    special = LazyModule("scipy.special")
    stats = LazyModule("scipy.stats")
