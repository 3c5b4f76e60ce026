"""Words among the marks of a panel that hide some of them, or cannot be read for them.

A line may pass under words that stand on white paper, as long as its way is seen on both sides.
What is hidden is hidden: a point, and the end of a line or of a bar. In a bar or a tile words
stand well, in a colour that is unlike its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from simstudy.figures.journal.corners import SLACK
from simstudy.figures.journal.measured import Page, words_of
from simstudy.figures.journal.outlines import (
    Outline,
    Points,
    along,
    are_under,
    is_across,
    outlines_of,
    panel_of,
    points_of,
)
from simstudy.shapes import Float

LEAST_CONTRAST: Final = 3.0  # of large letters by WCAG 2.1; ours are small, and few
TOUCHED: Final = 0.03  # inches of a line under a word, from which on it crosses the letters
MOST_UNDER: Final = 0.6  # inches of a line under a word, of which its way is no longer seen
PAPER: Final = 0.7  # how opaque the ground behind words has to be


class _Panel(NamedTuple):
    """The marks of a panel, and where it is."""

    corners: Float[np.ndarray, "2 2"]
    outlines: list[Outline]
    points: list[Points]
    dpi: float


def covered(page: Page) -> list[tuple[Any, str]]:
    """Words, and what is wrong with their place among the marks of their panel."""
    return [
        (text, fault)
        for axes in page.panels
        if (words := words_of(axes))
        for panel in [_marks(axes)]
        for text in words
        for fault in _faults(text, page.box(text), panel)
    ]


def _marks(axes: Any) -> _Panel:
    return _Panel(panel_of(axes), outlines_of(axes), points_of(axes), axes.figure.dpi)


def _faults(text: Any, box: Any, panel: _Panel) -> Iterator[str]:
    inner = np.array([box.min + SLACK, box.max - SLACK])
    if text.get_clip_on() and (_is_below(inner[0], panel.corners[0]) or
                               _is_below(panel.corners[1], inner[1])):  # fmt: skip
        yield "is cut off by its panel"
    if n_points := sum(int(are_under(each, *inner).sum()) for each in panel.points):
        yield f"covers {n_points} point{'s' * (n_points > 1)}"
    yield from _on_lines(text, inner, panel)
    if _contrast(text, inner.mean(axis=0), panel) < LEAST_CONTRAST:
        yield "is hardly seen on its ground"


def _is_below(one: Float[np.ndarray, " 2"], other: Float[np.ndarray, " 2"]) -> bool:
    return bool((one < other).any())


# ---------------------------------------------------------------- points and lines
def _on_lines(text: Any, box: Float[np.ndarray, "2 2"], panel: _Panel) -> Iterator[str]:
    found = [each for each in panel.outlines if _has_edge(each) and _is_near(each, box)]
    crossing = [each for each in found if _length_in(each, box, panel.dpi) > TOUCHED]
    if any(each.is_rectangle and not is_across(each, panel.corners) for each in crossing):
        yield "covers the end of a bar"
    lines = [each for each in crossing if each.fill is None]
    own = (each for each in lines if not is_across(each, panel.corners))
    if any(_length_in(each, box, panel.dpi) > MOST_UNDER for each in own):
        yield "covers much of a line"
    if any(_ends_in(each, box) for each in found if each.fill is None):
        yield "covers the end of a line"
    elif lines and not _is_on_paper(text, max(each.height for each in lines)):
        yield "is crossed by a line"


def _has_edge(outline: Outline) -> bool:
    """Whether it is a line or a rectangle: bands end where curves go on."""
    return outline.fill is None or (outline.is_rectangle and outline.fill[3] > 0)


def _is_near(outline: Outline, box: Float[np.ndarray, "2 2"]) -> bool:
    low, high = np.nanmin(outline.corners, axis=0), np.nanmax(outline.corners, axis=0)
    return bool((low < box[1]).all() and (high > box[0]).all())


def _length_in(outline: Outline, box: Float[np.ndarray, "2 2"], dpi: float) -> float:
    """Inches of a line within a box."""
    corners = outline.corners
    closed = corners if outline.fill is None else np.concatenate([corners, corners[:1]])
    middle = along(closed, dpi)[len(closed[np.isfinite(closed).all(axis=1)]) :]
    steps = np.hypot(*np.diff(middle, axis=0).T)
    return float(steps[_within(middle[1:], box) & _within(middle[:-1], box)].sum())


def _ends_in(outline: Outline, box: Float[np.ndarray, "2 2"]) -> bool:
    finite = outline.corners[np.isfinite(outline.corners).all(axis=1)]
    return bool(len(finite)) and bool(_within(finite[[0, -1]], box).any())


def _within(
    places: Float[np.ndarray, "n_places 2"], box: Float[np.ndarray, "2 2"]
) -> Float[np.ndarray, " n_places"]:
    return np.asarray(((places > box[0]) & (places < box[1])).all(axis=1))


def _is_on_paper(text: Any, height: float) -> bool:
    """Whether a word has its own ground, above what is drawn so high."""
    return _paper(text)[3] >= PAPER and text.get_zorder() > height


def _paper(text: Any) -> tuple[float, ...]:
    ground = text.get_bbox_patch()
    return (1.0, 1.0, 1.0, 0.0) if ground is None else tuple(ground.get_facecolor())


# ---------------------------------------------------------------- contrast
def _contrast(text: Any, middle: Float[np.ndarray, " 2"], panel: _Panel) -> float:
    """Contrast of a word with the areas under its middle, from 1 to 21, by WCAG 2.1."""
    from matplotlib.colors import to_rgba

    areas = [each for each in panel.outlines if each.fill is not None and _holds(each, middle)]
    under = sorted(areas, key=lambda area: area.height)
    ground = np.ones(3)
    for fill in [*(area.fill for area in under), _paper(text)]:
        ground = _over(np.asarray(fill), ground)
    word = _over(np.array(to_rgba(text.get_color(), text.get_alpha())), ground)
    dark, light = sorted([_luminance(word), _luminance(ground)])
    return (light + 0.05) / (dark + 0.05)


def _holds(area: Outline, place: Float[np.ndarray, " 2"]) -> bool:
    from matplotlib.path import Path

    return _is_near(area, np.array([place, place])) and bool(
        Path(area.corners).contains_point((place[0], place[1]))
    )


def _over(colour: Float[np.ndarray, " 4"], ground: Float[np.ndarray, " 3"]) -> Any:
    return colour[3] * colour[:3] + (1 - colour[3]) * ground


def _luminance(rgb: Float[np.ndarray, " 3"]) -> float:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))
