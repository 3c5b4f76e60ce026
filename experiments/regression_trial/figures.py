"""Figures of the regression trial, drawn from the first scenario of a result."""

from __future__ import annotations

import numpy as np

from experiments._law_histogram import STEPS, counts_with_law, law_histogram
from experiments._method_names import colors_of
from simstudy.analysis.result import Result
from simstudy.array_types import Float
from simstudy.documents.scenarios.regression import SAMPLES, RegressionTrial
from simstudy.documents.stats.models.trial import METHODS
from simstudy.documents.stats.two_stage import cdf
from simstudy.figures import (
    agreement_plot,
    captions,
    density_plot,
    dots_plot,
    format_mean,
    in_order,
    theme,
)
from simstudy.figures.agreement import format_panel_count
from simstudy.lazy import ggplot, p9, pd, special
from simstudy.measures import intervals

METRICS = {"mse": "MSE", "mae": "MAE"}
STATES = {True: "null is false", False: "null is true"}
COLORS = colors_of(METHODS)
DECISIONS = {"reject": COLORS["studentized"], "do not reject": "#B5B5B5"}
BIN = 0.5  # width of a bar, in standard errors
SHOWN = 0.999  # share of the studentized quantiles that is shown; outliers would stretch the axis
MAX_POINTS = 2500  # replicates drawn as points; more would overlap


def figure_3a(result: Result) -> ggplot:
    """Second-stage z-scores by metric and truth of the null, with their conditional law."""
    trial: RegressionTrial = result.plan.scenarios[0]
    data = result.columns(trial, "z", "null_is_false")
    z = data["z"][:, 0]  # studentized
    is_false = data["null_is_false"][:, 0].astype(bool)
    bars = pd.concat(
        _bars(z[is_false[:, at] == state, at], trial, state).assign(
            metric=metric, rate=_rate(z[is_false[:, at] == state, at], trial, state)
        )
        for at, metric in enumerate(METRICS)
        for state in STATES
    )
    drawn = bars.assign(
        metric=in_order(bars["metric"], METRICS), state=in_order(bars["state"], STATES)
    )
    figure = law_histogram(
        drawn,
        x="z-score of the prospective sample",
        fill="decision",
        panel="metric",
        rows="state",
        dashed=trial.design.critical_value,
        say=lambda rows: str(rows["rate"].iloc[0]),
        scales="free_y",
    )
    return (
        figure
        + p9.scale_fill_manual(DECISIONS, name="decision")
        + captions.titles(
            f"Studentized, k = {trial.k:g}, n = {trial.n_test:,}, α = {trial.alpha:g}.",
            captions.dashed("critical value"),
            STEPS,
            "Theory assumes normal means with a known variance. The true risk decides whether the "
            "null is true. In the panels: rejection rate with its 95% Monte Carlo interval. Rates "
            "by the risk as printed, without the fitted intercept, are in the figure methods.",
            y=f"replicates (of {len(z):,})",
            size=(theme.FULL_WIDTH, 5.6),
        )
    )


def _bars(z: Float[np.ndarray, " rep"], trial: RegressionTrial, state: bool) -> pd.DataFrame:
    """Bars with an edge at the critical value, if replicates are observed or expected in them."""
    limit = trial.design.critical_value
    edges = limit + BIN * np.arange(-26, 18)
    below = cdf(edges, state, trial.k, trial.n_test, trial.design.n2)
    bars = counts_with_law(z, edges, np.diff(below))
    decision = np.where(edges[1:] <= limit + BIN / 4, *DECISIONS)
    bars["decision"] = pd.Categorical(decision, list(DECISIONS), ordered=True)
    seen: pd.DataFrame = bars[(bars["count"] > 0) | (bars["upper"] > 1)]
    return seen.assign(state=state)


def _rate(z: Float[np.ndarray, " rep"], trial: RegressionTrial, state: bool) -> str:
    """The rejection rate for a state of the null, and the rate by design."""
    n = len(z)
    share = float((z < trial.design.critical_value).mean()) if n else np.nan
    lower, upper = intervals.wilson(np.array(share), np.array(n), level=0.95)
    designed = trial.design.achieved_power if state else trial.alpha
    return (
        f"{'power' if state else 'type-I error'} = {100 * share:.1f}%\n"
        f"({100 * lower:.1f} to {100 * upper:.1f}%)\n"
        f"design: {100 * designed:.1f}%"
    )


def figure_3b(result: Result) -> ggplot:
    """Bootstrap standard deviation of the squared error against the true one, by sample."""
    data = result.columns(result.plan.scenarios[0], "sd_test", "sd_prospective", "sd_true")
    drawn = pd.concat(
        pd.DataFrame(
            {
                "estimate": data[f"sd_{sample}"][:, at, 0],
                "truth": data["sd_true"][:, 0, 0],
                "sample": sample,
                "method": method,
            }
        )
        for sample in SAMPLES
        for at, method in enumerate(METHODS)
    )
    figure = agreement_plot(
        drawn,
        x="estimate",
        y="truth",
        panel="sample",
        rows="method",
        colors=COLORS,
        say=_ratio,
        right=True,
        equal_axes=False,
        at_most=MAX_POINTS,
    )
    few = p9.scale_x_continuous(breaks=range(4, 12, 2))  # none at the ends, where panels meet
    flat = p9.theme(aspect_ratio=0.75)
    return (
        captions.with_scale(figure, few)
        + flat
        + captions.titles(
            captions.dashed("equality"),
            captions.PLUS_MINUS,
            format_panel_count(len(data["sd_true"]), MAX_POINTS),
            x="estimated standard deviation of a squared error",
            y="true standard deviation",
            size=(theme.FULL_WIDTH, 5.6),
        )
    )


def _ratio(rows: pd.DataFrame) -> str:
    ratio = rows["x"] / rows["y"]
    return (
        f"estimate / truth:\nmedian {ratio.median():.3f}\nmean {format_mean(ratio, signed=False)}"
    )


def figure_3c(result: Result) -> ggplot:
    """Distribution of the studentized quantiles by metric and sample."""
    trial: RegressionTrial = result.plan.scenarios[0]
    reach = studentized_reach(result, trial, "reach")
    n_rep = len(reach) // (len(SAMPLES) * len(METRICS))
    limit = reach.groupby("metric")["reach"].transform(lambda values: values.quantile(SHOWN))
    figure = density_plot(
        reach[reach["reach"] <= limit],
        x="reach",
        color="sample",
        panel="metric",
        colors=colors_of(SAMPLES),
    )
    return (
        figure
        + p9.geom_vline(xintercept=trial.k, linetype="dashed", color=theme.INK)
        + captions.titles(
            figure.labels.caption,
            captions.dashed(f"k = {trial.k:g}, which the vanilla bootstrap takes"),
            "Right of k the bootstrap adjusts the standard error upwards. "
            f"{n_rep:,} replicates; the largest {1 - SHOWN:.1%} of each panel are not drawn.",
            x="$q_α$: minus the studentized quantile, in standard errors",
            size=(theme.FULL_WIDTH, 3.6),
        )
    )


def studentized_reach(result: Result, trial: RegressionTrial, name: str) -> pd.DataFrame:
    """Minus the studentized quantiles of a trial, by sample and metric, in a column so named."""
    columns = {sample: f"reach_{sample}" for sample in SAMPLES}
    data = result.columns(trial, *columns.values())
    frames = [
        pd.DataFrame({name: data[column][:, 0, at], "sample": sample, "metric": metric})
        for sample, column in columns.items()
        for at, metric in enumerate(METRICS.values())
    ]
    return pd.concat(frames, ignore_index=True)


PANELS = {"null_is_false": "null is false", "power": "power", "type_1_error": "type-I error"}
TRUTHS = {"": "true risk", "_printed": "as printed, without\nthe intercept"}


def figure_methods(result: Result) -> ggplot:
    """Error rates with and without the studentized adjustment, by definition of the risk."""
    trial: RegressionTrial = result.plan.scenarios[0]
    levels = [float(special.ndtr(trial.k)), trial.design.achieved_power, trial.alpha]
    drawn = dots_plot(
        _shares(_of_first(result)),
        measure=list(PANELS.values()),
        y="truth",
        color="method",
        rows="metric",
        nominal=dict(zip(PANELS.values(), levels, strict=True)),
        colors=COLORS,
    )
    return drawn + captions.titles(
        captions.BARS,
        captions.dashed("design, for normal means with a known variance"),
        "All points share their replicates, so that differences are known better than the bars "
        "suggest.",
        *captions.notes(drawn.data),
        x="share of replicates",
        y="what is taken as the truth",
    )


def _shares(rows: pd.DataFrame) -> pd.DataFrame:
    named = {
        measure + suffix: (panel, truth)
        for measure, panel in PANELS.items()
        for suffix, truth in TRUTHS.items()
    }
    rows = rows[rows["measure"].isin(named)]
    panels, truths = zip(*(named[name] for name in rows["measure"]), strict=True)
    return rows.assign(
        measure=panels,
        truth=in_order(truths, {words: words for words in TRUTHS.values()}),
        metric=in_order(rows["metric"], METRICS),
    )


def _of_first(result: Result) -> pd.DataFrame:
    """The summary's rows of the first scenario."""
    per_scenario = len(result.summary) // len(result.plan.scenarios)
    return result.summary.iloc[:per_scenario]
