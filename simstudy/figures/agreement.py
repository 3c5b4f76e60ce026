"""Agreement of two columns: an estimate and the truth, or two methods on the same replicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures import captions
from simstudy.figures.frame import in_words, need_columns
from simstudy.figures.panels import facets, with_panels, words_in_panels
from simstudy.figures.theme import BLUE, INK, theme_study
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9

SEES_THROUGH = 2_000  # points in a panel from which on they are drawn lighter
Say = Callable[[pd.DataFrame], str]


def agreement_plot(
    replicates: pd.DataFrame,
    *,
    x: str,
    y: str,
    panel: str | None = None,
    rows: str | None = None,
    error_x: str | None = None,
    say: Say | None = None,
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
    need_columns(replicates, [x, y, error_x, *mapped.values()])
    values = pd.DataFrame({"x": replicates[x], "y": replicates[y]}).astype(float)
    drawn = with_panels(values, replicates, mapped)
    if error_x is not None:
        half = 2 * replicates[error_x]
        drawn = drawn.assign(left=drawn["x"] - half, right=drawn["x"] + half)
    drawn = _complete(drawn)
    return (
        p9.ggplot(drawn, p9.aes("x", "y"))
        + p9.geom_abline(slope=1, intercept=0, linetype="dashed", color=INK, size=0.5)
        + _bars(drawn)
        + _points(len(drawn))
        + words_in_panels(drawn, say or _difference, right=right)
        + theme_study()
        + facets(drawn, scales=scales, legend=False)
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


def _complete(both: pd.DataFrame) -> pd.DataFrame:
    finite = np.isfinite(both[["x", "y"]].to_numpy(float)).all(axis=1)
    if not finite.any():
        raise FigureError(
            f"None of the {len(both)} rows has a finite value in both columns, so there is nothing "
            "to compare. Look at their errors, or choose other columns."
        )
    kept: pd.DataFrame = both.loc[finite]
    return kept


def _bars(drawn: pd.DataFrame) -> list[Any]:
    if "left" not in drawn:
        return []
    ends = p9.aes(x="left", xend="right", yend="y")
    return [p9.geom_segment(ends, color=BLUE, alpha=0.25, size=0.4)]


def _points(n_points: int) -> Any:
    alpha = 0.5 if n_points < SEES_THROUGH else 0.25
    return p9.geom_point(size=1.2, stroke=0, alpha=alpha, color=BLUE)


def _says(n_all: int, drawn: pd.DataFrame) -> str:
    lost = n_all - len(drawn)
    return captions.caption(
        captions.dashed("equality"),
        "Bars: 2 standard errors." * ("left" in drawn),
        f"In the panels, {captions.PLUS_MINUS}",
        f"Not drawn, without a value of both: {lost:,} of {n_all:,}." * (lost > 0),
    )
