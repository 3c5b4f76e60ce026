"""Room for words in the corners of panels: axes go on, so that marks stand beside the words.

Panels become higher by as much, unless their shape says how high they are: then both of their
axes go on, and equal distances stay equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from simstudy.figures.journal.measured import Page, words_of
from simstudy.figures.journal.outlines import marks_of
from simstudy.figures.journal.sides import keep_across

KEPT: Final = 0.02  # inches, of words from marks
EPS: Final = 0.005  # inches
MOST_ROUNDS: Final = 6  # of making room: on full pages, and where marks come aside under words
MOST_OF_PANEL: Final = 0.7  # of its height that words beside its marks take
ENDS: Final = {"top": 1, "bottom": 0}  # of an axis, by the `va` of words that stand there


def make_room(page: Page) -> None:
    """Let axes go on above and below marks, for words in upper and in lower corners."""
    for va in ENDS:
        for _ in range(MOST_ROUNDS):
            if not _once(page, va):
                break


def of_one_scale(panels: Sequence[Any], axes: str) -> Iterator[list[Any]]:
    """Panels in groups that have the same limits of an axis, `x` or `y`, or of both, `xy`."""
    keys = [tuple(np.round([getattr(panel, f"get_{axis}lim")() for axis in axes], 9).ravel())
            for panel in panels]  # fmt: skip
    for key in dict.fromkeys(keys):
        yield [panel for panel, its in zip(panels, keys, strict=True) if its == key]


def _once(page: Page, va: str) -> bool:
    """A first attempt, or a better one; whether any room was lacking."""
    axes = "xy" if page.aspect else "y"
    groups = list(of_one_scale(page.panels, axes))
    lacking = [max(_lacking(page, panel, va) for panel in panels) for panels in groups]
    most = max((short for short, _ in lacking), default=0.0)
    if most <= EPS:
        return False
    heights = [page.box(panels[0]).height for panels in groups]
    if page.aspect:  # marks have to become smaller, into what is left to them
        heights = [left for _, left in lacking]
    else:
        page.grow(most * page.n_rows)
    for panels, (short, _), height in zip(groups, lacking, heights, strict=True):
        _extend(panels, short / height, va, axes)
    page.lay_out()
    return True


def _lacking(page: Page, axes: Any, va: str) -> tuple[float, float]:
    """How far marks reach into the heights of words in corners, and what is left of the panel."""
    panel = page.box(axes)
    boxes = [page.box(text) for text in words_of(axes) if _is_in_corner(text, axes, va)]
    boxes = [box for box in boxes if box.height < MOST_OF_PANEL * panel.height]
    marks = marks_of(axes) if boxes else np.empty((0, 2))
    found = ((_reach(marks, box, va), panel.height - box.height) for box in boxes)
    return max(found, default=(0.0, panel.height))


def _reach(marks: Any, box: Any, va: str) -> float:
    near = (marks[:, 0] > box.x0 - KEPT) & (marks[:, 0] < box.x1 + KEPT)
    inner = marks[near, 1] - box.y0 if va == "top" else box.y1 - marks[near, 1]
    return max(float(inner.max(initial=-KEPT)) + KEPT, 0.0)


def _is_in_corner(text: Any, axes: Any, va: str) -> bool:
    """Whether words stand at the upper or at the lower end of a panel."""
    return bool(text.get_va() == va and _is_at(text.get_position()[1], axes.get_ylim()[ENDS[va]]))


def _is_at(place: float, end: float) -> bool:
    return abs(place - end) <= 1e-9 * max(abs(end), 1)


def _extend(panels: Iterable[Any], share: float, va: str, axes: str) -> None:
    """Longer axes; words that stood at their ends stand there again."""
    for panel in panels:
        for axis in axes if share > 0 else "":
            _go_on(panel, axis, share, ENDS[va])


def _go_on(panel: Any, axis: str, share: float, end: int) -> None:
    limits = list(getattr(panel, f"get_{axis}lim")())
    at = "xy".index(axis)
    there = [text for text in words_of(panel)
             if _is_at(text.get_position()[at], limits[end])]  # fmt: skip
    longer = lengthened(panel, axis, share, end)
    for text in there:
        getattr(text, f"set_{axis}")(longer)


def lengthened(panel: Any, axis: str, share: float, end: int) -> float:
    """Let an axis go on by a share of its length as it is drawn, such as in logs; its new end."""
    scale = getattr(panel, f"{axis}axis").get_transform()
    limits = list(getattr(panel, f"get_{axis}lim")())
    drawn = scale.transform(np.asarray(limits, float))
    beyond = drawn[end] + share * (drawn[end] - drawn[1 - end])
    limits[end] = float(scale.inverted().transform(np.array([beyond]))[0])
    if np.isfinite(limits[end]):
        before = getattr(panel, f"get_{axis}lim")()
        getattr(panel, f"set_{axis}lim")(*limits)
        keep_across(panel, axis, before, end)
    return float(getattr(panel, f"get_{axis}lim")()[end])
