"""Figures of the regression trial, drawn from the first scenario of a result."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simstudy.analysis.result import Result
from simstudy.figures import theme
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.lazy.scipy import special
from simstudy.measures import intervals
from simstudy.stats.two_stage.law import TwoStageStatistic

METRIC_NAMES = {"mse": "MSE", "mae": "MAE"}
SAMPLES = ("test", "prospective")
BIN = 0.5  # width of a bar, in standard errors
STATES = {True: "null is false", False: "null is true"}


# ---------------------------------------------------------------- 3A
def figure_3a(result: Result) -> ggplot:
    """Second-stage z-scores by metric and truth of the null, with their conditional law."""
    one = result.plan.scenarios[0]
    limit, cells = one.design.critical_value, _cells(result)
    bars = pd.concat(_histogram(cell, limit) for cell in cells)
    theory = pd.concat(_expected(cell, limit, one) for cell in cells)
    words = pd.concat(_words(cell, limit, one) for cell in cells)
    words["y"] = words["state"].map(1.25 * theory.groupby("state")["upper"].max())
    for frame in (bars, theory, words):
        _order(frame, state=list(STATES.values()), metric=list(METRIC_NAMES.values()))
    return (
        p9.ggplot(bars)
        + p9.geom_rect(
            p9.aes(xmin="left", xmax="right", ymin=0, ymax="count", fill="decision"),
            color="white", size=0.3, alpha=0.75,
        )
        + p9.geom_ribbon(
            p9.aes(x="z", ymin="lower", ymax="upper"), theory, fill=theme.INK, alpha=0.15
        )
        + p9.geom_line(p9.aes(x="z", y="count"), theory, color=theme.INK, size=0.7)
        + p9.geom_vline(xintercept=limit, linetype="dashed", color=theme.INK)
        + p9.geom_text(
            p9.aes(x="x", y="y", label="said"), words, ha="left", va="top", size=8,
            color=theme.INK,
        )
        + p9.facet_grid("state", "metric", scales="free_y")
        + p9.scale_fill_manual(values=[theme.OKABE_ITO[0], "#B5B5B5"], name="decision")
        + p9.labs(
            x="z-score of the prospective sample",
            y=f"replicates (of {len(cells[0].z) + len(cells[1].z):,})",
            caption="Dashed: critical value. Line: law of the statistic for normal means with a "
            "known variance, times the replicates in the panel,\nwith 2 Monte Carlo standard "
            "errors of a bar. In the panels: share that rejects, with its 95% Wilson interval.",
        )
        + theme.theme_study()
        + p9.theme(figure_size=(8.2, 5.8), legend_position="top", legend_box_spacing=0.01)
    )  # fmt: skip


class Cell(NamedTuple):
    """The z-scores of one metric in one state of the null, by the studentized method."""

    metric: str
    null_is_false: bool
    z: Any


def _cells(result: Result) -> list[Cell]:
    data = result.columns(result.plan.scenarios[0], "z", "null_is_false")
    is_false = data["null_is_false"].astype(bool)
    return [
        Cell(metric, state, data["z"][is_false[:, 0, at] == state, 0, at])
        for at, metric in enumerate(METRIC_NAMES)
        for state in STATES
    ]


def _edges(limit: float) -> Any:
    """Bars that end at the critical value."""
    return limit + BIN * np.arange(-26, 18)


def _histogram(cell: Cell, limit: float) -> pd.DataFrame:
    edges = _edges(limit)
    count, _ = np.histogram(cell.z, edges)
    frame = pd.DataFrame({"left": edges[:-1], "right": edges[1:], "count": count})
    decision = np.where(edges[1:] <= limit + BIN / 4, "reject", "do not reject")
    levels = ["reject", "do not reject"]
    frame["decision"] = pd.Categorical(decision, levels, ordered=True)
    return _labelled(frame[frame["count"] > 0], cell)


def _expected(cell: Cell, limit: float, one: Any) -> pd.DataFrame:
    """Replicates in a bar centred anywhere, and 2 standard deviations of their number."""
    edges = _edges(limit)
    centre = np.linspace(edges[0], edges[-1], 300)
    law = TwoStageStatistic(one.k, one.n_test, one.design.n2, null=not cell.null_is_false)
    share = law.cdf(centre + BIN / 2) - law.cdf(centre - BIN / 2)
    count, half = len(cell.z) * share, 2 * np.sqrt(len(cell.z) * share * (1 - share))
    frame = pd.DataFrame(
        {"z": centre, "count": count, "lower": np.maximum(count - half, 0), "upper": count + half}
    )
    return _labelled(frame, cell)


def _words(cell: Cell, limit: float, one: Any) -> pd.DataFrame:
    n, share = len(cell.z), float((cell.z < limit).mean()) if len(cell.z) else np.nan
    bounds = intervals.wilson(np.array(share), np.array(n), level=0.95)
    theory = one.design.achieved_power if cell.null_is_false else one.alpha
    name = "power" if cell.null_is_false else "type-I error"
    said = (
        f"{name} {100 * share:.1f}%\n({100 * bounds.lower:.1f} to {100 * bounds.upper:.1f}; "
        f"design {100 * theory:.1f})\nn = {n:,}"
    )
    frame = pd.DataFrame({"x": [_edges(limit)[0]], "said": [said]})
    return _labelled(frame, cell)


def _labelled(frame: pd.DataFrame, cell: Cell) -> pd.DataFrame:
    return frame.assign(metric=METRIC_NAMES[cell.metric], state=STATES[cell.null_is_false])


def _order(frame: pd.DataFrame, **levels: list[str]) -> None:
    """Make categories in the order given, in place."""
    for column, names in levels.items():
        frame[column] = pd.Categorical(frame[column], names, ordered=True)


# ---------------------------------------------------------------- 3B
MAX_POINTS = 2500  # replicates drawn as points: more would only cover each other


def figure_3b(result: Result) -> ggplot:
    """Bootstrap standard deviation of the squared error against the true one, by sample."""
    one = result.plan.scenarios[0]
    data = result.columns(one, "sd_test", "sd_prospective", "sd_true")
    frames = [
        pd.DataFrame(
            {
                "estimate": data[f"sd_{sample}"][:MAX_POINTS, at, 0],
                "truth": data["sd_true"][:MAX_POINTS, 0, 0],
                "sample": sample,
                "method": method,
            }
        )
        for sample in SAMPLES
        for at, method in enumerate(result.plan.axes["method"])
    ]
    drawn = pd.concat(frames, ignore_index=True)
    _order(drawn, sample=list(SAMPLES), method=list(result.plan.axes["method"]))
    ratios = drawn.groupby(["sample", "method"], observed=True)[["estimate", "truth"]]
    words = ratios.apply(_ratio_in_words).rename("said").reset_index()
    words = words.assign(x=np.inf, y=drawn["truth"].max() * 1.06)
    return (
        p9.ggplot(drawn, p9.aes("estimate", "truth"))
        + p9.geom_point(size=0.8, stroke=0, alpha=0.25, color=theme.BLUE)
        + p9.geom_abline(slope=1, intercept=0, color=theme.VERMILLION)
        + p9.geom_text(
            p9.aes("x", "y", label="said"), words, ha="right", va="top", size=8, color=theme.INK
        )
        + p9.facet_grid("method", "sample")
        + p9.labs(
            x="estimated standard deviation of a squared error",
            y="true standard deviation",
            caption="Vermillion: equality. In the panels: median and mean of estimate / truth, "
            "with 2 Monte Carlo standard errors.\n"
            f"The first {min(len(data['sd_true']), MAX_POINTS):,} replicates are drawn.",
        )
        + theme.theme_study()
        + p9.theme(figure_size=(8, 6.2), panel_spacing_y=0.03)
    )


def _ratio_in_words(rows: pd.DataFrame) -> str:
    ratio = (rows["estimate"] / rows["truth"]).dropna()
    mcse = 2 * ratio.std() / np.sqrt(len(ratio))
    return f"median {ratio.median():.3f}, mean {ratio.mean():.3f} ± {mcse:.3f}  "


# ---------------------------------------------------------------- 3C
def figure_3c(result: Result) -> ggplot:
    """Distribution of the studentized quantiles by metric and sample."""
    one = result.plan.scenarios[0]
    data = result.columns(one, "reach_test", "reach_prospective")
    frames = [
        pd.DataFrame({"reach": data[f"reach_{sample}"][:, 0, at], "sample": sample, "metric": name})
        for sample in SAMPLES
        for at, name in enumerate(METRIC_NAMES.values())
    ]
    drawn = pd.concat(frames, ignore_index=True).dropna()
    _order(drawn, sample=list(SAMPLES), metric=list(METRIC_NAMES.values()))
    cells = drawn.groupby(["metric", "sample"], observed=True)["reach"]
    groups: Any = cells
    curves = pd.concat([_density(at[0], at[1], values) for at, values in groups])
    _order(curves, sample=list(SAMPLES), metric=list(METRIC_NAMES.values()))
    medians = cells.median().rename("median").reset_index()
    return (
        p9.ggplot(curves, p9.aes("reach", color="sample", fill="sample"))
        + p9.geom_ribbon(p9.aes(ymin="lower", ymax="upper"), alpha=0.35, color="none")
        + p9.geom_line(p9.aes(y="density"), size=0.8)
        + p9.geom_vline(xintercept=one.k, linetype="dashed", color=theme.INK)
        + p9.geom_vline(
            p9.aes(xintercept="median", color="sample"), medians, size=0.6,
            linetype="dotted", show_legend=False,
        )
        + p9.facet_wrap("metric", scales="free")
        + theme.scale_color_study(name="sample")
        + theme.scale_fill_study(name="sample")
        + p9.labs(
            x="minus the studentized quantile, in standard errors",
            y="density",
            caption=f"Dashed: k = {one.k:g}, which the vanilla bootstrap takes. Dotted: medians. "
            "Bands: 2 Monte Carlo standard errors of the density.\nRight of k the standard error "
            "is adjusted upwards.",
        )
        + theme.theme_study()
        + p9.theme(figure_size=(8.4, 3.9), legend_position="top", legend_box_spacing=0.01)
    )  # fmt: skip


def _density(metric: str, sample: str, values: Any) -> pd.DataFrame:
    """Gaussian kernel density on 200 places, with 2 MCSE: var = f ∫K² / (n h) to first order."""
    x = values.to_numpy()
    spread = min(x.std(), np.subtract(*np.percentile(x, [75, 25])) / 1.349)
    width = 0.9 * spread * len(x) ** -0.2
    at = np.linspace(x.min() - 2 * width, x.max() + 2 * width, 200)
    binned, edges = np.histogram(x, 2000)
    centre = (edges[:-1] + edges[1:]) / 2
    kernel = np.exp(-(((at[:, None] - centre) / width) ** 2) / 2) / (width * np.sqrt(2 * np.pi))
    density = kernel @ binned / len(x)
    half = 2 * np.sqrt(density / (2 * np.sqrt(np.pi) * len(x) * width))
    return pd.DataFrame(
        {
            "reach": at,
            "density": density,
            "lower": np.maximum(density - half, 0),
            "upper": density + half,
            "metric": metric,
            "sample": sample,
        }
    )


# ---------------------------------------------------------------- methods
PANELS = {
    "null_is_false": "null is false",
    "power": "power",
    "type_1_error": "type-I error",
}
TRUTHS = {"": "true risk", "_printed": "risk without\nthe intercept"}


def figure_methods(result: Result) -> ggplot:
    """Error rates with and without the studentized adjustment, and by what is taken as the risk."""
    one = result.plan.scenarios[0]
    rows = _of_first(result)
    drawn = pd.concat(
        rows[rows["measure"] == name + suffix].assign(panel=panel, truth=truth)
        for name, panel in PANELS.items()
        for suffix, truth in TRUTHS.items()
    )
    drawn = drawn.assign(metric=drawn["metric"].map(METRIC_NAMES))
    named = {"panel": PANELS, "truth": TRUTHS, "metric": METRIC_NAMES}
    _order(drawn, **{column: list(names.values()) for column, names in named.items()})
    level = [float(special.ndtr(one.k)), one.design.achieved_power, one.alpha]
    nominal = pd.DataFrame({"panel": list(PANELS.values()), "level": level})
    _order(nominal, panel=list(PANELS.values()))
    apart: dict[str, Any] = {"position": p9.position_dodge(width=0.5)}
    return (
        p9.ggplot(drawn, p9.aes("truth", "estimate", color="method", shape="method"))
        + p9.geom_hline(p9.aes(yintercept="level"), nominal, linetype="dashed", color=theme.MUTED)
        + p9.geom_linerange(p9.aes(ymin="lower", ymax="upper"), size=0.8, **apart)
        + p9.geom_point(size=2.4, **apart)
        + p9.facet_grid("panel", "metric", scales="free_y")
        + theme.scale_color_study(name="standard error")
        + theme.scale_shape_study(name="standard error")
        + p9.labs(
            x="what is taken as the truth",
            y="share of replicates",
            caption="Bars: 95% Wilson intervals. Dashed: design, for normal means with a known "
            "variance. All points share\ntheir replicates, so that differences are known better "
            "than the bars suggest.",
        )
        + theme.theme_study()
        + p9.theme(
            figure_size=(7.6, 6.4),
            legend_position="top",
            legend_box_spacing=0.01,
            panel_spacing_y=0.03,
        )
    )


def _of_first(result: Result) -> pd.DataFrame:
    """The summary's rows of the first scenario."""
    per_scenario = len(result.summary) // len(result.plan.scenarios)
    return result.summary.iloc[:per_scenario]
