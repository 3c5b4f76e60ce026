"""plotnine at its first use: half a second that a run without figures does not pay."""

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["LazyModule", "ggplot", "p9"]


class LazyModule:
    """A module that is imported when one of its names is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


if TYPE_CHECKING:
    import plotnine as p9
    from plotnine import ggplot
else:
    p9 = LazyModule("plotnine")
    ggplot = Any  # as a return type only: naming the class would import it
