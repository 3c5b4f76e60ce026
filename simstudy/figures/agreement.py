"""Agreement of two columns: an estimate and the truth, or two methods on the same replicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures import captions, panels
from simstudy.figures.captions import format_name
from simstudy.figures.frame import need_columns
from simstudy.figures.theme import BLUE, INK, quantity_colors, theme_study
from simstudy.lazy import ggplot, p9, pd
from simstudy.tables.rounding import with_error

TINY = 1e-300  # lower end, on a logarithmic axis, of a bar that reaches below 0
N_SHADES = 32  # of a quantity that is a colour
MANY_POINTS = 2_000  # points of a figure; if there are more, they are drawn lighter


def agreement_plot(
    replicates: pd.DataFrame,
    *,
    x: str,
    y: str,
    panel: str | None = None,
    rows: str | None = None,
    error_x: str | None = None,
    color: str | None = None,
    color_limits: tuple[float, float] | None = None,
    colors: Mapping[str, str] | None = None,
    log: bool = False,
    ticks: Callable[[tuple[float, float]], list[float]] | None = None,
    say: Callable[[pd.DataFrame], str] | None = None,
    right: bool = False,
    low: bool = False,
    scales: str = "fixed",
    equal_axes: bool = True,
    at_most: int | None = None,
) -> ggplot:
    """Plot one column against another: a point per replicate, equality as a dashed line.

    Parameters
    ----------
    replicates
        One row per point, with both values in the same units.
    x, y
        Columns to compare, such as the truth and its estimate, or two methods.
    panel, rows
        Columns mapped to panels, and to rows of panels.
    error_x
        Column of standard errors of `x`: bars extend two of them to either side.
    color
        Column of a quantity that colours the points, from dark to light.
    color_limits
        Values of `color` at the ends of the colour scale. Default: those of the rows.
    colors
        Colour for each level of `rows`, for points without a `color`.
    log
        Whether both axes are logarithmic. Rows without two positive values are then not drawn.
    ticks
        Function from the limits of a logarithmic axis to its ticks, both as powers of ten.
        Default: `decades`.
    say
        Function that returns the text of a panel from all its rows, which have the columns `x` and
        `y`. Default: the mean of `y` minus `x`, with two Monte Carlo standard errors.
    right
        Whether the text is at the right instead of the left.
    low
        Whether the text is at the bottom instead of the top. No room is made for it there.
    scales
        "fixed" or "free": scales shared by panels, as in plotnine.
    equal_axes
        Whether both axes have the same limits, so that equality is the diagonal. Use False if the
        ranges of the two columns differ much: each axis then fits its own data.
    at_most
        Greatest number of rows drawn in a panel: the first ones. Texts of panels use all rows, and
        the caption gives both numbers. Default: all.

    Returns
    -------
    ggplot
        Square panels; many rows of panels need flatter ones, `+ plotnine.theme(aspect_ratio=0.5)`.
        Rows without a finite value of both columns are not
        drawn, and are counted in the caption.
    """
    mapped = {"panel": panel, "rows": rows}
    need_columns(replicates, [x, y, error_x, color, *mapped.values()])
    values = pd.DataFrame({"x": replicates[x], "y": replicates[y]}).astype(float)
    drawn = panels.with_panels(values, replicates, mapped)
    if error_x is not None:
        half = 2 * replicates[error_x]
        drawn = drawn.assign(left=drawn["x"] - half, right=drawn["x"] + half)
    if color is not None:
        drawn = drawn.assign(color=replicates[color].astype(float))
    whole = _complete(drawn, log)
    drawn = _first(whole, at_most)
    bar = p9.aes(x="left", xend="right", yend="y")
    sizes = {len(rows) for _, rows in panels.by_panel(whole)}
    corner = {"right": right, "low": low}
    return (
        p9.ggplot(drawn, p9.aes("x", "y"))
        + p9.geom_abline(slope=1, intercept=0, linetype="dashed", color=INK, size=0.5)
        + [p9.geom_segment(bar, color=BLUE, alpha=0.15, size=0.3)] * (error_x is not None)
        + _points(drawn, color, color_limits, colors)
        + (_corners(drawn, scales) if equal_axes else [])
        + _axes_and_words(whole, say or _difference, corner, (ticks or decades) if log else None)
        + theme_study()
        + panels.facets(drawn, scales=scales, legend=color is not None)
        + panels.square_panels(drawn, legend=color is not None)
        + p9.theme(legend_position="right")
        + p9.labs(
            x=format_name(x),
            y=format_name(y),
            caption=captions.caption(
                captions.dashed("equality"),
                "Bars: 2 standard errors." * (error_x is not None),
                f"In the panels, {captions.PLUS_MINUS}",
                format_panel_count(max(sizes), at_most) * (len(sizes) == 1),
                format_undrawn(len(replicates) - len(whole), len(replicates)),
            ),
        )
    )


def format_mean(values: Any, *, signed: bool = True, unit: str = "") -> str:
    """Format the mean of one value per replicate with two Monte Carlo standard errors.

    Parameters
    ----------
    values
        One value per replicate; missing ones are ignored.
    signed
        Whether a positive mean has a sign, as for differences.
    unit
        Text after the mean, such as "%".

    Returns
    -------
    str
        Such as "+0.12 ± 0.01".
    """
    numbers = np.asarray(values, float)
    numbers = numbers[~np.isnan(numbers)]
    half = 2 * numbers.std(ddof=1) / np.sqrt(len(numbers)) if len(numbers) > 1 else np.nan
    mean = numbers.mean() if len(numbers) else np.nan
    found = with_error(float(mean), float(half))
    sign = "+" * int(signed and mean > 0)
    return f"{sign}{found.value}{unit} ± {found.error or 'unknown'}"


def _difference(rows: pd.DataFrame) -> str:
    return f"mean difference = {format_mean(rows['y'] - rows['x'])}"


def _first(frame: pd.DataFrame, at_most: int | None) -> pd.DataFrame:
    """The first rows of each panel."""
    if at_most is None:
        return frame
    return pd.concat([rows.head(at_most) for _, rows in panels.by_panel(frame)])


def _complete(both: pd.DataFrame, log: bool) -> pd.DataFrame:
    """Rows with finite values, or finite logarithms on logarithmic axes."""
    values = both[["x", "y"]].to_numpy(float)
    is_complete = np.isfinite(values).all(axis=1) & ((values > 0).all(axis=1) | (not log))
    if not is_complete.any():
        raise FigureError(
            f"None of the {len(both)} rows has a finite value in both columns{' above 0' * log}, "
            "so there is nothing to compare. Look at their errors, or choose other columns."
        )
    kept: pd.DataFrame = both.loc[is_complete]
    logged = [name for name in ("x", "y", "left", "right") if name in kept] if log else []
    return kept.assign(**{name: np.log10(kept[name].clip(lower=TINY)) for name in logged})


def _corners(frame: pd.DataFrame, scales: str) -> Any:
    """Invisible points at both ends of the diagonal, by panel or for shared axes."""
    parts = panels.by_panel(frame)
    if scales == "fixed":
        parts = [(where, frame) for where, _ in parts]
    ends = [{**where, "x": at, "y": at} for where, rows in parts for at in _ends(rows)]
    kinds = {role: frame[role].dtype for role in ("panel", "rows") if role in frame}
    return p9.geom_blank(p9.aes("x", "y"), pd.DataFrame(ends).astype(kinds), inherit_aes=False)


def _ends(rows: pd.DataFrame) -> tuple[float, float]:
    values = rows[[name for name in ("x", "y", "left", "right") if name in rows]]
    return float(values.min().min()), float(values.max().max())


def _axes_and_words(
    frame: pd.DataFrame,
    say: Callable[[pd.DataFrame], str],
    corner: dict[str, bool],
    breaks: Callable[[tuple[float, float]], list[float]] | None,
) -> list[Any]:
    """Both axes and the texts in panels."""
    scale: dict[str, Any] = {} if breaks is None else {"breaks": breaks, "labels": _of_powers}

    def say_of(rows: pd.DataFrame) -> str:
        return say(rows.assign(x=10 ** rows["x"], y=10 ** rows["y"]) if scale else rows)

    words = panels.words_in_panels(frame, say_of, **corner, **scale)
    return [*words, p9.scale_x_continuous(expand=words[-1].expand, **scale)]


def _of_powers(powers: Sequence[float]) -> list[str]:
    """Labels of powers of ten."""
    return [f"{10**power:.3g}" for power in powers]


def decades(limits: tuple[float, float]) -> list[float]:
    """Ticks of a logarithmic axis: 1, 2 and 5, or 1 and 3, or 1 of each power of ten."""
    low, high = limits
    wide = high - low
    leading = [1, 2, 5] if wide < 1.2 else [1, 3] if wide < 2.4 else [1]
    powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    places = [power + float(np.log10(digit)) for power in powers for digit in leading]
    return [place for place in places if low <= place <= high]


def _points(
    rows: pd.DataFrame,
    color: str | None,
    limits: tuple[float, float] | None,
    colors: Mapping[str, str] | None,
) -> list[Any]:
    look = {"size": 1.2, "stroke": 0, "alpha": 0.5 if len(rows) < MANY_POINTS else 0.25}
    if color is None and colors is not None:
        by_row = p9.scale_color_manual(colors, limits=list(rows["rows"].cat.categories))
        return [p9.geom_point(p9.aes(color="rows"), show_legend=False, **look), by_row]
    if color is None:
        return [p9.geom_point(color=BLUE, **look)]
    points = p9.geom_point(p9.aes(color="color"), size=2.2, stroke=0, alpha=0.8)
    shades = quantity_colors(N_SHADES)
    ramp = p9.scale_color_gradientn(shades, name=format_name(color), limits=limits)
    return [points, ramp]


def format_undrawn(n_lost: int, n_all: int) -> str:
    """The sentence on rows that cannot be drawn; empty if there are none."""
    return f"{n_lost:,} of {n_all:,} rows are omitted: a value is undefined." * (n_lost > 0)


def format_panel_count(n_all: int, at_most: int | None) -> str:
    """The sentence on how many replicates a panel uses and draws."""
    of_all = f"Numbers in the panels use all {n_all:,} replicates"
    is_all = at_most is None or n_all <= at_most
    return f"{of_all}." if is_all else f"{of_all}; the first {at_most:,} are drawn."
