"""Exponential, Weibull or Cox?

Aims         What misspecifying the baseline hazard does to a log hazard ratio.
Data         500 patients, each treated with probability 1/2; Weibull times with scale 0.1 and shape
             1 or 1.5; all who are left are censored after five years.
Estimands    The log hazard ratio, -0.5.
Methods      Exponential and Weibull models by maximum likelihood, and Cox regression: Newton's
             method for all replicates of a block at once.
Performance  Bias, coverage, empirical SE, relative error of the model SE and precision relative to
             Cox, each with its Monte Carlo error; 1600 replicates as in the tutorial, and more.

The example of Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102, section 7.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy import Claim, Rival, Study, grid, measures, option, published
from simstudy.claims import chance_reach, decided
from simstudy.figures import dots_plot, measure_curves, zip_plot
from simstudy.lazy import pd


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


def limit_of_exponential(gamma, theta=-0.5):
    """What the exponential model estimates of infinitely many patients, less the truth."""
    years = np.linspace(0, 5, 20_001)
    alive = [np.exp(-0.1 * ratio * years**gamma) for ratio in (1.0, np.exp(theta))]
    rates = [(1 - each[-1]) / np.trapezoid(each, years) for each in alive]
    return np.log(rates[1] / rates[0]) - theta


def per_arm(values, treated):
    """Sums in the control arm and in the other, each of shape (rep,)."""
    return np.stack([(values * ~treated).sum(axis=1), (values * treated).sum(axis=1)])


def exponential(time, died, treated):
    deaths, years = per_arm(died, treated), per_arm(time, treated)
    estimate = np.diff(np.log(deaths / years), axis=0)[0]
    return {"estimate": estimate, "se": np.sqrt((1 / deaths).sum(axis=0))}


def weibull(time, died, treated):
    """Given the shape k, each arm's rate is deaths / sum of time**k; Newton's method finds k."""
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
    at_risk = np.cumsum(treated, axis=1)  # the last ones first
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


def compare(result, measure, method, least, sign, gamma=1.5, to=0.0):
    """Whether a measure is further from a value than so much (sign 1), or less far (-1)."""
    row = result.row(measure, method=method, gamma=gamma)
    reach = chance_reach(row["mcse"], row["n_rep"])
    said = f"{row['estimate']:.4f} ± {row['mcse']:.4f}"
    return decided(sign * (abs(row["estimate"] - to) - least), reach, said)


def enough(result, method, gamma=1.5, n_rep=1600):
    """Monte Carlo error of the bias in 1600 replicates, against the 0.005 they are chosen for."""
    row = result.row("empirical_se", method=method, gamma=gamma)
    error, root = row["estimate"], np.sqrt(n_rep)
    said = f"{error / root:.5f} with {n_rep}"
    return decided(0.005 - error / root, chance_reach(row["mcse"] / root, row["n_rep"]), said)


def at_limit(result, gamma, method="exponential"):
    row = result.row("bias", method=method, gamma=1.5)
    limit = limit_of_exponential(gamma)
    reach = chance_reach(row["mcse"], row["n_rep"])
    return decided(0.01 - abs(row["estimate"] - limit), reach, f"theory {limit:.4f}")


wrong, flat = {"method": "exponential"}, {"method": "exponential", "gamma": 1.0}
weibull_, cox_ = {"method": "Weibull"}, {"method": "Cox"}
biased = partial(compare, measure="bias", least=0.02)
unbiased = partial(biased, sign=-1)
covers = partial(compare, measure="coverage", least=0.015, sign=-1, to=0.95)
loses = partial(compare, measure="relative_precision", least=0.03, sign=-1)
STATEMENTS = [  # what holds for the first and must not for the second
    ("The exponential model is biased under shape 1.5", partial(biased, sign=1), wrong, flat),
    ("As by theory, to 0.01", at_limit, {"gamma": 1.5}, {"gamma": 1.0}),
    ("The Weibull model is unbiased under shape 1.5", unbiased, weibull_, wrong),
    ("Cox regression is unbiased under shape 1.5", unbiased, cox_, wrong),
    ("Cox regression covers 95%, to 1.5 points", covers, cox_, wrong | {"gamma": 2.0}),
    ("Cox regression is as precise as the Weibull model, to 3%", loses, weibull_, wrong),
    ("1600 replicates tell a bias to 0.005", enough, weibull_, weibull_ | {"n_rep": 400}),
]


def claims():
    for words, check, right, other in STATEMENTS:
        rival = Rival(", ".join(map(str, other.values())), partial(check, **other))
        yield Claim(words, words, "section 7", partial(check, **right), True, rival=rival)


def performance(result):
    """The tutorial's table: measures by method and shape."""
    rows = result.summary.query("gamma == 1 or gamma == 1.5")
    shown = ["bias", "coverage", "empirical_se", "relative_error_model_se"]
    nominal = {"bias": 0.0, "coverage": 0.95, "relative_error_model_se": 0.0}
    return dots_plot(rows, measure=shown, y="method", rows="gamma", nominal=nominal)


def zips(result):
    rows = result.replicates.query("gamma == 1 or gamma == 1.5")
    return zip_plot(rows, std_error="se", truth=-0.5, method="method", rows="gamma")


def misspecified(result):
    """The bias of each model over the shape, with that of infinitely many patients."""
    gamma = np.linspace(min(result.summary["gamma"]), max(result.summary["gamma"]), 61)
    columns = {"gamma": gamma, "exact": [limit_of_exponential(each) for each in gamma]}
    theory = pd.DataFrame(columns).assign(method="exponential")
    return measure_curves(result.summary, x="gamma", y="bias", color="method", exact=theory)


@published(__file__)
@dataclass
class Config:
    gamma: list[float] = option("shape of the baseline hazard", above=0)
    n_rep: int = option("replicates in each scenario", at_least=1)


def study(config):
    return Study(
        name="survival_models",
        scenarios=grid(Patients, gamma=config.gamma),
        methods={"exponential": exponential, "Weibull": weibull, "Cox": cox},
        measures=[
            measures.bias("estimate", truth="theta"),
            measures.coverage_at("estimate", "se", "theta"),
            measures.empirical_se("estimate"),
            measures.relative_error_model_se("estimate", "se"),
            measures.relative_precision("estimate", reference="Cox"),
        ],
        figures={"performance": performance, "zip": zips, "misspecified": misspecified},
        labels={"gamma": "shape γ of the baseline hazard"},
        claims=list(claims()),
        n_rep=config.n_rep,
        block_size=400,
    )
