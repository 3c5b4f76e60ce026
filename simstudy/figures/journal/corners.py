"""Texts as rectangles that may be turned: their corners in inches, and whether two overlap."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from simstudy.shapes import Float

SLACK: Final = 0.01  # inches, which rounding may put a text beyond a page, or onto another


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
