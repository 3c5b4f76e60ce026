"""One look for every figure: readable in print, light, and the same to colour-blind readers.

The discrete palette is that of Okabe and Ito (2008), "Color universal design", in an order that
puts the hues with the strongest contrast on white first. Quantities are coloured by cividis, whose
lightness grows evenly (Nuñez, Anderton & Renslow 2018, PLOS ONE 13(7), e0199239).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from simstudy.errors import FigureError, nearest
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


def colors_of(names: Iterable[str]) -> dict[str, str]:
    """A colour for each of a study's methods, by name: the same one in all of its figures.

    Beyond eight names colours come again: those two methods cannot stand in one figure, which
    `color_scales` refuses.
    """
    return dict(zip(dict.fromkeys(names), itertools.cycle(OKABE_ITO)))


def color_scales(
    levels: pd.Series,
    column: str | None,
    *,
    is_quantity: bool,
    colors: Mapping[str, str] | None = None,
) -> list[Any]:
    """Colour, fill and shape scales for an ordered category, with one shared legend.

    Parameters
    ----------
    levels
        The column that is drawn, as words.
    column
        Its name, for the legend; without one there are no scales.
    is_quantity
        Whether its levels are numbers, whose order a ramp of colours shows.
    colors
        A colour for each level, as `colors_of` gives them; unless given, those of the palette in
        order. Refused: a level without a colour, and two with the same.
    """
    if column is None:
        return []
    names = [str(name) for name in levels.cat.categories]
    if colors is not None:
        _check_colors(names, colors)
        places = {name: place for place, name in enumerate(colors)}
        return _level_scales({n: colors[n] for n in names}, [places[n] for n in names], column)
    if len(names) > len(OKABE_ITO) and not is_quantity:
        raise FigureError(
            f"color={column!r} has {len(names)} levels, and no more than {len(OKABE_ITO)} colours "
            "can be told apart by every reader. Put that factor on panels, or filter it."
        )
    palette = level_colors(len(names), is_quantity=is_quantity)
    return _level_scales(dict(zip(names, palette, strict=True)), range(len(names)), column)


def _check_colors(names: Sequence[str], colors: Mapping[str, str]) -> None:
    for name in names:
        if name not in colors:
            raise FigureError(
                f"{name!r} has no colour: {nearest(name, colors)} Give it one of its own, so that "
                "it has the same in every figure of the study."
            )
    drawn = [colors[name] for name in names]
    twice = next((name for name in names if drawn.count(colors[name]) > 1), None)
    if twice is not None:
        both = [name for name in names if colors[name] == colors[twice]]
        raise FigureError(
            f"{' and '.join(map(repr, both))} have the same colour, {colors[twice]}, and could not "
            "be told apart in one figure. Give them different colours, or draw one of them."
        )


def _level_scales(colors: Mapping[str, str], places: Iterable[int], column: str) -> list[Any]:
    """Scales by name; shapes go with the place in the study's table as colours do."""
    marks = [SHAPES[place % len(SHAPES)] for place in places]
    if len(set(marks)) < len(marks):
        marks = ["o"] * len(marks)
    title, names = in_words(column), list(colors)
    shapes = dict(zip(names, marks, strict=True))
    return [
        p9.scale_color_manual(values=dict(colors), limits=names, name=title),
        p9.scale_fill_manual(values=dict(colors), limits=names, name=title),
        p9.scale_shape_manual(values=shapes, limits=names, name=title),
    ]
