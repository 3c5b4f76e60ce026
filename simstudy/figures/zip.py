"""Zip plot: every interval of a simulation at once, ranked from agreement to conflict with truth.

Morris, White & Crowther (2019), Statistics in Medicine 38(11), 2074-2102, section 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simstudy.errors import FigureError
from simstudy.figures.frame import (
    caption,
    factors_of_replicates,
    need_columns,
    refuse_hidden,
)
from simstudy.figures.panels import facets, with_panels
from simstudy.figures.theme import INK, VERMILLION, theme_study
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.measures import intervals
from simstudy.shapes import Float

COVERS = {"covers": "#9FB8CC", "misses": VERMILLION}
ROOM_FOR_WORDS = 0.17  # of the height of the ranks


def zip_plot(
    replicates: pd.DataFrame,
    *,
    truth: float | str,
    estimate: str = "estimate",
    lower: str = "lower",
    upper: str = "upper",
    std_error: str | None = None,
    p_value: str | None = None,
    panel: str | None = None,
    rows: str | None = None,
    level: float = 0.95,
    start: float = 0.0,
) -> ggplot:
    """Intervals stacked by how far they are from the truth, coloured by whether they hold it.

    A method that covers at its nominal level changes colour at that height. Misses that lean to
    one side show bias; misses that start too low show intervals too narrow.

    Parameters
    ----------
    replicates
        One row per replicate, scenario and axis values, with an interval each, in the units of the
        estimand. A row without a finite estimate or with a NaN bound is a failure: it is counted
        below, not drawn, and not in the coverage.
    truth
        The estimand: a number, or a column. Where it differs within a panel, intervals are drawn
        as errors (interval minus truth).
    estimate, lower, upper
        The columns that hold the interval. An infinite bound is drawn as far as the furthest
        finite one.
    std_error, p_value
        What ranks the intervals, from the bottom: |estimate - truth| / `std_error`, or the p-value
        against the truth, largest first. With neither, the distance from the truth in half-widths
        of the interval on the side of the truth: the same order for symmetric intervals, and for
        others the one in which all that cover come first.
    panel, rows
        Columns mapped to panels, such as the method, and to rows of panels.
    level
        Nominal coverage, in (0, 1).
    start
        Rank to draw from, in [0, 1): at 0.5 the half in best agreement is left out, and said so.

    Returns
    -------
    ggplot
        Shaded: the 95% Monte Carlo interval (Wilson) of each panel's coverage.
    """
    _check_shares(level, start)
    mapped = {"panel": panel, "rows": rows}
    names: dict[str, str | None] = {"estimate": estimate, "lower": lower, "upper": upper}
    names |= {"std_error": std_error, "p_value": p_value}
    values = [*names.values(), truth if isinstance(truth, str) else None]
    need_columns(replicates, ["rep", *mapped.values(), *values])
    factors = factors_of_replicates(replicates, [c for c in values if c is not None])
    refuse_hidden(replicates, {"rep": "rep", **mapped}, factors)
    frame = _intervals(replicates, names, truth)
    drawn = _ranked(with_panels(frame, replicates, mapped))
    summed = _by_panel(drawn, _coverage)
    return (
        p9.ggplot(drawn[drawn["rank"] > start])
        + _band(summed)
        + _stack()
        + _references(drawn, level, start)
        + _band_edges(summed)
        + _coverage_text(summed, start)
        + p9.scale_color_manual(values=COVERS, name=" ")
        + p9.guides(color=p9.guide_legend(override_aes={"size": 2}))
        + [theme_study(), *_heights(start)]
        + facets(drawn)
        + p9.labs(x=_x_title(drawn), y="share of intervals, by rank", caption=_says(frame, start))
    )


def _check_shares(level: float, start: float) -> None:
    if not 0 < level < 1:
        raise FigureError(
            f"level={level:g} is no coverage: the nominal level is a proportion between 0 and 1. "
            "Write 95% as 0.95."
        )
    if not 0 <= start < 1:
        raise FigureError(
            f"start={start:g} leaves nothing to draw: ranks go from 0 to 1. Choose a start from 0 "
            "up to, and without, 1."
        )


# ---------------------------------------------------------------- ranks
def conflict(
    estimate: Float[np.ndarray, " rep"],
    lower: Float[np.ndarray, " rep"],
    upper: Float[np.ndarray, " rep"],
    truth: Float[np.ndarray, " rep"],
) -> Float[np.ndarray, " rep"]:
    """Distance of the estimate from the truth, in half-widths of the interval on that side.

    Up to 1 where the interval, closed, holds the truth, and above 1 where it does not. All
    arguments in the units of the estimand; an interval of no width holds only its own estimate.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        half_width = np.where(truth >= estimate, upper - estimate, estimate - lower)
        ratio = np.abs(estimate - truth) / half_width
    on_the_point = np.isnan(ratio)  # 0/0: truth, estimate and bound are one
    return np.where(on_the_point, 0.0, ratio)


def _intervals(
    replicates: pd.DataFrame, names: Mapping[str, str | None], truth: float | str
) -> pd.DataFrame:
    """The intervals and what ranks them; the rank's order is NaN where there is no interval."""
    kept = {role: replicates[c].astype(float) for role, c in names.items() if c is not None}
    frame = pd.DataFrame(kept, index=replicates.index)
    frame["truth"] = replicates[truth].astype(float) if isinstance(truth, str) else float(truth)
    failed = ~np.isfinite(frame["estimate"]) | frame[["lower", "upper"]].isna().any(axis=1)
    covers = (frame["lower"] <= frame["truth"]) & (frame["truth"] <= frame["upper"])
    return frame.assign(order=_order(frame).mask(failed), covers=covers)


def _order(frame: pd.DataFrame) -> pd.Series:
    if "p_value" in frame:
        return -frame["p_value"]
    if "std_error" in frame:
        return (frame["estimate"] - frame["truth"]).abs() / frame["std_error"]
    columns = (frame[c].to_numpy(float) for c in ("estimate", "lower", "upper", "truth"))
    return pd.Series(conflict(*columns), index=frame.index)


def _ranked(frame: pd.DataFrame) -> pd.DataFrame:
    """The intervals that are there, each with its rank in its panel, in (0, 1]."""
    there = frame.dropna(subset="order").copy()
    if there.empty:
        raise FigureError(
            f"None of the {len(frame)} replicates has an interval, so there is nothing to draw. "
            "Look at their errors."
        )
    keys = _panel_keys(there)
    order = there.groupby(keys, observed=True)["order"] if keys else there["order"]
    there["rank"] = order.rank(method="first", pct=True)
    there["outcome"] = np.where(there["covers"], *COVERS)
    return _placed(there)


def _placed(there: pd.DataFrame) -> pd.DataFrame:
    """Where intervals go: around their own truth if that varies within a panel."""
    keys = _panel_keys(there)
    per_panel = there.groupby(keys, observed=True)["truth"] if keys else there["truth"]
    varies = bool(np.any(per_panel.nunique() > 1))
    shift = there["truth"] if varies else 0.0
    placed = there.assign(
        x=there["lower"] - shift,
        xend=there["upper"] - shift,
        origin=there["truth"] - shift,
        is_error=varies,
    )
    return _ends_in_view(placed)


def _ends_in_view(placed: pd.DataFrame) -> pd.DataFrame:
    """Infinite bounds end at the furthest finite one."""
    ends = placed[["x", "xend", "origin"]].to_numpy(float)
    finite = ends[np.isfinite(ends)]
    low, high = finite.min(), finite.max()
    return placed.assign(x=placed["x"].clip(low, high), xend=placed["xend"].clip(low, high))


def _panel_keys(frame: pd.DataFrame) -> list[str]:
    return [role for role in ("panel", "rows") if role in frame]


def _by_panel(drawn: pd.DataFrame, summarise: Any) -> pd.DataFrame:
    keys = _panel_keys(drawn)
    if not keys:
        return pd.DataFrame([summarise(drawn)])
    groups = list(drawn.groupby(keys, observed=True))
    table = pd.DataFrame([{**dict(zip(keys, k, strict=True)), **summarise(g)} for k, g in groups])
    return table.astype({key: drawn[key].dtype for key in keys})


def _coverage(group: pd.DataFrame) -> dict[str, float]:
    n, hits = len(group), float(group["covers"].sum())
    share = hits / n
    low, high = intervals.wilson(share, n, level=0.95)
    return {
        "coverage": share,
        "mcse": float(np.sqrt(share * (1 - share) / n)),
        "low": float(low),
        "high": float(high),
        "n": n,
    }


# ---------------------------------------------------------------- layers
def _band(summed: pd.DataFrame) -> Any:
    return p9.geom_rect(
        p9.aes(ymin="low", ymax="high"),
        summed,
        xmin=-np.inf,
        xmax=np.inf,
        fill="#E69F00",
        alpha=0.35,
    )


def _band_edges(summed: pd.DataFrame) -> list[Any]:
    """The band's limits again, above the intervals that hide it."""
    return [
        p9.geom_hline(p9.aes(yintercept=edge), summed, color="#8A5A00", size=0.35)
        for edge in ("low", "high")
    ]


def _stack() -> Any:
    interval = p9.aes(x="x", xend="xend", y="rank", yend="rank", color="outcome")
    return p9.geom_segment(interval, size=0.35)


def _references(drawn: pd.DataFrame, level: float, start: float) -> list[Any]:
    origin = drawn[[*_panel_keys(drawn), "origin"]].drop_duplicates()
    return [
        p9.geom_segment(
            p9.aes(x="origin", xend="origin"), origin, y=start, yend=1.0, color=INK, size=0.5
        ),
        p9.geom_hline(yintercept=level, linetype="dashed", color=INK, size=0.4),
    ]


def _coverage_text(summed: pd.DataFrame, start: float) -> Any:
    said = [
        f"  coverage {c:.3f}, MCSE {e:.4f}\n  {n:,} intervals"
        for c, e, n in zip(summed["coverage"], summed["mcse"], summed["n"], strict=True)
    ]
    place = summed.assign(said=said, x=-np.inf, y=start - 0.02 * (1 - start))
    return p9.geom_text(
        p9.aes("x", "y", label="said"), place, ha="left", va="top", size=7.5, color=INK
    )


def _heights(start: float) -> list[Any]:
    """Ranks from `start` to 1, and room beneath for words that cover no interval."""
    ticks = [round(start + (1 - start) * i / 4, 4) for i in range(5)]
    room = ROOM_FOR_WORDS * (1 - start)
    return [p9.scale_y_continuous(breaks=ticks), p9.coord_cartesian(ylim=(start - room, 1.0))]


def _x_title(drawn: pd.DataFrame) -> str:
    return "interval minus truth" if drawn["is_error"].any() else "interval"


def _says(frame: pd.DataFrame, start: float) -> str:
    lost = int(frame["order"].isna().sum())
    ends = bool((np.isinf(frame["lower"]) | np.isinf(frame["upper"])).any())
    return caption(
        "Shaded: 95% Monte Carlo interval of the coverage. Dashed: nominal level.",
        f"Failed replicates, without an interval: {lost:,} of {len(frame):,}." * (lost > 0),
        f"Not drawn: ranks up to {start:g}." * (start > 0),
        "Infinite bounds end at the widest finite one." * ends,
    )
