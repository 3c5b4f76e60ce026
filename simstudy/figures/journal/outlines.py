"""Where the marks of a panel are: points along the outline of each, in inches of the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from simstudy.shapes import Float

STEP: Final = 1.5  # pixels between two points of an outline
MOST: Final = 4_000  # points of one
FULL: Final = 0.97  # the share of a panel from which a straight line or a band belongs to it


def marks_of(axes: Any, *, scattered: bool = True) -> Float[np.ndarray, "n_points 2"]:
    """Points on every mark of a panel; lines and bands that cross it from end to end are none.

    Parameters
    ----------
    scattered
        Whether points are marks too, or only lines, bars and areas.
    """
    dpi, panel = axes.figure.dpi, axes.get_window_extent()
    lines = (line for line in _lines(axes) if len(line) and not _is_across(line, panel))
    scatters = (marks for marks in axes.collections if scattered and _is_scatter(marks))
    found = [*map(_along, lines), *map(_ends, scatters), np.empty((0, 2))]
    points = np.concatenate(found)
    inside = (points >= panel.min) & (points <= panel.max)
    return np.asarray(points[inside.all(axis=1)] / dpi)


def _lines(axes: Any) -> Iterator[Any]:
    """Corners of each line, bar and area, in pixels."""
    for line in axes.lines:
        yield line.get_transform().transform(line.get_xydata())
    for patch in axes.patches:
        yield from _parts(patch.get_path(), patch.get_transform())
    for marks in axes.collections:
        for path in [] if _is_scatter(marks) else marks.get_paths():
            yield from _parts(path, marks.get_transform())


def _is_scatter(marks: Any) -> bool:
    from matplotlib.collections import PathCollection

    return isinstance(marks, PathCollection)


def _ends(marks: Any) -> Any:
    """The upper and the lower end of each point of a scatter."""
    places = np.asarray(marks.get_offset_transform().transform(marks.get_offsets()))
    reach = np.sqrt(np.resize(marks.get_sizes(), len(places))) / 2 * marks.figure.dpi / 72
    up = np.column_stack([np.zeros_like(reach), reach])
    return np.concatenate([places + up, places - up])


def _parts(path: Any, transform: Any) -> Iterator[Any]:
    whole = transform.transform_path(path)
    yield from (np.asarray(part) for part in whole.to_polygons(closed_only=False) if len(part))


def _is_across(outline: Any, panel: Any) -> bool:
    """Whether it is straight, or a rectangle, and from one side of its panel to the other."""
    spans = np.ptp(outline, axis=0) / (panel.width, panel.height)
    return len(outline) <= 5 and bool((spans >= FULL).any())


def _along(outline: Any) -> Any:
    """Points at small distances along the lines between corners."""
    finite = outline[np.isfinite(outline).all(axis=1)]
    if len(finite) < 2:
        return finite
    lengths = np.hypot(*np.diff(finite, axis=0).T)
    way = np.concatenate([[0.0], np.cumsum(lengths)])
    at = np.linspace(0, way[-1], min(int(way[-1] / STEP) + 2, MOST))
    along = np.column_stack([np.interp(at, way, finite[:, axis]) for axis in (0, 1)])
    return np.concatenate([finite, along])
