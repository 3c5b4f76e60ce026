"""Figures for any study: a tidy frame in, a plot with Monte Carlo errors out.

Plotting libraries are imported when the first figure is drawn.
"""

from simstudy.figures.agreement import agreement_plot, format_mean
from simstudy.figures.captions import caption
from simstudy.figures.curves import measure_curves
from simstudy.figures.distributions import density_plot, rank_plot
from simstudy.figures.dots import dots_plot, trade_off_plot
from simstudy.figures.estimate_plots import errors_plot, estimates_plot, zip_plot
from simstudy.figures.frame import in_order, rows_like, with_labels
from simstudy.figures.nested_loop import nested_loop_plot
from simstudy.figures.save import SavedFigure, save_figure
from simstudy.figures.theme import colors_of, theme_study

__all__ = [
    "SavedFigure",
    "agreement_plot",
    "caption",
    "colors_of",
    "density_plot",
    "dots_plot",
    "errors_plot",
    "estimates_plot",
    "format_mean",
    "in_order",
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
