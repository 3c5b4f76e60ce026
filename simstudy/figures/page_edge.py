"""A caption starts at the page's edge, however narrow the panels above it are."""

from __future__ import annotations

from typing import Any


def with_caption_at_edge(drawn: Any, plot: Any) -> Any:
    """A drawn ggplot whose caption begins at the plot's left margin.

    Panels of a fixed shape that a page's height makes narrow are moved to its middle. A caption
    would start at their left and end beyond the page, for it is wrapped to the page's width.

    Parameters
    ----------
    drawn
        The matplotlib figure, not yet laid out.
    plot
        The ggplot that it was drawn from.
    """
    said = plot.labels.get("caption", None)
    text = next((text for text in drawn.texts if text.get_text() == said), None)
    if text is not None:
        margin = plot.theme.getp("plot_margin_left")
        drawn.set_layout_engine(_moving(text, margin, drawn.get_layout_engine()))
    return drawn


def _moving(caption: Any, left: float, inner: Any) -> Any:
    """A layout as another one makes it, the caption then at `left`, a share of the width."""
    from matplotlib.layout_engine import LayoutEngine

    class AtEdge(LayoutEngine):
        _adjust_compatible = inner.adjust_compatible
        _colorbar_gridspec = inner.colorbar_gridspec
        plot = getattr(inner, "plot", None)

        def execute(self, fig: Any) -> None:
            inner.execute(fig)
            caption.set_x(left)

    return AtEdge()
