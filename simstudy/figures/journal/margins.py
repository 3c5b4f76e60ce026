"""Margins of a matplotlib Figure that nobody lays out: wide enough for what stands beside axes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from simstudy.figures.journal.measured import Page

EDGE: Final = 0.03  # inches of paper beside the outermost words
EPS: Final = 0.002  # inches
LEAST: Final = 0.3  # of a side of the page that is left to its axes
MOST_ROUNDS: Final = 8  # of moving, since words stay as large as they are when axes shrink


def give_margins(page: Page) -> bool:
    """Move all axes inwards, alike, where their words go beyond the page; whether any did.

    Parameters
    ----------
    page
        Is changed, unless its figure has a layout engine, which says where axes stand.
    """
    from matplotlib.layout_engine import PlaceHolderLayoutEngine

    engine = page.drawn.get_layout_engine()
    if not (engine is None or isinstance(engine, PlaceHolderLayoutEngine)):
        return False
    rounds = [_once(page) for _ in range(MOST_ROUNDS)]
    return any(rounds)


def _once(page: Page) -> bool:
    short = _lacking(page)
    left = 1 - short.sum(axis=0)
    if short.max() <= EPS or left.min() < LEAST:
        return False
    for axes in page.drawn.axes:
        box = axes.get_position(original=True)
        places = short[0] + left * np.array([box.min, box.max])
        axes.set_position([*places[0], *(places[1] - places[0])])
    page.lay_out()
    return True


def _lacking(page: Page) -> Any:
    """Shares of the page that words lack left and below, and right and above; two by two."""
    size = np.asarray(page.drawn.get_size_inches())
    found = (_around(axes, page.renderer) for axes in page.panels)
    boxes = [box for box in found if box is not None and np.isfinite(box.extents).all()]
    if not boxes:
        return np.zeros((2, 2))
    low = np.min([box.min for box in boxes], axis=0) / page.drawn.dpi
    high = np.max([box.max for box in boxes], axis=0) / page.drawn.dpi
    beyond = np.array([EDGE - low, high - (size - EDGE)])
    return np.where(beyond > EDGE - EPS, beyond, 0.0) / size


def _around(axes: Any, renderer: Any) -> Any:
    """Where axes end with their numbers, titles and key; words among marks are moved into them."""
    key = axes.get_legend()
    return axes.get_tightbbox(renderer, bbox_extra_artists=[key] if key is not None else [])
