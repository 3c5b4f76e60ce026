"""Standard errors of leave-one-out R²: every observation left out, the regression fitted again.

The model is y = α + (x − x̄)'β + σ ε with normal α about ȳ and β about 0, standard deviations
2.5 s_y and 2.5 s_y/s_j (or 10, the wide prior), and σ exponential with mean s_y; scales and x̄ are
those of all observations. Given σ all is normal; σ is summed over a fine grid of its log.
"""

import math
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from tests.independent.checks import Answer, Lookup, checks_of, mean_of, simulated

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


def how_far(data: Data, method: str) -> Answer:
    """Exact leave-one-out of drawn data sets by refits; √(mean SE²) over their spread."""
    found = simulation(data, SIZES[data], 500)
    estimate = "r2" if method == "taylor" else "bootstrap_mean"
    return relative_error(column(found, estimate), column(found, method))


def ratio(data: Data, n_set: int, n_draw: int, form: str) -> Answer:
    """Mean over data sets of Taylor's standard error by that of Dirichlet weights."""
    found = simulation(data, n_set, n_draw)
    return mean_of(column(found, f"taylor{form}") / column(found, f"bootstrap{form}"))


for data, rivals in {
    MANY: ((-0.232, "that of n = 10"), (-0.128, "that of n = 10")),
    FEW: ((0.0, "if it were right"), (0.0, "if it were right")),
    FEWER_THAN_FEATURES: ((0.0, "if it were right"), (0.0, "if it were right")),
}.items():
    where = f"n = {data.n}, p = {data.p}{', wide prior' if data.wide else ''}"
    for method, rival in zip(("taylor", "bootstrap"), rivals, strict=True):
        check(
            f"relative error of the {method} standard error of R², {where}",
            calibration(data, method, "relative_error"),
            partial(how_far, data, method),
            *rival,
        )

REPORT = {"n_obs": 100, "n_feature": 1, "noise_sd": 2.0, "measure": "mean_taylor_over"}
FIGURE = "Taylor over bootstrap at n = 100, p = 1, σ = 2 (the report's figure)"
OVERFITTED = {"n_obs": 50, "n_feature": 100, "method": "taylor", "measure": "mean_estimate"}
of_few = partial(ratio, FEW, SIZES[FEW], 500)
of_report = partial(ratio, Data(100, 1, noise=2.0, drawn=True), 800, 4000)
many_features = partial(simulation, Data(50, 100, drawn=True, wide=True), 150, 2)
for row in [  # a number, where it is committed, what finds it here, a rival and what that is
    ("Taylor over bootstrap at n = 10, p = 1, R², right form",
     calibration(FEW, "bootstrap", "mean_taylor_over"),
     partial(of_few, ""), 1.0, "that of large n"),
    ("Taylor over bootstrap at n = 10, p = 1, R², parenthesis misplaced",
     calibration(FEW, "bootstrap", "mean_taylor_over", "r2_misplaced"),
     partial(of_few, "_misplaced"), 0.897, "of the right form"),
    (f"{FIGURE}, parenthesis misplaced",
     simulated("loo_r2", **REPORT, method="bootstrap", utility="r2_misplaced"),
     partial(of_report, "_misplaced"), 1.009, "of the right form"),
    (f"{FIGURE}, right form",
     simulated("loo_r2", **REPORT, method="bootstrap", utility="r2_variance"),
     partial(of_report, ""), 0.9386, "with the parenthesis misplaced"),
    ("mean R² at n = 50, p = 100, wide prior (the report's figure), one left out",
     simulated("loo_r2", **OVERFITTED, utility="r2_variance"),
     lambda: mean_of(column(many_features(), "r2")), 0.792, "by importance sampling"),
]:  # fmt: skip
    check(*row)
