"""Figures any study can use: tidy frame in, figure out, Monte Carlo error in view, nothing hidden.

Importing this package, or a function from it, imports no plotting library: the first figure drawn
does.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simstudy.figures.agreement import agreement_plot
    from simstudy.figures.calibration import calibration_plot
    from simstudy.figures.curves import measure_curves
    from simstudy.figures.heat_map import heat_map_plot
    from simstudy.figures.lolly import lolly_plot
    from simstudy.figures.nested_loop import nested_loop_plot
    from simstudy.figures.running import running_plot
    from simstudy.figures.save import SavedFigure, save_figure
    from simstudy.figures.theme import (
        scale_color_sequential,
        scale_color_study,
        scale_fill_sequential,
        scale_fill_study,
        scale_shape_study,
        theme_study,
    )
    from simstudy.figures.zip import zip_plot

__all__ = [
    "SavedFigure",
    "agreement_plot",
    "calibration_plot",
    "heat_map_plot",
    "lolly_plot",
    "measure_curves",
    "nested_loop_plot",
    "running_plot",
    "save_figure",
    "scale_color_sequential",
    "scale_color_study",
    "scale_fill_sequential",
    "scale_fill_study",
    "scale_shape_study",
    "theme_study",
    "zip_plot",
]

_HOME = {"SavedFigure": "save", "measure_curves": "curves", "save_figure": "save"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_home(name)}"), name)


def _home(name: str) -> str:
    """The module of a name: its own, or the one that it is named after."""
    is_look = name.startswith(("scale_", "theme_"))
    return "theme" if is_look else _HOME.get(name, name.removesuffix("_plot"))


def __dir__() -> list[str]:
    return sorted(__all__)
