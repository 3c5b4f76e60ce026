"""Calibration of standard errors: what a method says its spread is, over what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simstudy.errors import FigureError
from simstudy.figures.frame import (
    caption,
    drawable,
    factors_of,
    in_words,
    is_number,
    labelled,
    need_columns,
    notes,
    ordered_levels,
    refuse_hidden,
    rows_of,
    with_interval,
)
from simstudy.figures.panels import facets, with_panels
from simstudy.figures.theme import BLUE, MUTED, color_scales, theme_study
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9

RELATIVE_ERROR = "relative_error_model_se"
TITLE = "model SE / empirical SE"


def calibration_plot(
    summary: pd.DataFrame,
    *,
    measure: str = RELATIVE_ERROR,
    factors: Sequence[str] | None = None,
    color: str | None = None,
    panel: str | None = None,
    rows: str | None = None,
) -> ggplot:
    """Model standard error over empirical standard error, a line for each scenario.

    Parameters
    ----------
    summary
        One row per scenario, axis values and measure.
    measure
        A measure that holds model SE / empirical SE - 1: the relative error, whose Monte Carlo
        error knows that both standard errors come from the same replicates.
    factors
        The columns that name a line, slowest first. Unless given, all that vary and are not mapped
        otherwise.
    color, panel, rows
        Columns mapped to colour, such as the method, to panels and to rows of panels.

    Returns
    -------
    ggplot
        Left of 1 the method promises more than it keeps: its standard errors are too small.
    """
    mapped = {"color": color, "panel": panel, "rows": rows}
    need_columns(summary, [*mapped.values(), *(factors or [])])
    found = rows_of(summary, [measure])
    named = list(factors) if factors else _varying(found, mapped)
    scenario = {f"factors[{i}]": name for i, name in enumerate(named)}
    refuse_hidden(found, {**scenario, **mapped}, factors_of(summary))
    drawn = _ratios(with_interval(found), named, mapped)
    return (
        p9.ggplot(drawable(drawn), p9.aes("scenario", "estimate", **_colored(drawn)))
        + p9.geom_hline(yintercept=1.0, linetype="dashed", color=MUTED)
        + _marks(drawn)
        + [p9.coord_flip(), theme_study(), *_scales(drawn, found, color)]
        + facets(drawn, legend=color is not None)
        + _size(drawn)
        + p9.labs(x=", ".join(map(in_words, named)), y=TITLE, caption=_says(drawn))
    )


def _varying(found: pd.DataFrame, mapped: dict[str, str | None]) -> list[str]:
    rest = [name for name in factors_of(found) if name not in mapped.values()]
    return [name for name in rest if found[name].nunique(dropna=False) > 1]


def _ratios(
    found: pd.DataFrame, factors: Sequence[str], mapped: dict[str, str | None]
) -> pd.DataFrame:
    shifted = {c: found[c] + 1.0 for c in ("estimate", "lower", "upper", "exact")}
    if (shifted["estimate"] < 0).any():
        raise FigureError(
            f"A relative error of {found['estimate'].min():g} is below -1, so it is no ratio of "
            "standard errors. Give a measure that holds model SE / empirical SE - 1, as a "
            "proportion."
        )
    drawn = with_panels(found.assign(**shifted), found, mapped)
    if "color" in drawn:  # the axis is flipped: the legend's first comes out on top
        drawn = drawn.assign(order=-drawn["color"].cat.codes)
    return drawn.assign(scenario=scenario_words(found, factors))


def scenario_words(found: pd.DataFrame, factors: Sequence[str]) -> pd.Series:
    """One name per scenario, such as "normal, n = 20", the first factor changing slowest.

    Categories run from the last scenario to the first, since axes run upwards.
    """
    if not factors:
        return pd.Series(pd.Categorical(["all"] * len(found)), index=found.index)
    levels = pd.DataFrame({name: labelled(found[name], name) for name in factors})
    words = levels.astype(str).agg(", ".join, axis=1)
    codes = levels.apply(lambda column: column.cat.codes)
    order = words.loc[codes.sort_values(list(factors)).index].unique()
    return pd.Series(
        pd.Categorical(words, categories=list(reversed(order)), ordered=True), index=found.index
    )


def _colored(drawn: pd.DataFrame) -> dict[str, Any]:
    return {"color": "color", "shape": "color", "group": "order"} if "color" in drawn else {}


def _marks(drawn: pd.DataFrame) -> list[Any]:
    n_colors = len(drawn["color"].cat.categories) if "color" in drawn else 1
    look: dict[str, Any] = {"position": p9.position_dodge(width=min(0.7, 0.22 * n_colors))}
    look |= {} if "color" in drawn else {"color": BLUE}
    bars = p9.aes(ymin="lower", ymax="upper")
    return [
        p9.geom_linerange(bars, size=0.6, show_legend=False, na_rm=True, **look),
        p9.geom_point(size=2.0, stroke=0.3, **look),
    ]


def _scales(drawn: pd.DataFrame, found: pd.DataFrame, color: str | None) -> list[Any]:
    if color is None:
        return []
    return color_scales(drawn["color"], color, is_quantity=is_number(found[color]))


def _size(drawn: pd.DataFrame) -> Any:
    """Lines far enough apart to be read, and room for the longest name; in inches."""
    words = [str(word) for word in ordered_levels(drawn["scenario"])]
    n_rows = len(drawn["rows"].cat.categories) if "rows" in drawn else 1
    n_columns = min(len(drawn["panel"].cat.categories), 4) if "panel" in drawn else 1
    width = 0.075 * max(map(len, words)) + 2.6 * n_columns + 1.8
    height = n_rows * (0.28 * len(words) + 0.4) + 1.2
    return p9.theme(figure_size=(min(max(width, 6.0), 16.0), min(max(height, 2.8), 24.0)))


def _says(drawn: pd.DataFrame) -> str:
    return caption(
        "Bars: Monte Carlo interval of each ratio. Left of 1: standard errors too small.",
        *notes(drawn),
    )
