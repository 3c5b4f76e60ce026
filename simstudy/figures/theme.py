"""One look for every figure: readable in print, light, and the same to colour-blind readers.

The discrete palette is that of Okabe and Ito (2008), "Color universal design", in an order that
puts the hues with the strongest contrast on white first. Quantities are coloured by cividis, whose
lightness grows evenly (Nuñez, Anderton & Renslow 2018, PLOS ONE 13(7), e0199239).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simstudy.errors import FigureError
from simstudy.figures.frame import in_words
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import p9

OKABE_ITO: Final = (
    "#0072B2",  # blue
    "#D55E00",  # vermillion
    "#009E73",  # bluish green
    "#CC79A7",  # reddish purple
    "#56B4E9",  # sky blue
    "#E69F00",  # orange
    "#000000",
    "#8C7B00",  # yellow, darkened: the original #F0E442 vanishes on white
)
BLUE, VERMILLION = OKABE_ITO[:2]
INK: Final = "#222222"
MUTED: Final = "#666666"
SHAPES: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
SEQUENTIAL: Final = "cividis"
PANEL_SIZE: Final = (2.9, 2.4)  # inches, when there are several
WIDEST: Final = 11.0  # inches


def theme_study(base_size: float = 10) -> Any:
    """Paper-ready theme: white, light grid, text from 8 points up at the default size.

    Parameters
    ----------
    base_size
        Size of axis titles, in points; everything else follows.
    """
    return p9.theme_bw(base_size=base_size, base_family="DejaVu Sans") + p9.theme(
        panel_border=p9.element_rect(color="#BBBBBB", fill="none", size=0.6),
        panel_grid_major=p9.element_line(color="#E6E6E6", size=0.5),
        panel_grid_minor=p9.element_blank(),
        axis_ticks=p9.element_line(color="#BBBBBB", size=0.6),
        axis_ticks_minor=p9.element_blank(),
        axis_text=p9.element_text(size=0.85 * base_size, color=INK),
        strip_background=p9.element_rect(fill="#F2F2F2", color="#BBBBBB", size=0.6),
        strip_text=p9.element_text(size=0.9 * base_size, color=INK),
        legend_key=p9.element_blank(),
        legend_title=p9.element_text(size=0.95 * base_size),
        legend_text=p9.element_text(size=0.88 * base_size),
        plot_caption_position="plot",
        plot_caption=p9.element_text(size=0.8 * base_size, color=MUTED, ha="left"),
        figure_size=(6.4, 4.2),
        dpi=100,
    )


def panel_sizes(n_columns: int = 1, n_rows: int = 1, *, legend: bool = True) -> Any:
    """A figure size, as a theme, that keeps panels readable; in inches."""
    room = 1.3 if legend else 0.6
    if n_columns * n_rows == 1:
        return p9.theme(figure_size=(5.2 + room, 4.2))
    width, height = PANEL_SIZE[0] * n_columns + 0.6 + room, PANEL_SIZE[1] * n_rows + 1.1
    return p9.theme(figure_size=(min(max(width, 5.8), WIDEST), min(max(height, 3.4), 14.0)))


# ---------------------------------------------------------------- scales
def scale_color_study(**options: Any) -> Any:
    """Discrete colours for up to eight levels, told apart by every reader."""
    return p9.scale_color_manual(values=list(OKABE_ITO), **options)


def scale_fill_study(**options: Any) -> Any:
    """The fills that go with `scale_color_study`."""
    return p9.scale_fill_manual(values=list(OKABE_ITO), **options)


def scale_shape_study(**options: Any) -> Any:
    """Marks for up to eight levels, for readers in black and white."""
    return p9.scale_shape_manual(values=list(SHAPES), **options)


def scale_color_sequential(**options: Any) -> Any:
    """Colours for a quantity, from dark to light."""
    return p9.scale_color_cmap(cmap_name=SEQUENTIAL, **options)


def scale_fill_sequential(**options: Any) -> Any:
    """Fills for a quantity, from dark to light."""
    return p9.scale_fill_cmap(cmap_name=SEQUENTIAL, **options)


def level_colors(n_levels: int, *, is_quantity: bool) -> list[str]:
    """Colours for the levels of a factor: by hue for names, from dark to light for quantities."""
    if not is_quantity:
        return list(OKABE_ITO[:n_levels])
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    last = 0.88  # the end of the map is too pale on white
    ramp = colormaps["viridis"]
    return [to_hex(ramp(last * i / max(n_levels - 1, 1))) for i in range(n_levels)]


def color_scales(levels: pd.Series, column: str | None, *, is_quantity: bool) -> list[Any]:
    """Colour, fill and shape scales for an ordered category, with one shared legend.

    Refused: more names than there are colours that every reader can tell apart. Levels of a
    quantity have an order that a ramp of colours shows, so there may be more of those.
    """
    if column is None:
        return []
    n_levels = len(levels.cat.categories)
    if n_levels > len(OKABE_ITO) and not is_quantity:
        raise FigureError(
            f"color={column!r} has {n_levels} levels, and no more than {len(OKABE_ITO)} colours "
            "can be told apart by every reader. Put that factor on panels, or filter it."
        )
    return _level_scales(level_colors(n_levels, is_quantity=is_quantity), in_words(column))


def _level_scales(colors: Sequence[str], title: str) -> list[Any]:
    shapes = [SHAPES[i] if len(colors) <= len(SHAPES) else "o" for i in range(len(colors))]
    return [
        p9.scale_color_manual(values=list(colors), name=title),
        p9.scale_fill_manual(values=list(colors), name=title),
        p9.scale_shape_manual(values=shapes, name=title),
    ]
