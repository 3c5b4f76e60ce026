"""Heat maps of a measure over two factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.figures import captions
from simstudy.figures.captions import caption, format_failures, format_name, format_replicates
from simstudy.figures.frame import (
    check_no_hidden_rows,
    drawable,
    factors_of,
    labelled,
    need_columns,
    rows_of,
)
from simstudy.figures.panels import facets, panel_grid, turned, with_panels
from simstudy.figures.theme import (
    BLUE,
    FULL_WIDTH,
    INK,
    LETTER,
    SEQUENTIAL,
    TALLEST,
    VERMILLION,
    WORDS_SIZE,
    theme_study,
)
from simstudy.lazy import ggplot, p9, pd
from simstudy.tables.rounding import to_decimals

CELL = 0.36  # inches: height of two lines
LABELS_WIDTH = 2.2  # inches: labels of rows and colour bar
DIVERGING = (VERMILLION, "#FFFFFF", BLUE)
DARK = 0.19  # luminance under which white text has more contrast than black


def heat_map_plot(
    summary: pd.DataFrame,
    *,
    measure: str,
    x: str,
    y: str,
    panel: str | None = None,
    rows: str | None = None,
    center: float | None = None,
    digits: int | str | None = None,
) -> ggplot:
    """Plot a measure as coloured cells, with the estimate and MCSE as text.

    Parameters
    ----------
    summary
        One row per scenario, axis values and measure.
    measure
        Measure to draw.
    x, y
        Columns of the cells; their levels are evenly spaced, also if they are quantities.
    panel, rows
        Columns mapped to panels, and to rows of panels.
    center
        Value drawn white, such as the nominal coverage: blue above, vermillion below. Default:
        colours from dark to light.
    digits
        Decimals, or the column that holds those of each cell. Default: two digits of the typical
        MCSE, or one digit if cells have no room for two.

    Returns
    -------
    ggplot
        The figure. A scenario without a finite estimate has a dash; one that was not run is blank,
        and the caption explains this. If the page is too narrow for the numbers, cells show
        estimates only, or no text.
    """
    mapped = {"panel": panel, "rows": rows}
    need_columns(summary, [x, y, *mapped.values()])
    found = rows_of(summary, [measure])
    check_no_hidden_rows(found, {"x": x, "y": y, **mapped}, factors_of(summary))
    decimals = _decimals(found, digits)
    cells = with_panels(found, found, mapped).assign(x=labelled(found[x]), y=labelled(found[y]))
    drawn = cells.assign(words=_words_with_room(cells, decimals), ink=_ink(cells, center))
    if center is None:
        fill = p9.scale_fill_cmap(cmap_name=SEQUENTIAL, name=format_name(measure))
    else:
        fill = p9.scale_fill_gradient2(*DIVERGING, midpoint=center, name=format_name(measure))
    longest = max(len(str(word)) for word in drawn["x"].cat.categories)
    return (
        p9.ggplot(drawn, p9.aes("x", "y"))
        + p9.geom_tile(p9.aes(fill="estimate"), drawable(drawn), color="white", size=0.6)
        + p9.geom_text(p9.aes(label="words", color="ink"), size=WORDS_SIZE, show_legend=False)
        + [p9.scale_color_identity(), fill]
        + [theme_study(), p9.theme(panel_grid_major=p9.element_blank(), legend_position="right")]
        + [turned()] * (longest > 7)  # wider than a cell
        + facets(drawn)
        + _size(drawn)
        + p9.labs(x=format_name(x), y=format_name(y), caption=_caption(drawn))
    )


def decimals_for(mcse: Float[np.ndarray, " cell"]) -> int:
    """Decimals, at most 6, that show the median MCSE to two digits."""
    positive = mcse[np.isfinite(mcse) & (mcse > 0)]
    if positive.size == 0:
        return 3
    return int(np.clip(np.ceil(-np.log10(np.median(positive))) + 1, 0, 6))


def _decimals(rows: pd.DataFrame, digits: int | str | None) -> Int[np.ndarray, " cell"]:
    """The decimals of each cell."""
    if isinstance(digits, str):
        return rows[digits].to_numpy(int)
    common = decimals_for(rows["mcse"].to_numpy(float)) if digits is None else digits
    return np.full(len(rows), common)


def _words_with_room(cells: pd.DataFrame, decimals: Int[np.ndarray, " cell"]) -> list[str]:
    """The text that fits a cell: estimate and MCSE, the estimate, or nothing."""
    inches = (FULL_WIDTH - LABELS_WIDTH) / panel_grid(cells)[0] / len(cells["x"].cat.categories)
    either = [_words(cells, places) for places in (decimals, np.maximum(decimals - 1, 0))]
    if _wanted_height(cells) > TALLEST:  # no room for two lines
        either = [[word.replace("\n", " ") for word in words] for words in either]
    estimates = [[word.split()[0] for word in words] for words in either]
    return next((w for w in [*either, *estimates] if _widest(w) <= inches), [""] * len(cells))


def _widest(words: list[str]) -> float:
    """The widest line of all texts, in inches."""
    return max(len(line) for word in words for line in word.split("\n")) * LETTER


def _words(cells: pd.DataFrame, decimals: Int[np.ndarray, " cell"]) -> list[str]:
    rows = zip(cells["estimate"], cells["mcse"], decimals, strict=True)
    return [_cell(float(estimate), float(mcse), int(places)) for estimate, mcse, places in rows]


def _cell(estimate: float, mcse: float, decimals: int) -> str:
    if not np.isfinite(estimate):
        return "–"
    error = f"\n({to_decimals(mcse, decimals)})" if np.isfinite(mcse) else ""
    return f"{to_decimals(estimate, decimals)}{error}"


def _ink(cells: pd.DataFrame, center: float | None) -> list[str]:
    """A text colour that contrasts with the cell."""
    light = fill_luminance(cells["estimate"].to_numpy(float), center)
    return ["#FFFFFF" if cell < DARK else INK for cell in light]


def fill_luminance(
    estimates: Float[np.ndarray, " cell"], center: float | None
) -> Float[np.ndarray, " cell"]:
    """Relative luminance of each cell's fill, from 0 to 1 (WCAG 2.1); 1 if there is no fill."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    finite = np.where(np.isfinite(estimates), estimates, np.nan)
    if center is None:
        ramp, place = colormaps[SEQUENTIAL], _rescaled(finite, np.nanmin(finite), np.nanmax(finite))
    else:
        ramp = LinearSegmentedColormap.from_list("", DIVERGING, N=257)
        furthest = np.nanmax(np.abs(finite - center))
        place = _rescaled(finite, center - furthest, center + furthest)
    rgb = ramp(np.nan_to_num(place))[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.where(np.isnan(finite), 1.0, linear @ np.array([0.2126, 0.7152, 0.0722]))


def _rescaled(
    values: Float[np.ndarray, " cell"], low: float, high: float
) -> Float[np.ndarray, " cell"]:
    return (values - low) / (high - low) if high > low else np.full_like(values, 0.5)


def _size(rows: pd.DataFrame) -> Any:
    """The figure size, in inches: cells for two lines as far as the page allows."""
    return p9.theme(figure_size=(FULL_WIDTH, min(max(_wanted_height(rows), 2.8), TALLEST)))


def _wanted_height(rows: pd.DataFrame) -> float:
    """The height, in inches, at which cells have room for two lines."""
    return panel_grid(rows)[1] * (CELL * len(rows["y"].cat.categories) + 0.4) + 1.4


def _caption(rows: pd.DataFrame) -> str:
    missing = int((~np.isfinite(rows["estimate"].to_numpy(float))).sum())
    roles = [role for role in ("x", "y", "panel", "rows") if role in rows]
    n_blank = math.prod(len(rows[role].cat.categories) for role in roles) - len(rows)
    return caption(
        captions.PARENTHESES * bool(rows["words"].str.contains("(", regex=False).any()),
        format_replicates(rows),
        format_failures(rows),
        f"Dashes: {missing} of {len(rows)} estimates are not finite." * (missing > 0),
        "Blank: not run." * (n_blank > 0),
    )
