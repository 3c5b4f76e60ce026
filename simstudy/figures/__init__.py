"""Figures for any study: a tidy frame in, a plot with Monte Carlo errors out.

Plotting libraries are imported when the first figure is drawn.
"""

from simstudy.figures.agreement import agreement_plot as agreement_plot
from simstudy.figures.agreement import format_mean as format_mean
from simstudy.figures.captions import caption as caption
from simstudy.figures.comparisons import dots_plot as dots_plot
from simstudy.figures.comparisons import nested_loop_plot as nested_loop_plot
from simstudy.figures.comparisons import trade_off_plot as trade_off_plot
from simstudy.figures.curves import measure_curves as measure_curves
from simstudy.figures.frame import in_order as in_order
from simstudy.figures.frame import rows_like as rows_like
from simstudy.figures.frame import with_labels as with_labels
from simstudy.figures.replicates import density_plot as density_plot
from simstudy.figures.replicates import errors_plot as errors_plot
from simstudy.figures.replicates import estimates_plot as estimates_plot
from simstudy.figures.replicates import rank_plot as rank_plot
from simstudy.figures.replicates import zip_plot as zip_plot
from simstudy.figures.save import SavedFigure as SavedFigure
from simstudy.figures.save import save_figure as save_figure
from simstudy.figures.theme import colors_of as colors_of
from simstudy.figures.theme import theme_study as theme_study
