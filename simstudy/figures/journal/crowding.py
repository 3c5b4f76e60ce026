"""What is wrong with a laid-out figure: what is small, cut off, or on something else."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from simstudy.figures.journal.axis_words import tick_labels
from simstudy.figures.journal.corners import SLACK, corners_of, overlap
from simstudy.figures.journal.covered import covered
from simstudy.figures.journal.keys import is_key
from simstudy.figures.journal.measured import Page
from simstudy.shapes import Float

LEAST_POINTS: Final = 7.0  # of any text


class Placed(NamedTuple):
    """What stands somewhere: what to call it, and its four corners in inches."""

    name: str
    corners: Float[np.ndarray, "4 2"]
    what: Any


def crowding(drawn: Any) -> list[str]:
    """Whatever of a figure is too small, beyond its page, or on something else.

    Parameters
    ----------
    drawn
        A matplotlib Figure, laid out already or not; it is laid out here.

    Returns
    -------
    list of str
        A sentence for each text, and for each key; empty where all can be read.
    """
    page = Page(drawn)
    texts, keys = placed_texts(page), placed_keys(page)
    return [
        *_too_small(texts),
        *_beyond([*texts, *keys], drawn.get_size_inches()),
        *_on_another(texts),
        *_under_keys(keys, texts, page),
        *(f"{_quoted(text)} {fault}" for text, fault in covered(page)),
    ]


# ---------------------------------------------------------------- what is there
def placed_texts(page: Page) -> list[Placed]:
    """The texts of a figure that are seen."""
    dpi = page.drawn.dpi
    seen = (text for text in _texts(page.drawn) if text.get_visible() and text.get_text().strip())
    return [Placed(_quoted(text), corners_of(text, page.renderer, dpi), text) for text in seen]


def _texts(drawn: Any) -> Iterator[Any]:
    """Texts by who draws them: ticks only where their axis shows them."""
    from matplotlib.axis import Axis
    from matplotlib.text import Text

    of_ticks = {id(text) for axis in drawn.findobj(Axis) for text in axis.findobj(Text)}
    yield from (text for text in drawn.findobj(Text) if id(text) not in of_ticks)
    for axes in drawn.axes:
        if axes.get_visible() and axes.axison:
            for axis in (axes.xaxis, axes.yaxis):
                yield from tick_labels(axis)
                yield from (axis.label, axis.offsetText)


def placed_keys(page: Page) -> list[Placed]:
    """The keys of a figure that are seen, called by the first of their words."""
    keys = [key for key in page.drawn.findobj(is_key) if key.get_visible()]
    return [Placed(_key_named(key), page.box(key).corners()[[0, 1, 3, 2]], key) for key in keys]


def _key_named(key: Any) -> str:
    return f"the key {next(map(_quoted, _words_in(key)), 'without words')}"


def _words_in(artist: Any) -> list[Any]:
    from matplotlib.text import Text

    return [text for text in artist.findobj(Text) if text.get_text().strip()]


def _quoted(text: Any) -> str:
    return repr(re.sub(r"\s+", " ", text.get_text())[:40])


# ---------------------------------------------------------------- what is wrong
def _too_small(texts: Iterable[Placed]) -> list[str]:
    return [
        f"{placed.name} has {placed.what.get_fontsize():.3g} points"
        for placed in texts
        if placed.what.get_fontsize() < LEAST_POINTS - 1e-6
    ]


def _beyond(found: Iterable[Placed], page: Any) -> list[str]:
    return [
        f"{placed.name} goes beyond the page"
        for placed in found
        if (placed.corners < -SLACK).any() or (placed.corners > page + SLACK).any()
    ]


def _on_another(found: Iterable[Placed]) -> list[str]:
    pairs = itertools.combinations(found, 2)
    return [f"{a.name} is on {b.name}" for a, b in pairs if overlap(a.corners, b.corners)]


def _under_keys(keys: Sequence[Placed], texts: Iterable[Placed], page: Page) -> list[str]:
    """Panels, words of others, and keys that a key stands on."""
    panels = [Placed("a panel", page.box(axes).corners()[[0, 1, 3, 2]], axes)
              for axes in page.panels]  # fmt: skip
    found = _on_another(keys)
    for key in keys:
        own = set(map(id, _words_in(key.what)))
        others = [*panels, *(text for text in texts if id(text.what) not in own)]
        found += [f"{key.name} is on {other.name}" for other in others
                  if overlap(key.corners, other.corners)]  # fmt: skip
    return found
