"""Agreement of two columns: an estimate and the truth, or two methods on the same replicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures import captions
from simstudy.figures.frame import in_words, need_columns
from simstudy.figures.panels import facets, with_panels, words_in_panels
from simstudy.figures.theme import BLUE, INK, scale_color_sequential, theme_study
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9

TINY = 1e-300  # where a bar on a logarithmic axis ends that would go on below 0
SEES_THROUGH = 2_000  # points in a panel from which on they are drawn lighter


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
    log: bool = False,
    ticks: Callable[[tuple[float, float]], list[float]] | None = None,
    say: Callable[[pd.DataFrame], str] | None = None,
    right: bool = False,
    scales: str = "fixed",
) -> ggplot:
    """One column against another, a point for each replicate, equality as a dashed line.

    Parameters
    ----------
    replicates
        One row per point, with both values in the same units.
    x, y
        The columns compared, such as the truth and its estimate, or one method and another.
    panel, rows
        Columns mapped to panels, and to rows of panels.
    error_x
        Column of standard errors of `x`: two of them are drawn either side.
    color
        Column of a quantity that colours the points, from dark to light.
    color_limits
        Its values at the ends of the colours; unless given, those of the rows.
    log
        Whether both axes are logarithmic; rows without two positive values are then not drawn.
    ticks
        Of logarithmic axes, from their limits, both as powers of ten; unless given, `decades`.
    say
        What a panel says of its rows, which have the columns `x` and `y`; unless given, the mean
        difference of `y` from `x`, with two Monte Carlo standard errors.
    right
        Whether it says so in the right upper corner and not in the left.
    scales
        "fixed" or "free", as plotnine has them.

    Returns
    -------
    ggplot
        Rows without a finite value of both are counted beneath and not drawn.
    """
    mapped = {"panel": panel, "rows": rows}
    need_columns(replicates, [x, y, error_x, color, *mapped.values()])
    values = pd.DataFrame({"x": replicates[x], "y": replicates[y]}).astype(float)
    drawn = with_panels(values, replicates, mapped)
    if error_x is not None:
        half = 2 * replicates[error_x]
        drawn = drawn.assign(left=drawn["x"] - half, right=drawn["x"] + half)
    if color is not None:
        drawn = drawn.assign(color=replicates[color].astype(float))
    drawn = _complete(drawn, log)
    return (
        p9.ggplot(drawn, p9.aes("x", "y"))
        + p9.geom_abline(slope=1, intercept=0, linetype="dashed", color=INK, size=0.5)
        + _bars(drawn)
        + _points(drawn, color, color_limits)
        + _axes_and_words(drawn, say or _difference, right, (ticks or decades) if log else None)
        + theme_study()
        + facets(drawn, scales=scales, legend=color is not None)
        + p9.labs(x=in_words(x), y=in_words(y), caption=_says(len(replicates), drawn))
    )


def mean_in_words(values: Any, form: str = "+.4f") -> str:
    """The mean of one value per replicate, with two Monte Carlo standard errors: "+0.12 ± 0.01"."""
    there = np.asarray(values, float)
    there = there[~np.isnan(there)]
    half = 2 * there.std(ddof=1) / np.sqrt(len(there)) if len(there) > 1 else np.nan
    mean = there.mean() if len(there) else np.nan
    return f"{mean:{form}} ± {half:{form.lstrip('+')}}"


def _difference(rows: pd.DataFrame) -> str:
    return f"mean difference {mean_in_words(rows['y'] - rows['x'], '+.3g')}"


def _complete(both: pd.DataFrame, log: bool) -> pd.DataFrame:
    """Rows with a place in the figure, by their logarithms where these are drawn."""
    values = both[["x", "y"]].to_numpy(float)
    there = np.isfinite(values).all(axis=1) & ((values > 0).all(axis=1) | (not log))
    if not there.any():
        raise FigureError(
            f"None of the {len(both)} rows has a finite value in both columns{' above 0' * log}, "
            "so there is nothing to compare. Look at their errors, or choose other columns."
        )
    kept: pd.DataFrame = both.loc[there]
    logged = [name for name in ("x", "y", "left", "right") if name in kept] if log else []
    return kept.assign(**{name: np.log10(kept[name].clip(lower=TINY)) for name in logged})


def _axes_and_words(
    drawn: pd.DataFrame,
    say: Callable[[pd.DataFrame], str],
    right: bool,
    breaks: Callable[[tuple[float, float]], list[float]] | None,
) -> list[Any]:
    if breaks is None:
        return words_in_panels(drawn, say, right=right)

    def say_of(rows: pd.DataFrame) -> str:
        return say(rows.assign(x=10 ** rows["x"], y=10 ** rows["y"]))

    ticks = {"breaks": breaks, "labels": lambda places: [f"{10**at:.3g}" for at in places]}
    words = words_in_panels(drawn, say_of, right=right, **ticks)
    return [*words, p9.scale_x_continuous(**ticks)]


def decades(limits: tuple[float, float]) -> list[float]:
    """Ticks of a logarithmic axis: 1, 2 and 5, or 1 and 3, or 1 of each power of ten."""
    low, high = limits
    wide = high - low
    leading = [1, 2, 5] if wide < 1.2 else [1, 3] if wide < 2.4 else [1]
    powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    places = [power + float(np.log10(digit)) for power in powers for digit in leading]
    return [place for place in places if low <= place <= high]


def _bars(drawn: pd.DataFrame) -> list[Any]:
    if "left" not in drawn:
        return []
    ends = p9.aes(x="left", xend="right", yend="y")
    return [p9.geom_segment(ends, color=BLUE, alpha=0.25, size=0.4)]


def _points(
    drawn: pd.DataFrame, color: str | None, limits: tuple[float, float] | None
) -> list[Any]:
    alpha = 0.5 if len(drawn) < SEES_THROUGH else 0.25
    if color is None:
        return [p9.geom_point(size=1.2, stroke=0, alpha=alpha, color=BLUE)]
    points = p9.geom_point(p9.aes(color="color"), size=1.2, stroke=0, alpha=0.8)
    return [points, scale_color_sequential(name=in_words(color), limits=limits)]


def undrawn_in_words(n_lost: int, n_all: int) -> str:
    """The sentence on rows without a place in the figure; "" where there are none."""
    return f"Not drawn, without a value of both: {n_lost:,} of {n_all:,}." * (n_lost > 0)


def _says(n_all: int, drawn: pd.DataFrame) -> str:
    lost = n_all - len(drawn)
    return captions.caption(
        captions.dashed("equality"),
        "Bars: 2 standard errors." * ("left" in drawn),
        f"In the panels, {captions.PLUS_MINUS}",
        undrawn_in_words(lost, n_all),
    )
