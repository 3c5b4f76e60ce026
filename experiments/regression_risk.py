"""Do the empirical MSE and MAE of a fitted linear model agree with the theoretical risk?

Aims         How far is the empirical metric from the risk, and does the distance vanish with the
             size of the test sample?
Data         Twenty normal features, a linear signal, normal noise of the signal's variance.
Estimands    The risk of the fitted model: of its squared and of its absolute error.
Methods      The risk with the fitted intercept, and as printed: without it.
Performance  Bias and root mean squared distance of the metric from either risk; at 250 replicates
             and 10000 test observations the bias of the MSE has an MCSE of 0.006.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy.analysis.result import Result
from simstudy.claims import Claim, Reproduced, average, chance_limit
from simstudy.design import grid
from simstudy.dgps.linear import LinearModel
from simstudy.figures import (
    agreement_plot,
    captions,
    colors_of,
    in_order,
    mean_in_words,
    measure_curves,
    rows_like,
)
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.options import option, published
from simstudy.study import Study
from simstudy.trials.regression import METRICS
from simstudy.trials.risk import MEASURES, RegressionRisk
from simstudy.trials.settings import LinearConfig


@published(__file__)
@dataclass
class Config(LinearConfig):
    """What the study sweeps."""

    n_train: list[int] = option("observations that the model learns from", at_least=2)
    n_test: list[int] = option("observations that the metrics come from", at_least=2)
    noise_variance: float = option("variance of the response given the features", above=0)


def study(config: Config) -> Study:
    model = LinearModel(config.n_feature, config.coefficient, config.noise_variance)
    return Study(
        name="regression_risk",
        scenarios=grid(
            RegressionRisk,
            n_train=config.n_train,
            n_test=config.n_test,
            model=model,
            draws=config.draws,
        ),
        axes={"metric": METRICS},
        measures=MEASURES,
        block_size=5,
        n_rep=config.n_rep,
        figures={"2A": figure_2a, "distance": figure_distance},
        claims=CLAIMS,
    )


# ---------------------------------------------------------------- figures
TRUTHS = {"risk": "with the intercept", "risk_printed": "as printed"}
COLORS = colors_of(TRUTHS.values())
PUBLISHED_TEST = 10000


def figure_2a(result: Result) -> ggplot:
    """Empirical against theoretical MSE and MAE, with the standard error of each point."""
    # The scenario of the document, or the one nearest to it.
    shown = min(result.plan.scenarios, key=lambda s: abs(np.log(s.n_test / PUBLISHED_TEST)))
    figure = agreement_plot(
        _points(result, shown),
        x="empirical",
        y="risk",
        panel="panel",
        error_x="std_error",
        scales="free",
    )
    return (
        figure
        + p9.facet_wrap("panel", ncol=2, scales="free")
        + captions.titles(
            f"Test samples of {shown.n_test:,}. Bars: 2 true standard errors of the empirical "
            "metric.",
            captions.dashed("equality"),
            captions.PLUS_MINUS,
            "The risk as printed leaves out the fitted intercept, so its points lie to the right "
            "of the line by its square.",
            y="theoretical",
            size=(8, 6.8),
        )
    )


def _points(result: Result, scenario: RegressionRisk) -> pd.DataFrame:
    data = result.columns(scenario, "empirical", "std_error", *TRUTHS)
    frames = [
        pd.DataFrame(
            {
                "empirical": data["empirical"][:, at],
                "risk": data[truth][:, at],
                "std_error": data["std_error"][:, at],
                "panel": f"{metric.upper()}, risk {words}",
            }
        )
        for truth, words in TRUTHS.items()
        for at, metric in enumerate(METRICS)
    ]
    return pd.concat(frames, ignore_index=True)


def figure_distance(result: Result) -> ggplot:
    """Root mean squared distance of metric and risk by test size; theory as a line."""
    named = {"rmse": "with the intercept", "rmse_printed": "as printed"}
    rows = rows_like(result.summary, result.plan.scenarios[0], "n_train")
    rows = rows.assign(metric=in_order(rows["metric"], {m: m.upper() for m in METRICS}))
    drawn, theory = rows[rows["measure"].isin(named)], rows[rows["measure"] == "model_se"]
    figure = measure_curves(
        drawn.assign(risk=in_order(drawn["measure"], named), measure="distance"),
        x="n_test",
        y="distance",
        color="risk",
        panel="metric",
        exact=theory.assign(exact=theory["estimate"]),
        log_x=True,
        joined=False,
        colors=COLORS,
    )
    return (
        figure
        + p9.facet_wrap("panel", scales="free_y")
        + p9.scale_y_log10()
        + captions.titles(
            captions.BARS,
            "Solid line: standard error of the metric by theory. From the printed risk the "
            "distance does not vanish: the square of the intercept stays.",
            x="test observations",
            y="root mean squared distance",
            size=(8.4, 3.9),
            legend_on_top=True,
        )
    )


# ---------------------------------------------------------------- claims
def _published(result: Result) -> RegressionRisk:
    scenario: RegressionRisk = result.scenario(n_test=PUBLISHED_TEST, n_train=100)
    return scenario


def _aligned(result: Result) -> Reproduced:
    """Whether the empirical metrics scatter about the risk as their standard error says."""
    data = result.columns(_published(result), "empirical", "risk", "std_error")
    z = (data["empirical"] - data["risk"]) / data["std_error"]
    spread = (z**2).mean(axis=0)
    limit = chance_limit(len(METRICS)) * np.sqrt(2 / len(z))  # 2: the variance of a squared normal
    correlation = [np.corrcoef(data["empirical"][:, i], data["risk"][:, i])[0, 1] for i in (0, 1)]
    said = f"mean squared z {spread[0]:.3f} and {spread[1]:.3f}, correlation "
    said += f"{correlation[0]:.3f} and {correlation[1]:.3f} (MSE, MAE)"
    return Reproduced(float((abs(spread - 1) < limit).all()), detail=said)


def _centred(result: Result, truth: str) -> Reproduced:
    """Whether the mean distance of metric and risk is no more than chance."""
    scenario = _published(result)
    data = result.columns(scenario, "empirical", truth)
    distances = (data["empirical"] - data[truth]).T
    means = [average(distance) for distance in distances]
    said = ", ".join(
        f"{metric} {mean_in_words(distance)}"
        for metric, distance in zip(METRICS, distances, strict=True)
    )
    theory = scenario.mean_square_intercept
    said += f" (2 MCSE); by theory the MSE is {theory:.4f} above the printed risk"
    limit = chance_limit(len(means))
    return Reproduced(float(all(abs(m.value) < limit * m.mcse for m in means)), detail=said)


def _vanishes(result: Result) -> Reproduced:
    """Distance from the printed risk over the standard error, at the largest test sample."""
    largest = max(scenario.n_test for scenario in result.plan.scenarios)
    if largest <= PUBLISHED_TEST:
        raise LookupError("a test sample above 10000")
    rows = result.summary[result.summary["n_test"] == largest].set_index(["measure", "metric"])
    with_intercept, printed, error = (
        float(rows.loc[(name, "mse"), "estimate"]) for name in ("rmse", "rmse_printed", "model_se")
    )
    detail = f"MSE, n_test={largest:,}, in standard errors: as printed "
    detail += f"{printed / error:.2f}, with the intercept {with_intercept / error:.2f}"
    return Reproduced(float(printed / error < 1.2), detail=detail)


def _chi_square(result: Result) -> Reproduced:
    """Mean of the sum of squared errors, scaled as printed, over the degrees of freedom."""
    data = result.columns(_published(result), "empirical", "risk")
    return average(data["empirical"][:, 0] / np.sqrt(data["risk"][:, 0]), "1 would be chi-square")


CLAIMS = (
    Claim(
        "aligned",
        "Empirical risk estimates are closely aligned with theory",
        "figure 2A",
        _aligned,
        published=True,
        note="Checked with the fitted intercept in the risk.",
    ),
    Claim(
        "centred on the risk",
        "The empirical metric is centred around the risk",
        "section 2",
        partial(_centred, truth="risk"),
        published=True,
    ),
    Claim(
        "printed risk",
        "The risk of the MSE is sigma^2 + |theta0 - theta|^2",
        "section 2",
        partial(_centred, truth="risk_printed"),
        published=True,
        expected="differs",
        note="The square of the fitted intercept is left out.",
    ),
    Claim(
        "no variation in the limit",
        "With a large enough sample the scatter shows no variation about the line",
        "figure 2A",
        _vanishes,
        published=True,
        expected="differs",
        note="True of the risk with the intercept. As printed, the square of the intercept stays.",
    ),
    Claim(
        "chi-square",
        "The sum of squared errors over the root of their variance is chi-square",
        "section 2",
        _chi_square,
        published=1.0,
        expected="differs",
        note="The scale is one over the variance, not over its root.",
    ),
)
