"""Keys within their page and titles of panels of one size: by the layout, as often as it runs."""

from __future__ import annotations

from typing import Any

EDGE = 2.0  # points between a key and the page's edge


def is_key(artist: Any) -> bool:
    """Whether an artist is a box of keys."""
    from matplotlib.offsetbox import AnchoredOffsetbox

    return isinstance(artist, AnchoredOffsetbox)


def with_keys_inside(drawn: Any) -> Any:
    """A drawn ggplot whose keys, which stand over the middle of its panels, end at its page.

    Parameters
    ----------
    drawn
        The matplotlib figure, not yet laid out.
    """
    inner = drawn.get_layout_engine()
    if inner is not None:
        drawn.set_layout_engine(_moving(inner))
    return drawn


def _moving(inner: Any) -> Any:
    from matplotlib.layout_engine import LayoutEngine

    class WithKeysInside(LayoutEngine):
        _adjust_compatible = inner.adjust_compatible
        _colorbar_gridspec = inner.colorbar_gridspec
        plot = getattr(inner, "plot", None)

        def execute(self, fig: Any) -> None:
            _let_strips_be_measured(fig)
            inner.execute(fig)
            for key in filter(is_key, fig.get_children()):
                _move_inside(key, fig)

    return WithKeysInside()


def _let_strips_be_measured(drawn: Any) -> None:
    """Titles of panels at their own size: a layout makes them equal, but only from there."""
    for strip in drawn.artists:
        if hasattr(getattr(strip, "patch", None), "expand"):
            strip.patch.expand = 1


def _move_inside(key: Any, drawn: Any) -> None:
    box, page = key.get_window_extent(drawn._get_renderer()), drawn.bbox.width
    beyond = max(box.x1 - (page - EDGE), 0.0)
    shift = max(-beyond, EDGE - box.x0) if beyond else max(EDGE - box.x0, 0.0)
    if shift:
        anchor = key.get_bbox_to_anchor()
        place = drawn.transFigure.inverted().transform((anchor.x0 + shift, anchor.y0))
        key.set_bbox_to_anchor(tuple(place), drawn.transFigure)
