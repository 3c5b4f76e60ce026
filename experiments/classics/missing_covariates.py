"""Complete cases or multiple imputation, when covariates are missing?

Aims         Bias, coverage and efficiency of complete cases and of multiple imputation, by what it
             depends on whether a covariate is missing.
Data         300 observations; x and z normal, correlated by 0.5; y = x + z + noise of standard
             deviation 2. About half of x is missing: at random, by z, by y, by x itself, or by x
             and y, each more or less strongly.
Estimands    The coefficients of x and of z, 1.
Methods      All data (before deletion), complete cases, and multiple imputation with Rubin's rules:
             10 draws from the normal regression of x on z and y.
Performance  Bias, coverage, empirical SE, RMSE and precision relative to complete cases. One MCSE
             of a bias is about 0.003 at 4000 replicates.

White & Carlin (2010), Statistics in Medicine 29, 2920-2931.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy import Claim, Rival, Study, grid, option, published
from simstudy.claims import chance_reach, decided
from simstudy.figures import dots_plot, measure_curves
from simstudy.lazy import special
from simstudy.measures import bias, coverage_at, empirical_se, relative_precision, rmse

M = 10
DRIVERS = {
    "random": (0, 0, 0),
    "z": (0, 1, 0),
    "y": (0, 0, 0.5),
    "x": (1, 0, 0),
    "x and y": (1, 0, 0.5),
}


@dataclass(frozen=True)
class Covariates:
    missing_by: str
    strength: float
    n_obs: int = 300
    correlation: float = 0.5
    beta: float = 1.0  # of x, and of z

    def draw(self, streams, n_rep):
        rng, size = streams("data"), (n_rep, self.n_obs)
        x, e = rng.normal(size=(2, *size))
        z = self.correlation * x + np.sqrt(1 - self.correlation**2) * e
        y = self.beta * (x + z) + 2 * rng.normal(size=size)
        by_x, by_z, by_y = DRIVERS[self.missing_by]
        drive = self.strength * (by_x * x + by_z * z + by_y * y)  # about 0: half are missing
        missing = streams("missing").random(size) < special.expit(drive)
        return {"x": x, "z": z, "y": y, "missing": missing}


def regression(design, y, weight):
    """Least squares of rows with weight 1: coefficients, their covariances, sigma2 and df."""
    w = weight[..., None]
    inverse = np.linalg.inv(design.mT @ (w * design))
    b = inverse @ (design.mT @ (w * y[..., None]))
    df = weight.sum(axis=1) - design.shape[2]
    s2 = (weight * (y - (design @ b)[..., 0]) ** 2).sum(axis=1) / df
    return b[..., 0], inverse, s2, df


def slopes(x, z, y, weight):
    """The coefficients of x and z with their variances."""
    b, inverse, s2, _ = regression(with_intercept(x, z), y, weight)
    return b[:, 1:], np.diagonal(inverse, axis1=1, axis2=2)[:, 1:] * s2[:, None]


def with_intercept(*columns):
    return np.stack([np.ones_like(columns[0]), *columns], axis=2)


def all_data(x, z, y):
    b, variance = slopes(x, z, y, np.ones_like(y))
    return {"estimate": b, "se": np.sqrt(variance)}


def complete_cases(x, z, y, missing):
    b, variance = slopes(x, z, y, 1.0 - missing)
    return {"estimate": b, "se": np.sqrt(variance)}


def imputed(x, z, y, missing, streams):
    """Parameters of x given z and y are drawn for each imputation, then the missing x."""
    rng, design = streams("imputations"), with_intercept(z, y)
    b, inverse, s2, df = regression(design, x, 1.0 - missing)
    root, found = np.linalg.cholesky(inverse), []
    for _ in range(M):
        sigma = np.sqrt(s2 * df / rng.chisquare(df))[:, None]
        drawn = b[..., None] + sigma[..., None] * (root @ rng.normal(size=(*b.shape, 1)))
        guess = (design @ drawn)[..., 0] + sigma * rng.normal(size=x.shape)
        found.append(slopes(np.where(missing, guess, x), z, y, np.ones_like(y)))
    estimates, variances = (np.array(each) for each in zip(*found, strict=True))
    total = variances.mean(axis=0) + (1 + 1 / M) * estimates.var(axis=0, ddof=1)
    return {"estimate": estimates.mean(axis=0), "se": np.sqrt(total)}


def compare(result, method, measure, by, least, sign, coefficient="x", strength=1.0, to=0.0):
    """Whether a measure is further from a value than so much (sign 1), or nearer (-1)."""
    where = {"missing_by": by, "coefficient": coefficient, "method": method, "strength": strength}
    row = result.row(measure, **where)
    reach = chance_reach(row["mcse"], row["n_rep"])
    said = f"{row['estimate']:.4f} ± {row['mcse']:.4f}"
    return decided(sign * (abs(row["estimate"] - to) - least), reach, said)


cases, mi = {"method": "complete cases"}, {"method": "imputed"}
biased, unbiased = ({"measure": "bias", "least": 0.05, "sign": sign} for sign in (1, -1))
covers = {"measure": "coverage", "least": 0.02, "sign": -1, "to": 0.95}
gains = {"measure": "relative_precision", "least": 0.2, "sign": 1}
STATEMENTS = [  # what holds for the first and must not for the second
    ("Complete cases are unbiased if missing by z", cases | unbiased | {"by": "z"}, {"by": "y"}),
    ("Complete cases are unbiased if missing by x", cases | unbiased | {"by": "x"}, {"by": "y"}),
    ("Complete cases are biased if missing by y", cases | biased | {"by": "y"}, {"by": "z"}),
    ("Imputation is unbiased if x is missing by y", mi | unbiased | {"by": "y"}, cases),
    ("Imputation is biased for z if x is missing by x",
     mi | biased | {"by": "x", "coefficient": "z", "strength": 2.0}, cases),
    ("Both are biased if x is missing by x and y", mi | biased | {"by": "x and y"}, {"by": "y"}),
    ("Imputation covers 95%, to 2 points, if x is missing by y", mi | covers | {"by": "y"}, cases),
    ("Imputation is much more precise for z, missing at random",
     mi | gains | {"by": "random", "coefficient": "z"}, {"coefficient": "x"}),
]  # fmt: skip


def claims():
    for words, right, wrong in STATEMENTS:
        rival = Rival(", ".join(map(str, wrong.values())), partial(compare, **right | wrong))
        yield Claim(words, words, "abstract", partial(compare, **right), True, rival=rival)


def performance(result):
    rows = result.summary.query("coefficient == 'x' and strength == 1")
    shown = {"measure": ["bias", "coverage", "empirical_se"], "rows": "missing_by"}
    return dots_plot(rows, y="method", nominal={"bias": 0.0, "coverage": 0.95}, **shown)


def crossing(result):
    """Error of both, and of all data, by how strongly x is missing by something."""
    rows = result.summary.query("missing_by != 'random'")
    shown = {"color": "method", "panel": "missing_by", "rows": "coefficient"}
    return measure_curves(rows, x="strength", y="rmse", **shown)


@published(__file__)
@dataclass
class Config:
    strength: list[float] = option("log odds of being missing, per standard deviation", at_least=0)
    n_rep: int = option("replicates in each scenario", at_least=1)


def study(config):
    methods = {"all data": all_data, "complete cases": complete_cases, "imputed": imputed}
    return Study(
        name="missing_covariates",
        scenarios=grid(Covariates, missing_by=list(DRIVERS), strength=config.strength),
        methods=methods,
        axes={"coefficient": ("x", "z")},
        measures=[
            bias("estimate", truth="beta"),
            coverage_at("estimate", "se", "beta"),
            empirical_se("estimate"),
            rmse("estimate", truth="beta"),
            relative_precision("estimate", axis="method", reference="complete cases"),
        ],
        figures={"performance": performance, "crossing": crossing},
        labels={
            "strength": "log odds of being missing, per standard deviation",
            "rmse": "root mean squared error",
        },
        claims=list(claims()),
        n_rep=config.n_rep,
        block_size=250,
    )
