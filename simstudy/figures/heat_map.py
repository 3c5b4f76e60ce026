"""Heat map: a measure over two factors, each cell with its number and its Monte Carlo error."""

from __future__ import annotations

from typing import Any

import numpy as np

from simstudy.figures import captions
from simstudy.figures.captions import caption, failures_in_words, replicates_in_words
from simstudy.figures.frame import (
    drawable,
    factors_of,
    in_words,
    labelled,
    need_columns,
    refuse_hidden,
    rows_of,
)
from simstudy.figures.panels import facets, with_panels
from simstudy.figures.theme import (
    BLUE,
    INK,
    SEQUENTIAL,
    VERMILLION,
    scale_fill_sequential,
    theme_study,
)
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.shapes import Float

CELL = (0.64, 0.48)  # inches
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
    digits: int | None = None,
) -> ggplot:
    """One measure as coloured cells that also say their estimate and, if it has one, its MCSE.

    Parameters
    ----------
    summary
        One row per scenario, axis values and measure.
    measure
        The measure.
    x, y
        Columns whose levels make the cells; levels are evenly spaced, whatever they measure.
    panel, rows
        Columns mapped to panels, and to rows of panels.
    center
        Value drawn white, such as the nominal coverage: blue above, vermillion below. Without it,
        colours go from dark to light.
    digits
        Decimals; unless given, as many as the leading digits of the typical MCSE need.

    Returns
    -------
    ggplot
        A scenario that was run and has no finite estimate says so with a dash; one that was not
        run stays blank.
    """
    mapped = {"panel": panel, "rows": rows}
    need_columns(summary, [x, y, *mapped.values()])
    found = rows_of(summary, [measure])
    refuse_hidden(found, {"x": x, "y": y, **mapped}, factors_of(summary))
    decimals = digits if digits is not None else decimals_for(found["mcse"].to_numpy(float))
    cells = with_panels(found, found, mapped).assign(x=labelled(found[x]), y=labelled(found[y]))
    drawn = cells.assign(words=_words(cells, decimals), ink=_ink(cells, center))
    return (
        p9.ggplot(drawn, p9.aes("x", "y"))
        + p9.geom_tile(p9.aes(fill="estimate"), drawable(drawn), color="white", size=0.6)
        + p9.geom_text(p9.aes(label="words", color="ink"), size=7.5, show_legend=False)
        + [p9.scale_color_identity(), _fill(center, in_words(measure))]
        + [theme_study(), p9.theme(panel_grid_major=p9.element_blank())]
        + _turned(drawn)
        + facets(drawn)
        + _size(drawn)
        + p9.labs(x=in_words(x), y=in_words(y), caption=_says(drawn))
    )


def decimals_for(mcse: Float[np.ndarray, " cell"]) -> int:
    """Decimals, up to 6, that show the median positive MCSE to one digit, or two if below 3."""
    positive = mcse[np.isfinite(mcse) & (mcse > 0)]
    if positive.size == 0:
        return 3
    return int(np.clip(np.ceil(-np.log10(np.median(positive) / 3)), 0, 6))


def _words(cells: pd.DataFrame, decimals: int) -> list[str]:
    pairs = zip(cells["estimate"], cells["mcse"], strict=True)
    return [_cell(float(estimate), float(mcse), decimals) for estimate, mcse in pairs]


def _cell(estimate: float, mcse: float, decimals: int) -> str:
    if not np.isfinite(estimate):
        return "–"
    error = f"\n({mcse:.{decimals}f})" if np.isfinite(mcse) else ""
    return f"{estimate:.{decimals}f}{error}"


def _ink(cells: pd.DataFrame, center: float | None) -> list[str]:
    """Text that stands out from its cell."""
    light = fill_luminance(cells["estimate"].to_numpy(float), center)
    return ["#FFFFFF" if cell < DARK else INK for cell in light]


def fill_luminance(
    estimates: Float[np.ndarray, " cell"], center: float | None
) -> Float[np.ndarray, " cell"]:
    """Relative luminance of each cell's fill, from 0 to 1 (WCAG 2.1); 1 where there is none."""
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


def _fill(center: float | None, title: str) -> Any:
    if center is None:
        return scale_fill_sequential(name=title)
    return p9.scale_fill_gradient2(*DIVERGING, midpoint=center, name=title)


def _turned(drawn: pd.DataFrame) -> list[Any]:
    """Turns column labels that are wider than a cell."""
    longest = max(len(str(word)) for word in drawn["x"].cat.categories)
    return [p9.theme(axis_text_x=p9.element_text(angle=35, ha="right"))] * (longest > 7)


def _size(drawn: pd.DataFrame) -> Any:
    """Cells large enough for their numbers, however many there are; in inches."""
    n_x, n_y = (len(drawn[axis].cat.categories) for axis in ("x", "y"))
    n_panel, n_rows = (
        len(drawn[role].cat.categories) if role in drawn else 1 for role in ("panel", "rows")
    )
    across, down = (n_panel, n_rows) if "rows" in drawn or n_panel <= 4 else (4, -(-n_panel // 4))
    width = across * (CELL[0] * n_x + 0.2) + 2.3
    height = down * (CELL[1] * n_y + 0.4) + 1.1
    return p9.theme(figure_size=(min(max(width, 5.8), 20.0), min(max(height, 2.8), 20.0)))


def _says(drawn: pd.DataFrame) -> str:
    missing = int((~np.isfinite(drawn["estimate"].to_numpy(float))).sum())
    return caption(
        captions.PARENTHESES * bool(np.isfinite(drawn["mcse"]).any()),
        replicates_in_words(drawn),
        failures_in_words(drawn),
        f"Dashes: {missing} of {len(drawn)} estimates are not finite." * (missing > 0),
    )
