"""Words of a drawn figure moved apart: wrapped, turned, thinned out, and panels given their height.

Letters stay as large as they are. What has no room gets lines, or a figure that is higher.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from simstudy.figures.journal.crowding import corners_of, overlap, tick_labels
from simstudy.figures.journal.keys import is_key
from simstudy.figures.journal.words import part_words
from simstudy.figures.theme import TALLEST

GAP: Final = 0.04  # inches, the least between two words of an axis
BEYOND: Final = 0.1  # inches, of a number below or above its panel
LEAST_HEIGHT: Final = 0.7  # inches of a panel
OF_THE_WIDTH: Final = 0.3  # the most of a page that names beside the panels take
EPS: Final = 0.005  # inches
MOST_ROUNDS: Final = 3  # of growing a figure for what its rows need
EQUALITY: Final = re.compile(r"\S+ [=<>≤≥] [^\s,]+")
NO_BREAK: Final = "\u00a0"
NUMBER: Final = re.compile(r"[−+\-]?[\d.,]+(e[−+\-]?\d+)?[%k]?|\$.*\$")


def mended(drawn: Any, *, keep_height: bool = False) -> Any:
    """A figure whose words are apart, as far as its page allows.

    Parameters
    ----------
    drawn
        A matplotlib Figure at the size at which it is printed; is changed.
    keep_height
        Whether panels stay as high as they are wherever words allow it.
    """
    page = _Page(drawn)
    page.wrap_keys()
    page.join_titles()
    page.wrap_titles(lines=2)
    page.give_heights(keep=keep_height)
    page.wrap_titles(lines=2)
    page.give_heights(keep=True)
    page.turn_names()
    for _ in range(MOST_ROUNDS):
        if not (page.grow_for_names() or page.grow_for_strips()):
            break
    page.unwrap_names()
    page.unwrap_strips()
    page.wrap_titles()
    page.thin_numbers()
    page.wrap_titles()
    part_words(page)
    return drawn


class _Page:
    """A figure, measured in inches by the renderer that will draw it."""

    def __init__(self, drawn: Any) -> None:
        self.drawn = drawn
        self.whole_names: list[tuple[Any, Any]] = []  # axes, with what said them in one line
        self.may_wrap_names = True
        self.lay_out()
        self.renderer = drawn._get_renderer()
        strips = (text for text in self.texts if _panel_of_strip(text) is not None)
        self.said = {text: text.get_text() for text in strips}

    def lay_out(self) -> None:
        self.drawn.draw_without_rendering()

    @property
    def panels(self) -> list[Any]:
        return [axes for axes in self.drawn.axes if axes.get_visible() and axes.axison]

    @property
    def texts(self) -> list[Any]:
        """Titles of axes, the caption, and titles of panels."""
        strips = (artist for artist in self.drawn.artists if _panel_of_strip(artist) is not None)
        return [*self.drawn.texts, *strips]

    @property
    def n_rows(self) -> int:
        """Rows of panels."""
        return len({round(self.box(axes).y0, 2) for axes in self.panels})

    @property
    def has_shape(self) -> bool:
        """Whether its panels have heights that go with their widths."""
        return self._aspect() > 0

    def box(self, artist: Any) -> Any:
        """Where an artist stands."""
        return artist.get_window_extent(self.renderer).transformed(
            self.drawn.dpi_scale_trans.inverted()
        )

    # ------------------------------------------------------------ titles
    def join_titles(self) -> None:
        """The titles of a panel by two factors in one line, where all panels have room for it."""
        strips = [text for text in self.texts if _panel_of_strip(text) is not None]
        above = [text for text in strips if not text.get_rotation() % 180]
        if not any("\n" in text.get_text() for text in above):
            return
        before = [text.get_text() for text in above]
        for text in above:
            text.set_text(text.get_text().replace("\n", ", "))
        if any(
            self.box(text).width > self.box(_panel_of_strip(text)).width - GAP for text in above
        ):
            for text, said in zip(above, before, strict=True):
                text.set_text(said)
        self.said.update((text, text.get_text()) for text in above)
        self.lay_out()

    def wrap_keys(self) -> None:
        """Words of a key that is wider than the page in several lines."""
        from matplotlib.text import Text

        page = self.drawn.get_size_inches()[0] - 2 * GAP
        for key in self.drawn.findobj(is_key):
            beyond = self.box(key).width - page
            if key.get_visible() and beyond > 0:
                words = [text for text in key.findobj(Text) if text.get_text().strip()]
                widest = max(map(self._length, words), default=0.0)
                for text in words:
                    self.wrap(text, widest - beyond)
        self.lay_out()

    def wrap_titles(self, lines: int | None = None) -> None:
        """Titles of axes and panels in as many lines as their side needs, and names beside them.

        Titles beside rows of panels have at most so many lines, as long as panels can still grow.
        """
        changed = [self.wrap(text, room) for text, room in self._rooms(lines)]
        changed += [self._wrap_names(axes) for axes in self.panels]
        if any(changed):
            self.lay_out()

    def unwrap_strips(self) -> None:
        """Titles of panels as they were before panels had their heights."""
        for text, said in self.said.items():
            text.set_text(said)
        self.lay_out()

    def _rooms(self, lines: int | None) -> Iterator[tuple[Any, float]]:
        width = self.drawn.get_size_inches()[0]
        for text in self.texts:
            strip_of = _panel_of_strip(text)
            along = bool(text.get_rotation() % 180)
            if strip_of is not None and not along:
                yield text, self.box(strip_of).width - GAP
            elif strip_of is not None:
                least = self.box(text).height / lines + GAP if lines else 0.0
                yield text, max(self.box(strip_of).height - GAP, least)
            elif along:
                yield text, self._reach() - GAP
            else:
                box = self.box(text)
                middle = (box.x0 + box.x1) / 2
                yield text, 2 * min(middle, width - middle) - GAP

    def _reach(self) -> float:
        """From the lowest panel's bottom to the highest one's top."""
        boxes = [self.box(axes) for axes in self.panels]
        return max(box.y1 for box in boxes) - min(box.y0 for box in boxes) if boxes else np.inf

    def wrap(self, text: Any, room: float) -> bool:
        """A text in as many lines as it takes to be no longer than its room; whether it changed."""
        before = text.get_text()
        if self._length(text) <= room:
            return False
        is_title = text.axes is None and _panel_of_strip(text) is None
        said = before.replace("\n", " ") if is_title else before
        n_letters = max(map(len, said.split("\n")))
        shortest = max(map(len, re.split(r"\s|(?<=-)", said)), default=1)
        while self._length(text) > room and n_letters > shortest:
            n_letters = max(
                min(n_letters - 1, int(n_letters * room / self._length(text))), shortest
            )
            text.set_text(_in_lines(said, n_letters))
        if hasattr(text, "draw_info"):
            text.set_verticalalignment("center")
        return bool(text.get_text() != before)

    def _length(self, text: Any) -> float:
        """Along its lines, in inches."""
        box = self.box(text)
        return float(box.height if text.get_rotation() % 180 else box.width)

    def _wrap_names(self, axes: Any) -> bool:
        """Levels beside a panel that would take more than their share of the page."""
        room = OF_THE_WIDTH * self.drawn.get_size_inches()[0]
        labels = tick_labels(axes.yaxis) if self.may_wrap_names else []
        widest = max((self.box(label).width for label in labels), default=0.0)
        if widest <= room or all(map(_is_number, labels)):
            return False
        longest = max(len(label.get_text()) for label in labels)
        n_letters = int(longest * room / widest)
        self.whole_names.append((axes.yaxis, axes.yaxis.get_major_formatter()))
        _say(axes.yaxis, lambda words: [_in_lines(word, n_letters) for word in words])
        return True

    def unwrap_names(self) -> None:
        """Levels beside panels in one line again, where a full page leaves no height for two."""
        if any(self._lacking(axes) > 0 for axes in self.panels):
            for axis, before in reversed(self.whole_names):
                axis.set_major_formatter(before)
            self.may_wrap_names = False
            self.lay_out()

    # ------------------------------------------------------------ heights
    def give_heights(self, *, keep: bool) -> None:
        """Panels as high as they were, but no higher than wide; less where the page is full."""
        boxes = [self.box(axes) for axes in self.panels]
        if not boxes:
            return
        n_rows, n_columns = (len({round(getattr(b, s), 2) for b in boxes}) for s in ("y0", "x0"))
        wide, high = (float(np.mean([getattr(b, n) for b in boxes])) for n in ("width", "height"))
        wanted = high if keep else min(high, wide)
        aspect = self._aspect()
        if aspect:
            wanted = aspect * (wide + self._left_over() / n_columns)
        needed = max(self._of_strips(), LEAST_HEIGHT)
        if needed > wanted:
            self._free_aspect()
        self.grow(n_rows * (max(wanted, needed) - high))
        if self._aspect():  # panels as wide as they can be leave room above and below
            self.grow(self._content_height() + 2 * GAP - self.drawn.get_size_inches()[1])

    def _content_height(self) -> float:
        """From the lowest word or panel to the highest one, or key."""
        artists = [*self.panels, *self.texts, *self.drawn.findobj(is_key)]
        boxes = [self.box(artist) for artist in artists if artist.get_visible()]
        strips = [self.box(text.patch) for text in self.texts if _panel_of_strip(text)]
        return float(max(b.y1 for b in [*boxes, *strips]) - min(b.y0 for b in boxes))

    def _left_over(self) -> float:
        """Width of the page beside all that is drawn but the caption, in inches."""
        boxes = [axes.get_tightbbox(self.renderer) for axes in self.panels]
        boxes += [text.get_window_extent(self.renderer) for text in self.texts
                  if text.get_rotation() % 180]  # fmt: skip
        ends = max(box.x1 for box in boxes) - min(box.x0 for box in boxes)
        return max(float(self.drawn.get_size_inches()[0] - ends / self.drawn.dpi - 3 * GAP), 0.0)

    def _of_strips(self) -> float:
        """What the titles beside rows of panels need."""
        beside = (text for text in self.texts if _panel_of_strip(text) is not None)
        along = (text for text in beside if text.get_rotation() % 180)
        return max((self.box(text).height for text in along), default=0.0) + GAP

    def _plot(self) -> Any:
        return getattr(self.drawn.get_layout_engine(), "plot", None)

    def _aspect(self) -> float:
        """Height of panels over their width, where a plot says it; else 0."""
        plot = self._plot()
        return float(plot.facet._aspect_ratio() or 0) if plot is not None else 0.0

    def _free_aspect(self) -> None:
        """Let panels be higher than their shape says: their titles have no room else."""
        plot = self._plot()
        if plot is not None:
            plot.facet._aspect_ratio = lambda: None

    def grow(self, inches: float) -> bool:
        width, height = self.drawn.get_size_inches()
        grown = float(np.clip(height + inches, 1.5, TALLEST))
        if abs(grown - height) < 0.02:
            return False
        self.drawn.set_size_inches(width, grown)
        self.lay_out()
        return True

    def grow_for_names(self) -> bool:
        """A higher figure, where levels beside a panel stand on each other; whether it grew."""
        short = [self._lacking(axes) for axes in self.panels]
        rows = {round(self.box(axes).y0, 2) for axes in self.panels}
        return bool(short) and max(short) > 0 and self.grow(max(short) * len(rows))

    def grow_for_strips(self) -> bool:
        """A higher figure, where titles beside rows of panels are longer than these."""
        boxes = [self.box(axes) for axes in self.panels]
        short = self._of_strips() - min((box.height for box in boxes), default=0.0)
        if not boxes or short <= EPS or self._of_strips() <= GAP:
            return False
        self._free_aspect()
        return self.grow(short * len({round(box.y0, 2) for box in boxes}))

    def _lacking(self, axes: Any) -> float:
        labels = tick_labels(axes.yaxis)
        if len(labels) < 2 or all(map(_is_number, labels)):
            return 0.0
        boxes = sorted((self.box(label) for label in labels), key=lambda box: box.y0)
        pairs = list(itertools.pairwise(boxes))
        needed = [(low.height + high.height) / 2 + GAP / 2 for low, high in pairs]
        there = [(high.y0 + high.y1 - low.y0 - low.y1) / 2 for low, high in pairs]
        factor = max(n / max(t, 1e-3) for n, t in zip(needed, there, strict=True))
        return self.box(axes).height * (factor - 1) if factor > 1 else 0.0

    # ------------------------------------------------------------ ticks
    def turn_names(self) -> None:
        """Levels below the panels turned, all of them where any two would touch."""
        named = [axes for axes in self.panels if not all(map(_is_number, tick_labels(axes.xaxis)))]
        if not any(self._touch(tick_labels(axes.xaxis)) for axes in named):
            return
        before = float(np.mean([self.box(axes).height for axes in self.panels]))
        for axes in named:
            for label in tick_labels(axes.xaxis):
                label.set(rotation=90, ha="center", va="top", rotation_mode="default")
        self.lay_out()
        after = float(np.mean([self.box(axes).height for axes in self.panels]))
        rows = {round(self.box(axes).y0, 2) for axes in self.panels}
        self.grow((before - after) * len(rows))

    def _touch(self, labels: Sequence[Any]) -> bool:
        places = [corners_of(label, self.renderer, self.drawn.dpi) for label in labels]
        return any(overlap(a, b, 0) for a, b in itertools.pairwise(places))

    def thin_numbers(self) -> None:
        """Every second number of an axis, or every so many, where more would touch."""
        panels = self.panels
        for axes in panels:
            left, right = self._room_across(axes, panels)
            self._thin(axes.xaxis, lambda box: (box.x0, box.x1), left, right)
            below, above = self._room_along(axes, panels)
            self._thin(axes.yaxis, lambda box: (box.y0, box.y1), below, above)
        self.lay_out()

    def _room_across(self, axes: Any, panels: Sequence[Any]) -> tuple[float, float]:
        """How far labels below a panel may go, half-way to the next panel or to the page's end."""
        own, page = self.box(axes), self.drawn.get_size_inches()[0]
        beside = [box for box in map(self.box, panels) if abs(box.y0 - own.y0) < 0.05]
        ends = [box.x1 for box in beside if box.x1 <= own.x0]
        starts = [box.x0 for box in beside if box.x0 >= own.x1]
        left = (max(ends) + own.x0) / 2 + GAP / 2 if ends else 0.0
        right = (min(starts) + own.x1) / 2 - GAP / 2 if starts else page
        return left, right

    def _room_along(self, axes: Any, panels: Sequence[Any]) -> tuple[float, float]:
        """How far labels beside a panel may go, half-way to the panels above and below it."""
        own = self.box(axes)
        beside = [box for box in map(self.box, panels) if abs(box.x0 - own.x0) < 0.05]
        ends = [box.y1 for box in beside if box.y1 <= own.y0]
        starts = [box.y0 for box in beside if box.y0 >= own.y1]
        below = (max(ends) + own.y0) / 2 if ends else own.y0 - BEYOND
        above = (min(starts) + own.y1) / 2 if starts else own.y1 + BEYOND
        return max(below, own.y0 - BEYOND), min(above, own.y1 + BEYOND)

    def _thin(
        self, axis: Any, ends_of: Callable[[Any], tuple[float, float]], low: float, high: float
    ) -> None:
        labels = tick_labels(axis)
        if not labels or not all(map(_is_number, labels)):
            return
        ends = [ends_of(self.box(label)) for label in labels]
        kept = _every_so_many(ends, low, high)
        if len(kept) == len(labels):
            return
        said = {labels[place].get_text() for place in kept}
        _say(axis, lambda words: [word if word in said else "" for word in words])


def _panel_of_strip(text: Any) -> Any:
    """The panel whose title a text is; None where it is none."""
    return getattr(getattr(text, "draw_info", None), "ax", None)


def _in_lines(text: str, n_letters: int) -> str:
    """Lines of so many letters; `n = 30` stays together where that is no longer than these."""
    return "\n".join(map(partial(_line_in_lines, n_letters), text.split("\n")))


def _line_in_lines(n_letters: int, line: str) -> str:
    joined = EQUALITY.sub(_together, line)
    said = joined if max(map(len, joined.split(" ")), default=0) <= n_letters else line
    wrapped = textwrap.wrap(said, n_letters, break_long_words=False)
    return "\n".join(wrapped).replace(NO_BREAK, " ")


def _together(equality: re.Match[str]) -> str:
    return equality[0].replace(" ", NO_BREAK)


def _is_number(label: Any) -> bool:
    return bool(NUMBER.fullmatch(label.get_text().strip()))


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


def _say(axis: Any, change: Callable[[list[str]], list[str]]) -> None:
    """Change what an axis says at its ticks."""
    from matplotlib.ticker import Formatter

    inner = axis.get_major_formatter()

    class Changed(Formatter):
        def __call__(self, place: float, at: int | None = None) -> str:
            return change([inner(place, at)])[0]

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return change(list(inner.format_ticks(values)))

        def get_offset(self) -> str:
            return str(inner.get_offset())

    axis.set_major_formatter(Changed())
