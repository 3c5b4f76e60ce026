"""Theory of thresholds made of order statistics: coverage, and any mean.

Only the ranks of the n positive scores matter: with F their distribution function the F(X_(r))
are uniform order statistics, so every probability here is an integral over beta laws. NaN where
theory knows no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.quantile_bootstrap import interpolation, likely_pairs
from simstudy.documents.stats.thresholds import OrderLaw, Target, order_law
from simstudy.lazy import special

if TYPE_CHECKING:
    from simstudy.documents.dgps.scores import Scores

Nodes = tuple[Float[np.ndarray, " node"], Float[np.ndarray, " node"]]
N_NODES = 400  # Gauss-Legendre nodes over a whole distribution
N_BETA = 64  # Gauss-Legendre nodes over the relevant part of a beta law
CROWDING = 6  # power by which nodes crowd towards 0


def exact_coverage(scores: Scores, method: str, n_obs: int, target: Target) -> float:
    """Probability of a safe threshold."""
    if method == "tolerance" and scores.normal:
        return target.confidence
    law = order_law(method, n_obs, target)
    if law is None or (law.g and not scores.continuous):
        return np.nan
    limit = scores.threshold(target.sensitivity)
    return float(threshold_cdf(scores, law, np.atleast_1d(limit))[0])


def exact_mean_sensitivity(scores: Scores, method: str, n_obs: int, target: Target) -> float:
    """Expected true sensitivity of the threshold."""
    return expected_over_sensitivity(scores, method, n_obs, target, lambda kept: kept)


def expected_over_sensitivity(
    scores: Scores,
    method: str,
    n_obs: int,
    target: Target,
    of: Callable[[np.ndarray], np.ndarray],
) -> float:
    """Mean of a function of the threshold's true sensitivity, for continuous scores.

    An integral over the law of two neighbouring uniform order statistics: U_(rank) is beta(rank,
    n − rank + 1), and given it the next is as far on as a beta(1, n − rank) says.
    """
    law = order_law(method, n_obs, target)
    if law is None or not scores.continuous:
        return np.nan
    _, rank, g = law
    if rank == 0:
        return float(of(np.ones(1))[0])
    u, weight = _beta_nodes(rank, n_obs - rank + 1, toward_0=rank == 1 and g > 0)
    if not g:
        return float(weight @ of(1 - u))
    step, weight_of_step = _beta_nodes(1, n_obs - rank)
    above = u[:, None] + (1 - u[:, None]) * step
    threshold = (1 - g) * scores.quantile(u)[:, None] + g * scores.quantile(above)
    return float(weight @ of(scores.sensitivity(threshold)) @ weight_of_step)


def _beta_nodes(a: float, b: float, *, toward_0: bool = False) -> Nodes:
    """Nodes and weights for means over a beta law, within the range that holds all but 1e-14.

    Toward 0 the quantiles of the lowest score have no derivative that a polynomial could follow:
    there nodes crowd.
    """
    low, high = special.betaincinv(a, b, 1e-14), special.betainccinv(a, b, 1e-14)
    x, weights = special.roots_legendre(N_BETA)
    place = (x + 1) / 2
    if toward_0:
        place, weights = place**CROWDING, weights * CROWDING * place ** (CROWDING - 1)
    nodes = low + (high - low) * place
    log_density = special.xlogy(a - 1, nodes) + special.xlog1py(b - 1, -nodes)
    density = np.exp(log_density - special.betaln(a, b))
    return nodes, weights * density * (high - low) / 2


def expected_shift(scores: Scores, n_obs: int, q: float) -> float:
    """E[bootstrap mean − sample quantile] of continuous scores, from the means of all ranks."""
    if not scores.continuous:
        return np.nan
    nodes, weights = _legendre()
    rank = np.arange(1, n_obs + 1)[:, None]
    log_density = special.xlogy(rank - 1, nodes) + special.xlogy(n_obs - rank, 1 - nodes)
    density = np.exp(log_density - special.betaln(rank, n_obs - rank + 1))
    means = (weights * density * scores.quantile(nodes)).sum(axis=1)
    (first, g), (lower, upper, chance) = interpolation(n_obs, q), likely_pairs(n_obs, q)
    bootstrapped = chance @ ((1 - g) * means[lower] + g * means[upper])
    return float(bootstrapped - (1 - g) * means[first - 1] - g * means[min(first, n_obs - 1)])


def threshold_cdf(
    scores: Scores, law: OrderLaw, at: Float[np.ndarray, " point"]
) -> Float[np.ndarray, " point"]:
    """P(threshold <= t) at each point.

    The threshold exceeds t if X_(rank) does; or if X_(rank) = x <= t and the n − rank scores
    above x, which are independent draws above it, all exceed y = (t − (1−g)·x)/g.
    """
    n_obs, rank, g = law
    if rank == 0:
        return np.ones_like(at)
    upto = scores.cdf(at)
    safe = special.betainc(rank, n_obs - rank + 1, upto)
    if not g:
        return np.asarray(safe)
    nodes, weights = _legendre()
    u = upto[:, None] * nodes
    y = (at[:, None] - (1 - g) * scores.quantile(u)) / g
    log_density = special.xlogy(rank - 1, u) - special.betaln(rank, n_obs - rank + 1)
    beyond = np.exp(log_density + special.xlogy(n_obs - rank, scores.sensitivity(y)))
    return np.asarray(safe - upto * (weights * beyond).sum(axis=1))


def threshold_density(scores: Scores, law: OrderLaw) -> tuple[Nodes, Nodes]:
    """Places and densities of an order statistic as threshold, and of its true sensitivity.

    Differences of quantiles, of all but a thousandth of the law; continuous scores, g = 0.
    """
    chance = np.linspace(0.0005, 0.9995, 400)
    u = special.betaincinv(law.rank, law.n_obs - law.rank + 1, chance)
    threshold, sensitivity = (
        ((x[1:] + x[:-1]) / 2, np.diff(chance) / np.abs(np.diff(x)))
        for x in (np.asarray(scores.quantile(u)), 1 - u)
    )
    return threshold, sensitivity


@lru_cache(maxsize=1)
def _legendre() -> Nodes:
    """Nodes and weights on (0, 1)."""
    nodes, weights = special.roots_legendre(N_NODES)
    return (nodes + 1) / 2, weights / 2
