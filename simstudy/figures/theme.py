"""The theme of all figures: legible in print, and safe for colour-blind readers.

A method has one colour and one mark in all figures of a study. The colours are those of Okabe and
Ito (2008), "Color universal design", in an order that puts the hues with the strongest contrast
on white first, and a grey; sky blue, orange and yellow are darkened. Quantities are coloured by
the dark part of matplotlib's plasma, whose lightness grows evenly. Every mark has a contrast of at
least 3:1 with white, as WCAG 2.2 (1.4.11) asks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from simstudy.errors import FigureError
from simstudy.figures.captions import format_name
from simstudy.figures.frame import is_number
from simstudy.lazy import p9, pd

BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
GREEN: Final = "#009E73"
PURPLE: Final = "#CC79A7"
SKY: Final = "#3492C9"  # darkened: the original #56B4E9 has 2.3:1
ORANGE: Final = "#BC7C00"  # darkened: the original #E69F00 has 2.3:1
BLACK: Final = "#000000"
OLIVE: Final = "#8C7B00"  # yellow, darkened: the original #F0E442 vanishes on white
GREY: Final = "#7F7F7F"
PALE: Final = "#BCCDDC"  # bars and bands in the background

OKABE_ITO: Final = (BLUE, VERMILLION, GREEN, PURPLE, SKY, ORANGE, BLACK, OLIVE)
SHAPES: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
MARKS: Final = dict(zip((*OKABE_ITO, GREY), (*SHAPES, "p"), strict=True))
# Short dashes and dots have other meanings.
STROKES: Final = ("solid", "dashdot", (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))

INK: Final = "#222222"
MUTED: Final = "#666666"
SEQUENTIAL: Final = "plasma"
PALEST: Final = 0.64  # the end of this map that has a contrast of 3:1 with white
FULL_WIDTH: Final = 6.5  # inches: width of a page's text and of every figure
TALLEST: Final = 9.0  # inches: greatest height of a figure on a page
BASE_SIZE: Final = 9.0  # points
WORDS_SIZE: Final = 7.2  # points: texts among the marks
KEY: Final = 0.4  # inches: a mark in a legend with its margins
LETTER: Final = 0.055  # inches: width of a digit on an axis or among the marks


def theme_study() -> Any:
    """Paper-ready theme: white, light grid, text from 7 points up.

    Figures are made at their printed width, so sizes in points are those on paper.

    Returns
    -------
    Any
        A plotnine theme.
    """
    return p9.theme_bw(base_size=BASE_SIZE, base_family="DejaVu Sans") + p9.theme(
        panel_border=p9.element_rect(color="#BBBBBB", fill="none", size=0.6),
        panel_grid_major=p9.element_line(color="#E6E6E6", size=0.5),
        panel_grid_minor=p9.element_blank(),
        axis_ticks=p9.element_line(color="#BBBBBB", size=0.6),
        axis_ticks_minor=p9.element_blank(),
        axis_text=p9.element_text(size=0.85 * BASE_SIZE, color=INK),
        strip_background=p9.element_rect(fill="#F2F2F2", color="#BBBBBB", size=0.6),
        strip_text=p9.element_text(size=0.9 * BASE_SIZE, color=INK),
        legend_key=p9.element_blank(),
        legend_title=p9.element_text(size=0.95 * BASE_SIZE),
        legend_text=p9.element_text(size=0.88 * BASE_SIZE),
        plot_caption_position="plot",
        plot_caption=p9.element_text(size=0.8 * BASE_SIZE, color=MUTED, ha="left"),
        panel_spacing_x=0.02,
        legend_position="top",
        legend_box_spacing=0.01,
        legend_key_size=14,
        figure_size=(FULL_WIDTH, 3.9),
        dpi=100,
    )


def panel_sizes(n_columns: int = 1, n_rows: int = 1, *, legend: bool = True) -> Any:
    """A figure size, as a theme, that keeps panels readable at the width of a page; in inches.

    Panels are four fifths as high as they are wide, and never so low that their ticks touch.
    """
    room = 1.3 if legend else 1.0  # titles, legend and caption
    _, down = panel_inches(n_columns, n_rows)
    least = 0.0 if n_columns * n_rows == 1 else 2.8
    return p9.theme(figure_size=(FULL_WIDTH, min(max(down * n_rows + room, least), TALLEST)))


def panel_inches(n_columns: int = 1, n_rows: int = 1) -> tuple[float, float]:
    """Width and height of a panel, in inches, for the numbers of columns and rows."""
    across = (FULL_WIDTH - 0.8) / n_columns
    return across, 2.6 if n_columns * n_rows == 1 else min(max(0.8 * across, 1.2), 2.4)


def quantity_colors(n_levels: int) -> list[str]:
    """Colours for the levels of a quantity, from dark to light."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    ramp = colormaps[SEQUENTIAL]
    return [to_hex(ramp(PALEST * i / max(n_levels - 1, 1))) for i in range(n_levels)]


def colors_of(
    names: Iterable[str], colors: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Choose a colour for each of a study's methods, the same one in all of its figures.

    Beyond eight names colours are repeated. Methods with the same colour cannot be drawn in one
    figure; `color_scales` refuses them.

    Parameters
    ----------
    names
        Names of the methods, as labelled in figures.
    colors
        Fixed colours of some names, such as methods that several studies share. The other names
        get the remaining colours.

    Returns
    -------
    dict[str, str]
        Colours as `#RRGGBB`, by name.
    """
    distinct = list(dict.fromkeys(names))
    fixed = {name: colors[name] for name in distinct if name in colors}
    free = [color for color in OKABE_ITO if color not in fixed.values()] or OKABE_ITO
    others = (name for name in distinct if name not in fixed)
    found = fixed | dict(zip(others, itertools.cycle(free)))
    return {name: found[name] for name in distinct}


def colors_by(
    rows: pd.DataFrame,
    summary_rows: pd.DataFrame,
    color: str | None,
    colors: Mapping[str, str] | None = None,
) -> list[Any]:
    """Colour scales by the column `color` of the rows drawn."""
    if color is None:
        return []
    is_quantity = is_number(summary_rows[color])
    return color_scales(rows["color"], color, is_quantity=is_quantity, colors=colors)


def color_scales(
    levels: pd.Series, column: str, *, is_quantity: bool, colors: Mapping[str, str] | None = None
) -> list[Any]:
    """Colour, fill and shape scales for an ordered category, with one shared legend.

    Parameters
    ----------
    levels
        Column that is drawn, as labels.
    column
        Name of the column, for the legend.
    is_quantity
        Whether its levels are numbers, which get colours from dark to light.
    colors
        Colour for each level, as returned by `colors_of`. Default: the palette in order. Two levels
        with the same colour are refused. If there are more than eight levels, those without a
        colour here are grey.
    """
    names = [str(name) for name in levels.cat.categories]
    if colors is not None:
        rest = [name for name in names if name not in colors]
        drawn = [colors[name] for name in names if name in colors]
        twice = next((color for color in drawn if drawn.count(color) > 1), None)
        if twice is not None:
            both = [name for name in names if colors.get(name) == twice]
            raise FigureError(
                f"{' and '.join(map(repr, both))} have the same colour, {twice}, and cannot be "
                "distinguished in one figure. Give them different colours, or draw one of them."
            )
        if rest and len(names) > len(OKABE_ITO):
            colors = dict.fromkeys(rest, GREY) | dict(colors)
        return _level_scales({name: colors[name] for name in names}, column)
    if len(names) > len(OKABE_ITO) and not is_quantity:
        raise FigureError(
            f"color={column!r} has {len(names)} levels, but only {len(OKABE_ITO)} colours can be "
            "distinguished by every reader. Put that factor on panels, filter it, or name "
            f"a few levels, colors={{{names[0]!r}: '{BLUE}'}}; the others are then grey."
        )
    palette = quantity_colors(len(names)) if is_quantity else OKABE_ITO
    marks = SHAPES[: len(names)] if len(names) <= len(SHAPES) else None
    return _level_scales(dict(zip(names, palette, strict=False)), column, marks)


def stroke_scale(levels: pd.Series, column: str) -> Any:
    """Line types that distinguish lines in addition to colours.

    Parameters
    ----------
    levels
        Column that is drawn, as labels. If there are more levels than strokes, all are solid.
    column
        Name of the column, for the legend, which combines strokes and colours of `color_scales`.
    """
    names = [str(name) for name in levels.cat.categories]
    strokes = STROKES if len(names) <= len(STROKES) else STROKES[:1] * len(names)
    key = p9.guide_legend(ncol=_key_columns(format_name(column), names))
    return p9.scale_linetype_manual(
        dict(zip(names, strokes, strict=False)), name=format_name(column), limits=names, guide=key
    )


def _level_scales(
    colors: Mapping[str, str], column: str, marks: Sequence[str] | None = None
) -> list[Any]:
    """Scales by name, in which shape and colour agree."""
    found = marks or [MARKS.get(color, "o") for color in colors.values()]
    if len(set(found)) < len(found):
        found = ["o"] * len(colors)
    title, names = format_name(column), list(colors)
    shapes, n_columns = dict(zip(names, found, strict=True)), _key_columns(title, names)
    scales = p9.scale_color_manual, p9.scale_fill_manual, p9.scale_shape_manual
    return [  # each with a guide of its own: a shared one would show one of the scales only
        scale(dict(values), limits=names, name=title, guide=p9.guide_legend(ncol=n_columns))
        for scale, values in zip(scales, (colors, colors, shapes), strict=True)
    ]


def _key_columns(title: str, names: Sequence[str]) -> int:
    """The number of legend columns that fit the page."""
    room = FULL_WIDTH - 0.4 - LETTER * len(title)
    for n_columns in range(len(names), 1, -1):
        n_rows = -(-len(names) // n_columns)
        columns = [names[start : start + n_rows] for start in range(0, len(names), n_rows)]
        if sum(KEY + LETTER * max(map(len, column)) for column in columns) <= room:
            return len(columns)
    return 1
