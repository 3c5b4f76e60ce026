"""How wide the page is for which figures are laid out just now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

FULL_WIDTH: Final = 6.5  # inches: the text of a page, and the width of every figure
NARROW: Final = 5.0  # inches: less than this is a column
BESIDE: Final = 0.75  # inches of the width that the labels of the vertical axis take
WRAPPED, IN_GRID = 1.15, 0.85  # inches: the narrowest panels, each with its own title, or in a grid
_inches: ContextVar[float] = ContextVar("page_width", default=FULL_WIDTH)


def page_width() -> float:
    """Width in inches for which figures are laid out: of a page's text, or of a journal's column.

    A figure function of a study asks this where it would lay out a narrow figure in another way.
    """
    return _inches.get()


def is_narrow() -> bool:
    """Whether that is a column's width, where keys stand above or below panels and not beside."""
    return page_width() < NARROW


def abreast(n_panels: int, narrowest: float) -> int:
    """Panels that stand side by side, each at least so many inches wide; the rows equally full."""
    most = max(int((page_width() - BESIDE) / narrowest), 1)
    return n_panels if n_panels <= most else -(-n_panels // -(-n_panels // most))


@contextmanager
def laid_out_for(inches: float) -> Iterator[None]:
    """Figures that are made within it are laid out for this width."""
    token = _inches.set(inches)
    try:
        yield
    finally:
        _inches.reset(token)
