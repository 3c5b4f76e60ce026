"""Draws a plotnine figure with matplotlib, at its printed size."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from simstudy.errors import FigureError
from simstudy.figures.captions import wrapped_to
from simstudy.figures.theme import FULL_WIDTH, TALLEST

REPRODUCIBLE: Final[dict[Any, Any]] = {
    "svg.hashsalt": "simstudy",
    "svg.fonttype": "path",
    "svg.id": None,
    "pdf.fonttype": 42,  # TrueType, which journals ask for
}
HYPHEN = re.compile(r"(?<![\w.)\]-])-(?=\d|\.\d|∞)")  # before a number, not in a range
MINUS = "−"


@contextmanager
def as_printed() -> Iterator[None]:
    """Context in which matplotlib uses its defaults and `REPRODUCIBLE`."""
    _headless()
    import matplotlib
    import matplotlib.style

    with matplotlib.style.context("default", after_reset=True), matplotlib.rc_context(REPRODUCIBLE):
        yield


def _headless() -> None:
    """Use a backend without a display, unless one has been chosen."""
    import matplotlib

    if "matplotlib.pyplot" not in sys.modules and matplotlib.get_backend(auto_select=False) is None:
        matplotlib.use("Agg")


def drawn_figure(figure: Any, dpi: int) -> Any:
    """The matplotlib Figure of a ggplot or a composition, before layout."""
    from matplotlib.figure import Figure

    if isinstance(figure, Figure):
        return figure
    if not type(figure).__module__.startswith("plotnine."):
        raise FigureError(
            f"A {type(figure).__name__} cannot be saved as a figure: `save_figure` draws a "
            "plotnine ggplot or a matplotlib Figure. Return one of these."
        )
    from simstudy.lazy import p9

    plot = copy.deepcopy(figure)  # drawing changes a plot
    if not isinstance(plot, p9.ggplot):
        return with_minus_signs(plot.draw())
    plot = plot + p9.theme(dpi=dpi)
    return with_minus_signs(with_caption_at_edge(plot.draw(), plot))


# ---------------------------------------------------------------- size
def printed(plot: Any, size: tuple[float, float] | None = None) -> Any:
    """A ggplot at its printed size in inches, with its caption wrapped to the width.

    Parameters
    ----------
    size
        Width, at most that of a page's text, and height. Default: those of the plot.
    """
    from simstudy.lazy import p9

    if not isinstance(plot, p9.ggplot):
        return plot
    own_width, height = size or plot.theme.getp("figure_size")
    width = min(own_width, FULL_WIDTH)
    caption = wrapped_to(width, plot.labels.get("caption", None) or "")
    return plot + p9.theme(figure_size=(width, min(height, TALLEST))) + p9.labs(caption=caption)


# ---------------------------------------------------------------- caption
def with_caption_at_edge(figure: Any, plot: Any) -> Any:
    """A drawn ggplot with its caption at the left margin.

    Panels of a fixed shape that are narrow because of the page's height are centred. The caption,
    which is wrapped to the page's width, would start at their left and end beyond the page.

    Parameters
    ----------
    figure
        The matplotlib figure, not yet laid out.
    plot
        The ggplot that it was drawn from.
    """
    caption = plot.labels.get("caption", None)
    text = next((text for text in figure.texts if text.get_text() == caption), None)
    if text is not None:
        margin = plot.theme.getp("plot_margin_left")
        figure.set_layout_engine(_moving(text, margin, figure.get_layout_engine()))
    return figure


def _moving(caption: Any, left: float, inner: Any) -> Any:
    """A layout engine that moves the caption to the left margin."""
    from matplotlib.layout_engine import LayoutEngine

    class AtEdge(LayoutEngine):
        _adjust_compatible = inner.adjust_compatible
        _colorbar_gridspec = inner.colorbar_gridspec
        plot = getattr(inner, "plot", None)

        def execute(self, fig: Any) -> None:
            inner.execute(fig)
            caption.set_x(left)

    return AtEdge()


# ---------------------------------------------------------------- minus signs
def with_minus(text: str) -> str:
    """Replace hyphens before numbers by minus signs."""
    return HYPHEN.sub(MINUS, text)


def with_minus_signs(figure: Any) -> Any:
    """A matplotlib figure with minus signs in texts and ticks."""
    from matplotlib.text import Text

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(_formatter(axis.get_major_formatter()))
    for text in figure.findobj(Text):
        text.set_text(with_minus(text.get_text()))
    return figure


def _formatter(inner: Any) -> Any:
    """A tick formatter with minus signs."""
    from matplotlib.ticker import Formatter

    class Signed(Formatter):
        def __call__(self, place: float, at: int | None = None) -> str:
            return with_minus(inner(place, at))

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return list(map(with_minus, inner.format_ticks(values)))

        def get_offset(self) -> str:
            return with_minus(inner.get_offset())

    return Signed()
