"""Bayesian linear regression with exact leave-one-out predictions.

Given the error scale σ everything is normal. With the scaled design U diag(√λ) V' the covariance of
y is C = σ² I + U diag(λ) U', and without a refit the prediction of y_i from the others has error
α_i / q_i and variance 1 / q_i, where α = C⁻¹ (y - m) and q is the diagonal of C⁻¹ (Sundararajan &
Keerthi 2001, Neural Computation 13(5), 1103-1118; Rasmussen & Williams 2006, equations 5.10-5.12).
With g = 1 / (λ + σ²), t = U' (y - m), and residual r, leverage a and square R outside U,

    α = r / σ² + A,  q = a / σ² + B,  A = U g t,  B = U² g,

and the squares (y - m)' C⁻¹ (y - m) without observation i are

    Q_i = R / σ² + Σ g t² - α²/q = ((R a - r²) / σ² + R B - 2 r A - σ² A²) / (a + σ² B) + Σ g t².

The first form is a difference of infinities for small σ. In the second, R a - r² is a times the
squares that remain outside U without i: 0 where one direction only lies outside.

Over log σ the trapezoidal rule converges geometrically (Trefethen & Weideman 2014, SIAM Review
56(3), 385-458). Integrands are analytic where |Im log σ| < π/4 and close to exp(-n x²) about their
mode: a step h leaves an error of about exp(-π² / (n h²)), or exp(-π² / (2 h)) for few observations.
`STEP` makes both less than 1e-16. The posterior of σ without observation i has the density of the
whole posterior over p(y_i | the others, σ), so the same nodes serve every observation.

Any number of features will do, also more than observations, and collinear or constant ones.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.documents.stats.leave_one_out.priors import Prior
from simstudy.documents.stats.leave_one_out.utilities import Pointwise
from simstudy.errors import DesignError

EPS = float(np.finfo(float).eps)
LOG_2PI = math.log(2 * math.pi)
STEP = 0.5  # step of log σ, times √n
FEW = 15  # observations; fewer do not let the step grow
DROP = 42.0  # log ratio of the peak of the full posterior to its ends
LOO_DROP = 34.0  # the same of every leave-one-out posterior
GROWTH = 0.5  # relative growth of a window that cuts a leave-one-out posterior
NODE_LIMIT = 20_000
AT_ONCE = 2048  # observations at a time: bounds memory


class Spectrum(NamedTuple):
    """One data set in the directions U of its scaled design U diag(√λ) V', and what is outside."""

    left: Float[np.ndarray, "direction obs"]  # U'
    squares: Float[np.ndarray, " direction"]  # λ
    right: Float[np.ndarray, "direction column"]  # V'
    projected: Float[np.ndarray, " direction"]  # t = U' (y - m)
    rest: Float[np.ndarray, " obs"]  # r
    rest_leverage: Float[np.ndarray, " obs"]  # a, diagonal of I - U U'
    rest_square: float  # R
    n_rest: int  # directions outside U
    rate: float  # rate of the prior of σ


class ExactLeaveOneOut(NamedTuple):
    """Leave-one-out predictions of each replicate, and posterior means given all observations."""

    pointwise: Pointwise
    intercept: Float[np.ndarray, " rep"]
    coefficients: Float[np.ndarray, "rep feature"]
    sigma: Float[np.ndarray, " rep"]


def exact_leave_one_out(
    features: Float[np.ndarray, "rep obs feature"], y: Float[np.ndarray, "rep obs"], prior: Prior
) -> ExactLeaveOneOut:
    """Posterior and leave-one-out predictions of every replicate, by quadrature over σ.

    The prior and the means on which features are centred stay when an observation is left out.
    """
    rows = [_exact(x, r, Prior(*p)) for x, r, *p in zip(features, y, *prior, strict=True)]
    error, log_density, *posterior = (np.stack(part) for part in zip(*rows, strict=True))
    return ExactLeaveOneOut(Pointwise(y, error, log_density), *posterior)


def decompose(
    x: Float[np.ndarray, "obs feature"], y: Float[np.ndarray, " obs"], prior: Prior
) -> Spectrum:
    """The spectrum of one data set; directions without prior variance count as outside.

    Raises DesignError where σ = 0 is possible, with or without one observation: there the density
    of y grows as σ to the power of rank less observations, and the posterior does not exist.
    """
    n_obs, centred = len(y), y - prior.intercept_mean
    slopes = (x - x.mean(axis=0)) * prior.coefficient_sd
    design = np.column_stack([np.full(n_obs, prior.intercept_sd), slopes])
    left, singular, right = np.linalg.svd(design, full_matrices=False)
    there = singular > EPS * max(x.shape) * singular[0]
    left, n_rest = left.T[there], n_obs - int(there.sum())
    projected = left @ centred
    rest, leverage = np.zeros((2, n_obs))  # exactly: roundings would stand for a residual
    if n_rest > 0:
        rest, leverage = centred - projected @ left, np.maximum(1 - (left**2).sum(axis=0), 0.0)
    square = float(rest @ rest)
    exact = n_rest > 0 and math.sqrt(square) <= EPS * n_obs * np.abs(y).max()
    if n_rest > 1:  # one observation may have all that is left outside U
        rounding = EPS * n_obs * square
        own = square * leverage
        exact |= bool(((own > rounding) & (own - rest**2 <= rounding)).any())
    if exact:
        raise DesignError(
            "the response is fitted without any error by fewer coefficients than observations, "
            "with all of them or with one left out, so the posterior of the error's scale piles up "
            "at 0 and does not exist. Use fewer features, or responses that vary."
        )
    return Spectrum(
        left, singular[there] ** 2, right[there], projected, rest, leverage, square, n_rest,
        float(prior.sigma_rate),
    )  # fmt: skip


def leverages(data: Spectrum, sigma: float) -> Float[np.ndarray, " obs"]:
    """Diagonal of K (K + σ² I)⁻¹: the share of each observation in its own fitted value, given σ.

    It is also the Pareto k of the importance weights that leave the observation out. The linear
    predictor μ of y_i has the posterior variance h σ², and the weights are 1 / p(y_i | μ) ∝
    exp((y_i - μ)² / 2σ²): their tail P(weight > t) falls off as t^(-1/h).
    """
    return np.asarray(data.squares / (data.squares + sigma**2) @ data.left**2)


def to_coefficients(
    standard: Float[np.ndarray, "*draw column"], x: Float[np.ndarray, "obs feature"], prior: Prior
) -> tuple[Float[np.ndarray, "*draw"], Float[np.ndarray, "*draw feature"]]:
    """Intercept where features are 0, and coefficients, from those of the scaled design."""
    coefficients = standard[..., 1:] * prior.coefficient_sd
    at_means = prior.intercept_mean + standard[..., 0] * prior.intercept_sd
    return np.asarray(at_means - coefficients @ x.mean(axis=0)), coefficients


# ---------------------------------------------------------------- the posterior of σ
def log_joint(
    log_sigma: Float[np.ndarray, " node"], data: Spectrum
) -> tuple[Float[np.ndarray, " node"], Float[np.ndarray, " node"]]:
    """Log of p(y | σ) p(σ) σ, without and with the squares R / σ² outside U."""
    variance = np.exp(2 * log_sigma)
    both = data.squares + variance[:, np.newaxis]
    inside = np.log(both).sum(axis=1) + (data.projected**2 / both).sum(axis=1)
    total = len(data.rest) * LOG_2PI + 2 * data.n_rest * log_sigma + inside
    log_prior = math.log(data.rate) + log_sigma - data.rate * np.exp(log_sigma)
    outside = data.rest_square / variance if data.n_rest else 0.0
    return log_prior - 0.5 * total, log_prior - 0.5 * (total + outside)


def window(data: Spectrum) -> tuple[float, float]:
    """Log σ between which the posterior of all observations is not negligible.

    Searched for downwards from where the prior has fallen off, to below all scales of the problem.
    """
    n_obs = len(data.rest)
    length = math.sqrt(data.rest_square + data.projected @ data.projected)
    top = math.log(1.5 * DROP / data.rate + length)
    lowest = min(top, 0.5 * math.log(data.squares.min()))
    if data.n_rest:  # below its own scale it falls as exp(-R / 2σ²)
        lowest = min(lowest, 0.5 * math.log(data.rest_square / n_obs)) - 5
    else:  # the density falls as σ does
        lowest -= DROP + 5 + 0.5 * math.log(n_obs)
    scan = min(0.1, 3.2 / math.sqrt(n_obs))
    log_sigma = top - scan * np.arange(math.ceil((top - lowest) / scan) + 1)
    joint = log_joint(log_sigma, data)[1]
    inside = np.flatnonzero(joint > joint.max() - DROP)
    return log_sigma[min(inside[-1] + 1, len(joint) - 1)], log_sigma[max(inside[0] - 1, 0)]


# ---------------------------------------------------------------- the quadrature
def _exact(
    x: Float[np.ndarray, "obs feature"], y: Float[np.ndarray, " obs"], prior: Prior
) -> tuple[Any, ...]:
    """Errors and log densities of one data set; means of intercept, coefficients and σ."""
    data = decompose(x, y, prior)
    step = STEP / math.sqrt(max(len(y), FEW))
    low, high = window(data)
    low -= LOO_DROP if data.n_rest == 1 else 0.0  # without an observation it falls as σ
    parts = [slice(at, at + AT_ONCE) for at in range(0, len(y), AT_ONCE)]
    while high - low < NODE_LIMIT * step:
        nodes = np.arange(low, high + step, step)
        rows = [_left_out(nodes, data, part) for part in parts]
        error, log_density, below, above = (np.concatenate(r) for r in zip(*rows, strict=True))
        if below.all() and above.all():
            break
        width = GROWTH * (high - low)
        low, high = low - width * (not below.all()), high + width * (not above.all())
    else:
        raise DesignError(
            "the posterior of the error's scale has no end that the quadrature could find. Look at "
            "the data: a response and features that differ by many powers of ten do this."
        )
    joint = log_joint(nodes, data)[1]
    weight = np.exp(joint - np.logaddexp.reduce(joint))
    shrinkage = weight @ (1 / (data.squares + np.exp(2 * nodes)[:, np.newaxis]))
    standard = np.sqrt(data.squares) * shrinkage * data.projected @ data.right
    return error, log_density, *to_coefficients(standard, x, prior), weight @ np.exp(nodes)


def _left_out(
    nodes: Float[np.ndarray, " node"], data: Spectrum, part: slice
) -> tuple[
    Float[np.ndarray, " part"],
    Float[np.ndarray, " part"],
    Bool[np.ndarray, " part"],
    Bool[np.ndarray, " part"],
]:
    """Errors and log densities of some observations; whether their posteriors end in the window."""
    variance = np.exp(2 * nodes)[:, np.newaxis]
    left, rest, leverage = data.left[:, part], data.rest[part], data.rest_leverage[part]
    inverse = 1 / (data.squares + variance)
    along, diagonal = (inverse * data.projected) @ left, inverse @ left**2  # A and B
    scaled, moved = leverage + variance * diagonal, rest + variance * along  # q σ² and α σ²
    remaining = _remaining(rest, leverage, data.rest_square, data.n_rest)
    square = remaining / variance + data.rest_square * diagonal - (rest + moved) * along
    shared, joint = log_joint(nodes, data)
    shared = (shared + nodes + 0.5 * LOG_2PI)[:, np.newaxis]
    without = shared - 0.5 * (np.log(scaled) + square / scaled)
    peak = without.max(axis=0)
    weight = np.exp(without - peak)
    total = weight.sum(axis=0)
    error = (weight * (moved / scaled)).sum(axis=0) / total
    log_density = np.logaddexp.reduce(joint) - (peak + np.log(total))
    return error, log_density, without[0] <= peak - LOO_DROP, without[-1] <= peak - LOO_DROP


def _remaining(
    rest: Float[np.ndarray, " obs"], leverage: Float[np.ndarray, " obs"], square: float, n_rest: int
) -> Float[np.ndarray, " obs"]:
    """R a - r², exactly 0 where one direction or none lies outside U."""
    if n_rest < 2:
        return np.zeros_like(rest)
    return np.asarray(np.maximum(square * leverage - rest**2, 0.0))
