"""plotnine: half a second that a run without figures does not pay."""

from typing import TYPE_CHECKING, Any

from simstudy.lazy import LazyModule

__all__ = ["ggplot", "p9"]

if TYPE_CHECKING:
    import plotnine as p9
    from plotnine import ggplot
else:
    p9 = LazyModule("plotnine")
    ggplot = Any  # as a return type only: naming the class would import it
