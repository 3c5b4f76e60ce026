"""Titles in lines: those of axes and panels as their sides need, and the words of wide keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from simstudy.figures.journal.keys import is_key
from simstudy.figures.journal.lines import wrap
from simstudy.figures.journal.measured import Page, is_upright, panel_of_strip
from simstudy.figures.journal.ticks import room_across

GAP: Final = 0.04  # inches that a title keeps from the end of its side


class Titles:
    """The titles of a page, with what those of panels said before they were put in lines."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said = {text: text.get_text() for text in page.strips}

    def join(self) -> None:
        """The titles of a panel by two factors in one line, where all panels have room for it."""
        above = [text for text in self.page.strips if not is_upright(text)]
        if not any("\n" in text.get_text() for text in above):
            return
        before = [text.get_text() for text in above]
        for text in above:
            text.set_text(text.get_text().replace("\n", ", "))
        if not all(map(self._has_room, above)):
            for text, said in zip(above, before, strict=True):
                text.set_text(said)
        self.said.update((text, text.get_text()) for text in above)
        self.page.lay_out()

    def _has_room(self, strip: Any) -> bool:
        panel = self.page.box(panel_of_strip(strip))
        return bool(self.page.box(strip).width <= panel.width - GAP)

    def wrap(self, lines: int | None = None) -> bool:
        """In as many lines as each side needs; whether any changed.

        Titles beside rows of panels have at most so many lines, as long as panels can still grow.
        """
        changed = [wrap(self.page, text, room) for text, room in self._rooms(lines)]
        return any(changed)

    def unwrap(self) -> None:
        """Titles of panels as they were before panels had their heights."""
        for text, said in self.said.items():
            text.set_text(said)
        self.page.lay_out()

    def _rooms(self, lines: int | None) -> Iterator[tuple[Any, float]]:
        for text in self.page.texts:
            if panel_of_strip(text) is not None:
                yield text, self._beside_panel(text, lines)
            elif is_upright(text):
                yield text, self._reach() - GAP
            else:
                box = self.page.box(text)
                middle = (box.x0 + box.x1) / 2
                yield text, 2 * min(middle, self.page.width - middle) - GAP

    def wrap_of_axes(self) -> None:
        """In lines, those that matplotlib's axes have themselves, and those of subfigures."""
        boxes = [self.page.box(axes) for axes in self.page.panels]
        for axes, own in zip(self.page.panels, boxes, strict=True):
            left, right = room_across(own, boxes, self.page.width)
            across = 2 * min((own.x0 + own.x1) / 2 - left, right - (own.x0 + own.x1) / 2)
            for text in (axes.title, axes.xaxis.label):
                wrap(self.page, text, across)
            wrap(self.page, axes.yaxis.label, self.page.drawn.get_size_inches()[1] - GAP)
        for part in self.page.drawn.subfigs:
            for text in part.texts:
                wrap(self.page, text, part.bbox.width / self.page.drawn.dpi - GAP)
        self.page.lay_out()

    def _beside_panel(self, strip: Any, lines: int | None) -> float:
        panel = self.page.box(panel_of_strip(strip))
        if not is_upright(strip):
            return float(panel.width - GAP)
        least = self.page.box(strip).height / lines + GAP if lines else 0.0
        return float(max(panel.height - GAP, least))

    def _reach(self) -> float:
        """From the lowest panel's bottom to the highest one's top."""
        boxes = [self.page.box(axes) for axes in self.page.panels]
        return max(box.y1 for box in boxes) - min(box.y0 for box in boxes) if boxes else np.inf


def wrap_keys(page: Page) -> None:
    """Words of a key that is wider than the page in several lines."""
    from matplotlib.text import Text

    for key in page.drawn.findobj(is_key):
        beyond = page.box(key).width - (page.width - 2 * GAP)
        if key.get_visible() and beyond > 0:
            words = [text for text in key.findobj(Text) if text.get_text().strip()]
            widest = max(map(page.length, words), default=0.0)
            for text in words:
                wrap(page, text, widest - beyond)
    page.lay_out()
