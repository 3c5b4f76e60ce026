"""The trial of a regression model: the document's own loop, without its inner resamples.

Every feature is drawn, every model fitted by least squares with an intercept, every bootstrap
resampled. What a resample's standard error would be from infinitely many inner resamples is the
standard deviation of its losses over √n.
"""

import math
from functools import cache

import numpy as np
from scipy.special import ndtr

from tests.independent.checks import Answer, Compute, Lookup, claimed, mean_of, printed, simulated
from tests.independent.two_stage import check, critical

N_FEATURE, COEFFICIENT = 20, 0.5
K, N_TRAIN, N_TEST, N_PROSPECTIVE, N_BOOT = 1.5, 150, 150, 399, 1000
N_FIT, N_TRIAL = 8000, 8000

Array = np.ndarray


def draw(rng: np.random.Generator, n: int, theta: Array, variance: float) -> tuple[Array, Array]:
    features = rng.standard_normal((n, N_FEATURE))
    return features, features @ theta + math.sqrt(variance) * rng.standard_normal(n)


def fit(rng: np.random.Generator, n: int, variance: float) -> tuple[Array, Array]:
    """True coefficients and those of least squares, the intercept first."""
    theta = COEFFICIENT * rng.choice([-1.0, 1.0], N_FEATURE)
    features, y = draw(rng, n, theta, variance)
    with_intercept = np.column_stack([np.ones(n), features])
    return theta, np.linalg.lstsq(with_intercept, y, rcond=None)[0]


@cache
def fits() -> tuple[Array, Array]:
    """Squared intercepts, and variances of new errors, of models of figure 2A (σ² = 5, n = 100)."""
    rng = np.random.default_rng(2)
    fitted = [fit(rng, 100, 5.0) for _ in range(N_FIT)]
    squares = np.array([beta[0] ** 2 for _, beta in fitted])
    return squares, np.array([5 + np.sum((theta - beta[1:]) ** 2) for theta, beta in fitted])


def chi_square() -> Answer:
    """Given a fit Σe² has mean n (v + β0²), v = σ² + ‖θ0 − θ‖²; over √(v + β0²) it is its root."""
    squares, variances = fits()
    return mean_of(np.sqrt(variances + squares))


def bootstrapped(rng: np.random.Generator, losses: Array) -> tuple[float, float]:
    """Standard deviation of resampled means, and minus the Φ(−k) quantile of studentized ones."""
    resampled = losses[rng.integers(len(losses), size=(N_BOOT, len(losses)), dtype=np.int32)]
    means = resampled.mean(axis=1)
    inner = resampled.std(axis=1) / math.sqrt(len(losses))
    return float(means.std()), -float(np.quantile((means - losses.mean()) / inner, ndtr(-K)))


def trial(rng: np.random.Generator, t: float) -> list[list[float]]:
    """By the vanilla and the studentized bootstrap, of the MSE: whether the null is false and
    rejected, and the standard error from the test sample over the true one."""
    noise = COEFFICIENT**2 * N_FEATURE / 2
    theta, beta = fit(rng, N_TRAIN, noise)
    variance = noise + np.sum((theta - beta[1:]) ** 2)  # of new errors, about −β0
    truth = variance + beta[0] ** 2
    true_sd = math.sqrt((2 * variance**2 + 4 * variance * beta[0] ** 2) / N_TEST)
    stages = []
    for n in (N_TEST, N_PROSPECTIVE):
        features, y = draw(rng, n, theta, noise)
        losses = (y - beta[0] - features @ beta[1:]) ** 2
        stages.append((losses.mean(), *bootstrapped(rng, losses)))
    (first, sd1, reach1), (second, sd2, reach2) = stages
    found = []
    for longer1, longer2 in ((1.0, 1.0), (reach1 / K, reach2 / K)):
        bound = first + K * sd1 * longer1
        z = (second - bound) / (sd2 * longer2)
        found.append([float(bound > truth), float(z < t), sd1 * longer1 / true_sd])
    return found


@cache
def trials() -> Array:
    """Axes: replicate, bootstrap (vanilla, studentized), and what a trial finds."""
    rng = np.random.default_rng(3)
    t = critical(K, math.sqrt(N_PROSPECTIVE / N_TEST))
    return np.array([trial(rng, t) for _ in range(N_TRIAL)])


def power_influence(method: int) -> tuple[float, Array]:
    """Power given a false null: a ratio of means, and what each replicate adds to it."""
    false, rejects, _ = trials()[:, method].T
    power = (false * rejects).mean() / false.mean()
    return float(power), false * (rejects - power) / false.mean()


def power_studentized() -> Answer:
    """Rejections among trials with a false null."""
    power, influence = power_influence(1)
    return Answer(power, float(influence.std()) / math.sqrt(N_TRIAL))


def cost_in_power() -> Answer:
    """Vanilla less studentized on the same trials, as a paired difference of ratios."""
    (vanilla, one), (studentized, other) = power_influence(0), power_influence(1)
    error = float((one - other).std()) / math.sqrt(N_TRIAL)
    return Answer(100 * (vanilla - studentized), 100 * error)


def trial_mean(measure: str, method: str, less: float = 0.0) -> tuple[Lookup, Compute]:
    """The committed measure of a bootstrap by MSE, and what the trials have of it."""
    of, column = ("vanilla", "studentized").index(method), {"null_is_false": 0, "sd_test_bias": 2}
    factors = {"measure": measure, "method": method, "metric": "mse"}
    found = lambda: mean_of(trials()[:, of, column[measure]] - less)  # noqa: E731
    return simulated("regression_trial", **factors), found


POWER = {"measure": "power", "method": "studentized", "metric": "mse"}
CLAIM = "vanilla against studentized"
COST = r"mse: power (-[\d.]+) ± ([\d.]+), true nulls \+([\d.]+) ± ([\d.]+)"
ADDED = r"mse: .*?true nulls \+([\d.]+) ± ([\d.]+)"
for row in [  # a number, where it is committed, what finds it here, a rival and what that is
    ("MSE less the printed risk, which has no intercept "
     "(n = 100, σ² = 5, 10,000 test observations)",
     simulated("regression_risk", n_test=10000, metric="mse", measure="bias_printed"),
     lambda: mean_of(fits()[0]), 0.0, "that of the true risk"),
    ("mean of Σe² / (√risk · n), which is 1 for chi-square; risk with the intercept",
     claimed("regression_risk", "chi-square"),
     chi_square, 2.529, "the risk as printed, without the intercept"),
    ("share of false nulls by MSE, vanilla bootstrap",
     *trial_mean("null_is_false", "vanilla"), 0.9332, "Φ(k)"),
    ("share of false nulls by MSE, studentized bootstrap",
     *trial_mean("null_is_false", "studentized"), 0.9003, "that of the vanilla bootstrap"),
    ("power by MSE, studentized bootstrap",
     simulated("regression_trial", **POWER),
     power_studentized, 0.9332 * 0.8, "not given a false null"),
    ("what the vanilla bootstrap costs in power by MSE, points",
     printed("regression_trial", CLAIM, COST, two_mcse=2), cost_in_power, 0.0, "no cost"),
    ("true nulls that the vanilla bootstrap adds by MSE, points",
     printed("regression_trial", CLAIM, ADDED, two_mcse=2),
     lambda: mean_of(100 * (trials()[:, 1, 0] - trials()[:, 0, 0])), 0.0, "none"),
    ("relative bias of the studentized standard error of the MSE, test sample",
     *trial_mean("sd_test_bias", "studentized", less=1), 0.02, "slightly overestimated"),
    ("relative bias of the vanilla standard error of the MSE, test sample",
     *trial_mean("sd_test_bias", "vanilla", less=1), 0.161, "that of the studentized one"),
]:  # fmt: skip
    check(*row)
