"""Plots of replicates: estimates, their standard errors, and all intervals of a method (zip plot).

Morris, White & Crowther (2019, Statistics in Medicine 38, 2074-2102, section 6.1) advise to look at
replicates before any summary, which hides outliers, unreported failures to converge, and clusters.
Zip plots are in their section 5 and figure 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures import captions
from simstudy.figures.agreement import format_mean
from simstudy.figures.captions import format_name
from simstudy.figures.frame import is_number, need_columns
from simstudy.figures.panels import by_panel, facets, turned_labels, with_panels, words_in_panels
from simstudy.figures.theme import BLUE, INK, OKABE_ITO, VERMILLION, color_scales, theme_study
from simstudy.lazy import ggplot, p9, pd
from simstudy.measures.intervals import cautious_binomial_error, critical_value
from simstudy.tables.rounding import with_error

MAX_POINTS = 500  # points of a method in a panel; more would hide each other
MAX_DODGE = 0.36  # largest shift of a point, relative to the distance between methods
GREY = "#999999"
SHOWN_WORDS = ("Points", "replicates", "the first and the outermost")
MAX_INTERVALS = 400  # intervals in a panel; more would be thinner than a line
SHOWN_INTERVALS = ("Drawn", "intervals", "evenly in their order")
END_COLORS = {"covers": BLUE, "misses": VERMILLION}
GOLDEN = (5**0.5 - 1) / 2  # multiples modulo 1 are evenly spread, for any number of them


def estimates_plot(
    replicates: pd.DataFrame,
    *,
    estimate: str = "estimate",
    method: str | None = None,
    truth: str | float | None = None,
    panel: str | None = None,
    rows: str | None = None,
) -> ggplot:
    """Plot each estimate as a point, with methods side by side and the mean of each.

    Parameters
    ----------
    replicates
        One row per replicate and method.
    estimate
        Column to draw.
    method
        Column whose levels are drawn side by side in a panel.
    truth
        True value: a column with one value in each panel, or a number; drawn as a dashed line.
    panel, rows
        Columns mapped to panels, and to rows of panels.

    Returns
    -------
    ggplot
        The figure. Of many replicates the first 500 of a method in a panel are drawn, and the five
        smallest and largest of all, so that outliers are visible. Means use all replicates. Values
        that are missing or not finite are not drawn; the caption counts them.
    """
    mapped = {"panel": panel, "rows": rows, "color": method}
    replicates = replicates.reset_index(drop=True)
    drawn = drawable(replicates, {"value": estimate}, mapped)
    drawn = drawn.assign(truth=truth_of(replicates, truth).loc[drawn.index])
    shown = _first_and_outermost(drawn, ["value"])
    levels = drawn["color"].cat.categories
    return (
        p9.ggplot(shown.assign(place=_places(shown)), p9.aes("place", "value", color="color"))
        + _truth_line(drawn, upright=False)
        + p9.geom_point(size=1.1, stroke=0, alpha=0.45, show_legend=False)
        + _means(drawn)
        + p9.scale_x_continuous(
            breaks=list(range(len(levels))), labels=list(levels), expand=(0, 0.2)
        )
        + _colors(drawn, replicates, method)
        + theme_study()
        + _upright_labels(drawn, method)
        + facets(drawn, legend=False)
        + p9.labs(
            x="" if method is None else format_name(method),
            y=format_name(estimate),
            caption=captions.caption(
                captions.dashed("what is estimated") * bool(drawn["truth"].notna().any()),
                "Bars: means of all replicates, with 2 Monte Carlo standard errors.",
                *what_is_shown(len(replicates), drawn, shown, SHOWN_WORDS),
            ),
        )
    )


def errors_plot(
    replicates: pd.DataFrame,
    *,
    estimate: str = "estimate",
    std_error: str = "std_error",
    method: str | None = None,
    truth: str | float | None = None,
    rows: str | None = None,
) -> ggplot:
    """Plot the standard error of each replicate against its estimate, a panel for each method.

    Parameters
    ----------
    replicates
        One row per replicate and method.
    estimate, std_error
        Columns to draw, in the same units.
    method
        Column mapped to panels.
    truth
        True value: a column with one value in each row of panels, or a number.
    rows
        Column mapped to rows of panels.

    Returns
    -------
    ggplot
        The figure. The dashed line is the standard deviation of all estimates of a panel, which
        standard errors estimate. The grey line is the root mean square of the standard errors. Of
        many replicates the first 500 of a panel are drawn, and those with the five smallest and
        largest values of either column. Lines use all replicates.
    """
    mapped = {"panel": method, "rows": rows, "color": method}
    replicates = replicates.reset_index(drop=True)
    drawn = drawable(replicates, {"value": estimate, "error": std_error}, mapped)
    drawn = drawn.assign(truth=truth_of(replicates, truth).loc[drawn.index])
    shown = _first_and_outermost(drawn, ["value", "error"])
    spreads = _spread_and_model_se(drawn)
    return (
        p9.ggplot(shown, p9.aes("value", "error", color="color"))
        + _truth_line(drawn, upright=True)
        + p9.geom_point(size=1.1, stroke=0, alpha=0.45, show_legend=False)
        + p9.geom_hline(p9.aes(yintercept="model_se"), spreads, color=GREY, size=1.8)
        + p9.geom_hline(
            p9.aes(yintercept="spread"), spreads, linetype="dashed", color=INK, size=0.6
        )
        + _colors(drawn, replicates, method)
        + theme_study()
        + facets(drawn, legend=False)
        + p9.labs(
            x=format_name(estimate),
            y=format_name(std_error),
            caption=captions.caption(
                "Dashed: standard deviation of all estimates.",
                "Grey line: root mean square of all standard errors.",
                "Dotted: what is estimated." * bool(drawn["truth"].notna().any()),
                *what_is_shown(len(replicates), drawn, shown, SHOWN_WORDS),
            ),
        )
    )


def drawable(
    replicates: pd.DataFrame, values: Mapping[str, str], mapped: Mapping[str, str | None]
) -> pd.DataFrame:
    """Rows with finite values, with columns named by their role; `color` is always present."""
    need_columns(replicates, [*values.values(), *mapped.values()])
    numbers = pd.DataFrame(
        {role: _numbers(replicates, column) for role, column in values.items()},
        index=replicates.index,
    )
    drawn = with_panels(numbers, replicates, mapped)
    if "color" not in drawn:
        drawn = drawn.assign(color=pd.Categorical([""] * len(drawn)))
    finite = np.isfinite(numbers.to_numpy()).all(axis=1)
    if not finite.any():
        raise FigureError(
            f"None of the {len(drawn)} replicates has a finite {' and '.join(values.values())}, so "
            "the figure would be empty. Look at their errors, or name other columns."
        )
    kept: pd.DataFrame = drawn.loc[finite]
    return kept


def what_is_shown(
    n_all: int, rows: pd.DataFrame, subset: pd.DataFrame, words: tuple[str, str, str]
) -> list[str]:
    """The sentences on rows that are not drawn, because they are many or have no value.

    Parameters
    ----------
    words
        Beginning of the first sentence, noun for the rows, and which of them are drawn.
    """
    begins, what, which = words
    n_rows, n_lost = len(rows), n_all - len(rows)
    return [
        f"{begins}: {len(subset):,} of {n_rows:,} {what}, {which}." * (len(subset) < n_rows),
        f"Not drawn, missing or not finite: {n_lost:,} of {n_all:,}." * (n_lost > 0),
    ]


def truth_of(replicates: pd.DataFrame, truth: str | float | None) -> pd.Series:
    """The truth of each row; NaN if unknown."""
    if isinstance(truth, str):
        need_columns(replicates, [truth])
        return _numbers(replicates, truth)
    return pd.Series(np.nan if truth is None else float(truth), index=replicates.index)


def _numbers(replicates: pd.DataFrame, column: str) -> pd.Series:
    """A column as doubles with NaN for missing values; refuse anything else."""
    try:
        return replicates[column].infer_objects().astype("Float64").astype(float)
    except (TypeError, ValueError):
        raise FigureError(
            f"column {column!r} holds {replicates[column].dtype}, which cannot be drawn on an axis "
            "of numbers. Name a column of numbers, with NaN where a replicate has none."
        ) from None


def _panels_of(rows: pd.DataFrame) -> list[str]:
    return [role for role in ("panel", "rows") if role in rows]


def _groups_of(rows: pd.DataFrame) -> list[str]:
    return [*_panels_of(rows), "color"]


def _first_and_outermost(rows: pd.DataFrame, values: list[str]) -> pd.DataFrame:
    """The first rows and the most extreme ones of each method in a panel."""
    groups = rows.groupby(_groups_of(rows), observed=True)
    keep = groups.cumcount() < MAX_POINTS
    for value in values:
        rank = groups[value].rank(method="first")
        keep |= (rank <= 5) | (rank > groups[value].transform("size") - 5)
    kept: pd.DataFrame = rows.loc[keep]
    return kept


def _places(rows: pd.DataFrame) -> pd.Series:
    """The horizontal position of a point: its method, dodged by its index."""
    turn = rows.groupby(_groups_of(rows), observed=True).cumcount() + 1
    moved = 2 * MAX_DODGE * ((turn * GOLDEN) % 1 - 0.5)
    return rows["color"].cat.codes + moved


def _means(rows: pd.DataFrame) -> list[Any]:
    groups = rows.groupby(_groups_of(rows), observed=True)["value"]
    found = groups.agg(["mean", "std", "size"]).reset_index()
    half = (2 * found["std"] / np.sqrt(found["size"])).fillna(0.0)
    at = found["color"].cat.codes
    ends = found.assign(left=at - MAX_DODGE, right=at + MAX_DODGE, at=at,
                        lower=found["mean"] - half, upper=found["mean"] + half)  # fmt: skip
    level = p9.aes(x="left", xend="right", y="mean", yend="mean")
    error = p9.aes(x="at", xend="at", y="lower", yend="upper")
    return [
        p9.geom_segment(level, ends, color=INK, size=0.8, inherit_aes=False),
        p9.geom_segment(error, ends, color=INK, size=1.6, inherit_aes=False),
    ]


def _of_each_panel(rows: pd.DataFrame) -> pd.DataFrame:
    """The truth of each panel."""
    found: pd.DataFrame = rows[[*_panels_of(rows), "truth"]].dropna().drop_duplicates()
    where = _panels_of(rows)
    several = found.duplicated(where).any() if where else len(found) > 1
    if several:
        raise FigureError(
            "truth has several values in one panel, so one line cannot show it. Map the factor "
            "that it depends on to panel or rows, or draw the errors instead of the estimates."
        )
    return found


def _truth_line(rows: pd.DataFrame, *, upright: bool) -> list[Any]:
    """The line of the truth: horizontal and dashed, or vertical and dotted."""
    lines = _of_each_panel(rows)
    if lines.empty:
        return []
    if upright:
        at = p9.aes(xintercept="truth")
        return [p9.geom_vline(at, lines, linetype="dotted", color=INK, size=0.6)]
    at = p9.aes(yintercept="truth")
    return [p9.geom_hline(at, lines, linetype="dashed", color=INK, size=0.5)]


def _spread_and_model_se(rows: pd.DataFrame) -> pd.DataFrame:
    """SD of the estimates and root mean square of their standard errors, by panel."""
    groups = rows.assign(square=rows["error"] ** 2).groupby(_groups_of(rows), observed=True)
    spreads = groups.agg(spread=("value", "std"), model_se=("square", "mean")).reset_index()
    return spreads.assign(model_se=np.sqrt(spreads["model_se"]))


def _colors(rows: pd.DataFrame, replicates: pd.DataFrame, method: str | None) -> list[Any]:
    """Colours by method without a legend; a single colour if there are too many methods."""
    levels = rows["color"]
    names = [str(name) for name in levels.cat.categories]
    if len(names) > len(OKABE_ITO):
        return [p9.scale_color_manual(dict.fromkeys(names, BLUE), limits=names)]
    is_quantity = method is not None and is_number(replicates[method])
    return color_scales(levels, method or "method", is_quantity=is_quantity)[:1]


def _upright_labels(rows: pd.DataFrame, method: str | None) -> list[Any]:
    if method is None:
        return [p9.theme(axis_text_x=p9.element_blank(), axis_ticks_major_x=p9.element_blank())]
    return turned_labels(rows["color"], alone=not _panels_of(rows))


def zip_plot(
    replicates: pd.DataFrame,
    *,
    estimate: str = "estimate",
    std_error: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    truth: str | float,
    level: float = 0.95,
    method: str | None = None,
    rows: str | None = None,
) -> ggplot:
    """Plot intervals stacked and ordered by how far they miss, the worst on top.

    Parameters
    ----------
    replicates
        One row per replicate and method.
    estimate
        Column of estimates.
    std_error
        Column of standard errors: intervals are the estimate plus and minus the normal quantile of
        `level` times the standard error. Use either `std_error` or both limits.
    lower, upper
        Columns of the limits of the intervals.
    truth
        True value: a column or a number.
    level
        Nominal coverage, in (0, 1), drawn as a dashed line.
    method, rows
        Columns mapped to panels, and to rows of panels.

    Returns
    -------
    ggplot
        Each interval minus the truth, at the height of its rank. Intervals are ranked by the
        distance of the truth from the estimate, in units of the half-width on that side: 1 is the
        limit. The colour therefore changes at the coverage, which each panel also has as text. Of
        many intervals at most 400 are drawn in a panel, evenly spaced in their order; all are
        ranked and counted.
    """
    mapped = {"panel": method, "rows": rows}
    critical_value(level)
    limits = _limit_columns(std_error, lower, upper)
    replicates = replicates.reset_index(drop=True)
    drawn = drawable(replicates, {"value": estimate, **limits}, mapped)
    if std_error is not None:
        half = critical_value(level) * drawn["error"]
        drawn = drawn.assign(low=drawn["value"] - half, high=drawn["value"] + half)
    drawn = _ranked(_less_truth(drawn, truth_of(replicates, truth).loc[drawn.index]))
    fullest = max(len(of_panel) for _, of_panel in by_panel(drawn))
    shown = drawn[drawn["place"] % -(-fullest // MAX_INTERVALS) == 0]
    return (
        p9.ggplot(shown, p9.aes("low", "centile", xend="high", yend="centile", color="end"))
        + p9.geom_segment(size=0.45, alpha=0.8)
        + p9.geom_vline(xintercept=0, color=INK, size=0.5)
        + p9.geom_hline(yintercept=100 * level, linetype="dashed", color=INK, size=0.5)
        + p9.scale_color_manual(END_COLORS, limits=[*END_COLORS], name="interval")
        + words_in_panels(drawn, _format_coverage, breaks=[0, 25, 50, 75, 100])
        + theme_study()
        + facets(drawn)
        + p9.labs(
            x=f"{format_name(estimate)} less the truth",
            y="intervals that miss by less, %",
            caption=captions.caption(
                captions.dashed(),
                f"In the panels, the share that covers; {captions.PLUS_MINUS}",
                *what_is_shown(len(replicates), drawn, shown, SHOWN_INTERVALS),
            ),
        )
    )


def _limit_columns(std_error: str | None, lower: str | None, upper: str | None) -> dict[str, str]:
    """The columns of the intervals, by role."""
    if std_error is not None and lower is None and upper is None:
        return {"error": std_error}
    if std_error is None and lower is not None and upper is not None:
        return {"low": lower, "high": upper}
    raise FigureError(
        f"std_error={std_error!r}, lower={lower!r} and upper={upper!r} do not define "
        "one kind of interval. Give the column of standard errors, or both columns of limits."
    )


def _less_truth(rows: pd.DataFrame, truth: pd.Series) -> pd.DataFrame:
    """Estimates and limits minus the truth."""
    crossed = rows["low"] > rows["high"]
    if crossed.any():
        raise FigureError(
            f"{int(crossed.sum())} intervals have a lower limit above the upper, so they hold "
            "nothing. Exchange the columns, take negative standard errors out, or return NaN where "
            "a method has no interval."
        )
    moved = {name: rows[name] - truth for name in ("value", "low", "high")}
    kept: pd.DataFrame = rows.assign(**moved).dropna(subset=["value"])
    return kept


def _ranked(frame: pd.DataFrame) -> pd.DataFrame:
    """Rank the intervals of each panel by how far they miss."""
    covers = (frame["low"] <= 0) & (frame["high"] >= 0)
    missed = frame.assign(
        missed=_missed(*(frame[name].to_numpy(float) for name in ("value", "low", "high"))),
        end=np.where(covers, "covers", "misses"),
    )
    parts = [rows.sort_values("missed", kind="stable") for _, rows in by_panel(missed)]
    return pd.concat(
        rows.assign(
            place=np.arange(len(rows)), centile=100 * (np.arange(len(rows)) + 0.5) / len(rows)
        )
        for rows in parts
    )


def _missed(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The distance of 0 from the estimate, in half-widths of the interval on that side."""
    half = np.where(value > 0, value - low, high - value)
    with np.errstate(all="ignore"):
        return np.where(value == 0, 0.0, np.abs(value) / half)


def _format_coverage(rows: pd.DataFrame) -> str:
    """The coverage with its error."""
    covers = rows["end"] == "covers"
    if covers.nunique() > 1:
        return format_mean(100.0 * covers, signed=False, unit="%")
    share = float(covers.iloc[0])
    found = with_error(100 * share, 200 * float(cautious_binomial_error(share, len(rows))))
    return f"{found.value}% ± {found.error}"
