"""Where the marks of a panel are, in inches of the page: lines, bars and bands, and points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from simstudy.shapes import Bool, Float

STEP: Final = 1.5  # pixels between two points of an outline
MOST: Final = 4_000  # points of one
SEEN: Final = 0.5  # of a point's radius that may be under a word
FULL: Final = 0.97  # the share of a panel from which a straight line or a band belongs to it


class Outline(NamedTuple):
    """A line, or what goes around an area.

    Parameters
    ----------
    corners
        In inches, where they are numbers.
    fill
        Colour of an area, red, green, blue and how opaque; None of a line.
    height
        What is drawn above what.
    """

    corners: Float[np.ndarray, "n_corners 2"]
    fill: Any
    height: float

    @property
    def is_rectangle(self) -> bool:
        """Whether it is that of a bar or a tile."""
        return self.fill is not None and len(self.corners) <= 5


class Points(NamedTuple):
    """The points of a scatter, in inches."""

    places: Float[np.ndarray, "n_points 2"]
    radii: Float[np.ndarray, " n_points"]


def marks_of(
    axes: Any, *, scattered: bool = True, across: bool = False
) -> Float[np.ndarray, "n_points 2"]:
    """Points on every mark of a panel.

    Parameters
    ----------
    scattered
        Whether points are marks too, or only lines, bars and areas.
    across
        Whether level and upright lines, and bands, are marks that cross a panel from end to end:
        words cannot be beside these.
    """
    panel = panel_of(axes)
    found = (each for each in outlines_of(axes) if across or not is_across(each, panel))
    own = (outline.corners for outline in found)
    points = map(_ends, points_of(axes) if scattered else [])
    marks = np.concatenate([*(along(c, axes.figure.dpi) for c in own), *points, np.empty((0, 2))])
    inside = (marks >= panel[0]) & (marks <= panel[1])
    return np.asarray(marks[inside.all(axis=1)])


def panel_of(axes: Any) -> Float[np.ndarray, "2 2"]:
    """Lower left and upper right corner of a panel."""
    box = axes.get_window_extent()
    return np.asarray([box.min / axes.figure.dpi, box.max / axes.figure.dpi])


# ---------------------------------------------------------------- lines and areas
def outlines_of(axes: Any) -> list[Outline]:
    """Of each line, bar and band that is drawn in a panel."""
    return [each for each in _all_outlines(axes) if len(each.corners)]


def _all_outlines(axes: Any) -> Iterator[Outline]:
    dpi = axes.figure.dpi
    for line in axes.lines:
        corners = line.get_transform().transform(line.get_xydata())
        yield Outline(corners / dpi, None, line.get_zorder())
    for patch in axes.patches:
        for part in _parts(patch.get_path(), patch.get_transform()):
            yield Outline(part / dpi, patch.get_facecolor(), patch.get_zorder())
    for marks in axes.collections:
        if not _is_scatter(marks):
            yield from _collected(marks, dpi)


def _collected(marks: Any, dpi: float) -> Iterator[Outline]:
    fills = marks.get_facecolor() if _is_filled(marks) else []
    for at, path in enumerate(marks.get_paths()):
        fill = fills[at % len(fills)] if len(fills) else None
        for part in _parts(path, marks.get_transform()):
            yield Outline(part / dpi, fill, marks.get_zorder())


def _is_filled(marks: Any) -> bool:
    from matplotlib.collections import LineCollection

    return not isinstance(marks, LineCollection)


def _parts(path: Any, transform: Any) -> Iterator[Any]:
    whole = transform.transform_path(path)
    yield from (np.asarray(part) for part in whole.to_polygons(closed_only=False) if len(part))


def is_across(outline: Outline, panel: Float[np.ndarray, "2 2"]) -> bool:
    """Whether it is a level or upright line, or a rectangle, from side to side of its panel.

    No longer axis leads it past words.
    """
    spans = np.ptp(outline.corners, axis=0) / (panel[1] - panel[0])
    is_slanted = outline.fill is None and bool((spans > 1 - FULL).all())
    return len(outline.corners) <= 5 and bool((spans >= FULL).any()) and not is_slanted


def along(corners: Float[np.ndarray, "n_corners 2"], dpi: float) -> Float[np.ndarray, "n_points 2"]:
    """The corners of a line, and points at small distances between them."""
    finite = corners[np.isfinite(corners).all(axis=1)]
    if len(finite) < 2:
        return np.asarray(finite)
    lengths = np.hypot(*np.diff(finite, axis=0).T)
    way = np.concatenate([[0.0], np.cumsum(lengths)])
    at = np.linspace(0, way[-1], min(int(way[-1] * dpi / STEP) + 2, MOST))
    between = np.column_stack([np.interp(at, way, finite[:, axis]) for axis in (0, 1)])
    return np.concatenate([finite, between])


# ---------------------------------------------------------------- points
def points_of(axes: Any) -> list[Points]:
    """Of each scatter in a panel."""
    return [_points(marks) for marks in axes.collections if _is_scatter(marks)]


def are_under(
    points: Points, low: Float[np.ndarray, " 2"], high: Float[np.ndarray, " 2"]
) -> Bool[np.ndarray, " n_points"]:
    """Whether more than a little of each point is within a box."""
    away = np.hypot(*(points.places - np.clip(points.places, low, high)).T)
    return np.asarray(away <= SEEN * points.radii)


def hidden_of(axes: Any) -> Points:
    """What a word hides that stands on it: points, and the ends of lines, which have no radius."""
    lines = [each.corners for each in outlines_of(axes) if each.fill is None]
    finite = (corners[np.isfinite(corners).all(axis=1)] for corners in lines)
    ends = [corners[[0, -1]] for corners in finite if len(corners)]
    found = [*points_of(axes), *(Points(each, np.zeros(2)) for each in ends)]
    places = np.concatenate([*(each.places for each in found), np.empty((0, 2))])
    return Points(places, np.concatenate([*(each.radii for each in found), np.empty(0)]))


def _is_scatter(marks: Any) -> bool:
    from matplotlib.collections import PathCollection

    return isinstance(marks, PathCollection)


def _points(marks: Any) -> Points:
    places = np.asarray(marks.get_offset_transform().transform(marks.get_offsets()))
    radii = np.sqrt(np.resize(marks.get_sizes(), len(places))) / 2 / 72
    return Points(places / marks.figure.dpi, radii)


def _ends(points: Points) -> Float[np.ndarray, "n 2"]:
    """The upper and the lower end of each point."""
    up = np.column_stack([np.zeros_like(points.radii), points.radii])
    return np.concatenate([points.places + up, points.places - up])
