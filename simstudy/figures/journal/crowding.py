"""What is wrong with a laid-out figure: letters too small, words cut off, words on other words."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from simstudy.shapes import Float

LEAST_POINTS: Final = 7.0  # of any text
SLACK: Final = 0.01  # inches, which rounding may put a text beyond a page, or onto another


class Placed(NamedTuple):
    """A text where it stands: its four corners in inches, and the axes that it belongs to."""

    text: Any
    corners: Float[np.ndarray, "4 2"]
    axes: Any


def crowding(drawn: Any) -> list[str]:
    """Every text of a figure that is too small, beyond its page, or on another one.

    Parameters
    ----------
    drawn
        A matplotlib Figure, laid out already or not; it is laid out here.

    Returns
    -------
    list of str
        A sentence for each; empty where all can be read.
    """
    texts = placed_texts(drawn)
    return [*_too_small(texts), *_beyond(texts, drawn), *_on_another(texts)]


def placed_texts(drawn: Any) -> list[Placed]:
    """The texts of a figure that are seen, laid out by its own engine."""
    drawn.draw_without_rendering()
    renderer = drawn._get_renderer()
    texts = (text for text in _texts(drawn) if text.get_visible() and text.get_text().strip())
    return [Placed(text, corners_of(text, renderer, drawn.dpi), text.axes) for text in texts]


def _texts(drawn: Any) -> Iterator[Any]:
    """Texts by who draws them: ticks only where their axis shows them."""
    from matplotlib.axis import Axis
    from matplotlib.text import Text

    of_ticks = {id(text) for axis in drawn.findobj(Axis) for text in axis.findobj(Text)}
    yield from (text for text in drawn.findobj(Text) if id(text) not in of_ticks)
    for axes in drawn.axes:
        if axes.get_visible() and axes.axison:
            for axis in (axes.xaxis, axes.yaxis):
                yield from tick_labels(axis)
                yield from (axis.label, axis.offsetText)


def tick_labels(axis: Any) -> list[Any]:
    """The labels that an axis shows, in the order of its ticks."""
    if not axis.get_visible():
        return []
    low, high = sorted(axis.get_view_interval())
    edge = 1e-9 * (high - low)
    return [
        label
        for tick in axis.get_major_ticks()[: len(axis.get_majorticklocs())]
        if low - edge <= tick.get_loc() <= high + edge
        for label in (tick.label1, tick.label2)
        if label.get_visible() and label.get_text().strip()
    ]


def corners_of(text: Any, renderer: Any, dpi: float) -> Float[np.ndarray, "4 2"]:
    """Corners of the rectangle around a text, turned as the text is; in inches."""
    angle = np.deg2rad(text.get_rotation())
    box = text.get_window_extent(renderer)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    width, height = _unturned(text, renderer)
    half = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (width / 2, height / 2)
    middle = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    corners: Float[np.ndarray, "4 2"] = (middle + half @ turn.T) / dpi
    return corners


def _unturned(text: Any, renderer: Any) -> tuple[float, float]:
    angle = text.get_rotation()
    if not angle % 90:
        box = text.get_window_extent(renderer)
        return (box.height, box.width) if angle % 180 else (box.width, box.height)
    text.set_rotation(0)
    box = text.get_window_extent(renderer)
    text.set_rotation(angle)
    return box.width, box.height


# ---------------------------------------------------------------- what is wrong
def _too_small(texts: Iterable[Placed]) -> list[str]:
    return [
        f"{_named(placed)} has {placed.text.get_fontsize():.3g} points"
        for placed in texts
        if placed.text.get_fontsize() < LEAST_POINTS - 1e-6
    ]


def _beyond(texts: Iterable[Placed], drawn: Any) -> list[str]:
    page = drawn.get_size_inches()
    return [
        f"{_named(placed)} goes beyond the page"
        for placed in texts
        if (placed.corners < -SLACK).any() or (placed.corners > page + SLACK).any()
    ]


def _on_another(texts: Iterable[Placed]) -> list[str]:
    pairs = itertools.combinations(texts, 2)
    return [f"{_named(a)} is on {_named(b)}" for a, b in pairs if overlap(a.corners, b.corners)]


def _named(placed: Placed) -> str:
    return repr(re.sub(r"\s+", " ", placed.text.get_text())[:40])


def overlap(
    one: Float[np.ndarray, "4 2"], other: Float[np.ndarray, "4 2"], slack: float = SLACK
) -> bool:
    """Whether two rectangles share more than `slack`, by the theorem of the separating axis."""
    if (one.max(0) < other.min(0)).any() or (other.max(0) < one.min(0)).any():
        return False
    for corners in (one, other):
        for side in (corners[1] - corners[0], corners[2] - corners[1]):
            length = float(np.hypot(*side))
            if length == 0:
                return False
            first, second = one @ side / length, other @ side / length
            if first.max() - slack < second.min() or second.max() - slack < first.min():
                return False
    return True
