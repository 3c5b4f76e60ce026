"""Figures for any study: a tidy frame in, a plot with Monte Carlo errors out.

Plotting libraries are imported when the first figure is drawn.
"""

from typing import TYPE_CHECKING

from simstudy.lazy import exports

if TYPE_CHECKING:
    from simstudy.figures.agreement import agreement_plot, format_mean
    from simstudy.figures.captions import caption
    from simstudy.figures.curves import measure_curves
    from simstudy.figures.density import density_plot
    from simstudy.figures.dots import dots_plot
    from simstudy.figures.estimate_plots import errors_plot, estimates_plot
    from simstudy.figures.frame import in_order, rows_like, with_labels
    from simstudy.figures.heat_map import heat_map_plot
    from simstudy.figures.histogram import counts_with_law, law_histogram
    from simstudy.figures.nested_loop import nested_loop_plot
    from simstudy.figures.ranks import rank_plot
    from simstudy.figures.save import SavedFigure, save_figure
    from simstudy.figures.theme import colors_of, theme_study
    from simstudy.figures.trade_off import trade_off_plot
    from simstudy.figures.zip import zip_plot

# exported names, by module
_NAMES = {
    "agreement": ("agreement_plot", "format_mean"),
    "captions": ("caption",),
    "curves": ("measure_curves",),
    "density": ("density_plot",),
    "dots": ("dots_plot",),
    "frame": ("in_order", "rows_like", "with_labels"),
    "heat_map": ("heat_map_plot",),
    "histogram": ("counts_with_law", "law_histogram"),
    "nested_loop": ("nested_loop_plot",),
    "ranks": ("rank_plot",),
    "estimate_plots": ("errors_plot", "estimates_plot"),
    "save": ("SavedFigure", "save_figure"),
    "theme": ("colors_of", "theme_study"),
    "trade_off": ("trade_off_plot",),
    "zip": ("zip_plot",),
}

__all__ = [
    "SavedFigure",
    "agreement_plot",
    "caption",
    "colors_of",
    "counts_with_law",
    "density_plot",
    "dots_plot",
    "errors_plot",
    "estimates_plot",
    "format_mean",
    "heat_map_plot",
    "in_order",
    "law_histogram",
    "measure_curves",
    "nested_loop_plot",
    "rank_plot",
    "rows_like",
    "save_figure",
    "theme_study",
    "trade_off_plot",
    "with_labels",
    "zip_plot",
]

__getattr__, __dir__ = exports(__name__, _NAMES)
