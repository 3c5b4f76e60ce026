"""Levels of a factor beside and below panels: in lines, turned, or with a higher figure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from simstudy.figures.journal.axis_words import are_numbers, say, tick_labels
from simstudy.figures.journal.corners import corners_of, overlap
from simstudy.figures.journal.lines import in_lines
from simstudy.figures.journal.measured import Page

BETWEEN: Final = 0.02  # inches, the least between two names of an axis
APART: Final = 0.06  # inches, the least between two level names below a panel
MOST_LINES: Final = 3  # of a name below a panel, before it is turned
OF_THE_WIDTH: Final = 0.3  # the most of a page that names beside the panels take


class Names:
    """The names beside the panels of a page, with what said them in one line."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.whole: list[tuple[Any, Any]] = []
        self.may_wrap = True

    def wrap(self) -> bool:
        """Names in lines that would take more than their share of the page; whether any are."""
        changed = [self._wrap(axes) for axes in self.page.panels]
        return any(changed)

    def _wrap(self, axes: Any) -> bool:
        axis, room = axes.yaxis, OF_THE_WIDTH * self.page.width
        labels = tick_labels(axis) if self.may_wrap else []
        widest = max((self.page.box(label).width for label in labels), default=0.0)
        if widest <= room or are_numbers(labels):
            return False
        longest = max(len(label.get_text()) for label in labels)
        n_letters = int(longest * room / widest)
        self.whole.append((axis, axis.get_major_formatter()))
        say(axis, lambda words: [in_lines(word, n_letters) for word in words])
        return True

    def unwrap(self) -> None:
        """In one line again, where a full page leaves no height for two."""
        if any(self._lacking(axes) > 0 for axes in self.page.panels):
            for axis, before in reversed(self.whole):
                axis.set_major_formatter(before)
            self.may_wrap = False
            self.page.lay_out()

    def grow(self) -> bool:
        """A higher figure, where names beside a panel stand on each other; whether it grew."""
        short = max(map(self._lacking, self.page.panels), default=0.0)
        return short > 0 and self.page.grow(short * self.page.n_rows)

    def _lacking(self, axes: Any) -> float:
        """Height that a panel lacks for the names beside it, in inches."""
        labels = tick_labels(axes.yaxis)
        if len(labels) < 2 or are_numbers(labels):
            return 0.0
        boxes = sorted((self.page.box(label) for label in labels), key=lambda box: box.y0)
        pairs = list(itertools.pairwise(boxes))
        needed = [(low.height + high.height) / 2 + BETWEEN for low, high in pairs]
        there = [(high.y0 + high.y1 - low.y0 - low.y1) / 2 for low, high in pairs]
        factor = max(n / max(t, 1e-3) for n, t in zip(needed, there, strict=True))
        return self.page.box(axes).height * (factor - 1) if factor > 1 else 0.0


def turn_names(page: Page) -> None:
    """Levels below the panels in lines where they nearly touch; turned where they still would."""
    named = [axes for axes in page.panels if not are_numbers(tick_labels(axes.xaxis))]
    before = _mean_height(page)
    if any(_are_near(page, tick_labels(axes.xaxis)) for axes in named) and _in_lines(page, named):
        page.grow((before - _mean_height(page)) * page.n_rows)
        return
    if not any(_touch(page, tick_labels(axes.xaxis)) for axes in named):
        return
    for axes in named:
        for label in tick_labels(axes.xaxis):
            label.set(rotation=90, ha="center", va="top", rotation_mode="default")
    page.lay_out()
    page.grow((before - _mean_height(page)) * page.n_rows)


def _are_near(page: Page, labels: Sequence[Any]) -> bool:
    """Whether two level names are so near each other that they read as one."""
    boxes = sorted((page.box(label) for label in labels), key=lambda box: box.x0)
    level = not any(label.get_rotation() for label in labels)
    return level and any(b.x0 - a.x1 < APART for a, b in itertools.pairwise(boxes))


def _in_lines(page: Page, named: Sequence[Any]) -> bool:
    """Level names in a few lines, if that parts them; else they stay as they were."""
    before = [(axes.xaxis, axes.xaxis.get_major_formatter()) for axes in named]
    letters = [_n_letters(page, tick_labels(axis)) for axis, _ in before]
    for (axis, _), n_letters in zip(before, letters, strict=True):
        say(axis, partial(_each_in_lines, n_letters))
    page.lay_out()
    said = [tick_labels(axis) for axis, _ in before]
    n_lines = max(label.get_text().count("\n") + 1 for labels in said for label in labels)
    if n_lines <= MOST_LINES and not any(_are_near(page, labels) for labels in said):
        return True
    for axis, formatter in before:
        axis.set_major_formatter(formatter)
    page.lay_out()
    return False


def _each_in_lines(n_letters: int, words: Sequence[str]) -> list[str]:
    return [in_lines(word, n_letters) for word in words]


def _n_letters(page: Page, labels: Sequence[Any]) -> int:
    """How many letters of names below a panel stand between the middles of two of them."""
    boxes = sorted((page.box(label) for label in labels), key=lambda box: box.x0)
    middles = [(box.x0 + box.x1) / 2 for box in boxes]
    room = min((b - a for a, b in itertools.pairwise(middles)), default=np.inf) - APART
    widest = max((box.width for box in boxes), default=0.0)
    longest = max((len(label.get_text()) for label in labels), default=1)
    return max(int(longest * min(room / max(widest, 1e-3), 1.0)), 1)


def _touch(page: Page, labels: Sequence[Any]) -> bool:
    places = [corners_of(label, page.renderer, page.drawn.dpi) for label in labels]
    return any(overlap(a, b, 0) for a, b in itertools.pairwise(places))


def _mean_height(page: Page) -> float:
    return float(np.mean([page.box(axes).height for axes in page.panels]))
