"""The Bayesian bootstrap with infinitely many draws, where it has an exact answer.

A mean of losses l has the bootstrap variance sum (l - mean)² / (n (n + 1)), in closed form.

A ratio of two means is A / B with A = sum g a, B = sum g b and independent standard exponentials g:
what normalises the weights cancels. With E exp(-s B) = prod 1 / (1 + s b),

    E (A / B)  = integral of    E A exp(-s B) ds,
    E (A / B)² = integral of s  E A² exp(-s B) ds    over s from 0 to infinity,

and both integrands are sums over the observations. The root of a mean is alike: E √A is the
integral of E A exp(-s A) / √(π s), and √A is √(mean) times the root of an independent gamma(n).

The trapezoidal rule in log s converges geometrically: the integrands are analytic where |Im log s|
stays below π/2, and fall off on both sides (Trefethen & Weideman 2014, SIAM Rev. 56(3), 385-458).

The variance forms of R² are ratios of quadratic functions of the weights, and a difference of two
RMSEs needs E √(A B): these have no single integral, and are NaN here.
"""

from collections.abc import Callable

import numpy as np

from simstudy.shapes import Float
from simstudy.stats.leave_one_out.utilities import (
    UTILITIES,
    Estimate,
    Pointwise,
    about_mean,
    check_paired,
    check_pointwise,
    log_densities,
)
from simstudy.stats.reading import reading

STEP = 0.2  # of log s: the rule's error is about exp(-2π · 1.3 / STEP) < 1e-17
DROP = 40.0  # tails below exp(-DROP) of the whole are left out
LOWEST = {"ratio": -DROP, "root": -2 * DROP}  # integrands begin as s and as √s
REACH = 300.0  # of log s: there the square of s is a double

Losses = Float[np.ndarray, "rep obs"]
Moments = tuple[Float[np.ndarray, " rep"], Float[np.ndarray, " rep"]]


@reading
def exact_bootstrap(pointwise: Pointwise) -> Estimate:
    """Mean and standard deviation of each utility under Dirichlet weights; NaN where not known.

    Known are MAE, MSE, RMSE, `r2_mean_square` and elpd. A standard deviation is infinite where too
    few observations differ from the mean of y (two or fewer, so that V may come close to 0).
    """
    check_pointwise(pointwise)
    error = pointwise.error
    mean, variance = ratio_moments(error**2, about_mean(pointwise.y) ** 2)
    return _arrange(
        mae=mean_moments(np.abs(error)),
        mse=mean_moments(error**2),
        rmse=root_moments(error**2),
        r2_mean_square=(1 - mean, variance),
        elpd=_sum_moments(log_densities(pointwise)),
    )


@reading
def exact_bootstrap_difference(first: Pointwise, second: Pointwise) -> Estimate:
    """As `exact_bootstrap`, of first less second; RMSE has no answer, either."""
    check_paired(first, second)
    about = about_mean(first.y) ** 2
    return _arrange(
        mae=mean_moments(np.abs(first.error) - np.abs(second.error)),
        mse=mean_moments(first.error**2 - second.error**2),
        r2_mean_square=ratio_moments(second.error**2 - first.error**2, about),
        elpd=_sum_moments(log_densities(first) - log_densities(second)),
    )


def _arrange(**moments: Moments) -> Estimate:
    n_rep = len(moments["mae"][0])
    unknown = np.full(n_rep, np.nan), np.full(n_rep, np.nan)
    columns = [moments.get(name, unknown) for name in UTILITIES]
    mean, variance = (np.stack(parts, axis=-1) for parts in zip(*columns, strict=True))
    return Estimate(mean, np.sqrt(np.maximum(variance, 0.0)))


@reading
def mean_moments(losses: Losses) -> Moments:
    """Mean and variance of sum w l: the variance has the divisor n (n + 1).

    References
    ----------
    Rubin (1981), Annals of Statistics 9(1), 130-134.
    """
    n_obs = losses.shape[1]
    mean = losses.mean(axis=1)
    square = ((losses - mean[:, np.newaxis]) ** 2).sum(axis=1)
    return mean, square / (n_obs * (n_obs + 1))


def _sum_moments(losses: Losses) -> Moments:
    n_obs = losses.shape[1]
    mean, variance = mean_moments(losses)
    return n_obs * mean, n_obs**2 * variance


@reading
def ratio_moments(above: Losses, below: Losses) -> Moments:
    """Mean and variance of sum w a / sum w b.

    Parameters
    ----------
    above
        a, of any sign.
    below
        b, at least 0. A replicate in which all are 0 has the answer NaN. Where b is 0 and a is
        not, the denominator needs three others to have a variance, and two to have a mean:
        with fewer these are infinity and NaN.
    """
    size = below.sum(axis=1, keepdims=True)
    center = np.divide(above.sum(axis=1, keepdims=True), size, where=size > 0, out=size * np.nan)
    below = np.divide(below, size, where=size > 0, out=np.full_like(below, np.nan))
    rest = np.divide(above, size, where=size > 0, out=np.full_like(above, np.nan)) - center * below

    loose = (below == 0) & (rest != 0)  # may be large while the denominator is small
    n_tight = np.where(loose.any(axis=1), (below > 0).sum(axis=1), len(below[0]) + 2)
    has_mean, has_variance = n_tight > 1, n_tight > 2
    rest = np.where(has_mean[:, np.newaxis], rest, 0.0)

    def integrand(log_s: float) -> Float[np.ndarray, "two rep"]:
        s = np.exp(log_s)
        damped = s * rest / (1 + s * below)
        product = np.exp(-np.log1p(s * below).sum(axis=1))
        once = damped.sum(axis=1)
        twice = has_variance * (once**2 + (damped**2).sum(axis=1))
        return np.asarray(np.stack([once, twice]) * product)

    shift, second = _integrate(integrand, LOWEST["ratio"])
    mean = np.where(has_mean, center[:, 0] + shift, np.nan)
    return mean, np.where(has_variance, second - shift**2, np.inf) + 0 * center[:, 0]


@reading
def root_moments(losses: Losses) -> Moments:
    """Mean and variance of √(sum w l), for losses of at least 0.

    The variance is a difference of numbers about 4 n times as large, and has as many roundings.
    """
    n_obs = losses.shape[1]
    mean = losses.mean(axis=1)
    unit = np.where(mean > 0, mean * n_obs, 1.0)
    scaled = losses / unit[:, np.newaxis]

    def integrand(log_s: float) -> Float[np.ndarray, "one rep"]:
        s = np.exp(log_s)
        product = np.exp(-np.log1p(s * scaled).sum(axis=1))
        once = (scaled / (1 + s * scaled)).sum(axis=1)
        return np.asarray(np.sqrt(s / np.pi) * once * product)[np.newaxis]

    root = _integrate(integrand, LOWEST["root"])[0] * np.sqrt(unit) / _gamma_root(n_obs)
    return root, mean - root**2


def _gamma_root(n: int) -> float:
    """Mean of the root of a gamma(n): Γ(n + 1/2) / Γ(n), to the last digits."""
    factors = 1 + 0.5 / np.arange(1, n)  # (k + 1/2) / k; Γ(3/2) = √π / 2
    return float(np.exp(np.log(factors).sum()) * np.sqrt(np.pi) / 2)


def _integrate(
    integrand: Callable[[float], Float[np.ndarray, "integral rep"]], lowest: float
) -> Float[np.ndarray, "integral rep"]:
    """Over log s, from `lowest` until no replicate's integrand counts any more."""
    total, largest = np.zeros_like(integrand(0.0)), np.zeros_like(integrand(0.0))
    for log_s in lowest + STEP * np.arange((REACH - lowest) / STEP):
        value = np.nan_to_num(integrand(log_s), copy=False, nan=0.0)
        total += value
        largest = np.maximum(largest, np.abs(value))
        if log_s > 0 and (np.abs(value) <= np.exp(-DROP) * largest).all():
            break
    return STEP * total
