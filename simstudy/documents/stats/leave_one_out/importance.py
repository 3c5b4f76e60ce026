"""Leave-one-out by Pareto-smoothed importance sampling from draws of the full posterior.

The usual approximation, to compare its error with the exact answer: each draw is weighed by
1 / p(y_i | draw), the largest weights are smoothed by a generalised Pareto tail, and its shape k
says how far to trust them (below 0.7, by custom). Smoothing is that of ArviZ 0.23 to the last
digits (Vehtari, Simpson, Gelman, Yao & Gabry 2024, J. Mach. Learn. Res. 25(72), 1-58); ArviZ 1
takes one draw less into the tail.

The draws are independent, without a Markov chain. σ comes from its marginal by the inverse of its
distribution function, coefficients given σ are normal. The distribution function is a cubic between
nodes, from density and slope there, with an error below 1e-8.
"""

import math
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.leave_one_out.priors import Prior
from simstudy.documents.stats.leave_one_out.regression import (
    LOG_2PI,
    Spectrum,
    decompose,
    log_joint,
    to_coefficients,
    window,
)
from simstudy.documents.stats.leave_one_out.utilities import Pointwise
from simstudy.lazy import special

N_NODE = 2049  # nodes of the distribution function of σ
NEWTON_STEPS = 8  # from a linear start inside one cell: quadratic convergence needs 4
LOG_TINY = math.log(np.finfo(float).tiny)  # weights below this share of the largest are no tail
MIN_TAIL = 5  # draws; fewer are not smoothed, and k is infinite


class PosteriorDraws(NamedTuple):
    """Joint draws from posteriors; the intercept is where features are 0."""

    intercept: Float[np.ndarray, "rep draw"]
    coefficients: Float[np.ndarray, "rep draw feature"]
    sigma: Float[np.ndarray, "rep draw"]


class ImportanceLeaveOneOut(NamedTuple):
    """Leave-one-out predictions from draws, with the Pareto k of each observation's weights."""

    pointwise: Pointwise
    pareto_k: Float[np.ndarray, "rep obs"]


def importance_leave_one_out(
    features: Float[np.ndarray, "rep obs feature"],
    y: Float[np.ndarray, "rep obs"],
    draws: PosteriorDraws,
) -> ImportanceLeaveOneOut:
    """Leave-one-out predictions from draws given all observations."""
    rows = [_from_draws(*row) for row in zip(features, y, *draws, strict=True)]
    error, log_density, pareto_k = map(np.stack, zip(*rows, strict=True))
    return ImportanceLeaveOneOut(Pointwise(y, error, log_density), pareto_k)


def _from_draws(
    x: Float[np.ndarray, "obs feature"],
    y: Float[np.ndarray, " obs"],
    intercept: Float[np.ndarray, " draw"],
    coefficients: Float[np.ndarray, "draw feature"],
    sigma: Float[np.ndarray, " draw"],
) -> tuple[Float[np.ndarray, " obs"], Float[np.ndarray, " obs"], Float[np.ndarray, " obs"]]:
    """Error, log density and Pareto k of each observation of one data set."""
    predictor = intercept + x @ coefficients.T
    error = y[:, np.newaxis] - predictor
    log_likelihood = -0.5 * (LOG_2PI + (error / sigma) ** 2) - np.log(sigma)
    log_weights, pareto_k = smoothed_log_weights(-log_likelihood)
    log_density = special.logsumexp(log_weights + log_likelihood, axis=1)
    return y - (np.exp(log_weights) * predictor).sum(axis=1), log_density, pareto_k


# ---------------------------------------------------------------- Pareto smoothing
def smoothed_log_weights(
    log_ratios: Float[np.ndarray, "obs draw"],
) -> tuple[Float[np.ndarray, "obs draw"], Float[np.ndarray, " obs"]]:
    """Log weights that sum to one over independent draws, and Pareto k, from log ratios."""
    rows = [_smoothed(row) for row in log_ratios]
    log_weights, pareto_k = map(np.array, zip(*rows, strict=True))
    return log_weights, pareto_k


def _smoothed(log_ratio: Float[np.ndarray, " draw"]) -> tuple[Float[np.ndarray, " draw"], float]:
    """Largest ratios replaced by quantiles of a Pareto tail that is fitted to them."""
    x, k = log_ratio - log_ratio.max(), math.inf
    n_tail = math.ceil(min(len(x) / 5, 3 * math.sqrt(len(x))))
    cutoff = max(float(np.partition(x, -n_tail - 1)[-n_tail - 1]), LOG_TINY)
    tail = np.flatnonzero(x > cutoff)
    if len(tail) >= MIN_TAIL:
        tail, edge = tail[np.argsort(x[tail])], math.exp(cutoff)
        k, sigma = pareto_fit(np.exp(x[tail]) - edge)
        above = np.log1p(-np.arange(0.5, len(tail)) / len(tail))
        x[tail] = np.minimum(np.log(sigma * np.expm1(-k * above) / k + edge), 0.0)
    return x - special.logsumexp(x), k


def pareto_fit(excess: Float[np.ndarray, " tail"]) -> tuple[float, float]:
    """Shape k and scale of a generalised Pareto distribution, from ascending values.

    Posterior means of Zhang & Stephens (2009, Technometrics 51(3), 316-325), with k shrunk towards
    0.5 as by ten values more.
    """
    n = len(excess)
    n_grid = 30 + math.isqrt(n)
    quartile = excess[int(n / 4 + 0.5) - 1]
    grid = (1 - np.sqrt(n_grid / (np.arange(n_grid) + 0.5))) / (3 * quartile) + 1 / excess[-1]
    shape = np.log1p(-grid[:, np.newaxis] * excess).mean(axis=1)
    log_likelihood = n * (np.log(-grid / shape) - shape - 1)
    weight = special.softmax(log_likelihood)
    weight = np.where(weight >= 10 * np.finfo(float).eps, weight, 0.0)
    mean = float(grid @ weight / weight.sum())
    k = float(np.log1p(-mean * excess).mean())
    return (n * k + 10 * 0.5) / (n + 10), -k / mean


# ---------------------------------------------------------------- draws from the posterior
def posterior_draws(
    features: Float[np.ndarray, "rep obs feature"],
    y: Float[np.ndarray, "rep obs"],
    prior: Prior,
    rng: np.random.Generator,
    *,
    n_draw: int,
) -> PosteriorDraws:
    """Intercept, coefficients and σ: `rng` gives a uniform for each σ, then all normals."""
    uniform = rng.random((len(y), n_draw))
    normal = rng.standard_normal((len(y), n_draw, features.shape[2] + 1))
    rows = []
    for rep, (x, u, z) in enumerate(zip(features, uniform, normal, strict=True)):
        own = Prior(*(part[rep] for part in prior))
        data = decompose(x, y[rep], own)
        sigma = sigma_quantiles(data, u)
        rows.append((*to_coefficients(_standardised(data, sigma, z), x, own), sigma))
    return PosteriorDraws(*map(np.stack, zip(*rows, strict=True)))


def _standardised(
    data: Spectrum, sigma: Float[np.ndarray, " draw"], normal: Float[np.ndarray, "draw column"]
) -> Float[np.ndarray, "draw column"]:
    """Coefficients over their prior standard deviations; the prior's where data say nothing."""
    square = sigma[:, np.newaxis] ** 2
    both = data.squares + square
    mean = np.sqrt(data.squares) * data.projected / both
    moved = mean - (1 - np.sqrt(square / both)) * (normal @ data.right.T)
    return np.asarray(normal + moved @ data.right)


def sigma_quantiles(
    data: Spectrum, probability: Float[np.ndarray, " draw"]
) -> Float[np.ndarray, " draw"]:
    """Quantiles of the posterior of σ."""
    nodes = np.linspace(*window(data), N_NODE)
    log_density = log_joint(nodes, data)[1]
    density, step = np.exp(log_density - log_density.max()), nodes[1] - nodes[0]
    slope = np.gradient(density, step, edge_order=2)
    mass = step / 2 * (density[1:] + density[:-1]) - step**2 / 12 * np.diff(slope)
    mass = np.maximum(mass, 0.0)  # far out the correction may exceed what it corrects
    distribution = np.concatenate([[0.0], np.cumsum(mass)])
    target = probability * distribution[-1]
    cell = np.clip(np.searchsorted(distribution, target, side="right") - 1, 0, len(mass) - 1)
    share = _place_in_cell(
        target - distribution[cell], mass[cell], step * density[cell], step * density[cell + 1]
    )
    return np.asarray(np.exp(nodes[cell] + step * share))


def _place_in_cell(
    target: Float[np.ndarray, " draw"],
    mass: Float[np.ndarray, " draw"],
    first: Float[np.ndarray, " draw"],
    last: Float[np.ndarray, " draw"],
) -> Float[np.ndarray, " draw"]:
    """Solve the cubic that has the cell's mass, and its density at both ends, by Newton's steps."""
    square, cube = 3 * mass - 2 * first - last, first + last - 2 * mass
    x = np.divide(target, mass, out=np.full_like(mass, 0.5), where=mass > 0)
    for _ in range(NEWTON_STEPS):
        value = x * (first + x * (square + x * cube)) - target
        slope = first + x * (2 * square + 3 * x * cube)
        x = np.clip(x - np.divide(value, slope, out=np.zeros_like(x), where=slope > 0), 0, 1)
    return np.asarray(x)
