"""Minus signs: numbers below 0 in a drawn figure have the sign that mathematics prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

HYPHEN = re.compile(r"(?<![\w.)\]-])-(?=\d|\.\d|∞)")  # before a number, and between no two things
MINUS = "−"


def with_minus(text: str) -> str:
    """The text with a minus sign before each negative number; a hyphen in a word stays."""
    return HYPHEN.sub(MINUS, text)


def with_minus_signs(drawn: Any) -> Any:
    """A matplotlib figure whose texts and ticks have them."""
    from matplotlib.text import Text

    for axes in drawn.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(_formatter(axis.get_major_formatter()))
    for text in drawn.findobj(Text):
        text.set_text(with_minus(text.get_text()))
    return drawn


def _formatter(inner: Any) -> Any:
    """What says ticks as another one does, with these signs."""
    from matplotlib.ticker import Formatter

    class Signed(Formatter):
        def __call__(self, place: float, at: int | None = None) -> str:
            return with_minus(inner(place, at))

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return list(map(with_minus, inner.format_ticks(values)))

        def get_offset(self) -> str:
            return with_minus(inner.get_offset())

    return Signed()
