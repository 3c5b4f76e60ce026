"""A drawn figure, measured in inches by the renderer that will draw it, and grown where it must."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from simstudy.figures.theme import TALLEST

LEAST: Final = 1.5  # inches: the height of the lowest figure


class Page:
    """A figure at the size at which it is printed; what moves its words changes it.

    Parameters
    ----------
    drawn
        A matplotlib Figure.
    """

    def __init__(self, drawn: Any) -> None:
        self.drawn = drawn
        self.lay_out()
        self.renderer = drawn._get_renderer()

    def lay_out(self) -> None:
        """Let the figure's own engine place everything anew."""
        self.drawn.draw_without_rendering()

    # ------------------------------------------------------------ what is there
    @property
    def width(self) -> float:
        """Of the page."""
        return float(self.drawn.get_size_inches()[0])

    @property
    def panels(self) -> list[Any]:
        return [axes for axes in self.drawn.axes if axes.get_visible() and axes.axison]

    @property
    def n_rows(self) -> int:
        """Rows of panels."""
        return len({round(self.box(axes).y0, 2) for axes in self.panels})

    @property
    def strips(self) -> list[Any]:
        """Titles of panels."""
        return [artist for artist in self.drawn.artists if panel_of_strip(artist) is not None]

    @property
    def texts(self) -> list[Any]:
        """Titles of axes, the caption, and titles of panels."""
        return [*self.drawn.texts, *self.strips]

    # ------------------------------------------------------------ how large it is
    def box(self, artist: Any) -> Any:
        """Where an artist stands."""
        return artist.get_window_extent(self.renderer).transformed(
            self.drawn.dpi_scale_trans.inverted()
        )

    def length(self, text: Any) -> float:
        """Of a text along its lines."""
        box = self.box(text)
        return float(box.height if is_upright(text) else box.width)

    def grow(self, inches: float) -> bool:
        """A figure so much higher or lower, as far as a page allows; whether it changed."""
        width, height = self.drawn.get_size_inches()
        grown = float(np.clip(height + inches, LEAST, TALLEST))
        if abs(grown - height) < 0.02:
            return False
        self.drawn.set_size_inches(width, grown)
        self._tell_size(width, grown)
        self.lay_out()
        return True

    def _tell_size(self, width: float, height: float) -> None:
        """Let a plot's layout know how large its page is: it measures margins and shapes by it."""
        plot = self._plot()
        if plot is None:
            return
        parts = plot.theme.themeables
        parts["figure_size"] = type(parts["figure_size"])((width, height))
        for name in parts:
            margin = plot.theme.getp((name, "margin"))
            if margin is not None:
                margin.figure_size = (width, height)

    # ------------------------------------------------------------ the shape of its panels
    @property
    def aspect(self) -> float:
        """Height of panels over their width, where a plot says it; else 0."""
        plot = self._plot()
        return float(plot.facet._aspect_ratio() or 0) if plot is not None else 0.0

    def free_aspect(self) -> None:
        """Let panels be higher than their shape says: their titles have no room else."""
        plot = self._plot()
        if plot is not None:
            plot.facet._aspect_ratio = lambda: None

    def _plot(self) -> Any:
        return getattr(self.drawn.get_layout_engine(), "plot", None)


def panel_of_strip(text: Any) -> Any:
    """The panel whose title a text is; None where it is none."""
    return getattr(getattr(text, "draw_info", None), "ax", None)


def is_upright(text: Any) -> bool:
    """Whether its lines go up the page."""
    return bool(text.get_rotation() % 180)


def words_of(axes: Any) -> list[Any]:
    """The words in a panel that are seen; none where it is round, or one looks into it."""
    if axes.name != "rectilinear":
        return []
    return [text for text in axes.texts if text.get_visible() and text.get_text().strip()]
