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

import numpy as np

from experiments._method_names import colors_of
from simstudy.analysis.result import Result
from simstudy.design import grid
from simstudy.documents.dgps.scores import (
    DiscretisedScores,
    HeavyTailedScores,
    NormalScores,
    Scores,
    SkewedScores,
)
from simstudy.documents.scenarios.thresholds import BOUND_MEASURES, Bound
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
from simstudy.study import Rules, Study

SCORES: dict[str, Scores] = {
    "normal": NormalScores(),
    "skewed": SkewedScores(skewness=-1.5),
    "heavy_tailed": HeavyTailedScores(df=3),
    "discretised": DiscretisedScores(step=0.25),
}


@published(__file__)
class Config:
    """Settings of the study."""

    n_obs: list[int] = option("positive cases in the test set", at_least=2)
    sensitivity: list[float] = option("target to keep", above=0, below=1)
    confidence: list[float] = option("with which to keep it", above=0, below=1)
    scores: list[str] = option("what the scores are", one_of=tuple(SCORES))
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result: Result) -> str:
    """The least coverage of each kind of method, less the confidence that it claims."""
    rows = result.select(measure="coverage")
    gap = 100 * (rows["estimate"] - rows["confidence"])
    least = gap.groupby(rows["method"]).min().map("{:+.1f}".format).str.replace("-", "−")
    return (
        "Coverage less the confidence that a method claims, in points, in its worst setting: "
        f"umbrella {least['umbrella']}, interpolated {least['umbrella interpolated']}, BCa "
        f"{least['bca strict']}, normal bootstrap {least['normal']}, normal tolerance bound "
        f"{least['tolerance']}."
    )


def study(config: Config) -> Study:
    swept = {name: getattr(config, name) for name in ("sensitivity", "confidence", "n_obs")}
    return Study(
        name="classifier_threshold_grid",
        scenarios=grid(Bound, scores=[SCORES[name] for name in config.scores], **swept),
        measures=BOUND_MEASURES,
        axes={"method": Bound.methods},
        block_size=50,
        answer=answer,
        n_rep=config.n_rep,
        figures={
            "coverage": figure_coverage,
            "efficiency": figure_efficiency,
            "trade_off": figure_trade_off,
            "nested_loop": figure_nested_loop,
        },
        rules=Rules(common_random_numbers=("confidence",)),
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
COST = "Higher costs more false alarms; lower is better only where coverage is nominal."
KINDS = {"bootstraps": "bootstraps", "others": "other methods"}
BOOTSTRAPS = [SHOWN[name] for name in ("percentile", "normal", "bca strict", "bca mid")]


def shown_rows(result: Result, words: dict[str, str] = SHOWN) -> pd.DataFrame:
    """The summary of some methods, with labels for methods and scores."""
    rows = result.summary[result.summary["method"].isin(words)].drop(columns="n_boot")
    rows = with_labels(rows, result.plan.scenarios, scores=SCORES_IN_WORDS)
    return rows.assign(method=in_order(rows["method"], words))


def less(rows: pd.DataFrame, aim: str) -> pd.DataFrame:
    """Estimates minus their target."""
    return rows.assign(**{name: rows[name] - rows[aim] for name in NUMBERS})


def figure_coverage(result: Result) -> ggplot:
    """Coverage of normal scores by n and target, at the first confidence."""
    confidence = result.plan.scenarios[0].confidence
    figure = _curves(result, shown_rows(result), "coverage", confidence, "the nominal confidence")
    return figure + captions.titles(figure.labels.caption, y=f"coverage, nominal {confidence:.0%}")


def figure_efficiency(result: Result) -> ggplot:
    """The price of safety: how far the mean true sensitivity is above its target."""
    rows = less(shown_rows(result), "sensitivity")
    figure = _curves(result, rows, "mean_sensitivity", 0.0, "a mean equal to the target")
    return figure + captions.titles(
        figure.labels.caption, COST, y="mean true sensitivity minus target"
    )


def _curves(
    result: Result, rows: pd.DataFrame, measure: str, nominal: float, dashed: str
) -> ggplot:
    """Curves over n for the first law of scores, with bootstraps in a row of their own."""
    rows = rows_like(rows, result.plan.scenarios[0], "confidence")
    first = rows["scores"].cat.categories[0]
    rows = rows[rows["scores"] == first]
    kinds = np.where(rows["method"].isin(BOOTSTRAPS), "bootstraps", "others")
    figure = measure_curves(
        rows.assign(kind=in_order(kinds, KINDS)), x="n_obs", y=measure,
        color="method", panel="sensitivity", rows="kind", nominal=nominal, dashed=dashed,
        log_x=True, colors=COLORS,
    )  # fmt: skip
    return figure + captions.titles(
        f"{str(first).capitalize()} scores; the figure trade_off has the other laws.",
        figure.labels.caption,
        SURE,
        x="positive cases n (log scale)",
        size=(theme.FULL_WIDTH, 5.2),
    )


def figure_trade_off(result: Result) -> ggplot:
    """Coverage against mean sensitivity of every method at n = 50, by the law of the scores."""
    near = min(result.plan.scenarios, key=lambda s: (abs(s.n_obs - 50), abs(s.sensitivity - 0.95)))
    near = dataclasses.replace(near, confidence=result.plan.scenarios[0].confidence)
    rows = rows_like(shown_rows(result), near, "n_obs", "sensitivity", "confidence")
    figure = trade_off_plot(
        rows, x="coverage", y="mean_sensitivity", color="method", panel="scores", colors=COLORS,
        nominal={"coverage": near.confidence, "mean_sensitivity": near.sensitivity},
        dashed="nominal confidence (vertical) and target sensitivity (horizontal)",
    )  # fmt: skip
    says = (
        f"n = {near.n_obs}, target {near.sensitivity:.0%}, nominal confidence "
        f"{near.confidence:.0%}. "
        "Best: at or right of the vertical line and as low as possible; higher sensitivity costs "
        "false alarms."
    )
    return (
        figure
        + p9.labs(y="mean true sensitivity", caption=caption(says, figure.labels.caption))
        + p9.facet_wrap("panel", nrow=2)
        + p9.theme(figure_size=(theme.FULL_WIDTH, 6.2))
    )


def figure_nested_loop(result: Result) -> ggplot:
    """Coverage error of the document's two methods in all scenarios at once."""
    few = {m: SHOWN[m] for m in ("bca strict", "umbrella")}
    rows = less(shown_rows(result, few), "confidence")
    error, n = "coverage minus confidence", "positive cases n"
    named = rows.assign(measure=rows["measure"].replace("coverage", error))
    figure = nested_loop_plot(
        named.rename(columns={"n_obs": n}), y=error, color="method", nominal=0.0, colors=COLORS,
        factors=("scores", "confidence", "sensitivity", n),
    )  # fmt: skip
    sure = " and ".join(f"{1 - level:.2g}" for level in sorted(rows["confidence"].unique()))
    return figure + captions.titles(figure.labels.caption, SURE, f"Its error is then {sure}.")
