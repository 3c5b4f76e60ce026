"""Complete cases or multiple imputation, when covariates are missing?

Aims         Bias, coverage and efficiency of complete cases and of multiple imputation, by the
             variables that missingness depends on.
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

from simstudy import Study, grid, option, published
from simstudy.claims import is_above, is_far, is_near, statement
from simstudy.figures import captions, dots_plot, measure_curves
from simstudy.lazy import special
from simstudy.measures import bias, coverage, empirical_se, relative_precision, rmse
from simstudy.tables import in_words

M = 10
BY = {"random": (0, 0, 0), "z": (0, 1, 0), "y": (0, 0, 0.5), "x": (1, 0, 0), "x and y": (1, 0, 0.5)}


@dataclass(frozen=True)
class Covariates:
    missing_by: str
    strength: float
    n_obs: int = 300
    correlation: float = 0.5
    beta: float = 1.0  # coefficient of x and of z

    def draw(self, streams, n_rep):
        rng, size = streams("data"), (n_rep, self.n_obs)
        x, e = rng.normal(size=(2, *size))
        z = self.correlation * x + np.sqrt(1 - self.correlation**2) * e
        y = self.beta * (x + z) + 2 * rng.normal(size=size)
        by_x, by_z, by_y = BY[self.missing_by]
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


def complete_cases(x, z, y, missing):
    b, variance = slopes(x, z, y, 1.0 - missing)
    return {"estimate": b, "se": np.sqrt(variance)}


def all_data(x, z, y):
    return complete_cases(x, z, y, np.zeros_like(y))


def imputed(x, z, y, missing, streams):
    """Draw parameters of x given z and y for each imputation, then the missing x."""
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


by_cases = {"measure": "bias", "value": 0, "margin": 0.05, "coefficient": "x", "strength": 1.0}
by_cases |= {"method": "complete cases"}
imputation = by_cases | {"method": "imputed"}
covers = imputation | {"measure": "coverage", "value": 0.95, "margin": 0.02, "missing_by": "y"}
gains = {"measure": "relative_precision", "limit": 0.2, "coefficient": "z", "strength": 1.0}
by_x, by_y, by_z, by_both = ({"missing_by": each} for each in ("x", "y", "z", "x and y"))
# statement, check, arguments, arguments of a wrong alternative, whether it is scored
STATEMENTS = [
    ("Complete cases are unbiased if missing by z", is_near, by_cases | by_z, by_y),
    ("Complete cases are unbiased if missing by x", is_near, by_cases | by_x, by_y),
    ("Complete cases are biased if missing by y", is_far, by_cases | by_y, by_z),
    ("Imputation is unbiased if x is missing by y", is_near, imputation | by_y, "complete cases"),
    ("Imputation is biased for z if x is missing by x",
     is_far, imputation | by_x | {"coefficient": "z", "strength": 2.0}, "complete cases"),
    ("Both are biased if x is missing by x and y",
     is_far, imputation | by_both | {"method": ["complete cases", "imputed"]}, by_y),
    ("Imputation covers 95%, to 2 points, if x is missing by y",
     is_near, covers, "complete cases", False),
    ("Imputation is much more precise for z, missing at random",
     is_above, gains | {"method": "imputed", "missing_by": "random"}, {"coefficient": "x"}),
]  # fmt: skip


def with_titles(rows):
    """Rows with the titles of panels: what x and z are."""
    rows = rows.assign(missing_by="missing by " + rows["missing_by"].replace("random", "chance"))
    if "coefficient" not in rows:
        return rows
    return rows.assign(coefficient="coefficient of " + rows["coefficient"])


SAME = ["n_obs", "correlation", "beta"]
SETTING = "300 observations; x and z correlated by 0.5; about half of x is missing."


def performance(result):
    rows = result.select(coefficient="x", strength=1).drop(columns=["coefficient", "strength"])
    rows = with_titles(rows.drop(columns=SAME))
    shown = {"measure": ["bias", "coverage", "empirical_se"], "rows": "missing_by"}
    figure = dots_plot(rows, y="method", nominal={"bias": 0.0, "coverage": 0.95}, **shown)
    odds = "Log odds of being missing: 1 per standard deviation of x or z, and 0.5 per unit of y."
    return captions.add_words(figure, "Coefficient of x, which is 1.", odds, SETTING)


def crossing(result):
    """Error of both methods, and of all data, by the strength of the dependence."""
    rows = with_titles(result.select(missing_by=["z", "y", "x", "x and y"]).drop(columns=SAME))
    shown = {"color": "method", "panel": "missing_by", "rows": "coefficient"}
    figure = measure_curves(rows, x="strength", y="rmse", **shown)
    return captions.add_words(figure, "Both coefficients are 1.", SETTING)


@published(__file__)
class Config:
    strength: list[float] = option("log odds of being missing, per standard deviation", at_least=0)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result):
    """The bias of both methods by the variables that missingness depends on."""

    def worst(method, missing_by):
        rows = result.select("bias", coefficient="x", method=method, missing_by=missing_by)
        return in_words(rows.loc[rows["estimate"].abs().idxmax()], decimals=3)

    complete, imputed = (partial(worst, method) for method in ("complete cases", "imputed"))
    return (
        f"Imputation, where missing values depend on the outcome (largest bias {imputed('y')}, "
        f"complete cases {complete('y')}). Complete cases, where they depend on the covariate "
        f"itself ({complete('x')}, imputed {imputed('x')}). Where they depend on both, "
        f"neither ({complete('x and y')} and {imputed('x and y')})."
    )


def study(config):
    methods = {"all data": all_data, "complete cases": complete_cases, "imputed": imputed}
    return Study(
        name="missing_covariates",
        scenarios=grid(Covariates, missing_by=list(BY), strength=config.strength),
        methods=methods,
        axes={"coefficient": ("x", "z")},
        measures=[
            bias("estimate", truth="beta"),
            coverage(estimate="estimate", se="se", truth="beta"),
            empirical_se("estimate"),
            rmse("estimate", truth="beta"),
            relative_precision("estimate", axis="method", reference="complete cases"),
        ],
        figures={"performance": performance, "crossing": crossing},
        labels={
            "strength": "log odds of being missing, per standard deviation",
            "rmse": "root mean squared error",
        },
        answer=answer,
        claims=[statement(*each, source="abstract") for each in STATEMENTS],
        n_rep=config.n_rep,
        block_size=250,
    )
