"""Figures of `loo_importance`: the approximation against the exact answer."""

from __future__ import annotations

from experiments._method_names import colors_of
from experiments.loo_r2.cells import standard_errors, values
from experiments.loo_r2.figures import COLOR, X, Y, agreement, in_features, not_drawn
from simstudy.analysis.result import Result
from simstudy.documents.scenarios.leave_one_out import K_LIMIT, LEVEL, ImportanceSampling
from simstudy.figures import agreement_plot, captions, in_order, measure_curves, theme
from simstudy.figures.agreement import format_mean, format_panel_count
from simstudy.lazy import ggplot, pd

ANSWERS = {"exact": "exact leave-one-out", "importance": "importance sampling"}
COLORS = colors_of(ANSWERS.values())
MAX_POINTS = 300  # replicates per cell drawn as points; more would overlap


def wide(result: Result) -> list[ImportanceSampling]:
    """The scenarios with the wide prior: the document's third figure, and one with few features."""
    found = [s for s in result.plan.scenarios if s.prior == "wide"]
    if not found:
        raise LookupError("a scenario with the wide prior")
    return found


def figure_answers(result: Result) -> ggplot:
    """R² by importance sampling against the exact one, a point for each data set."""
    drawn = pd.concat(_answers(result, s) for s in wide(result))
    figure = agreement_plot(
        drawn.assign(panel=in_features(drawn)),
        x="exact",
        y="importance",
        panel="panel",
        color="share of bad k",
        color_limits=(0, 1),
        say=lambda rows: format_mean(rows["y"] - rows["x"]),
        at_most=MAX_POINTS,
        scales="free",
    )
    return figure + captions.titles(
        captions.dashed("equality"),
        "Each panel has scales of its own.",
        f"Bad is a Pareto k above {K_LIMIT:g}. In the panels: mean difference.",
        captions.PLUS_MINUS,
        f"n\u00a0=\u00a0{wide(result)[0].n_obs}, wide prior.",
        format_panel_count(len(drawn) // len(wide(result)), MAX_POINTS),
        x="R² by exact leave-one-out",
        y="R² by importance sampling",
    )


def _answers(result: Result, scenario: ImportanceSampling) -> pd.DataFrame:
    by_answer = {
        answer: values(
            result, scenario, "estimate", answer=answer, utility="r2_variance", method="taylor"
        )
        for answer in ANSWERS
    }
    share = result.columns(scenario, "share_bad_k")["share_bad_k"]
    return pd.DataFrame({**by_answer, "share of bad k": share, "p": scenario.n_feature})


def figure_simres(result: Result) -> ggplot:
    """The document's third figure, with both ways to leave an observation out."""
    drawn = pd.concat(
        standard_errors(result, [s], answer=answer).head(100).assign(rows=words)
        for s in wide(result)
        for answer, words in ANSWERS.items()
    )
    drawn = drawn.assign(
        panel=in_features(drawn), rows=in_order(drawn["rows"], {w: w for w in COLORS})
    )
    return agreement(drawn, rows="rows", log=True) + captions.titles(
        f"n = {drawn['n_obs'].iloc[0]}, wide prior, the first 100 data sets of each p.",
        captions.dashed("equality"), COLOR, not_drawn(drawn), x=X, y=Y,
    )  # fmt: skip


def figure_k(result: Result) -> ggplot:
    """Mean Pareto k against the mean leverage, which it is by theory, a point for each data set."""
    drawn = pd.concat(
        _of_k(result, scenario) for scenario in sorted(result.plan.scenarios, key=lambda s: s.n_obs)
    )
    panels = {words: words for words in dict.fromkeys(drawn["panel"])}
    figure = agreement_plot(
        drawn.assign(panel=in_order(drawn["panel"], panels)),
        x="leverage", y="k", panel="panel", color="p / n",
        say=lambda _: "",
    )  # fmt: skip
    return figure + captions.titles(
        captions.dashed("equality, the theory for a known σ"),
        "Means over the observations of a data set, "
        f"at most {MAX_POINTS} data sets of each\u00a0p.",
        x="leverage, at the posterior mean of σ",
        y="Pareto k",
    )


def _of_k(result: Result, scenario: ImportanceSampling) -> pd.DataFrame:
    data = result.columns(scenario, "mean_k", "leverage")
    drawn = pd.DataFrame({"k": data["mean_k"], "leverage": data["leverage"]}).head(MAX_POINTS)
    return drawn.assign(
        panel=f"n = {scenario.n_obs}, {scenario.prior} prior",
        **{"p / n": scenario.n_feature / scenario.n_obs},
    )


def figure_bias(result: Result) -> ggplot:
    """Bias and coverage of R² by the number of features, by both answers."""
    rows = result.summary
    rows = rows[(rows["prior"] == "wide") & (rows["utility"] == "r2_variance")]
    rows = rows[(rows["method"] == "taylor")]
    words = {"bias": "bias of R²", "coverage_given_fit": "coverage of its interval"}
    rows = rows[rows["measure"].isin(words)]
    figure = measure_curves(
        rows.assign(
            answer=in_order(rows["answer"], ANSWERS), measure=in_order(rows["measure"], words)
        ),
        x="n_feature", y=tuple(words.values()), color="answer", panel="measure",
        nominal={"bias of R²": 0.0, "coverage of its interval": LEVEL}, log_x=True, colors=COLORS,
        dashed=f"no bias on the left, the level asked for on the right ({LEVEL:.0%})",
    )  # fmt: skip
    return figure + captions.titles(
        x=f"features p (n = {wide(result)[0].n_obs}, wide prior)", y="",
        size=(theme.FULL_WIDTH, 3.6),
    )  # fmt: skip
