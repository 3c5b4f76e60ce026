"""How weak may instruments be?

Aims         Bias of two-stage least squares and size of its test by the strength of instruments.
Data         K fixed instruments for one regressor, 250 observations, errors that are normal and
             correlated by rho. By strength, the concentration mu2/K, the expected first-stage F is
             1 + mu2/K. Estimators need six inner products, which are drawn by their own law:
             projections are normal, residuals Wishart.
Estimands    The coefficient, 0.
Methods      OLS, 2SLS and LIML with Wald tests at 5%; the test of Anderson and Rubin (1949), which
             has no estimate.
Performance  Bias (beside its exact value for 2SLS), median bias and size. One MCSE of a size of
             10% is 0.1 points at 100,000 replicates.

Staiger & Stock (1997), Econometrica 65, 557-586; Stock & Yogo (2005), in Andrews & Stock (eds),
Identification and inference for econometric models. The closed form of the bias is later:
Skeels & Windmeijer (2018), Econometrics 6(4), 44.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy import Claim, Rival, Study, option, published
from simstudy.claims import chance_reach, decided, matches, of_row
from simstudy.figures import measure_curves
from simstudy.lazy import pd, special
from simstudy.measures import bias, median_bias, rejection_rate_at

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
        known = self.n_instruments > 5  # with fewer, too few moments for an error to be told
        ratio = relative_bias(self.strength, self.n_instruments) if known else np.nan
        size = np.array([np.nan, np.nan, np.nan, 0.05])
        return {
            "bias": np.array([np.nan, self.rho * ratio, np.nan, np.nan]),
            "rejection_rate": size,
        }


def inner(a, b):
    return (a * b).sum(axis=1)


def relative_bias(strength, k):
    """Bias of 2SLS as a share of the correlation of errors: that of OLS without strength."""
    half = strength * k / 2
    return np.exp(-half) * special.hyp1f1(k / 2 - 1, k / 2, half)


def tests(fitted, residual, k, df):
    """Estimates and p-values of all methods from inner products (yy, xy, xx) of a true null."""
    (a, b, c), (d, e, f) = fitted + residual, residual
    mixed, square = a * f + c * d - 2 * b * e, d * f - e * e  # of det(full - root * residual)
    liml = (mixed - np.sqrt(np.maximum(mixed**2 - 4 * square * (a * c - b * b), 0))) / (2 * square)
    kappas = np.array([np.zeros_like(a), np.ones_like(a), liml])
    xy, xx = (full - kappas * rest for full, rest in ((b, e), (c, f)))
    estimate = xy / xx
    variance = (a - 2 * estimate * b + estimate**2 * c) / (df + k - 1) / np.abs(xx)
    f_test = special.fdtrc(k, df, fitted[0] / k / (residual[0] / df))
    p = np.vstack([2 * special.ndtr(-np.abs(estimate) / np.sqrt(variance)), f_test])
    return {"estimate": np.vstack([estimate, np.full_like(f_test, np.nan)]).T, "p": p.T}


def of(result, measure, method, n_instruments, rho, strength=None):
    where = f"n_instruments == {n_instruments} and rho == {rho}"
    rows = result.summary.query(f"measure == '{measure}' and method == '{method}' and {where}")
    return rows if strength is None else rows[rows["strength"] == strength]


def over(result, method, measure, least, sign, k=10, rho=0.99, strength=None, to=0.0):
    rows = of(result, measure, method, k, rho, strength)
    reach = chance_reach(rows["mcse"], rows["n_rep"], len(rows))
    said = ", ".join(f"{value:.4f}" for value in rows["estimate"])
    return decided(sign * (abs(rows["estimate"] - to) - least), reach, said)


def closed_form(result, method, k=3, rho=0.5):
    rows = of(result, "bias", method, k, rho)
    theory = rho * relative_bias(rows["strength"], k)
    return matches(rows["estimate"], theory, rows["mcse"], margin=0.05, n_rep=rows["n_rep"])


def worst_size(result, strength):
    return of_row(of(result, "rejection_rate", "2SLS", 1, 0.999, strength).iloc[0])


size, level = {"measure": "rejection_rate"}, {"measure": "rejection_rate", "to": 0.05}
median = {"measure": "median_bias", "rho": 0.5, "strength": 4.0}
STATEMENTS = [  # what holds for the first method and must not for the second
    ("The bias of 2SLS is that of the closed form", closed_form, {}, "2SLS", "OLS"),
    ("2SLS rejects a true null in half of all samples if weak", over,
     size | {"least": 0.5, "sign": 1, "strength": 0.25}, "2SLS", "Anderson-Rubin"),
    ("Anderson and Rubin's test keeps 5%, however weak", over,
     level | {"least": 0.01, "sign": -1}, "Anderson-Rubin", "2SLS"),
    ("LIML is nearly median-unbiased with an expected F of 5", over,
     median | {"least": 0.03, "sign": -1}, "LIML", "2SLS"),
    ("An expected F of 10 is too little for the size of 2SLS", over,
     size | {"least": 0.1, "sign": 1, "strength": 9.0}, "2SLS", "LIML"),
]  # fmt: skip


def claims():
    for words, check, where, method, other in STATEMENTS:
        found, wrong = (partial(check, method=each, **where) for each in (method, other))
        yield Claim(words, words, "sections 3-5", found, True, rival=Rival(other, wrong))
    words, source = (
        "With one instrument and an expected F of 6.88 the worst size is 10%",
        "Lee et al. ",
    )
    source += "(2022), Am. Econ. Rev. 112, 3260-3290, of figure 5.2 of Stock & Yogo"
    rival = Rival("an expected F of 10", partial(worst_size, strength=9.0))
    found = partial(worst_size, strength=5.88)
    yield Claim(words, words, source, found, 0.1, rounding=0.005, rival=rival)


def sizes(result):
    rows = result.summary.query("n_instruments > 1")
    shown = {"color": "method", "panel": "n_instruments", "rows": "rho", "nominal": 0.05}
    return measure_curves(rows, x="strength", y="rejection_rate", log_x=True, **shown)


def biases(result):
    rows = result.summary.query("n_instruments > 1 and rho == 0.5 and method in ['OLS', '2SLS']")
    grid, ks = (
        np.geomspace(min(rows["strength"]), max(rows["strength"]), 60),
        {*rows["n_instruments"]},
    )
    lines = {k: 0.5 * relative_bias(grid, k) for k in ks} | {"strength": grid}
    theory = pd.DataFrame(lines).melt("strength", [*ks], "n_instruments", "exact")
    shown = {"color": "method", "panel": "n_instruments", "log_x": True}
    return measure_curves(rows, x="strength", y="bias", exact=theory.assign(method="2SLS"), **shown)


@published(__file__)
@dataclass
class Config:
    strength: list[float] = option("concentration per instrument, mu2/K", above=0)
    n_rep: int = option("replicates in each scenario", at_least=1)


def study(config):
    weak = [Weak(s, k, rho) for k in (3, 10) for rho in (0.5, 0.99) for s in config.strength]
    return Study(
        name="weak_instruments",
        scenarios=[*weak, Weak(5.88, 1, 0.999), Weak(9.0, 1, 0.999)],
        axes={"method": METHODS},
        measures=[
            bias("estimate", truth="beta"),
            median_bias("estimate", truth="beta"),
            rejection_rate_at("p"),
        ],
        may_be_missing=("estimate",),
        figures={"size": sizes, "bias": biases},
        labels={"strength": "concentration per instrument μ²/K (log scale)"},
        claims=list(claims()),
        n_rep=config.n_rep,
        block_size=2000,
    )
