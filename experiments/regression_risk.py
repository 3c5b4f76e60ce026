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
from typing import Any

import numpy as np

from experiments._regression import (
    METRICS,
    LinearConfig,
    draw_errors,
    draw_fit,
    refuse_few_observations,
)
from simstudy.analysis.result import Result
from simstudy.claims import Claim, Reproduced
from simstudy.design import Columns, grid
from simstudy.dgps.linear import LinearModel, Risk
from simstudy.figures import theme
from simstudy.identity.streams import Streams
from simstudy.lazy.pandas import pd
from simstudy.lazy.plotnine import ggplot, p9
from simstudy.measures import bias, model_se, rmse
from simstudy.options import option, published
from simstudy.shapes import Float
from simstudy.study import Study


@published(__file__)
@dataclass
class Config(LinearConfig):
    """What the study sweeps."""

    n_train: list[int] = option("observations that the model learns from", at_least=2)
    n_test: list[int] = option("observations that the metrics come from", at_least=2)
    noise_variance: float = option("variance of the response given the features", above=0)


@dataclass(frozen=True)
class RegressionRisk:
    """A model, its metrics on a test sample, and its risk.

    Parameters
    ----------
    n_train, n_test
        Observations to learn from, and to test on.
    model
        What the observations are.
    draws
        `law` draws the fit and its test errors from their exact laws; `raw` draws features and
        responses, and fits and predicts.
    """

    n_train: int = 100
    n_test: int = 10000
    model: LinearModel = LinearModel(noise_variance=5.0)
    draws: str = "raw"

    def __post_init__(self) -> None:
        refuse_few_observations(self.n_train, self.model.n_feature)

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        rng = streams("data")
        truth, fit = draw_fit(self.model, rng, n_rep, self.n_train, self.draws)
        error = draw_errors(self.model, rng, truth, fit, self.n_test, self.draws)
        empirical = np.stack([(error**2).mean(axis=1), np.abs(error).mean(axis=1)], axis=-1)
        risk = self.model.risk(truth, fit)
        as_printed = self.model.risk(truth, fit, with_intercept=False)
        variance = np.stack([risk.mse_variance, risk.mae_variance], axis=-1)
        return {
            "empirical": empirical,
            "risk": _metrics(risk),
            "risk_printed": _metrics(as_printed),
            "std_error": np.sqrt(variance / self.n_test),
        }

    def exact(self) -> dict[str, object]:
        """Biases: the printed risk lacks the mean square of the intercept, for the MSE."""
        return {"bias": 0.0, "bias_printed": np.array([self._mean_square_intercept(), np.nan])}

    def _mean_square_intercept(self) -> float:
        """σ²/n (1 + p/(n - p - 2)): the means of p features meet their coefficients' errors."""
        p, n = self.model.n_feature, self.n_train
        inflation = p / (n - p - 2) if n > p + 2 else np.inf
        return float(self.model.noise_variance / n * (1 + inflation))


def _metrics(risk: Risk) -> Float[np.ndarray, "rep metric"]:
    return np.stack([risk.mse, risk.mae], axis=-1)


MEASURES = (
    bias("empirical", truth="risk"),
    bias("empirical", truth="risk_printed", name="bias_printed"),
    rmse("empirical", truth="risk"),
    rmse("empirical", truth="risk_printed", name="rmse_printed"),
    model_se("std_error"),
)


def study(config: Config) -> Study:
    model = LinearModel(config.n_feature, config.coefficient, config.noise_variance)
    return Study(
        name="regression_risk",
        scenarios=grid(
            RegressionRisk, n_train=config.n_train, n_test=config.n_test, model=model,
            draws=config.draws,
        ),
        axes={"metric": METRICS},
        measures=MEASURES,
        block_size=5,
        n_rep=config.n_rep,
        figures={"2A": figure_2a, "distance": figure_distance},
        claims=CLAIMS,
    )  # fmt: skip


# ---------------------------------------------------------------- figures
TRUTHS = {"risk": "risk with the intercept", "risk_printed": "risk as printed"}
PUBLISHED_TEST = 10000


def _shown(result: Result) -> RegressionRisk:
    """The scenario of the document, or the one nearest to it."""
    scenarios: tuple[RegressionRisk, ...] = result.plan.scenarios
    return min(scenarios, key=lambda one: abs(np.log(one.n_test / PUBLISHED_TEST)))


def figure_2a(result: Result) -> ggplot:
    """Empirical against theoretical MSE and MAE, with the standard error of each point."""
    one = _shown(result)
    drawn = _points(result, one)
    return (
        p9.ggplot(drawn, p9.aes("empirical", "risk"))
        + p9.geom_abline(slope=1, intercept=0, linetype="dashed", color=theme.MUTED)
        + p9.geom_segment(
            p9.aes(x="left", xend="right", yend="risk"), color=theme.BLUE, alpha=0.25, size=0.4
        )
        + p9.geom_point(color=theme.BLUE, size=1.3, stroke=0, alpha=0.8)
        + p9.facet_wrap("panel", ncol=2, scales="free")
        + p9.labs(
            x="empirical",
            y="theoretical",
            caption=f"Test samples of {one.n_test:,}. Bars: 2 true standard errors of the "
            "empirical metric. Dashed: equality.\nThe risk as printed leaves out the fitted "
            "intercept, so its points lie to the right of the line by its square.",
        )
        + theme.theme_study()
        + p9.theme(figure_size=(8, 6.8))
    )


def _points(result: Result, one: RegressionRisk) -> pd.DataFrame:
    data = result.columns(one, "empirical", "std_error", *TRUTHS)
    frames = [
        pd.DataFrame(
            {
                "empirical": data["empirical"][:, at],
                "risk": data[truth][:, at],
                "left": data["empirical"][:, at] - 2 * data["std_error"][:, at],
                "right": data["empirical"][:, at] + 2 * data["std_error"][:, at],
                "panel": f"{metric.upper()}, {name}",
            }
        )
        for truth, name in TRUTHS.items()
        for at, metric in enumerate(METRICS)
    ]
    drawn = pd.concat(frames, ignore_index=True)
    drawn["panel"] = pd.Categorical(drawn["panel"], drawn["panel"].unique())
    return drawn


def figure_distance(result: Result) -> ggplot:
    """Root mean squared distance of metric and risk by test size; theory as a line."""
    drawn = _distances(result)
    theory = drawn[drawn["measure"] == "model_se"]
    simulated = drawn[drawn["measure"] != "model_se"]
    apart = p9.position_dodge(width=0.12)
    return (
        p9.ggplot(simulated, p9.aes("n_test", "estimate", color="truth", shape="truth"))
        + p9.geom_line(p9.aes("n_test", "estimate"), theory, color=theme.MUTED, inherit_aes=False)
        + p9.geom_linerange(p9.aes(ymin="lower", ymax="upper"), size=0.7, position=apart)
        + p9.geom_point(size=2.2, position=apart)
        + p9.facet_wrap("metric", scales="free_y")
        + p9.scale_x_log10(
            breaks=sorted(simulated["n_test"].unique()),
            labels=_thousands,
            expand=(0.08, 0),
        )
        + p9.scale_y_log10()
        + theme.scale_color_study(name="risk")
        + theme.scale_shape_study(name="risk")
        + p9.labs(
            x="test observations",
            y="root mean squared distance",
            caption="Bars: 95% Monte Carlo intervals. Line: standard error of the metric by theory."
            "\nFrom the printed risk the distance does not vanish: the square of the intercept "
            "stays.",
        )
        + theme.theme_study()
        + p9.theme(figure_size=(8.4, 3.9), legend_position="top", legend_box_spacing=0.01)
    )


def _distances(result: Result) -> pd.DataFrame:
    named = {"rmse": "with the intercept", "rmse_printed": "as printed"}
    first = result.plan.scenarios[0]
    rows: pd.DataFrame = result.summary[result.summary["measure"].isin([*named, "model_se"])]
    rows = rows[rows["n_train"] == first.n_train]
    truth = rows["measure"].map(named)  # theory has none
    return rows.assign(
        truth=pd.Categorical(truth, list(named.values()), ordered=True),
        metric=pd.Categorical(rows["metric"].str.upper(), ["MSE", "MAE"], ordered=True),
    )


def _thousands(breaks: list[float]) -> list[str]:
    return [f"{int(one):,}" for one in breaks]


# ---------------------------------------------------------------- claims
def _published(result: Result) -> RegressionRisk:
    for one in result.plan.scenarios:
        if one.n_test == PUBLISHED_TEST and one.n_train == 100:
            return one  # type: ignore[no-any-return]
    raise LookupError("n_train=100 and n_test=10000")


def _aligned(result: Result) -> Reproduced:
    """Whether the empirical metrics scatter about the risk as their standard error says."""
    one = _published(result)
    data = result.columns(one, "empirical", "risk", "std_error")
    z = (data["empirical"] - data["risk"]) / data["std_error"]
    n, spread = len(z), (z**2).mean(axis=0)
    limit = CHANCE_Z * np.sqrt(2 / n)
    correlation = [np.corrcoef(data["empirical"][:, i], data["risk"][:, i])[0, 1] for i in (0, 1)]
    said = f"mean squared z {spread[0]:.3f} and {spread[1]:.3f}, correlation "
    said += f"{correlation[0]:.3f} and {correlation[1]:.3f} (MSE, MAE)"
    return Reproduced(float((abs(spread - 1) < limit).all()), detail=said)


CHANCE_Z = 4.1  # of the larger of two deviations: passed by chance once in ten thousand studies


def _centred(truth: str) -> Any:
    """Whether the mean distance of metric and risk is no more than chance."""

    def reproduce(result: Result) -> Reproduced:
        one = _published(result)
        data = result.columns(one, "empirical", truth)
        distance = data["empirical"] - data[truth]
        mean, mcse = distance.mean(axis=0), distance.std(axis=0, ddof=1) / np.sqrt(len(distance))
        said = ", ".join(
            f"{metric} {mean[i]:+.4f} ± {2 * mcse[i]:.4f}" for i, metric in enumerate(METRICS)
        )
        theory = one.exact()["bias_printed"][0]  # type: ignore[index]
        said += f" (2 MCSE); by theory the MSE is {theory:.4f} above the printed risk"
        return Reproduced(float((abs(mean) < CHANCE_Z * mcse).all()), detail=said)

    return reproduce


def _vanishes(result: Result) -> Reproduced:
    """Distance from the printed risk over the standard error, at the largest test sample."""
    one = max(result.plan.scenarios, key=lambda one: one.n_test)
    if one.n_test <= PUBLISHED_TEST:
        raise LookupError("a test sample above 10000")
    rows = result.summary[result.summary["n_test"] == one.n_test].set_index(["measure", "metric"])
    ratio = {
        name: float(rows.loc[(name, "mse"), "estimate"] / rows.loc[("model_se", "mse"), "estimate"])
        for name in ("rmse", "rmse_printed")
    }
    detail = f"MSE, n_test={one.n_test:,}, in standard errors: as printed "
    detail += f"{ratio['rmse_printed']:.2f}, with the intercept {ratio['rmse']:.2f}"
    return Reproduced(float(ratio["rmse_printed"] < 1.2), detail=detail)


def _chi_square(result: Result) -> Reproduced:
    """Mean of the sum of squared errors, scaled as printed, over the degrees of freedom."""
    one = _published(result)
    data = result.columns(one, "empirical", "risk")
    scaled = data["empirical"][:, 0] / np.sqrt(data["risk"][:, 0])
    mcse = float(scaled.std(ddof=1) / np.sqrt(len(scaled)))
    return Reproduced(float(scaled.mean()), mcse, "1 would be chi-square")


CLAIMS = (
    Claim(
        "aligned", "Empirical risk estimates are closely aligned with theory", "figure 2A",
        _aligned, published=True,
        note="Checked with the fitted intercept in the risk.",
    ),
    Claim(
        "centred on the risk", "The empirical metric is centred around the risk", "section 2",
        _centred("risk"), published=True,
    ),
    Claim(
        "printed risk", "The risk of the MSE is sigma^2 + |theta0 - theta|^2", "section 2",
        _centred("risk_printed"), published=True, expected="differs",
        note="The square of the fitted intercept is left out.",
    ),
    Claim(
        "no variation in the limit",
        "With a large enough sample the scatter shows no variation about the line", "figure 2A",
        _vanishes, published=True, expected="differs",
        note="True of the risk with the intercept. As printed, the square of the intercept stays.",
    ),
    Claim(
        "chi-square", "The sum of squared errors over the root of their variance is chi-square",
        "section 2", _chi_square, published=1.0, expected="differs",
        note="The scale is one over the variance, not over its root.",
    ),
)  # fmt: skip
