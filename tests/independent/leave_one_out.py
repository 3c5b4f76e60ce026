"""Standard errors of leave-one-out R²: every observation left out, the regression fitted again.

The model is y = α + (x − x̄)'β + σ ε with normal α about ȳ and β about 0, standard deviations
2.5 s_y and 2.5 s_y/s_j (or 10, the wide prior), and σ exponential with mean s_y; scales and x̄ are
those of all observations. Given σ all is normal; σ is summed over a fine grid of its log.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from tests.independent.checks import Answer, checks_of, mean_of
from tests.independent.committed import Lookup, simulated

DOCUMENT = "Analytical approximations for leave one out utility standard errors"
check = checks_of(DOCUMENT)
LOG_SIGMA = np.arange(-25.0, 4.0, 0.05)  # of σ/s_y; narrower posteriors than 0.05 need n > 200

Array = np.ndarray


class Data(NamedTuple):
    """A cell of the report's simulations: features and noise normal, coefficients 1 or drawn."""

    n: int
    p: int
    noise: float = 1.0
    drawn: bool = False
    wide: bool = False

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        x = rng.standard_normal((self.n, self.p))
        beta = rng.standard_normal(self.p) if self.drawn else np.ones(self.p)
        return x, x @ beta + self.noise * rng.standard_normal(self.n)


def design(x: Array, y: Array, *, wide: bool) -> Array:
    """Columns times the prior standard deviations of their coefficients, the intercept first."""
    spread = y.std(ddof=1)
    slopes = np.full(x.shape[1], 10.0) if wide else 2.5 * spread / x.std(axis=0, ddof=1)
    return np.column_stack([np.full(len(y), 2.5 * spread), (x - x.mean(axis=0)) * slopes])


def left_out_errors(x: Array, y: Array, *, wide: bool) -> Array:
    """y_i less its posterior mean from the others, one fit without each."""
    z, centred = design(x, y, wide=wide), y - y.mean()
    others = np.array([np.delete(np.arange(len(y)), i) for i in range(len(y))])
    u, s, vt = np.linalg.svd(z[others], full_matrices=False)  # axes: left out, other, component
    rotated = np.einsum("ioc,io->ic", u, centred[others])
    rest = np.maximum((centred[others] ** 2).sum(axis=1) - (rotated**2).sum(axis=1), 0)
    ahead = np.einsum("icj,ij->ic", vt, z) * s * rotated
    sigma = y.std(ddof=1) * np.exp(LOG_SIGMA)
    variance = sigma[:, None] ** 2 + s[:, None, :] ** 2  # axes: left out, σ, component
    n_rest = len(y) - 1 - s.shape[1]  # directions that the coefficients do not reach
    quadratic = (rotated[:, None, :] ** 2 / variance).sum(axis=2)
    log_posterior = -0.5 * (np.log(variance).sum(axis=2) + quadratic) - sigma / y.std(ddof=1)
    if n_rest > 0:
        log_posterior -= 0.5 * (n_rest * np.log(sigma**2) + rest[:, None] / sigma**2)
    log_posterior += LOG_SIGMA  # the step is one of log σ
    weight = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    means = (ahead[:, None, :] / variance).sum(axis=2)
    return centred - (weight * means).sum(axis=1) / weight.sum(axis=1)


class Errors(NamedTuple):
    """Of one data set: leave-one-out R², Taylor's standard error, and bootstrapped values."""

    r2: float
    taylor: float
    bootstrap: float
    bootstrap_mean: float
    bootstrap_misplaced: float
    taylor_misplaced: float


def taylor(e: Array, y: Array) -> tuple[float, float]:
    """1 − var(e)/var(y) and √ of equation (se), its variances and covariance of means."""
    a, b = (e - e.mean()) ** 2, (y - y.mean()) ** 2
    m, v, n = a.mean(), b.mean(), len(y)
    s_aa, s_ab, s_bb = (
        ((f - f.mean()) * (g - g.mean())).sum() / (n * (n - 1)) for f, g in ((a, a), (a, b), (b, b))
    )
    return 1 - m / v, math.sqrt((s_aa - 2 * m / v * s_ab + (m / v) ** 2 * s_bb) / v**2)


def taylor_misplaced(e: Array, y: Array) -> float:
    """By numerical derivatives of the misplaced form with respect to the weights."""
    n, step = len(y), 1e-6 / len(y)
    equal = np.full(n, 1 / n)
    up, down = equal + step * np.eye(n), equal - step * np.eye(n)
    psi = (forms(up, e, y)[1] - forms(down, e, y)[1]) / (2 * step)
    psi -= psi.mean()
    return float(math.sqrt((psi**2).sum() / (n * (n - 1))))


def forms(w: Array, e: Array, y: Array) -> tuple[Array, Array]:
    """R² of weights on the observations: right, and with Σ (w e)² for (Σ w e)²."""
    below = w @ y**2 - (w @ y) ** 2
    right = 1 - (w @ e**2 - (w @ e) ** 2) / below
    return right, 1 - (w @ e**2 - w**2 @ e**2) / below


def errors(rng: np.random.Generator, data: Data, n_draw: int) -> Errors:
    x, y = data.draw(rng)
    e = left_out_errors(x, y, wide=data.wide)
    r2, formula = taylor(e, y)
    w = rng.standard_exponential((n_draw, data.n))
    right, misplaced = forms(w / w.sum(axis=1, keepdims=True), e, y)
    return Errors(
        r2, formula, right.std(ddof=1), right.mean(), misplaced.std(ddof=1), taylor_misplaced(e, y)
    )


@cache
def simulation(data: Data, n_set: int, n_draw: int) -> Array:
    """Axes: data set, the fields of `Errors`."""
    rng = np.random.default_rng(8)
    return np.array([errors(rng, data, n_draw) for _ in range(n_set)])


def column(found: Array, name: str) -> Array:
    return found[:, Errors._fields.index(name)]


def relative_error(estimate: Array, std_error: Array) -> Answer:
    """√(mean of squared standard errors) over the standard deviation of estimates, less 1."""
    squares, deviations = std_error**2, (estimate - estimate.mean()) ** 2
    ratio = math.sqrt(squares.mean() / deviations.mean())
    influence = 0.5 * (squares / squares.mean() - deviations / deviations.mean())
    return Answer(ratio - 1, ratio * float(influence.std()) / math.sqrt(len(estimate)))


def calibration(data: Data, method: str, measure: str, utility: str = "r2_variance") -> Lookup:
    cell = {"n_obs": data.n, "n_feature": data.p, "noise_sd": data.noise, "compared": "model"}
    prior = {"prior": "wide" if data.wide else "default", "utility": utility}
    return simulated("loo_calibration", **cell, **prior, method=method, measure=measure)


MANY, FEW = Data(100, 1), Data(10, 1)
FEWER_THAN_FEATURES = Data(50, 50, wide=True)
SIZES = {MANY: 1500, FEW: 6000, FEWER_THAN_FEATURES: 300}
RIGHT = [
    (MANY, "taylor", -0.232, "that of n = 10"),
    (MANY, "bootstrap", -0.128, "that of n = 10"),
    (FEW, "taylor", 0.0, "if it were right"),
    (FEW, "bootstrap", 0.0, "if it were right"),
    (FEWER_THAN_FEATURES, "taylor", 0.0, "if it were right"),
    (FEWER_THAN_FEATURES, "bootstrap", 0.0, "if it were right"),
]


def enter_relative_errors() -> None:
    for data, method, rival, why in RIGHT:

        def how_far(data: Data = data, method: str = method) -> Answer:
            """Exact leave-one-out of drawn data sets by refits; √(mean SE²) over their spread."""
            found = simulation(data, SIZES[data], 500)
            estimate = "r2" if method == "taylor" else "bootstrap_mean"
            return relative_error(column(found, estimate), column(found, method))

        where = f"n = {data.n}, p = {data.p}{', wide prior' if data.wide else ''}"
        what = f"relative error of the {method} standard error of R², {where}"
        lookup = calibration(data, method, "relative_error")
        check(what, lookup, rival=(rival, why))(how_far)


enter_relative_errors()

RATIOS = [
    ("r2_variance", "taylor", "bootstrap", 1.0, "that of large n"),
    ("r2_misplaced", "taylor_misplaced", "bootstrap_misplaced", 0.897, "of the right form"),
]


def enter_ratios() -> None:
    for utility, over, under, rival, why in RATIOS:

        def ratio(over: str = over, under: str = under) -> Answer:
            """Mean over data sets of Taylor's standard error by that of 500 Dirichlet weights."""
            found = simulation(FEW, SIZES[FEW], 500)
            return mean_of(column(found, over) / column(found, under))

        form = "right form" if utility == "r2_variance" else "parenthesis misplaced"
        what = f"Taylor over bootstrap at n = 10, p = 1, R², {form}"
        lookup = calibration(FEW, "bootstrap", "mean_taylor_over", utility)
        check(what, lookup, rival=(rival, why))(ratio)


enter_ratios()

PUBLISHED = Data(100, 1, noise=2.0, drawn=True)


def of_report(utility: str) -> Lookup:
    cell = {"n_obs": 100, "n_feature": 1, "noise_sd": 2.0, "utility": utility}
    return simulated("loo_r2", **cell, method="bootstrap", measure="mean_taylor_over")


def over_the_bootstrap(over: str, under: str) -> Answer:
    found = simulation(PUBLISHED, 800, 4000)
    return mean_of(column(found, over) / column(found, under))


@check(
    "Taylor over bootstrap at n = 100, p = 1, σ = 2 (the report's figure), parenthesis misplaced",
    of_report("r2_misplaced"),
    rival=(1.009, "of the right form"),
)
def with_the_parenthesis() -> Answer:
    """Exact leave-one-out by refits; 4000 Dirichlet weights; Σ (w e)² for (Σ w e)²."""
    return over_the_bootstrap("taylor_misplaced", "bootstrap_misplaced")


@check(
    "Taylor over bootstrap at n = 100, p = 1, σ = 2 (the report's figure), right form",
    of_report("r2_variance"),
    rival=(0.9386, "with the parenthesis misplaced"),
)
def without_the_parenthesis() -> Answer:
    """Exact leave-one-out by refits; 4000 Dirichlet weights; (Σ w e)²."""
    return over_the_bootstrap("taylor", "bootstrap")


OVERFITTED = Data(50, 100, drawn=True, wide=True)


@check(
    "mean R² at n = 50, p = 100, wide prior (the report's figure), one left out",
    simulated(
        "loo_r2",
        n_obs=50,
        n_feature=100,
        utility="r2_variance",
        method="taylor",
        measure="mean_estimate",
    ),
    rival=(0.792, "by importance sampling"),
)
def overfitted() -> Answer:
    """Exact leave-one-out by refits, 1 − var(e)/var(y)."""
    return mean_of(column(simulation(OVERFITTED, 150, 2), "r2"))
