"""Texts of a drawn figure that fit: titles of panels are wrapped, labels of axes thinned out.

Both are measured with their font, at the size of the figure.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

MARGIN = 4  # points between the title of a panel and both ends of its box
GAP = 0.5  # least gap between two labels of a horizontal axis, in heights of a letter
ROUNDS = 3  # layouts at most: a wrapped title leaves its panel less room
EVEN = 0.1  # labels are evenly spaced if their distances differ by less, relative to the mean

Ends = tuple[float, float]


def fit_texts(figure: Any) -> None:
    """Wrap titles of panels that are longer than their boxes, and leave out labels that touch.

    Parameters
    ----------
    figure
        A figure of matplotlib that plotnine has drawn; its layout is computed.
    """
    figure.draw_without_rendering()
    for _ in range(ROUNDS):
        if not [text for text in figure.artists if _wrap(text)]:
            break
        figure.draw_without_rendering()
    for name, across, along in (("xaxis", "y0", "x0"), ("yaxis", "x0", "y0")):
        lines: dict[int, list[Any]] = {}
        for axes in sorted(figure.axes, key=lambda axes: float(getattr(axes.bbox, along))):
            lines.setdefault(round(getattr(axes.bbox, across)), []).append(getattr(axes, name))
        for line in lines.values():
            _thin_line(line)


def _wrap(text: Any) -> bool:
    """Wrap a text if it is a title of a panel and too long; return whether it was."""
    title = getattr(text, "draw_info", None)
    if title is None:
        return False
    side = "width" if title.position == "top" else "height"
    room = getattr(title.ax.bbox, side) - 2 * MARGIN * text.get_figure().dpi / 72
    before = text.get_text()
    split = before.split("\n")
    n_letters = max(map(len, split))
    while n_letters > 1 and getattr(text.get_window_extent(), side) > room:
        n_letters -= 1
        lines = (textwrap.fill(line, n_letters, break_on_hyphens=False) for line in split)
        text.set_text("\n".join(lines))
        text.set_va("center")
    return bool(text.get_text() != before)


def _thin_line(line: Sequence[Any]) -> None:
    """Thin out the labels of each axis, then those of neighbouring panels."""
    shown = [ends for ends in map(_thin, line) if ends]
    for left, right in pairwise(shown):
        (last, (_, end)), (_, (start, _)) = left[-1], right[0]
        if end > start and len(left) > 1:
            last.set_visible(False)


def _thin(axis: Any) -> list[tuple[Any, Ends]]:
    """Hide labels of an axis that touch another; return the others with their ends."""
    low, high = sorted(axis.get_view_interval())
    labels = [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    labels = [label for label in labels if label.get_visible() and label.get_text()]
    found = sorted(((label, _ends(label, axis.axis_name)) for label in labels), key=lambda f: f[1])
    kept = _kept([ends for _, ends in found])
    for i, (label, _) in enumerate(found):
        label.set_visible(i in kept)
    return [found[i] for i in kept]


def _ends(label: Any, axis: str) -> Ends:
    """Both ends of a label along its axis, in pixels, with half of the gap."""
    box = label.get_window_extent()
    if axis == "y":
        return float(box.y0), float(box.y1)
    letter = label.get_fontsize() * label.get_figure().dpi / 72
    turn = float(np.sin(np.radians(label.get_rotation())))
    if label.get_ha() == "right" and turn > 0:  # lines of turned text lie side by side
        return float(box.x1 - letter / turn), float(box.x1)
    return float(box.x0 - GAP * letter / 2), float(box.x1 + GAP * letter / 2)


def _kept(ends: list[Ends]) -> list[int]:
    """Which labels are shown: every second or third if evenly spaced, else those that fit.

    The last of unevenly spaced labels is always shown, since it is the end of the axis.
    """
    n, gaps = len(ends), np.diff([low + high for low, high in ends])
    if n < 3 or np.ptp(gaps) < EVEN * gaps.mean():
        steps = (list(range(0, n, every)) for every in range(1, n + 1))
        return next((at for at in steps if _fit([ends[i] for i in at])), [])
    kept: list[int] = []
    for i in range(n - 1):
        if _fit([*(ends[j] for j in kept[-1:]), ends[i], ends[-1]]):
            kept.append(i)
    return [*kept, n - 1]


def _fit(ends: Sequence[Ends]) -> bool:
    """Whether no label reaches into the next."""
    return all(end <= start for (_, end), (start, _) in pairwise(ends))
