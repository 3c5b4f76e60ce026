"""Heights of panels: as they were, as their shape or the titles beside them ask."""

from __future__ import annotations

from typing import Final

import numpy as np

from simstudy.figures.journal.axis_words import are_numbers, tick_labels
from simstudy.figures.journal.keys import is_key
from simstudy.figures.journal.measured import Page, is_upright

GAP: Final = 0.04  # inches around a title
LEAST_HEIGHT: Final = 0.7  # inches of a panel
EPS: Final = 0.005  # inches


def give_heights(page: Page, *, keep: bool) -> None:
    """Panels as high as they were, but no higher than wide; less where the page is full.

    Parameters
    ----------
    keep
        Whether they may be higher than wide, as those with names beside them always may: they
        have a row for each.
    """
    boxes = [page.box(axes) for axes in page.panels]
    if not boxes:
        return
    wide, high = (float(np.mean([getattr(b, n) for b in boxes])) for n in ("width", "height"))
    wanted = high if keep or _have_names(page) else min(high, wide)
    if page.aspect:
        n_columns = len({round(box.x0, 2) for box in boxes})
        wanted = page.aspect * (wide + _left_over(page) / n_columns)
    needed = max(_of_strips(page), LEAST_HEIGHT)
    if needed > wanted:
        page.free_aspect()
    page.grow(page.n_rows * (max(wanted, needed) - high))
    if page.aspect:  # panels as wide as they can be leave room above and below
        page.grow(_content_height(page) + 2 * GAP - page.drawn.get_size_inches()[1])


def grow_for_strips(page: Page) -> bool:
    """A higher figure, where titles beside rows of panels are longer than these."""
    heights = [page.box(axes).height for axes in page.panels]
    short = _of_strips(page) - min(heights, default=0.0)
    if not heights or short <= EPS or _of_strips(page) <= GAP:
        return False
    page.free_aspect()
    return page.grow(short * page.n_rows)


def _have_names(page: Page) -> bool:
    return not are_numbers(label for axes in page.panels for label in tick_labels(axes.yaxis))


def _of_strips(page: Page) -> float:
    """What the titles beside rows of panels need."""
    along = filter(is_upright, page.strips)
    return max((page.box(text).height for text in along), default=0.0) + GAP


def _content_height(page: Page) -> float:
    """From the lowest word or panel to the highest one, or key."""
    artists = [*page.panels, *page.texts, *page.drawn.findobj(is_key)]
    boxes = [page.box(artist) for artist in artists if artist.get_visible()]
    strips = [page.box(text.patch) for text in page.strips]
    return float(max(b.y1 for b in [*boxes, *strips]) - min(b.y0 for b in boxes))


def _left_over(page: Page) -> float:
    """Width of the page beside all that is drawn but the caption, in inches."""
    boxes = [axes.get_tightbbox(page.renderer) for axes in page.panels]
    boxes += [text.get_window_extent(page.renderer) for text in filter(is_upright, page.texts)]
    ends = max(box.x1 for box in boxes) - min(box.x0 for box in boxes)
    return max(float(page.width - ends / page.drawn.dpi - 3 * GAP), 0.0)
