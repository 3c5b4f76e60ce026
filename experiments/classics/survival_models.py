"""Exponential, Weibull or Cox?

Aims         What misspecifying the baseline hazard does to a log hazard ratio.
Data         500 patients, each treated with probability 1/2; Weibull times with scale 0.1 and shape
             1 or 1.5; survivors are censored after five years.
Estimands    The log hazard ratio, -0.5.
Methods      Exponential and Weibull models by maximum likelihood, and Cox regression: Newton's
             method for all replicates of a block at once.
Performance  Bias, coverage, empirical SE, relative error of the model SE and precision relative to
             Cox, each with its Monte Carlo error; 1600 replicates as in the tutorial, and more.

The example of Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102, section 7.
"""

from dataclasses import dataclass

import numpy as np

from simstudy import Study, grid, measures, option, published
from simstudy.claims import is_below, is_far, is_near, statement
from simstudy.figures import captions, dots_plot, measure_curves, zip_plot
from simstudy.tables import in_words


@dataclass(frozen=True)
class Patients:
    gamma: float  # shape of the baseline hazard; 1 is constant
    n_obs: int = 500
    theta: float = -0.5

    def draw(self, streams, n_rep):
        rng = streams("data")
        treated = rng.random((n_rep, self.n_obs)) < 0.5
        hazard = 0.1 * np.exp(self.theta * treated)
        time = (rng.exponential(size=treated.shape) / hazard) ** (1 / self.gamma)
        return {"time": np.minimum(time, 5.0), "died": time < 5.0, "treated": treated}


def limit_of_exponential(gamma, method="exponential", theta=-0.5):
    """The bias of the exponential model with infinitely many patients."""
    years = np.linspace(0, 5, 20_001)
    alive = [np.exp(-0.1 * ratio * years**gamma) for ratio in (1.0, np.exp(theta))]
    rates = [(1 - each[-1]) / np.trapezoid(each, years) for each in alive]
    return np.log(rates[1] / rates[0]) - theta if method == "exponential" else np.nan


def per_arm(values, treated):
    """Sums in the control arm and in the other, each of shape (rep,)."""
    return np.stack([(values * ~treated).sum(axis=1), (values * treated).sum(axis=1)])


def exponential(time, died, treated):
    deaths, years = per_arm(died, treated), per_arm(time, treated)
    estimate = np.diff(np.log(deaths / years), axis=0)[0]
    return {"estimate": estimate, "se": np.sqrt((1 / deaths).sum(axis=0))}


def weibull(time, died, treated):
    """Weibull fit: the shape k by Newton's method, each arm's rate is deaths / sum of time**k."""
    deaths, log_time, k = per_arm(died, treated), np.log(time), np.ones(len(time))
    for _ in range(12):
        power = time ** k[:, None]
        total = per_arm(power, treated)
        mean = per_arm(power * log_time, treated) / total
        spread = per_arm(power * log_time**2, treated) / total - mean**2
        information = (deaths * (1 / k**2 + spread)).sum(axis=0)
        score = (deaths * (1 / k - mean)).sum(axis=0) + (died * log_time).sum(axis=1)
        k = np.maximum(k + score / information, k / 2)
        if np.abs(score / information).max() < 1e-9:
            break
    se = np.sqrt((1 / deaths).sum(axis=0) + (mean[1] - mean[0]) ** 2 / information)
    return {"estimate": np.diff(np.log(deaths / total), axis=0)[0], "se": se}


def cox(time, died, treated):
    """The partial likelihood of one binary covariate; times of death have no ties."""
    order = np.argsort(-time, axis=1)
    died, treated = (np.take_along_axis(each, order, axis=1) for each in (died, treated))
    at_risk = np.cumsum(treated, axis=1)  # last times first
    others = np.arange(1, time.shape[1] + 1) - at_risk
    theta = np.zeros(len(time))
    for _ in range(8):
        share = at_risk / (at_risk + others * np.exp(-theta)[:, None])
        information = (died * share * (1 - share)).sum(axis=1)
        step = (died * (treated - share)).sum(axis=1) / information
        theta = theta + step
        if np.abs(step).max() < 1e-9:
            break
    return {"estimate": theta, "se": information**-0.5}


unbiased = {"measure": "bias", "gamma": 1.5, "value": 0, "margin": 0.02}
at_limit = unbiased | {"value": limit_of_exponential(1.5), "margin": 0.01}
covers = unbiased | {"measure": "coverage", "value": 0.95, "margin": 0.015}
precise = unbiased | {"measure": "relative_precision", "margin": 0.03}
enough = {"measure": "empirical_se", "gamma": 1.5, "limit": 0.005 * np.sqrt(1600)}
# statement, check, arguments, arguments of a wrong alternative, whether it is scored
STATEMENTS = [
    ("The exponential model is biased under shape 1.5",
     is_far, unbiased | {"method": "exponential"}, {"gamma": 1.0}),
    ("As by theory, to 0.01",
     is_near, at_limit | {"method": "exponential"}, {"value": 0.0}, False),
    ("The Weibull model is unbiased under shape 1.5",
     is_near, unbiased | {"method": "Weibull"}, "exponential"),
    ("Cox regression is unbiased under shape 1.5",
     is_near, unbiased | {"method": "Cox"}, "exponential"),
    ("Cox regression covers 95%, to 1.5 points",
     is_near, covers | {"method": "Cox"}, {"method": "exponential", "gamma": 2.0}),
    ("Cox regression is as precise as the Weibull model, to 3%",
     is_near, precise | {"method": "Weibull"}, "exponential"),
    ("1600 replicates tell a bias to 0.005",
     is_below, enough | {"method": "Weibull"}, {"limit": 0.005 * np.sqrt(400)}),
]  # fmt: skip


SETTING = "500 patients; log hazard ratio -0.5; shape of the Weibull baseline hazard."


def performance(result):
    """The tutorial's table: measures by method and shape."""
    rows = result.select(gamma=[1.0, 1.5]).drop(columns=["n_obs", "theta"])
    rows = rows.rename(columns={"gamma": "shape"})
    shown = ["bias", "coverage", "empirical_se", "relative_error_model_se"]
    nominal = {"bias": 0.0, "coverage": 0.95, "relative_error_model_se": 0.0}
    figure = dots_plot(rows, measure=shown, y="method", rows="shape", nominal=nominal)
    return captions.add_words(figure, SETTING)


def zips(result):
    rows = result.replicates.query("gamma in [1, 1.5]").rename(columns={"gamma": "shape"})
    figure = zip_plot(rows, std_error="se", truth=-0.5, method="method", rows="shape")
    return captions.add_words(figure, SETTING)


def misspecified(result):
    """The bias of each model over the shape, with that for infinitely many patients."""
    theory = {"exact": limit_of_exponential, "solid": "infinitely many patients"}
    return measure_curves(result.summary, x="gamma", y="bias", color="method", **theory)


@published(__file__)
class Config:
    gamma: list[float] = option("shape of the baseline hazard", above=0)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result):
    """Bias and coverage of the exponential model at the ends, and of the others."""
    others = result.select("bias", method=["Weibull", "Cox"])
    largest = in_words(others.loc[others["estimate"].abs().idxmax()], decimals=3)
    last = {"gamma": others["gamma"].max(), "method": "exponential"}
    return (
        f"Weibull or Cox: their largest bias for any shape is {largest}. The exponential model is "
        f"unbiased only near γ = 1; at γ = {last['gamma']:g} its bias is "
        f"{in_words(result.row('bias', **last), decimals=2)} and it covers "
        f"{in_words(result.row('coverage', **last), percent=True, decimals=0)}."
    )


def study(config):
    return Study(
        name="survival_models",
        scenarios=grid(Patients, gamma=config.gamma),
        methods={"exponential": exponential, "Weibull": weibull, "Cox": cox},
        measures=[
            measures.bias("estimate", truth="theta"),
            measures.coverage(estimate="estimate", se="se", truth="theta"),
            measures.empirical_se("estimate"),
            measures.relative_error_model_se("estimate", "se"),
            measures.relative_precision("estimate", reference="Cox"),
        ],
        figures={"performance": performance, "zip": zips, "misspecified": misspecified},
        labels={"gamma": "shape γ of the baseline hazard", "n_obs": "n", "theta": "θ"},
        answer=answer,
        claims=[statement(*each, source="section 7") for each in STATEMENTS],
        n_rep=config.n_rep,
        block_size=400,
    )
