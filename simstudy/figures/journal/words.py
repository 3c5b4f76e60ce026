"""Words among the marks of a panel: within it, beside its marks and beside each other.

Axes are made longer for words that have no room: marks move aside, and no word covers one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from simstudy.figures.journal.lines import wrap
from simstudy.figures.journal.measured import Page, words_of
from simstudy.figures.journal.outlines import Points, are_under, hidden_of, marks_of
from simstudy.figures.journal.room import lengthened, make_room, of_one_scale

GAP: Final = 0.04  # inches between words and a panel's side, twice what they keep from marks
EPS: Final = 0.005  # inches
MOST_GROWTH: Final = 3.0  # of a panel, for words in it
MOST_WIDENED: Final = 1.7  # of an axis, for words beside the last marks
HALF: Final = 0.65  # of a line, into which two go where words have blanks in their middle
FEW: Final = 200  # points near a word from which on they are a cloud, in which no place is free
FAR: Final = 0.3  # inches that a word may be moved off points
PAPER: Final = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3}


def part_words(page: Page) -> None:
    """Give the words in all panels their place.

    Parameters
    ----------
    page
        Is changed.
    """
    _widen(page)
    for axes in page.panels:
        for text in words_of(axes):
            _put_inside(page, text, page.box(axes))
    _grow(page)
    _part(page)
    make_room(page)
    _uncover(page)
    _on_paper(page)


# ---------------------------------------------------------------- across
def _widen(page: Page) -> None:
    """Longer axes where words on the right of their marks would end beyond the panel."""
    if page.aspect:
        return
    for panels in of_one_scale(page.panels, "x"):
        factor = _widening_of_all(page, panels)
        if factor > MOST_WIDENED:
            for axes in panels:
                _halve(page, axes)
            factor = _widening_of_all(page, panels)
        if 1 < factor <= MOST_WIDENED:
            for axes in panels:
                lengthened(axes, "x", factor - 1, 1)
    page.lay_out()


def _widening_of_all(page: Page, panels: Sequence[Any]) -> float:
    """How much longer the axis has to be, for words that begin where a mark's words begin."""
    return max((_widening(page, axes, page.box(axes)) for axes in panels), default=1.0)


def _widening(page: Page, axes: Any, panel: Any) -> float:
    boxes = [page.box(text) for text in _beyond(page, axes)]
    rooms = [(box.x0 - panel.x0) / max(panel.width - GAP - box.width, EPS) for box in boxes]
    return max(rooms, default=1.0)


def _beyond(page: Page, axes: Any) -> list[Any]:
    """Words that begin within a panel, at a mark, and end beyond it."""
    end = page.box(axes).x1 - GAP / 2
    words = (text for text in words_of(axes) if text.get_ha() == "left")
    return [text for text in words if page.box(text).x1 > end]


def _halve(page: Page, axes: Any) -> None:
    """Put words that end beyond a panel in two lines."""
    for text in _beyond(page, axes):
        wrap(page, text, HALF * page.length(text))


def _put_inside(page: Page, text: Any, panel: Any) -> None:
    """Words that begin in a panel and end beyond it in several lines, or moved into it."""
    box = page.box(text)
    left, right = panel.x0 + GAP / 2, panel.x1 - GAP / 2
    if box.x0 >= left and box.x1 <= right:
        return
    room = {"left": right - box.x0, "right": box.x1 - left}.get(text.get_ha(), 0.0)
    wrap(page, text, room if room > panel.width / 2 else right - left)
    box = page.box(text)
    across = max(left - box.x0, 0) or min(right - box.x1, 0)
    _move(text, page.drawn, across, 0.0)


# ---------------------------------------------------------------- up and down
def _grow(page: Page) -> None:
    """A higher figure, where words that stand on each other would part with their marks."""
    short = max((_lacking(page, axes) for axes in page.panels), default=0.0)
    if short > 0:
        page.grow(short * page.n_rows)


def _lacking(page: Page, axes: Any) -> float:
    boxes = [page.box(text) for text in words_of(axes)]
    factor = 1.0
    for at, one in enumerate(boxes):
        for other in boxes[:at]:
            apart = abs(one.y0 + one.y1 - other.y0 - other.y1) / 2
            needed = (one.height + other.height) / 2
            beside = one.x1 <= other.x0 or other.x1 <= one.x0
            if not beside and needed > apart > needed / MOST_GROWTH:
                factor = max(factor, needed / apart)
    return float(page.box(axes).height * (factor - 1))


def _part(page: Page) -> None:
    """Words within a panel that stand on each other, or beyond it, moved up or down."""
    for axes in page.panels:
        panel, placed = page.box(axes), list[Any]()
        for text in sorted(words_of(axes), key=lambda text: _from_its_mark(page, text)):
            _move(text, page.drawn, 0.0, _free_shift(page.box(text), placed, panel))
            placed.append(page.box(text))


def _from_its_mark(page: Page, text: Any) -> float:
    """Its turn: of words above their marks the lowest stay, and the others give way upwards."""
    return float(page.box(text).y0) if text.get_va() == "bottom" else 0.0


def _free_shift(box: Any, placed: Sequence[Any], panel: Any) -> float:
    """How far up or down a word has to go to stand on none of the others, within its panel."""
    others = [o for o in placed if o.x0 < box.x1 - 0.01 and box.x0 < o.x1 - 0.01]
    steps = [0.0, *(o.y1 - box.y0 + 0.01 for o in others), *(o.y0 - box.y1 - 0.01 for o in others)]
    steps += [min(panel.y1 - box.y1, 0.0), max(panel.y0 - box.y0, 0.0)]
    for shift in sorted(steps, key=abs):
        inside = panel.y0 <= box.y0 + shift + EPS and box.y1 + shift <= panel.y1 + EPS
        free = all(o.y1 <= box.y0 + shift + EPS or o.y0 >= box.y1 + shift - EPS for o in others)
        if free and inside:
            return float(shift)
    return 0.0


def _move(text: Any, drawn: Any, across: float, up: float) -> None:
    """Move a text by inches, whatever its position is measured in."""
    from matplotlib.transforms import ScaledTranslation

    if across or up:
        text.set_transform(
            text.get_transform() + ScaledTranslation(across, up, drawn.dpi_scale_trans)
        )


# ---------------------------------------------------------------- off points
def _uncover(page: Page) -> None:
    """Words that stand on points, or on the ends of lines, moved up or down off them."""
    for axes in filter(words_of, page.panels):
        words = words_of(axes)
        hidden = hidden_of(axes)
        for text in words:
            box = page.box(text)
            near = _near(hidden, box)
            if len(near) <= FEW and are_under(hidden, box.min, box.max).any():
                others = [page.box(other) for other in words if other is not text]
                shift = _free_shift(box, [*others, *near], page.box(axes))
                _move(text, page.drawn, 0.0, shift if abs(shift) <= FAR else 0.0)


def _near(hidden: Points, box: Any) -> list[Any]:
    """Boxes around points above and below a word."""
    from matplotlib.transforms import Bbox

    reach = hidden.radii[:, np.newaxis] + EPS
    low, high = hidden.places - reach, hidden.places + reach
    beside = (high[:, 0] > box.x0) & (low[:, 0] < box.x1)
    return [Bbox(pair) for pair in zip(low[beside], high[beside], strict=True)]


# ---------------------------------------------------------------- over lines
def _on_paper(page: Page) -> None:
    """White behind words that a line still crosses, through which the line is seen."""
    for axes in page.panels:
        words = words_of(axes)
        marks = marks_of(axes, scattered=False, across=True) if words else np.empty((0, 2))
        for text in words:
            if _is_crossed(page.box(text), marks) and text.get_bbox_patch() is None:
                text.set_bbox(dict(PAPER))


def _is_crossed(box: Any, marks: Any) -> bool:
    inside = (marks > (box.x0 + EPS, box.y0 + EPS)) & (marks < (box.x1 - EPS, box.y1 - EPS))
    return bool(inside.all(axis=1).any())
