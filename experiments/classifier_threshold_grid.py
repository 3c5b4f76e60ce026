"""Which threshold keeps a classifier's sensitivity, beyond fifty normal scores?

The document compares its methods for 50 positive cases with normal scores, 95% sensitivity and 80%
confidence. Here all four vary.

Aims         Where does each method have the confidence that it claims, and what does it cost in
             sensitivity above the target, which is paid for with false alarms?
Data         Scores of positive cases: normal; skewed, with the long tail on the side that sets the
             threshold; heavy-tailed (Student t, 3 df); normal but rounded, so that many are tied.
Estimands    t*, the largest threshold with the target sensitivity, and the true sensitivities.
Methods      Those of the document, all bootstraps exactly, and the interpolated umbrella, the
             smoothed bootstrap, the Bayesian bootstrap, and the normal tolerance bound.
Performance  Coverage and mean true sensitivity, with the exact value where theory has one; one MCSE
             of a coverage of 80% is 0.9 points at 2000 replicates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from experiments._classifier_thresholds import (
    FURTHER,
    METHODS,
)
from experiments.classifier_threshold import Threshold
from simstudy.analysis.result import Result
from simstudy.design import Columns, grid
from simstudy.dgps.scores import (
    DiscretisedScores,
    HeavyTailedScores,
    NormalScores,
    Scores,
    SkewedScores,
)
from simstudy.figures import measure_curves, nested_loop_plot, theme
from simstudy.figures.frame import caption
from simstudy.identity.streams import Streams
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.measures import mean, rejection_rate
from simstudy.options import option, published
from simstudy.study import Study

GRID_METHODS = (*METHODS, *FURTHER)
SCORES: dict[str, Scores] = {
    "normal": NormalScores(),
    "skewed": SkewedScores(skewness=-1.5),
    "heavy_tailed": HeavyTailedScores(df=3),
    "discretised": DiscretisedScores(step=0.25),
}
LABELS = {
    "NormalScores": "normal",
    "SkewedScores": "skewed",
    "HeavyTailedScores": "heavy-tailed",
    "DiscretisedScores": "rounded",
}


@published(__file__)
@dataclass
class Config:
    """What the study sweeps."""

    n_obs: list[int] = option("positive cases in the test set", at_least=2)
    sensitivity: list[float] = option("target to keep", above=0, below=1)
    confidence: list[float] = option("with which to keep it", above=0, below=1)
    scores: list[str] = option("what the scores are", one_of=tuple(SCORES))
    n_rep: int = option("replicates in each scenario", at_least=1)


@dataclass(frozen=True)
class Bound(Threshold):
    """A threshold set on one test set, by every method there is; bootstraps exactly."""

    methods: ClassVar[tuple[str, ...]] = GRID_METHODS

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        columns = super().simulate(streams, n_rep)
        return {name: columns[name] for name in ("safe", "sensitivity")}


def study(config: Config) -> Study:
    scenarios = grid(
        Bound,
        scores=[SCORES[name] for name in config.scores],
        sensitivity=config.sensitivity,
        confidence=config.confidence,
        n_obs=config.n_obs,
    )
    return Study(
        name="classifier_threshold_grid",
        scenarios=scenarios,
        measures=[rejection_rate("safe", name="coverage"), mean("sensitivity")],
        axes={"method": GRID_METHODS},
        block_size=50,
        n_rep=config.n_rep,
        figures={
            "coverage": figure_coverage,
            "efficiency": figure_efficiency,
            "trade_off": figure_trade_off,
            "nested_loop": figure_nested_loop,
        },
        common=("confidence",),
    )


# ---------------------------------------------------------------- figures
SHOWN = {
    "percentile": "percentile",
    "normal": "normal",
    "bca strict": "BCa, ties left out",
    "bca mid": "BCa, ties by half",
    "umbrella": "umbrella",
    "umbrella interpolated": "umbrella, interpolated",
    "smoothed": "smoothed bootstrap",
    "tolerance": "normal tolerance",
}


def figure_coverage(result: Result) -> ggplot:
    """Coverage by n, target and scores, at the first confidence."""
    confidence = result.plan.scenarios[0].confidence
    figure = _curves(shown_rows(result, "coverage"), "coverage", nominal=confidence)
    return figure + p9.labs(y=f"coverage, {confidence:.0%} asked", caption=_says(result))


def figure_efficiency(result: Result) -> ggplot:
    """What safety costs: how far the mean true sensitivity is above its target."""
    rows = shown_rows(result, "mean_sensitivity")
    for name in ("estimate", "lower", "upper", "exact"):
        rows[name] = rows[name] - rows["sensitivity"]
    figure = _curves(rows, "mean_sensitivity", nominal=0.0)
    return figure + p9.labs(y="mean true sensitivity minus target", caption=_says(result))


def _says(result: Result) -> str:
    n_rep = next(iter(result.n_rep.values()))
    return caption(
        f"Solid: exact theory. Points: {n_rep:,} replicates, with 95% Monte Carlo intervals.",
        "Where no score is safe the umbrella calls everybody positive: coverage and sensitivity "
        f"1. {result.plan.scenarios[0].confidence:.0%} confidence asked.",
    )


def shown_rows(result: Result, *measures: str) -> pd.DataFrame:
    """The summary of some measures at the first confidence, methods and scores in words."""
    confidence = result.plan.scenarios[0].confidence
    rows = result.summary
    rows = rows[rows["measure"].isin(measures) & (rows["confidence"] == confidence)]
    rows = rows[rows["method"].isin(SHOWN)].drop(columns=["n_boot", "confidence"])
    names = [SHOWN[m] for m in rows["method"]]
    shown: pd.DataFrame = rows.assign(
        method=pd.Categorical(names, list(SHOWN.values())), scores=_in_words(rows["scores"])
    )
    return shown


def _in_words(scores: pd.Series) -> Any:
    return pd.Categorical([LABELS[s.split("(")[0]] for s in scores], list(LABELS.values()))


def _curves(rows: pd.DataFrame, measure: str, nominal: float) -> ggplot:
    figure = measure_curves(
        rows, x="n_obs", y=measure, color="method", panel="sensitivity", rows="scores",
        nominal=nominal, log_x=True,
    )  # fmt: skip
    return figure + p9.labs(x="positive cases n") + p9.theme(figure_size=(10, 9))


def figure_trade_off(result: Result) -> ggplot:
    """Coverage against mean sensitivity of every method at n = 50: right and low is good."""
    one = min(result.plan.scenarios, key=lambda s: (abs(s.n_obs - 50), abs(s.sensitivity - 0.95)))
    rows = shown_rows(result, "coverage", "mean_sensitivity")
    rows = rows[(rows["n_obs"] == one.n_obs) & (rows["sensitivity"] == one.sensitivity)]
    wide = rows.pivot(index=["scores", "method"], columns="measure",
                      values=["estimate", "mcse"]).reset_index()  # fmt: skip
    wide.columns = pd.Index(["_".join(filter(None, name)) for name in wide.columns])
    cover, kept = wide["estimate_coverage"], wide["estimate_mean_sensitivity"]
    drawn = wide[["scores", "method"]].assign(
        x=cover, y=kept, left=cover - 2 * wide["mcse_coverage"],
        right=cover + 2 * wide["mcse_coverage"], low=kept - 2 * wide["mcse_mean_sensitivity"],
        high=kept + 2 * wide["mcse_mean_sensitivity"],
    )  # fmt: skip
    return (
        p9.ggplot(drawn, p9.aes(x="x", y="y", color="method", shape="method"))
        + p9.geom_vline(xintercept=result.plan.scenarios[0].confidence, linetype="dashed",
                        color=theme.MUTED)
        + p9.geom_hline(yintercept=one.sensitivity, color=theme.MUTED, linetype="dotted")
        + p9.geom_segment(p9.aes(x="left", xend="right", yend="y"), size=0.5, show_legend=False)
        + p9.geom_segment(p9.aes(y="low", yend="high", xend="x"), size=0.5, show_legend=False)
        + p9.geom_point(size=2.4)
        + p9.facet_wrap("scores", nrow=2)
        + theme.scale_color_study(name=" ")
        + theme.scale_shape_study(name=" ")
        + p9.labs(
            x="coverage",
            y="mean true sensitivity",
            caption=caption(
                f"n = {one.n_obs}, target {one.sensitivity:.0%} (dotted), confidence asked dashed.",
                "Bars: 2 MCSE. On the dashed line, lower is better.",
            ),
        )
        + theme.theme_study()
        + p9.theme(figure_size=(8.6, 6.6))
    )  # fmt: skip


def figure_nested_loop(result: Result) -> ggplot:
    """Coverage error of four methods in all scenarios at once."""
    rows = result.summary.drop(columns="n_boot")
    few = {m: SHOWN[m] for m in ("bca strict", "bca mid", "umbrella", "umbrella interpolated")}
    rows = rows[(rows["measure"] == "coverage") & rows["method"].isin(few)]
    rows = rows.assign(
        method=pd.Categorical([few[m] for m in rows["method"]], list(few.values())),
        scores=_in_words(rows["scores"]),
        measure="coverage minus confidence",
    )
    for name in ("estimate", "lower", "upper", "exact"):
        rows[name] = rows[name] - rows["confidence"]
    return nested_loop_plot(
        rows, y="coverage minus confidence", color="method", nominal=0.0,
        factors=("scores", "confidence", "sensitivity", "n_obs"),
    )  # fmt: skip
