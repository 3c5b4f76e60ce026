"""Plots of replicates: estimates, standard errors, intervals (zip plot), densities, ranks.

Morris, White & Crowther (2019, Statistics in Medicine 38, 2074-2102, section 6.1) advise to look at
replicates before any summary, which hides outliers, unreported failures to converge, and clusters.
Zip plots are in their section 5 and figure 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simstudy.array_types import Float
from simstudy.errors import DesignError, FigureError
from simstudy.figures import captions, theme
from simstudy.figures.agreement import format_mean
from simstudy.figures.captions import format_name
from simstudy.figures.frame import is_number, need_columns
from simstudy.figures.panels import by_panel, facets, turned_labels, with_panels, words_in_panels
from simstudy.lazy import ggplot, p9, pd, special, stats
from simstudy.measures.intervals import cautious_binomial_error, critical_value
from simstudy.measures.sbc import count_ranks, p_value
from simstudy.tables.rounding import with_error

MAX_POINTS = 500  # points of a method in a panel; more would hide each other
MAX_DODGE = 0.36  # largest shift of a point, relative to the distance between methods
GREY = "#999999"
SHOWN_WORDS = ("Points", "replicates", "the first and the outermost")
MAX_INTERVALS = 400  # intervals in a panel; more would be thinner than a line
SHOWN_INTERVALS = ("Drawn", "intervals", "evenly in their order")
END_COLORS = {"covers": theme.BLUE, "misses": theme.VERMILLION}
N_POINTS = 200  # points at which the density is evaluated
N_BINS = 2_000  # values are binned, finer than any bandwidth, before smoothing
FAR = 40.0  # bandwidths: a bound further away has no effect
GOLDEN = (5**0.5 - 1) / 2  # multiples modulo 1 are evenly spread, for any number of them


def estimates_plot(
    replicates: pd.DataFrame,
    *,
    estimate: str = "estimate",
    method: str | None = None,
    truth: str | float | None = None,
) -> ggplot:
    """Plot each estimate as a point, with methods side by side and the mean of each.

    Parameters
    ----------
    replicates
        One row per replicate and method.
    estimate
        Column to draw.
    method
        Column whose levels are drawn side by side.
    truth
        True value: a column with one value, or a number; drawn as a dashed line.

    Returns
    -------
    ggplot
        The figure. Of many replicates the first 500 of a method are drawn, and the five smallest
        and largest of all, so that outliers are visible. Means use all replicates. Values that are
        missing or not finite are not drawn; the caption counts them.
    """
    drawn = drawable(replicates, {"value": estimate}, {"color": method}, truth)
    shown = _first_and_outermost(drawn, ["value"])
    levels = drawn["color"]
    names = list(levels.cat.categories)
    return (
        p9.ggplot(shown.assign(place=_places(shown)), p9.aes("place", "value", color="color"))
        + _truth_line(drawn, upright=False)
        + p9.geom_point(size=1.1, stroke=0, alpha=0.45, show_legend=False)
        + _means(drawn)
        + p9.scale_x_continuous(breaks=list(range(len(names))), labels=names, expand=(0, 0.2))
        + _colors(drawn, replicates, method)
        + theme.theme_study()
        + turned_labels(levels, alone=True)
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
        True value: a column with one value, or a number.

    Returns
    -------
    ggplot
        The figure. The dashed line is the standard deviation of all estimates of a panel, which
        standard errors estimate. The grey line is the root mean square of the standard errors. Of
        many replicates the first 500 of a panel are drawn, and those with the five smallest and
        largest values of either column. Lines use all replicates.
    """
    mapped = {"panel": method, "color": method}
    drawn = drawable(replicates, {"value": estimate, "error": std_error}, mapped, truth)
    shown = _first_and_outermost(drawn, ["value", "error"])
    roles = [role for role in ("panel", "color") if role in drawn]
    groups = drawn.assign(square=drawn["error"] ** 2).groupby(roles, observed=True)
    spreads = groups.agg(spread=("value", "std"), model_se=("square", "mean")).reset_index()
    spreads = spreads.assign(model_se=np.sqrt(spreads["model_se"]))
    return (
        p9.ggplot(shown, p9.aes("value", "error", color="color"))
        + _truth_line(drawn, upright=True)
        + p9.geom_point(size=1.1, stroke=0, alpha=0.45, show_legend=False)
        + p9.geom_hline(p9.aes(yintercept="model_se"), spreads, color=GREY, size=1.8)
        + p9.geom_hline(
            p9.aes(yintercept="spread"), spreads, linetype="dashed", color=theme.INK, size=0.6
        )
        + _colors(drawn, replicates, method)
        + theme.theme_study()
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
    replicates: pd.DataFrame,
    values: Mapping[str, str],
    mapped: Mapping[str, str | None],
    truth: str | float | None,
) -> pd.DataFrame:
    """Rows with finite values, and columns named by their role, numbered from 0.

    `color` is always present, and `truth`, NaN if unknown.
    """
    replicates = replicates.reset_index(drop=True)
    column = truth if isinstance(truth, str) else None
    need_columns(replicates, [*values.values(), *mapped.values(), column])
    numbers = pd.DataFrame(
        {role: _numbers(replicates, column) for role, column in values.items()},
        index=replicates.index,
    )
    true = np.nan if truth is None else truth
    drawn = with_panels(numbers, replicates, mapped)
    drawn = drawn.assign(truth=true if column is None else _numbers(replicates, column))
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


def _numbers(replicates: pd.DataFrame, column: str) -> pd.Series:
    """A column as doubles with NaN for missing values; refuse anything else."""
    try:
        return replicates[column].infer_objects().astype("Float64").astype(float)
    except (TypeError, ValueError):
        raise FigureError(
            f"column {column!r} holds {replicates[column].dtype}, which cannot be drawn on an axis "
            "of numbers. Name a column of numbers, with NaN where a replicate has none."
        ) from None


def _first_and_outermost(rows: pd.DataFrame, values: list[str]) -> pd.DataFrame:
    """The first rows and the most extreme ones of each method."""
    groups = rows.groupby("color", observed=True)
    keep = groups.cumcount() < MAX_POINTS
    for value in values:
        rank = groups[value].rank(method="first")
        keep |= (rank <= 5) | (rank > groups[value].transform("size") - 5)
    kept: pd.DataFrame = rows.loc[keep]
    return kept


def _places(rows: pd.DataFrame) -> pd.Series:
    """The horizontal position of a point: its method, dodged by its index."""
    turn = rows.groupby("color", observed=True).cumcount() + 1
    moved = 2 * MAX_DODGE * ((turn * GOLDEN) % 1 - 0.5)
    return rows["color"].cat.codes + moved


def _means(rows: pd.DataFrame) -> list[Any]:
    groups = rows.groupby("color", observed=True)["value"]
    found = groups.agg(["mean", "std", "size"]).reset_index()
    half = (2 * found["std"] / np.sqrt(found["size"])).fillna(0.0)
    at = found["color"].cat.codes
    ends = found.assign(left=at - MAX_DODGE, right=at + MAX_DODGE, at=at,
                        lower=found["mean"] - half, upper=found["mean"] + half)  # fmt: skip
    level = p9.aes(x="left", xend="right", y="mean", yend="mean")
    error = p9.aes(x="at", xend="at", y="lower", yend="upper")
    return [
        p9.geom_segment(level, ends, color=theme.INK, size=0.8, inherit_aes=False),
        p9.geom_segment(error, ends, color=theme.INK, size=1.6, inherit_aes=False),
    ]


def _truth_line(rows: pd.DataFrame, *, upright: bool) -> list[Any]:
    """The line of the truth: horizontal and dashed, or vertical and dotted."""
    lines = rows[["truth"]].dropna().drop_duplicates()
    if len(lines) > 1:
        raise FigureError(
            f"truth has {len(lines)} values, so one line cannot show it. Draw the rows of one "
            "scenario, or the errors instead of the estimates."
        )
    if lines.empty:
        return []
    if upright:
        at = p9.aes(xintercept="truth")
        return [p9.geom_vline(at, lines, linetype="dotted", color=theme.INK, size=0.6)]
    at = p9.aes(yintercept="truth")
    return [p9.geom_hline(at, lines, linetype="dashed", color=theme.INK, size=0.5)]


def _colors(rows: pd.DataFrame, replicates: pd.DataFrame, method: str | None) -> list[Any]:
    """Colours by method without a legend; a single colour if there are too many methods."""
    levels = rows["color"]
    names = [str(name) for name in levels.cat.categories]
    if len(names) > len(theme.OKABE_ITO):
        return [p9.scale_color_manual(dict.fromkeys(names, theme.BLUE), limits=names)]
    is_quantity = method is not None and is_number(replicates[method])
    return theme.color_scales(levels, method or "method", is_quantity=is_quantity)[:1]


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
    drawn = drawable(replicates, {"value": estimate, **limits}, mapped, truth)
    if std_error is not None:
        half = critical_value(level) * drawn["error"]
        drawn = drawn.assign(low=drawn["value"] - half, high=drawn["value"] + half)
    drawn = _ranked(_less_truth(drawn))
    fullest = max(len(of_panel) for _, of_panel in by_panel(drawn))
    shown = drawn[drawn["place"] % -(-fullest // MAX_INTERVALS) == 0]
    return (
        p9.ggplot(shown, p9.aes("low", "centile", xend="high", yend="centile", color="end"))
        + p9.geom_segment(size=0.45, alpha=0.8)
        + p9.geom_vline(xintercept=0, color=theme.INK, size=0.5)
        + p9.geom_hline(yintercept=100 * level, linetype="dashed", color=theme.INK, size=0.5)
        + p9.scale_color_manual(END_COLORS, limits=[*END_COLORS], name="interval")
        + words_in_panels(drawn, _format_coverage, breaks=[0, 25, 50, 75, 100])
        + theme.theme_study()
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


def _less_truth(rows: pd.DataFrame) -> pd.DataFrame:
    """Estimates and limits minus the truth."""
    crossed = rows["low"] > rows["high"]
    if crossed.any():
        raise FigureError(
            f"{int(crossed.sum())} intervals have a lower limit above the upper, so they hold "
            "nothing. Exchange the columns, take negative standard errors out, or return NaN where "
            "a method has no interval."
        )
    moved = {name: rows[name] - rows["truth"] for name in ("value", "low", "high")}
    kept: pd.DataFrame = rows.assign(**moved).dropna(subset=["value"])
    return kept


def _ranked(frame: pd.DataFrame) -> pd.DataFrame:
    """Rank the intervals of each panel by how far they miss.

    It is the distance of 0 from the estimate, in half-widths of the interval on that side.
    """
    value, low, high = (frame[name].to_numpy(float) for name in ("value", "low", "high"))
    half = np.where(value > 0, value - low, high - value)  # on the side of 0
    with np.errstate(all="ignore"):
        missed = np.where(value == 0, 0.0, np.abs(value) / half)
    ends = np.where((low <= 0) & (high >= 0), "covers", "misses")
    drawn = frame.assign(missed=missed, end=ends)
    parts = [rows.sort_values("missed", kind="stable") for _, rows in by_panel(drawn)]
    return pd.concat(
        rows.assign(
            place=np.arange(len(rows)), centile=100 * (np.arange(len(rows)) + 0.5) / len(rows)
        )
        for rows in parts
    )


def _format_coverage(rows: pd.DataFrame) -> str:
    """The coverage with its error."""
    covers = rows["end"] == "covers"
    if covers.nunique() > 1:
        return format_mean(100.0 * covers, signed=False, unit="%")
    share = float(covers.iloc[0])
    found = with_error(100 * share, 200 * float(cautious_binomial_error(share, len(rows))))
    return f"{found.value}% ± {found.error}"


def density_plot(
    replicates: pd.DataFrame,
    *,
    x: str,
    color: str,
    panel: str | None = None,
    at_most: Mapping[str, float] | None = None,
    colors: Mapping[str, str] | None = None,
) -> ggplot:
    """Draw densities by colour, each with a band of two Monte Carlo standard errors and its median.

    Parameters
    ----------
    replicates
        One row per value.
    x
        Column to draw; missing values are ignored.
    color
        Column whose levels are drawn as separate densities of a panel.
    panel
        Column mapped to panels.
    at_most
        Upper bound of the possible values, by the label of the panel.
    colors
        Colour for each level of `color`, the same in all figures of a study.

    Returns
    -------
    ggplot
        The figure.
    """
    mapped = {"panel": panel, "color": color}
    need_columns(replicates, [x, *mapped.values()])
    values = with_panels(pd.DataFrame({"value": replicates[x]}), replicates, mapped)
    values = values.dropna(subset="value")
    curves = pd.concat(_curves(values, at_most or {}), ignore_index=True)
    widest = max(  # half of a band, as a share of the highest density of its panel
        (rows["upper"] - rows["density"]).max() / rows["density"].max()
        for _, rows in by_panel(curves)
    )
    bands = f"{captions.BANDS[:-1]}, at most {100 * widest:.2g}% of the highest density."
    curves = curves.astype({role: values[role].dtype for role in mapped if role in values})
    groups = [role for role in mapped if role in values]
    medians = values.groupby(groups, observed=True)["value"].median().reset_index()
    return (
        p9.ggplot(curves, p9.aes("value", color="color", fill="color"))
        + p9.geom_ribbon(p9.aes(ymin="lower", ymax="upper"), alpha=0.35, color="none")
        + p9.geom_line(p9.aes(y="density", linetype="color"), size=0.8)
        + p9.geom_vline(
            p9.aes(xintercept="value", color="color"), medians, size=0.6, linetype="dotted",
            show_legend=False,
        )
        + theme.colors_by(values, replicates, color, colors)[:2]
        + theme.stroke_scale(values["color"], color)
        + theme.theme_study()
        + facets(values, scales="free")
        + p9.labs(
            x=format_name(x), y="density", caption=captions.caption(bands, "Dotted: medians.")
        )
    )  # fmt: skip


def _curves(values: pd.DataFrame, at_most: Mapping[str, float]) -> list[pd.DataFrame]:
    found = []
    for where, in_panel in by_panel(values):
        end = at_most.get(where.get("panel", ""), np.inf)
        for level, rows in in_panel.groupby("color", observed=True):
            curve = kernel_density(rows["value"].to_numpy(float), at_most=end)
            found.append(curve.assign(color=level, **where))
    return found


def rank_plot(
    replicates: pd.DataFrame,
    *,
    n_draws: int,
    rank: str = "rank",
    panel: str | None = None,
    rows: str | None = None,
) -> ggplot:
    """Plot a histogram of ranks, with the counts that uniform ranks would have.

    A hump in the middle means that posteriors are too wide, two high ends that they are too narrow,
    and a slope that they lie too high or too low.

    Parameters
    ----------
    replicates
        One row per replicate.
    n_draws
        Number of draws per posterior.
    rank
        Column with the number of draws below the truth; missing ranks are ignored.
    panel, rows
        Columns mapped to panels, and to rows of panels.

    Returns
    -------
    ggplot
        The figure. Its bins are those of `simstudy.measures.rank_check`, whose p-value each panel
        has as text. The band is pointwise: the count of uniform ranks in a bin, which is binomial,
        lies in it with a probability of 95% or a little more.

    References
    ----------
    Talts and others (2018), arXiv 1804.06788.
    """
    mapped = {"panel": panel, "rows": rows}
    need_columns(replicates, [rank, *mapped.values()])
    values = with_panels(pd.DataFrame({"rank": replicates[rank]}), replicates, mapped)
    bins = [_bins(in_panel, n_draws).assign(**where) for where, in_panel in by_panel(values)]
    drawn = pd.concat(bins).astype({role: values[role].dtype for role in mapped if role in values})
    place = {"xmin": "left", "xmax": "right"}
    return (
        p9.ggplot(drawn)
        + p9.geom_rect(
            p9.aes(**place, ymin=0, ymax="count"), fill=theme.BLUE, color="white", size=0.3
        )
        + p9.geom_rect(
            p9.aes(**place, ymin="lower", ymax="upper"), fill=theme.VERMILLION, alpha=0.35
        )
        + p9.geom_segment(
            p9.aes(x="left", xend="right", y="expected", yend="expected"), color=theme.VERMILLION
        )
        + words_in_panels(drawn, _panel_text)
        + theme.theme_study()
        + facets(drawn, legend=False)
        + p9.labs(
            x=f"rank of the truth among {n_draws:,} draws",
            y="count",
            caption=captions.caption(
                "Band: the count of a bin, for uniform ranks, in 95% of studies.",
                "In the panels: chi-square p-value of uniform ranks.",
            ),
        )
    )


def _bins(values: pd.DataFrame, n_draws: int) -> pd.DataFrame:
    """The bins of the ranks of a panel: ends, counts, and what uniform ranks would have."""
    ranks = values["rank"].to_numpy(dtype=float)
    count, width = count_ranks(ranks, n_draws)
    ends, n, chance = np.cumsum([0, *width]) - 0.5, count.sum(), width / (n_draws + 1)
    found = {"left": ends[:-1], "right": ends[1:], "count": count, "expected": n * chance}
    limits = stats.binom.interval(0.95, n, chance)
    found |= dict(zip(("lower", "upper"), limits, strict=True))
    return pd.DataFrame(found).assign(p_value=p_value(ranks, n_draws))


def _panel_text(bins: pd.DataFrame) -> str:
    p, n_rep = bins["p_value"].iloc[0], bins["count"].sum()
    if np.isnan(p):
        return f"{n_rep:,} ranks"
    return f"p {'< 0.0001' if p < 1e-4 else f'= {p:.2g}'}, {n_rep:,} ranks"


def kernel_density(values: Float[np.ndarray, " rep"], *, at_most: float = np.inf) -> pd.DataFrame:
    """Estimate a density with a Gaussian kernel, with two Monte Carlo standard errors either side.

    The bandwidth h is Silverman's (1986, equation 3.31). Near a bound the kernel is a local linear
    one, whose bias is of order h² everywhere. (Reflection at the bound would force a slope of 0
    there, a bias of 0.8 h times the true slope.) To first order the variance of the density f is
    f / (n h) times the integral of the squared kernel, which is 1 / (2 √π), and 6.3 times that at a
    bound.

    Parameters
    ----------
    values
        One finite value per replicate; at least two must differ.
    at_most
        Upper bound of the possible values.

    Returns
    -------
    DataFrame
        The density at 200 points, not below 0: `value`, `density`, and `lower` and `upper`, which
        are two standard errors from it.

    Raises
    ------
    DesignError
        If all values are equal, fewer than two, or not finite.

    References
    ----------
    Jones (1993), Statistics and Computing 3, 135-146.
    """
    values = np.asarray(values, dtype=float)
    if values.size < 2 or not np.isfinite(values).all():
        raise DesignError("a density needs at least two values, all of them finite")
    width = _bandwidth(values)
    last = min(values.max() + 2 * width, at_most)
    place = np.linspace(values.min() - 2 * width, last, N_POINTS)
    constant, slope, squared = _kernel_before(np.minimum((at_most - place) / width, FAR))
    mean, moment = _smoothed(values, place, width)
    density = np.maximum(constant * mean + slope * moment, 0)
    half = 2 * np.sqrt(density * squared / (len(values) * width))
    limits = {"lower": np.maximum(density - half, 0), "upper": density + half}
    return pd.DataFrame({"value": place, "density": density, **limits})


def _kernel_before(room: Float[np.ndarray, " place"]) -> Float[np.ndarray, "3 place"]:
    """The local linear kernel (a + b u) φ(u), u below `room`, its integral 1 and its mean 0.

    Parameters
    ----------
    room
        Distance from each point to the bound, in bandwidths.

    Returns
    -------
    array
        a, b, and the integral of the squared kernel, from the moments of φ and φ² up to the bound.
    """
    height, below = np.exp(-(room**2) / 2) / np.sqrt(2 * np.pi), special.ndtr(room)
    zeroth, first, second = below, -height, below - room * height
    determinant = zeroth * second - first**2
    constant, slope = second / determinant, -first / determinant
    square = special.ndtr(np.sqrt(2) * room) / (2 * np.sqrt(np.pi))
    of_mean, of_spread = -(height**2) / 2, (square - room * height**2) / 2
    squared = constant**2 * square + 2 * constant * slope * of_mean + slope**2 * of_spread
    return np.stack([constant, slope, squared])


def _bandwidth(values: Float[np.ndarray, " rep"]) -> float:
    quartiles = float(np.subtract(*np.percentile(values, [75, 25])))
    spread = min(float(values.std()), quartiles / 1.349) or float(values.std())
    if spread == 0:
        raise DesignError(
            f"{len(values)} equal values have no density to draw. Draw more replicates, "
            "or give the value in the text."
        )
    return float(0.9 * spread * len(values) ** -0.2)


def _smoothed(
    values: Float[np.ndarray, " rep"], place: Float[np.ndarray, " place"], width: float
) -> tuple[Float[np.ndarray, " place"], Float[np.ndarray, " place"]]:
    """Means of the kernel φ(u) and of u φ(u) over the values, u their distance in bandwidths."""
    count, edges = np.histogram(values, N_BINS)
    apart = ((edges[:-1] + edges[1:]) / 2 - place[:, np.newaxis]) / width
    kernel = np.exp(-(apart**2) / 2) / (width * np.sqrt(2 * np.pi))
    return kernel @ count / len(values), (apart * kernel) @ count / len(values)
