"""A ggplot laid out anew for a width: panels in fewer columns, keys above or below them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from simstudy.figures.captions import wrapped_to
from simstudy.figures.journal.keys import is_key
from simstudy.figures.page import IN_GRID, NARROW, WRAPPED, abreast, laid_out_for
from simstudy.figures.theme import TALLEST
from simstudy.lazy import p9

MOST_ROWS = 7  # of panels that a page has room for, each with its own title
EDGE = 4.0  # points that a page has beside a key
WIDEST = 1.3  # inches of a panel that words may ask for
MARGIN = 0.35  # inches of a panel beside the widest words in it
MOST_NAMES = 3  # of a key in one column
MOST_TRIES = 6  # of layouts, each with a narrower key than the one before


def refitted(plot: Any, width: float, draw: Callable[[Any], Any]) -> Any:
    """A ggplot drawn at a width, with as many panels abreast and as wide a key as that has room.

    Parameters
    ----------
    plot
        Is not changed.
    width
        Of the page, in inches.
    draw
        Makes a matplotlib figure of a ggplot.
    """
    plot = _at_width(copy.deepcopy(plot), width)
    drawn = draw(plot)
    with laid_out_for(width):
        facet = _fewer_columns(plot, drawn)
    if facet is not None:
        plot = plot + facet
        drawn = draw(plot)
    for narrower in _narrower_keys(plot):
        if _keys_fit(drawn):
            break
        drawn = draw(narrower)
    low = _with_low_key(plot) if width < NARROW else None
    again = drawn if low is None else draw(low)
    return again if _keys_fit(again) else drawn


def _at_width(plot: Any, width: float) -> Any:
    height = min(plot.theme.getp("figure_size")[1], TALLEST)
    said = plot.labels.get("caption", None) or ""
    plot = plot + p9.theme(figure_size=(width, height)) + p9.labs(caption=wrapped_to(width, said))
    is_beside = plot.theme.getp("legend_position") in ("right", "left")
    return plot + p9.theme(legend_position="bottom") if width < NARROW and is_beside else plot


# ---------------------------------------------------------------- panels
def _fewer_columns(plot: Any, drawn: Any) -> Any:
    """The facet with fewer columns, where the page has no room for those that it has."""
    built = getattr(drawn.get_layout_engine(), "plot", None)
    facet, n_columns = plot.facet, getattr(getattr(built, "facet", None), "ncol", 1)
    if built is not None and isinstance(facet, p9.facet_grid):
        if not facet.cols or abreast(n_columns, max(IN_GRID, _widest_words(drawn))) == n_columns:
            return None
        n_rows = math.ceil(n_columns * built.facet.nrow / abreast(n_columns, WRAPPED))
        return _in_turn(facet, n_columns) if n_rows <= MOST_ROWS else None
    if isinstance(facet, p9.facet_wrap) and (n_few := abreast(n_columns, WRAPPED)) < n_columns:
        fewer = copy.deepcopy(facet)
        fewer._nrow, fewer._ncol = None, n_few
        return fewer
    return None


def _in_turn(facet: Any, n_columns: int) -> Any:
    """The panels of a grid row after row, each with both of its titles."""
    free = [axis for axis in ("x", "y") if facet.free[axis]]
    scales = {0: "fixed", 1: f"free_{''.join(free)}", 2: "free"}[len(free)]
    names = [*facet.rows, *facet.cols]
    wrapped = p9.facet_wrap(names, ncol=abreast(n_columns, WRAPPED), scales=scales)
    wrapped.labeller = copy.deepcopy(facet.labeller)
    return wrapped


def _widest_words(drawn: Any) -> float:
    """What a panel takes whose words are to stay in their lines, in inches."""
    drawn.draw_without_rendering()
    renderer = drawn._get_renderer()
    words = [text for axes in drawn.axes for text in axes.texts if text.get_visible()]
    widths = [text.get_window_extent(renderer).width / drawn.dpi for text in words]
    return min(max(widths, default=0.0) + MARGIN, WIDEST) if widths else 0.0


# ---------------------------------------------------------------- keys
def _keys_fit(drawn: Any) -> bool:
    """Whether all keys are within the page."""
    drawn.draw_without_rendering()
    renderer = drawn._get_renderer()
    boxes = [key.get_window_extent(renderer) for key in drawn.findobj(is_key) if key.get_visible()]
    return all(box.width <= drawn.bbox.width - EDGE for box in boxes)


def _narrower_keys(plot: Any) -> Any:
    """Layouts with ever narrower keys: one below another, titles above, in fewer columns."""
    stacked = plot + p9.theme(legend_box="vertical")
    yield stacked
    for n_columns in range(MOST_TRIES, 0, -1):
        keyed = copy.deepcopy(stacked)
        if _set_columns(keyed, n_columns):
            yield keyed
            yield keyed + p9.theme(legend_title_position="top")


def _with_low_key(plot: Any) -> Any:
    """The plot with a high key of one column in two, below its title; None where it has none."""
    low = copy.deepcopy(plot)
    keys = [(_key_of(scale), getattr(scale, "limits", None)) for scale in low.scales]
    high = [key for key, names in keys if key and key.ncol == 1 and _n_names(names) > MOST_NAMES]
    for key in high:
        key.ncol = 2
    return low + p9.theme(legend_title_position="top", legend_box="vertical") if high else None


def _n_names(limits: Any) -> int:
    return len(limits) if isinstance(limits, list | tuple) else 0


def _set_columns(plot: Any, n_columns: int) -> bool:
    """Give every key no more columns than this; whether any had more."""
    found = [guide for guide in map(_key_of, plot.scales) if guide is not None]
    wide = [guide for guide in found if guide.ncol is None or guide.ncol > n_columns]
    for guide in wide:
        guide.ncol, guide.nrow = n_columns, None
    return bool(wide)


def _key_of(scale: Any) -> Any:
    """The key of a scale, made where it was only named; None where there is none."""
    guide = getattr(scale, "guide", None)
    if guide == "legend":
        guide = scale.guide = p9.guide_legend()
    return guide if isinstance(guide, p9.guide_legend) else None
