"""Theory of thresholds made of order statistics: coverage, and any mean.

Only the ranks of the n positive scores matter: with F their distribution function the F(X_(r))
are uniform order statistics, so every probability here is an integral over beta laws.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.bootstrap import quantiles as bootstrap
from simstudy.documents.stats.classifier.thresholds import OrderLaw, Target, order_law
from simstudy.documents.stats.reading import reading
from simstudy.lazy import special

Real = Float[np.ndarray, "..."]
Nodes = tuple[Float[np.ndarray, " node"], Float[np.ndarray, " node"]]
N_NODES = 400  # Gauss-Legendre nodes over a whole distribution
CROWDING = 6
N_BETA = 64  # Gauss-Legendre nodes over the relevant part of a beta law


class KnownScores(Protocol):
    """Protocol of the scores of one class in theory; see `simstudy.documents.dgps.scores`."""

    @property
    def continuous(self) -> bool:
        """Whether no two scores are ever equal."""

    @property
    def normal(self) -> bool:
        """Whether the normal tolerance bound is exact."""

    def cdf(self, threshold: Real) -> Real:
        """Compute P(score <= threshold), elementwise.

        Parameters
        ----------
        threshold
            Thresholds, in score units.

        Returns
        -------
        Real
            Probabilities.
        """

    def sensitivity(self, threshold: Real) -> Real:
        """Compute P(score >= threshold), elementwise.

        Parameters
        ----------
        threshold
            Thresholds, in score units.

        Returns
        -------
        Real
            Probabilities.
        """

    def quantile(self, q: Real) -> Real:
        """Return the smallest value with at least `q` of the distribution at or below it.

        Parameters
        ----------
        q
            Probabilities.

        Returns
        -------
        Real
            Quantiles, in score units.
        """

    def threshold(self, sensitivity: float) -> Real:
        """Return the largest threshold that has at least this sensitivity.

        Parameters
        ----------
        sensitivity
            Share of positives to keep.

        Returns
        -------
        Real
            The threshold, in score units.
        """


@reading
def exact_coverage(scores: KnownScores, method: str, n_obs: int, target: Target) -> float:
    """Compute the probability of a safe threshold.

    Parameters
    ----------
    scores
        Law of the positive scores.
    method
        Name of a method of setting thresholds.
    n_obs
        Positive scores in the test set.
    target
        Share of cases that the threshold keeps.

    Returns
    -------
    float
        A probability; NaN where theory does not know it.
    """
    if method == "tolerance" and scores.normal:
        return target.confidence
    law = order_law(method, n_obs, target)
    if law is None or (law.g and not scores.continuous):
        return np.nan
    limit = scores.threshold(target.sensitivity)
    return float(threshold_cdf(scores, law, np.atleast_1d(limit))[0])


@reading
def exact_mean_sensitivity(scores: KnownScores, method: str, n_obs: int, target: Target) -> float:
    """Compute the expected true sensitivity of the threshold.

    Parameters
    ----------
    scores
        Law of the positive scores.
    method
        Name of a method of setting thresholds.
    n_obs
        Positive scores in the test set.
    target
        Share of cases that the threshold keeps.

    Returns
    -------
    float
        A proportion; NaN where theory does not know it.
    """
    return expected_over_sensitivity(scores, method, n_obs, target, lambda kept: kept)


@reading
def expected_over_sensitivity(
    scores: KnownScores, method: str, n_obs: int, target: Target, of: Callable[[Real], Real]
) -> float:
    """Compute the mean of a function of the threshold's true sensitivity.

    An integral over the law of two neighbouring uniform order statistics: U_(rank) is beta(rank,
    n − rank + 1), and given it the next is as far on as a beta(1, n − rank) says. Continuous
    scores only; NaN elsewhere, and where the method is no order statistic.

    Parameters
    ----------
    scores
        Law of the positive scores.
    method
        Name of a method of setting thresholds.
    n_obs
        Positive scores in the test set.
    target
        Share of cases that the threshold keeps.
    of
        The function, elementwise.

    Returns
    -------
    float
        The mean; NaN for scores that are not continuous, and where the method is no order
        statistic.
    """
    law = order_law(method, n_obs, target)
    if law is None or not scores.continuous:
        return np.nan
    if law.rank == 0:
        return float(of(np.ones(1))[0])
    u, weight = _beta_nodes(law.rank, n_obs - law.rank + 1, toward_0=law.rank == 1 and law.g > 0)
    if not law.g:
        return float(weight @ of(1 - u))
    step, weight_of_step = _beta_nodes(1, n_obs - law.rank)
    above = u[:, None] + (1 - u[:, None]) * step
    threshold = (1 - law.g) * scores.quantile(u)[:, None] + law.g * scores.quantile(above)
    return float(weight @ of(scores.sensitivity(threshold)) @ weight_of_step)


def _beta_nodes(a: float, b: float, *, toward_0: bool = False) -> Nodes:
    """Nodes and weights for means over a beta law, within the range that holds all but 1e-14.

    Toward 0 the quantiles of the lowest score have no derivative that a polynomial could follow:
    there nodes crowd as the sixth power.
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


@reading
def expected_shift(scores: KnownScores, n_obs: int, q: float) -> float:
    """Compute E[bootstrap mean − sample quantile] of continuous scores.

    Parameters
    ----------
    scores
        Law of the positive scores.
    n_obs
        Positive scores in the test set.
    q
        Probability of the quantile.

    Returns
    -------
    float
        In score units; NaN for scores that are not continuous.
    """
    if not scores.continuous:
        return np.nan
    law = bootstrap.quantile_law(n_obs, q)
    joint = bootstrap.pair_probabilities(law)
    weight = (1 - law.g) * joint.sum(axis=1) + law.g * joint.sum(axis=0)
    rank = bootstrap.interpolation(n_obs, q).rank
    weight[rank - 1] -= 1 - law.g
    if law.g:  # else the last score has no neighbour to take from
        weight[rank] -= law.g
    return float(weight @ _mean_order_statistics(scores, n_obs))


def _mean_order_statistics(scores: KnownScores, n_obs: int) -> Float[np.ndarray, " obs"]:
    nodes, weights = _legendre()
    rank = np.arange(1, n_obs + 1)[:, None]
    log_density = special.xlogy(rank - 1, nodes) + special.xlogy(n_obs - rank, 1 - nodes)
    density = np.exp(log_density - special.betaln(rank, n_obs - rank + 1))
    return np.asarray((weights * density * scores.quantile(nodes)).sum(axis=1))


@reading
def threshold_cdf(
    scores: KnownScores, law: OrderLaw, at: Float[np.ndarray, " point"]
) -> Float[np.ndarray, " point"]:
    """Compute the distribution function of a threshold, P(threshold <= t).

    The threshold exceeds t if X_(rank) does; or if X_(rank) = x <= t and the n − rank scores
    above x, which are independent draws above it, all exceed y = (t − (1−g)·x)/g.

    Parameters
    ----------
    scores
        Law of the positive scores.
    law
        The order statistics that are the threshold.
    at : float array (point,)
        Points of evaluation, in score units.

    Returns
    -------
    float array (point,)
        Probabilities.
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


@reading
def threshold_density(scores: KnownScores, law: OrderLaw) -> tuple[Nodes, Nodes]:
    """Compute the density of an order statistic as threshold, and of its true sensitivity.

    Differences of quantiles, of all but a thousandth of the law; continuous scores, g = 0.

    Parameters
    ----------
    scores
        Law of the positive scores.
    law
        The order statistics that are the threshold.

    Returns
    -------
    tuple[Nodes, Nodes]
        Places and densities of the threshold, and of the sensitivity.
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
