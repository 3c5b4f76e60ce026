"""Zip plots: all intervals of a method, ordered by how far they miss.

Morris, White & Crowther (2019, Statistics in Medicine 38, 2074-2102, section 5 and figure 5).
"""

from __future__ import annotations

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures import captions
from simstudy.figures.agreement import format_mean
from simstudy.figures.captions import format_name
from simstudy.figures.estimate_plots import drawable, truth_of, what_is_shown
from simstudy.figures.panels import by_panel, facets, words_in_panels
from simstudy.figures.theme import BLUE, INK, VERMILLION, theme_study
from simstudy.lazy import ggplot, p9, pd
from simstudy.measures.intervals import cautious_binomial_error, critical_value
from simstudy.tables.rounding import with_error

MAX_INTERVALS = 400  # intervals in a panel; more would be thinner than a line
SHOWN_WORDS = ("Drawn", "intervals", "evenly in their order")
COLORS = {"covers": BLUE, "misses": VERMILLION}


def zip_plot(
    replicates: pd.DataFrame,
    *,
    estimate: str = "estimate",
    std_error: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    truth: str | float | None = None,
    level: float = 0.95,
    method: str | None = None,
    rows: str | None = None,
    most: int = MAX_INTERVALS,
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
        True value: a column or a number. Default: the mean of a panel's estimates, which gives
        bias-eliminated coverage.
    level
        Nominal coverage, in (0, 1), drawn as a dashed line.
    method, rows
        Columns mapped to panels, and to rows of panels.
    most
        Greatest number of intervals drawn in a panel, evenly spaced in their order; all are ranked
        and counted.

    Returns
    -------
    ggplot
        Each interval minus the truth, at the height of its rank. Intervals are ranked by the
        distance of the truth from the estimate, in units of the half-width on that side: 1 is the
        limit. The colour therefore changes at the coverage, which each panel also has as text.
    """
    mapped = {"panel": method, "rows": rows}
    critical_value(level)
    limits = _limit_columns(std_error, lower, upper)
    replicates = replicates.reset_index(drop=True)
    drawn = drawable(replicates, {"value": estimate, **limits}, mapped)
    if std_error is not None:
        half = critical_value(level) * drawn["error"]
        drawn = drawn.assign(low=drawn["value"] - half, high=drawn["value"] + half)
    drawn = _ranked(_less_truth(drawn, replicates, truth))
    fullest = max(len(of_panel) for _, of_panel in by_panel(drawn))
    shown = drawn[drawn["place"] % -(-fullest // most) == 0]
    return (
        p9.ggplot(shown, p9.aes("low", "centile", xend="high", yend="centile", color="end"))
        + p9.geom_segment(size=0.45, alpha=0.8)
        + p9.geom_vline(xintercept=0, color=INK, size=0.5)
        + p9.geom_hline(yintercept=100 * level, linetype="dashed", color=INK, size=0.5)
        + p9.scale_color_manual(COLORS, limits=[*COLORS], name="interval")
        + words_in_panels(drawn, _format_coverage, breaks=[0, 25, 50, 75, 100])
        + theme_study()
        + facets(drawn)
        + p9.labs(
            x=f"{format_name(estimate)} less {'its mean' if truth is None else 'the truth'}",
            y="intervals that miss by less, %",
            caption=captions.caption(
                captions.dashed(),
                f"In the panels, the share that covers; {captions.PLUS_MINUS}",
                *what_is_shown(len(replicates), drawn, shown, SHOWN_WORDS),
            ),
        )
    )


# ---------------------------------------------------------------- intervals
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


def _less_truth(
    rows: pd.DataFrame, replicates: pd.DataFrame, truth: str | float | None
) -> pd.DataFrame:
    """Estimates and limits minus the truth."""
    crossed = rows["low"] > rows["high"]
    if crossed.any():
        raise FigureError(
            f"{int(crossed.sum())} intervals have a lower limit above the upper, so they hold "
            "nothing. Exchange the columns, take negative standard errors out, or return NaN where "
            "a method has no interval."
        )
    if truth is None:
        where = [role for role in ("panel", "rows") if role in rows]
        groups = rows.groupby(where, observed=True)["value"] if where else rows["value"]
        center = groups.transform("mean") if where else rows["value"].mean()
    else:
        center = truth_of(replicates, truth).loc[rows.index]
    moved = {name: rows[name] - center for name in ("value", "low", "high")}
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


# ---------------------------------------------------------------- words
def _format_coverage(rows: pd.DataFrame) -> str:
    """The coverage with its error."""
    covers = rows["end"] == "covers"
    if covers.nunique() > 1:
        return format_mean(100.0 * covers, signed=False, unit="%")
    share = float(covers.iloc[0])
    found = with_error(100 * share, 200 * float(cautious_binomial_error(share, len(rows))))
    return f"{found.value}% ± {found.error}"
