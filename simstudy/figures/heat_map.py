"""Heat maps of a measure over two factors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simstudy.array_types import Float
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
# White text has more contrast than black where the relative luminance (WCAG 2.1) is below 0.19.
DARK_BELOW = 0.485  # share of the sequential scale
DARK_BEYOND = 0.9  # share of the way from the white centre to the blue end; vermillion is lighter


def heat_map_plot(
    summary: pd.DataFrame,
    *,
    measure: str,
    x: str,
    y: str,
    panel: str | None = None,
    rows: str | None = None,
    center: float | None = None,
) -> ggplot:
    """Plot a measure as coloured cells, with the estimate and MCSE as text.

    Numbers have two digits of the typical MCSE.

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

    Returns
    -------
    ggplot
        The figure. A scenario without a finite estimate has a dash; one that was not run is blank,
        and the caption explains this. If the page has no room for two lines, cells show
        estimates only, or no text.
    """
    mapped = {"panel": panel, "rows": rows}
    need_columns(summary, [x, y, *mapped.values()])
    found = rows_of(summary, [measure])
    check_no_hidden_rows(found, {"x": x, "y": y, **mapped}, factors_of(summary))
    cells = with_panels(found, found, mapped).assign(x=labelled(found[x]), y=labelled(found[y]))
    drawn = cells.assign(words=_words_with_room(cells), ink=_ink(cells, center))
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


def _words_with_room(cells: pd.DataFrame) -> list[str]:
    """The text that fits a cell: estimate and MCSE, the estimate, or nothing."""
    inches = (FULL_WIDTH - LABELS_WIDTH) / panel_grid(cells)[0] / len(cells["x"].cat.categories)
    decimals = decimals_for(cells["mcse"].to_numpy(float))
    pairs = zip(cells["estimate"], cells["mcse"], strict=True)
    both = [_cell(float(estimate), float(mcse), decimals) for estimate, mcse in pairs]
    estimates = [words.split("\n")[0] for words in both]
    if _widest(estimates) > inches:
        return [""] * len(cells)
    return both if _widest(both) <= inches and _wanted_height(cells) <= TALLEST else estimates


def _widest(words: list[str]) -> float:
    """The widest line of all texts, in inches."""
    return max(len(line) for word in words for line in word.split("\n")) * LETTER


def _cell(estimate: float, mcse: float, decimals: int) -> str:
    if not np.isfinite(estimate):
        return "–"
    error = f"\n({to_decimals(mcse, decimals)})" if np.isfinite(mcse) else ""
    return f"{to_decimals(estimate, decimals)}{error}"


def _ink(cells: pd.DataFrame, center: float | None) -> list[str]:
    """A text colour that contrasts with the cell: white where the colour scales are dark."""
    values = cells["estimate"].to_numpy(float)
    values = np.where(np.isfinite(values), values, np.nan)
    if center is None:
        low, high = np.nanmin(values), np.nanmax(values)
        is_dark = values < low + DARK_BELOW * (high - low)
    else:
        is_dark = values - center > DARK_BEYOND * np.nanmax(np.abs(values - center))
    return ["#FFFFFF" if dark else INK for dark in is_dark]


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
