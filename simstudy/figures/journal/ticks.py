"""Numbers of axes thinned out: every second one, or every so many, where more would touch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

from simstudy.figures.journal.axis_words import are_numbers, say, tick_labels
from simstudy.figures.journal.measured import Page

GAP: Final = 0.04  # inches, the least between two numbers of an axis
BEYOND: Final = 0.1  # inches, of a number below or above its panel


def thin_numbers(page: Page) -> None:
    """Leave out numbers of all axes that would touch another one, or go beyond the page."""
    boxes = [page.box(axes) for axes in page.panels]
    for axes, own in zip(page.panels, boxes, strict=True):
        across = room_across(own, boxes, page.width)
        _thin(page, axes.xaxis, lambda box: (box.x0, box.x1), *across)
        _thin(page, axes.yaxis, lambda box: (box.y0, box.y1), *_room_along(own, boxes))
    page.lay_out()


def room_across(own: Any, boxes: Sequence[Any], page_width: float) -> tuple[float, float]:
    """How far labels below a panel may go, half-way to the next panel or to the page's end."""
    beside = [box for box in boxes if abs(box.y0 - own.y0) < 0.05]
    ends = [box.x1 for box in beside if box.x1 <= own.x0]
    starts = [box.x0 for box in beside if box.x0 >= own.x1]
    left = (max(ends) + own.x0) / 2 + GAP / 2 if ends else 0.0
    right = (min(starts) + own.x1) / 2 - GAP / 2 if starts else page_width
    return left, right


def _room_along(own: Any, boxes: Sequence[Any]) -> tuple[float, float]:
    """How far labels beside a panel may go, half-way to the panels above and below it."""
    beside = [box for box in boxes if abs(box.x0 - own.x0) < 0.05]
    ends = [box.y1 for box in beside if box.y1 <= own.y0]
    starts = [box.y0 for box in beside if box.y0 >= own.y1]
    below = (max(ends) + own.y0) / 2 if ends else own.y0 - BEYOND
    above = (min(starts) + own.y1) / 2 if starts else own.y1 + BEYOND
    return max(below, own.y0 - BEYOND), min(above, own.y1 + BEYOND)


def _thin(
    page: Page,
    axis: Any,
    ends_of: Callable[[Any], tuple[float, float]],
    low: float,
    high: float,
) -> None:
    labels = tick_labels(axis)
    if not labels or not are_numbers(labels):
        return
    ends = [ends_of(page.box(label)) for label in labels]
    kept = _every_so_many(ends, low, high)
    if len(kept) < len(labels):
        said = {labels[place].get_text() for place in kept}
        say(axis, lambda words: [word if word in said else "" for word in words])


def _every_so_many(ends: Sequence[tuple[float, float]], low: float, high: float) -> Sequence[int]:
    """Places of as many labels as fit between two limits and do not touch, evenly taken."""
    fits = [at for at, (start, end) in enumerate(ends) if start >= low and end <= high]
    for every in range(1, len(fits) + 1):
        for first in range(every):
            kept = fits[first::every]
            pairs = itertools.pairwise(kept)
            if all(ends[b][0] - ends[a][1] >= GAP or ends[a][0] - ends[b][1] >= GAP
                   for a, b in pairs):  # fmt: skip
                return kept
    return fits[:1]
