"""Neyman-Pearson umbrella: the order statistic of the positive scores that is a safe threshold.

A case is called positive where its score is **at or above** the threshold. With X_(r), the r-th
smallest of n positive scores, as the threshold, the sensitivity falls short of k with probability
at most v(r) = P(Binomial(n, 1 − k) <= r − 1), whatever the distribution, ties included, and with
equality where it is continuous. With "above" in place of "at or above" the bound fails under ties.
Rank 0 represents the threshold −∞: everybody is called positive. Arguments broadcast.

Source: Tong, Feng & Li (2018), Science Advances 4(2), eaao1659, proposition 1, stated for the
positive class.
"""

from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.lazy import special, stats
from simstudy.validation import ROUNDING

Numbers = float | np.ndarray
"""One number, or an array of them: such arguments broadcast."""


def complement(proportion: Numbers) -> Any:
    """1 − p as a person writes it: 1 − 0.95 is 0.05 here, not 0.050000000000000044.

    The stray 4e-17 would turn a quantile that sits on one order statistic into an interpolation
    between two, and an equality between decimals into an inequality.
    """
    return np.round(1.0 - np.asarray(proportion, dtype=float), 15)[()]


def violation(rank: Numbers, n_obs: Numbers, sensitivity: Numbers) -> Any:
    """v(r): the probability that X_(r) as the threshold leaves the sensitivity below its target."""
    return stats.binom.cdf(np.subtract(rank, 1), n_obs, complement(sensitivity))


def umbrella_rank(n_obs: Numbers, sensitivity: Numbers, confidence: Numbers) -> Any:
    """The largest safe rank: max{r : v(r) <= 1 − confidence}; 0 where even the minimum is not."""
    miss, risk = complement(sensitivity), complement(confidence) * (1 + ROUNDING)
    rank = stats.binom.ppf(risk, n_obs, miss)  # v(rank) is below the risk, or rank is 0
    return (rank + (stats.binom.cdf(rank, n_obs, miss) <= risk)).astype(np.int64)[()]


def least_feasible_n(sensitivity: Numbers, confidence: Numbers) -> Any:
    """The fewest positive scores whose minimum is a safe threshold: k^n <= 1 − confidence."""
    risk = np.log(complement(confidence)) + ROUNDING
    return np.maximum(np.ceil(risk / np.log(sensitivity)), 1).astype(np.int64)[()]


class RankTable(NamedTuple):
    """Each rank 0..n as the threshold: P(B = rank), P(sensitivity >= k) and P(sensitivity < k)."""

    rank: Int[np.ndarray, " rank"]
    probability: Float[np.ndarray, " rank"]
    coverage: Float[np.ndarray, " rank"]
    violation: Float[np.ndarray, " rank"]


def rank_table(n_obs: int, sensitivity: float) -> RankTable:
    """The table of all ranks, B being Binomial(n, 1 − k)."""
    rank = np.arange(n_obs + 1)
    probability = stats.binom.pmf(rank, n_obs, complement(sensitivity))
    short = violation(rank, n_obs, sensitivity)
    return RankTable(rank, probability, 1 - short, short)


def interpolation_weight(n_obs: int, sensitivity: float, confidence: float) -> tuple[int, float]:
    """Rank r and weight λ with which X_(r) + λ·(X_(r+1) − X_(r)) has the confidence.

    Rank 0 if no score is safe; r = n has no neighbour and gets λ = 0. Exact where the density of
    the scores is flat around the threshold, and in error by O(1/n) elsewhere. Beran & Hall (1993),
    JRSS B 55(3), 643-652.
    """
    rank = int(umbrella_rank(n_obs, sensitivity, confidence))
    if rank in (0, n_obs):
        return rank, 0.0
    miss, risk = float(complement(sensitivity)), float(complement(confidence))
    low, high = 0.0, 1.0
    while high - low > 1e-14:
        middle = (low + high) / 2
        exceeds = interpolated_violation(rank, middle, n_obs, miss) > risk
        low, high = (low, middle) if exceeds else (middle, high)
    return rank, low


def interpolated_violation(rank: int, weight: float, n_obs: int, miss: float) -> float:
    """P(U_(r) + λ·(U_(r+1) − U_(r)) > 1 − k) for uniform scores.

    Given U_(r) = u <= 1−k, the other n − r scores are uniform above u, so the event has
    probability (1 − (1−k−u)/(λ·(1−u)))^(n−r). The product with the density of U_(r) is a
    polynomial of degree n − 1, which Gauss-Legendre with n nodes integrates exactly. Where
    u is so far below that the power is under e^−60 nothing is left to integrate.
    """
    start = float(stats.binom.cdf(rank - 1, n_obs, miss))
    if weight == 0.0:
        return start
    low = max((miss - weight) / (1.0 - weight), 0.0) if weight < 1.0 else 0.0
    low = max(low, miss - 60.0 * weight / (n_obs - rank))
    nodes, weights = special.roots_legendre(min(n_obs, 200))
    u = low + (miss - low) * (nodes + 1) / 2
    log_density = (rank - 1) * np.log(u) - special.betaln(rank, n_obs - rank + 1)
    room = np.maximum(1.0 - u - (miss - u) / weight, 0.0)
    inner = np.exp(log_density + special.xlogy(n_obs - rank, room))
    return start + float((weights * inner).sum() * (miss - low) / 2)
