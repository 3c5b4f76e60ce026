"""Figures for any study: a tidy frame in, a plot with Monte Carlo errors out.

Plotting libraries are imported when the first figure is drawn.
"""

from typing import TYPE_CHECKING

from simstudy.lazy import exports

if TYPE_CHECKING:
    from simstudy.figures.agreement import agreement_plot as agreement_plot
    from simstudy.figures.agreement import format_mean as format_mean
    from simstudy.figures.captions import caption as caption
    from simstudy.figures.curves import measure_curves as measure_curves
    from simstudy.figures.distributions import counts_with_law as counts_with_law
    from simstudy.figures.distributions import density_plot as density_plot
    from simstudy.figures.distributions import law_histogram as law_histogram
    from simstudy.figures.distributions import rank_plot as rank_plot
    from simstudy.figures.dots import dots_plot as dots_plot
    from simstudy.figures.estimate_plots import errors_plot as errors_plot
    from simstudy.figures.estimate_plots import estimates_plot as estimates_plot
    from simstudy.figures.frame import in_order as in_order
    from simstudy.figures.frame import rows_like as rows_like
    from simstudy.figures.frame import with_labels as with_labels
    from simstudy.figures.nested_loop import nested_loop_plot as nested_loop_plot
    from simstudy.figures.save import SavedFigure as SavedFigure
    from simstudy.figures.save import save_figure as save_figure
    from simstudy.figures.theme import colors_of as colors_of
    from simstudy.figures.theme import theme_study as theme_study
    from simstudy.figures.trade_off import trade_off_plot as trade_off_plot
    from simstudy.figures.zip import zip_plot as zip_plot

# exported names, by module
_NAMES = {
    "agreement": ("agreement_plot", "format_mean"),
    "captions": ("caption",),
    "curves": ("measure_curves",),
    "distributions": ("counts_with_law", "density_plot", "law_histogram", "rank_plot"),
    "dots": ("dots_plot",),
    "frame": ("in_order", "rows_like", "with_labels"),
    "nested_loop": ("nested_loop_plot",),
    "estimate_plots": ("errors_plot", "estimates_plot"),
    "save": ("SavedFigure", "save_figure"),
    "theme": ("colors_of", "theme_study"),
    "trade_off": ("trade_off_plot",),
    "zip": ("zip_plot",),
}

__getattr__, __dir__ = exports(__name__, _NAMES)
__all__ = __dir__()
