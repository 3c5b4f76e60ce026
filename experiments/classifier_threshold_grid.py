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

import dataclasses
from dataclasses import dataclass

import numpy as np

from experiments._method_names import colors_of
from simstudy.analysis.result import Result
from simstudy.design import grid
from simstudy.dgps.scores import (
    DiscretisedScores,
    HeavyTailedScores,
    NormalScores,
    Scores,
    SkewedScores,
)
from simstudy.figures import (
    caption,
    captions,
    in_order,
    measure_curves,
    nested_loop_plot,
    rows_like,
    theme,
    trade_off_plot,
    with_labels,
)
from simstudy.lazy import ggplot, p9, pd
from simstudy.options import option, published
from simstudy.study import Study
from simstudy.trials.thresholds import BOUND_MEASURES, Bound

SCORES: dict[str, Scores] = {
    "normal": NormalScores(),
    "skewed": SkewedScores(skewness=-1.5),
    "heavy_tailed": HeavyTailedScores(df=3),
    "discretised": DiscretisedScores(step=0.25),
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


def study(config: Config) -> Study:
    swept = {name: getattr(config, name) for name in ("sensitivity", "confidence", "n_obs")}
    return Study(
        name="classifier_threshold_grid",
        scenarios=grid(Bound, scores=[SCORES[name] for name in config.scores], **swept),
        measures=BOUND_MEASURES,
        axes={"method": Bound.methods},
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
    "normal": "normal bootstrap",
    "bca strict": "BCa, ties left out",
    "bca mid": "BCa, ties by half",
    "umbrella": "umbrella",
    "umbrella interpolated": "umbrella, interpolated",
    "smoothed": "smoothed bootstrap",
    "tolerance": "normal tolerance",
}
COLORS = colors_of(SHOWN.values())
SCORES_IN_WORDS = dict(
    zip(SCORES.values(), ("normal", "skewed", "heavy-tailed", "rounded"), strict=True)
)
NUMBERS = ["estimate", "lower", "upper", "exact"]
SURE = "Where no score is safe the umbrella calls everybody positive: coverage and sensitivity 1."
COST = (
    "Higher is dearer, by more false alarms; lower is better only where coverage is what was asked."
)
BOOTSTRAPS = [SHOWN[name] for name in ("percentile", "normal", "bca strict", "bca mid")]


def shown_rows(result: Result, words: dict[str, str] = SHOWN) -> pd.DataFrame:
    """The summary of some methods, methods and scores in words."""
    rows = result.summary[result.summary["method"].isin(words)].drop(columns="n_boot")
    rows = with_labels(rows, result.plan.scenarios, scores=SCORES_IN_WORDS)
    return rows.assign(method=in_order(rows["method"], words))


def less(rows: pd.DataFrame, aim: str) -> pd.DataFrame:
    """How far estimates are above what was asked for."""
    return rows.assign(**{name: rows[name] - rows[aim] for name in NUMBERS})


def figure_coverage(result: Result) -> ggplot:
    """Coverage by n, target and scores, at the first confidence, as far below it as above."""
    confidence = result.plan.scenarios[0].confidence
    low = max(round(2 * confidence - 1, 9), 0.0)  # a share of 60% is not beneath 0.6
    figure = _curves(result, shown_rows(result), "coverage", confidence, "the confidence asked for")
    return (
        figure
        + p9.coord_cartesian(ylim=(low, 1))
        + captions.titles(
            figure.labels.caption,
            beneath(figure.data, low),
            y=f"coverage, {confidence:.0%} asked",
        )
    )


def beneath(drawn: pd.DataFrame, low: float) -> str:
    """How many points an axis that starts at `low` has no room for, and how far down they are."""
    less = drawn["estimate"][drawn["estimate"] < low]
    if less.empty:
        return ""
    return (
        f"Beneath the axis, under {low:.0%}: {len(less)} of {len(drawn)} points, "
        f"down to {less.min():.0%}."
    )


def figure_efficiency(result: Result) -> ggplot:
    """What safety costs: how far the mean true sensitivity is above its target."""
    rows = less(shown_rows(result), "sensitivity")
    figure = _curves(result, rows, "mean_sensitivity", 0.0, "a mean equal to the target")
    return figure + captions.titles(
        figure.labels.caption, COST, y="mean true sensitivity minus target"
    )


def _curves(
    result: Result, rows: pd.DataFrame, measure: str, nominal: float, dashed: str
) -> ggplot:
    figure = measure_curves(
        four_to_a_panel(rows_like(rows, result.plan.scenarios[0], "confidence")), x="n_obs",
        y=measure, color="method", panel="sensitivity", rows="family", nominal=nominal,
        dashed=dashed, log_x=True, colors=COLORS,
    )  # fmt: skip
    return figure + captions.titles(
        "Rows: the law of the scores, and whether the methods are bootstraps of the quantile.",
        figure.labels.caption,
        SURE,
        x="positive cases n",
        size=(theme.FULL_WIDTH, theme.TALLEST),
    )


def four_to_a_panel(rows: pd.DataFrame) -> pd.DataFrame:
    """Scores and kind of method as one column: bootstraps of the quantile apart from the others."""
    scores = rows["scores"].cat.categories
    kinds = np.where(rows["method"].isin(BOOTSTRAPS), "bootstraps", "others")
    family = [f"{score},\n{kind}" for score, kind in zip(rows["scores"], kinds, strict=True)]
    order = [f"{score},\n{kind}" for score in scores for kind in ("bootstraps", "others")]
    return rows.assign(family=pd.Categorical(family, order, ordered=True)).drop(columns="scores")


def figure_trade_off(result: Result) -> ggplot:
    """Coverage against mean sensitivity of every method at n = 50: right and low is good."""
    near = min(result.plan.scenarios, key=lambda s: (abs(s.n_obs - 50), abs(s.sensitivity - 0.95)))
    near = dataclasses.replace(near, confidence=result.plan.scenarios[0].confidence)
    rows = rows_like(shown_rows(result), near, "n_obs", "sensitivity", "confidence")
    figure = trade_off_plot(
        rows, x="coverage", y="mean_sensitivity", color="method", panel="scores", colors=COLORS,
        nominal={"coverage": near.confidence, "mean_sensitivity": near.sensitivity},
        dashed="upright, the confidence asked for; level, the target of the sensitivity",
    )  # fmt: skip
    says = (
        f"n = {near.n_obs}, target {near.sensitivity:.0%}, {near.confidence:.0%} confidence asked. "
        "Good is on the upright dashed line or to its right, and there as low as can be: a mean "
        "above the target is paid for with false alarms."
    )
    return (
        figure
        + p9.labs(y="mean true sensitivity", caption=caption(says, figure.labels.caption))
        + p9.facet_wrap("panel", nrow=2)
        + p9.theme(figure_size=(theme.FULL_WIDTH, 6.2))
    )


def figure_nested_loop(result: Result) -> ggplot:
    """Coverage error of four methods in all scenarios at once."""
    few = {m: SHOWN[m] for m in ("bca strict", "bca mid", "umbrella", "umbrella interpolated")}
    rows = less(shown_rows(result, few), "confidence")
    error, n = "coverage minus confidence", "positive cases n"
    named = rows.assign(measure=rows["measure"].replace("coverage", error))
    figure = nested_loop_plot(
        named.rename(columns={"n_obs": n}), y=error, color="method", nominal=0.0, colors=COLORS,
        factors=("scores", "confidence", "sensitivity", n),
    )  # fmt: skip
    sure = " and ".join(f"{1 - level:.2g}" for level in sorted(rows["confidence"].unique()))
    return figure + captions.titles(figure.labels.caption, SURE, f"So the levels at {sure}.")
