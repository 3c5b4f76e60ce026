"""How weak may instruments be?

Aims         Bias of two-stage least squares and size of its test by the strength of instruments.
Data         K fixed instruments for one regressor, 250 observations, errors that are normal and
             correlated by rho. By strength, the concentration mu2/K, the expected first-stage F is
             1 + mu2/K. Estimators need six inner products, which are drawn by their own law:
             projections are normal, residuals Wishart.
Estimands    The coefficient, 0.
Methods      OLS, 2SLS and LIML with Wald tests at 5%; the test of Anderson and Rubin (1949), which
             has no estimate.
Performance  Bias (with its exact value for 2SLS), median bias and size. One MCSE of a size of
             10% is 0.1 points at 100,000 replicates.

Staiger & Stock (1997), Econometrica 65, 557-586; Stock & Yogo (2005), in Andrews & Stock (eds),
Identification and inference for econometric models. The closed form of the bias is later:
Skeels & Windmeijer (2018), Econometrics 6(4), 44.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy import Claim, Rules, Study, WrongValue, option, published
from simstudy.claims import is_above, is_near, of_row, statement
from simstudy.figures import captions, measure_curves
from simstudy.lazy import special
from simstudy.measures import bias, median_bias, rejection_rate
from simstudy.tables import in_words

WORDS = {"n_instruments": "instruments", "rho": "correlation"}
METHODS = ("OLS", "2SLS", "LIML", "Anderson-Rubin")


@dataclass(frozen=True)
class Weak:
    strength: float
    n_instruments: int
    rho: float
    n_obs: int = 250
    beta: float = 0.0

    def simulate(self, streams, n_rep):
        k, df, rest = self.n_instruments, self.n_obs - self.n_instruments, np.sqrt(1 - self.rho**2)
        u, e = streams("projected").normal(size=(2, n_rep, k))
        x = np.sqrt(self.strength) + self.rho * u + rest * e
        fitted = inner(u, u), inner(u, x), inner(x, x)
        rng = streams("residual")  # a Wishart matrix by Bartlett's decomposition
        root, cross = np.sqrt(rng.chisquare(df, n_rep)), rng.normal(size=n_rep)
        x = self.rho * root + rest * cross
        residual = root**2, root * x, x**2 + rest**2 * rng.chisquare(df - 1, n_rep)
        return tests(np.array(fitted), np.array(residual), k, df)

    def exact(self):
        known = self.n_instruments > 5  # else moments for an error are missing
        law = bias_of_2sls(self.strength, self.n_instruments, rho=self.rho) if known else np.nan
        nan = np.nan  # unknown values of a method
        return {"bias": [nan, law, nan, nan], "rejection_rate": [nan, nan, nan, 0.05]}


def inner(a, b):
    return (a * b).sum(axis=1)


def bias_of_2sls(strength, instruments, method="2SLS", rho=0.5):
    """The bias in closed form; at strength 0 it is that of OLS, rho."""
    half = strength * instruments / 2
    ratio = np.exp(-half) * special.hyp1f1(instruments / 2 - 1, instruments / 2, half)
    return rho * ratio if method == "2SLS" else np.nan


def tests(fitted, residual, k, df):
    """Estimates and p-values of all methods from inner products (yy, xy, xx) of a true null."""
    (a, b, c), (d, e, f) = fitted + residual, residual
    mixed, square = a * f + c * d - 2 * b * e, d * f - e * e  # det(full - root * residual)
    liml = (mixed - np.sqrt(np.maximum(mixed**2 - 4 * square * (a * c - b * b), 0))) / (2 * square)
    kappas = np.array([np.zeros_like(a), np.ones_like(a), liml])
    xy, xx = (full - kappas * rest for full, rest in ((b, e), (c, f)))
    estimate = xy / xx
    variance = (a - 2 * estimate * b + estimate**2 * c) / (df + k - 1) / np.abs(xx)
    f_test = special.fdtrc(k, df, fitted[0] / k / (residual[0] / df))
    p = np.vstack([2 * special.ndtr(-np.abs(estimate) / np.sqrt(variance)), f_test])
    return {"estimate": np.vstack([estimate, np.full_like(f_test, np.nan)]).T, "p": p.T}


def worst_size(result, strength):
    return of_row(result.row("rejection_rate", method="2SLS", n_instruments=1, strength=strength))


size = {"measure": "rejection_rate", "n_instruments": 10, "rho": 0.99}
exact_bias = {"measure": "bias", "n_instruments": 10, "rho": 0.5, "value": "exact", "margin": 0.01}
median = {"measure": "median_bias", "n_instruments": 10, "rho": 0.5, "strength": 4.0}
by_2sls = {"method": "2SLS"}
# statement, check, arguments, arguments of a wrong alternative, whether it is scored
STATEMENTS = [
    ("The bias of 2SLS is that of the closed form",
     is_near, exact_bias | by_2sls, {"value": 0.5}, False),  # the bias of OLS at strength 0
    ("2SLS rejects a true null in half of all samples if weak",
     is_above, size | by_2sls | {"limit": 0.5, "strength": 0.25}, "Anderson-Rubin"),
    ("Anderson and Rubin's test keeps 5%, however weak",
     is_near, size | {"method": "Anderson-Rubin", "value": 0.05, "margin": 0.01}, "2SLS"),
    ("LIML is nearly median-unbiased with an expected F of 5",
     is_near, median | {"method": "LIML", "value": 0, "margin": 0.03}, "2SLS"),
    ("An expected F of 10 is too little for the size of 2SLS",
     is_above, size | by_2sls | {"limit": 0.1, "strength": 9.0}, "LIML"),
]  # fmt: skip
PRINTED = Claim(
    WORST := "With one instrument and an expected F of 6.88 the worst size is 10%",
    WORST,
    "Lee et al. (2022), Am. Econ. Rev. 112, 3260-3290, of figure 5.2 of Stock & Yogo",
    partial(worst_size, strength=5.88),
    0.1,
    rounding=0.005,
    wrong_value=WrongValue("an expected F of 10", partial(worst_size, strength=9.0)),
)


SETTING = (
    "250 observations; errors correlated by 0.5; coefficient 0. Not drawn: LIML, which has no "
    "mean, and Anderson and Rubin's test, which has no estimate."
)


def sizes(result):
    rows = result.select(n_instruments=[3, 10]).rename(columns=WORDS)
    shown = {"color": "method", "panel": "instruments", "rows": "correlation", "nominal": 0.05}
    return measure_curves(rows, x="strength", y="rejection_rate", log_x=True, **shown)


def biases(result):
    rows = result.select(n_instruments=[3, 10], rho=0.5, method=["OLS", "2SLS"])
    shown = {"color": "method", "panel": "instruments", "log_x": True, "exact": bias_of_2sls}
    rows = rows.drop(columns=["rho", "n_obs", "beta"]).rename(columns=WORDS)
    return captions.add_words(measure_curves(rows, x="strength", y="bias", **shown), SETTING)


@published(__file__)
class Config:
    strength: list[float] = option("concentration per instrument, mu2/K", above=0)
    n_rep: int = option("replicates in each scenario", at_least=1)


def answer(result):
    """The largest size of each test by strength."""

    def most(**where):
        rows = result.select("rejection_rate", **where)
        return in_words(rows.loc[rows["estimate"].idxmax()], percent=True, decimals=1)

    tsls = "; ".join(f"{at:g}: {most(method='2SLS', strength=at)}" for at in (1.0, 9.0, 16.0, 64.0))
    anderson = result.select("rejection_rate", method="Anderson-Rubin")
    return (
        "Two-stage least squares needs strong ones: at 5% the largest rejection rate of true nulls "
        f"is, by strength, {tsls}. Anderson and Rubin's test keeps 5% for any "
        f"strength: {in_words(anderson, percent=True, decimals=1)}."
    )


def study(config):
    weak = [Weak(s, k, rho) for k in (3, 10) for rho in (0.5, 0.99) for s in config.strength]
    error = "estimate", "beta"
    return Study(
        name="weak_instruments",
        scenarios=[*weak, Weak(5.88, 1, 0.999), Weak(9.0, 1, 0.999)],
        axes={"method": METHODS},
        measures=[bias(*error), median_bias(*error), rejection_rate(p_value="p")],
        rules=Rules(may_be_missing=("estimate",)),
        figures={"size": sizes, "bias": biases},
        labels={
            "strength": "concentration per instrument μ²/K (log scale)",
            "n_obs": "n",
            "beta": "β",
        },
        answer=answer,
        claims=[*(statement(*each, source="sections 3-5") for each in STATEMENTS), PRINTED],
        n_rep=config.n_rep,
        block_size=2000,
    )
