"""Neyman-Pearson umbrella: the order statistic of the positive scores that is a safe threshold.

A case is called positive where its score is **at or above** the threshold. With X_(r), the r-th
smallest of n positive scores, as the threshold, the sensitivity falls short of k with probability
at most v(r) = P(Binomial(n, 1 − k) <= r − 1), whatever the distribution, ties included, and with
equality where it is continuous. With "above" in place of "at or above" the bound fails under ties.

Source: Tong, Feng & Li (2018), Science Advances 4(2), eaao1659, proposition 1, stated for the
positive class. Rank 0 represents the threshold −∞: everybody is called positive.
"""

from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.arguments import (
    ROUNDING,
    Numbers,
    as_scores,
    check_choice,
    check_count,
    check_proportion,
    complement,
)
from simstudy.documents.stats.bootstrap.quantiles import Interpolation, quantile_of_sorted
from simstudy.documents.stats.integer_search import least_count
from simstudy.documents.stats.reading import MOST, reading
from simstudy.errors import DesignError
from simstudy.lazy import special

INFEASIBLE = ("error", "-inf")


class RankTable(NamedTuple):
    """Each rank as the threshold: its probability, coverage and violation.

    Attributes
    ----------
    rank : int array (rank,)
        Ranks 0..n; 0 is the threshold −∞.
    probability : float array (rank,)
        P(Binomial(n, 1−k) = rank).
    coverage : float array (rank,)
        P(sensitivity >= k).
    violation : float array (rank,)
        P(sensitivity < k).
    """

    rank: Int[np.ndarray, " rank"]
    probability: Float[np.ndarray, " rank"]
    coverage: Float[np.ndarray, " rank"]
    violation: Float[np.ndarray, " rank"]


@reading
def violation(rank: Numbers, n_obs: Numbers, sensitivity: Numbers) -> Any:
    """v(r): the probability that X_(r) as the threshold leaves the sensitivity below its target.

    Parameters
    ----------
    rank
        Counted from 1; 0 is the threshold −∞, which is always safe. At most n.
    n_obs
        Number of positive scores.
    sensitivity
        Target, in (0, 1).

    Returns
    -------
    Any
        Broadcast. 1 − Σ_{l>=r} C(n, l)·(1−k)^l·k^(n−l) as an incomplete beta function, so that
        neither large n overflows nor small v cancels.
    """
    check_proportion("sensitivity", sensitivity, "a target to keep")
    check_count("rank", rank, least=0, meaning="an order statistic")
    check_count("n_obs - rank", np.subtract(n_obs, rank), least=0, meaning="that order statistic")
    return _violation(np.asarray(rank), np.asarray(n_obs), complement(sensitivity))[()]


@reading
def umbrella_rank(n_obs: Numbers, sensitivity: Numbers, confidence: Numbers) -> Any:
    """The largest safe rank: max{r : v(r) <= 1 − confidence}; 0 where even the minimum is not.

    Parameters
    ----------
    n_obs
        Number of positive scores, at least 1; a million is no trouble.
    sensitivity
        Target k, in (0, 1).
    confidence
        Required probability that the sensitivity reaches k, in (0, 1).

    Returns
    -------
    Any
        Whole numbers, broadcast. 0 is the honest answer where `n_obs` is below
        `least_feasible_n`: no score in the sample is a safe threshold.
    """
    check_count("n_obs", n_obs, least=1, meaning="an order statistic")
    check_proportion("sensitivity", sensitivity, "a target to keep")
    check_proportion("confidence", confidence, "a guarantee")
    n, miss, risk = np.broadcast_arrays(n_obs, complement(sensitivity), complement(confidence))

    def too_far(rank: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        return np.asarray(_violation(rank, n, miss) > risk * (1 + ROUNDING))

    first_unsafe = least_count(too_far, np.ones(n.shape, np.int64), n.astype(np.int64) + 1)
    return (first_unsafe - 1)[()]


@reading
def least_feasible_n(sensitivity: Numbers, confidence: Numbers) -> Any:
    """Compute the fewest positive scores whose minimum is a safe threshold: k^n <= 1 − confidence.

    Parameters
    ----------
    sensitivity
        Share of positives to keep, in (0, 1).
    confidence
        Probability that the threshold keeps it, in (0, 1).

    Returns
    -------
    int or array
        Numbers of scores.

    Raises
    ------
    DesignError
        If 1 − confidence is no double, or no double counts so many scores.
    """
    check_proportion("sensitivity", sensitivity, "a target to keep")
    check_proportion("confidence", confidence, "a guarantee")
    with np.errstate(divide="ignore"):
        risk = np.log(complement(confidence)) + ROUNDING
    n = np.maximum(np.ceil(risk / np.log(sensitivity)), 1)
    _refuse_uncountable(n, sensitivity, confidence)
    return n.astype(np.int64)[()]


@reading
def rank_table(n_obs: int, sensitivity: float) -> RankTable:
    """List what each rank would give: the table to read before insisting on a confidence.

    Parameters
    ----------
    n_obs
        Positive scores, at least 1.
    sensitivity
        Share of positives to keep, in (0, 1).

    Returns
    -------
    RankTable
        A row for each rank.
    """
    check_count("n_obs", n_obs, least=1, meaning="a table of ranks")
    check_proportion("sensitivity", sensitivity, "a target to keep")
    rank = np.arange(n_obs + 1)
    miss = float(complement(sensitivity))
    log_choose = special.gammaln(n_obs + 1) - special.gammaln(rank + 1)
    log_choose -= special.gammaln(n_obs - rank + 1)
    logs = log_choose + rank * np.log(miss) + (n_obs - rank) * np.log1p(-miss)
    violated = _violation(rank, np.asarray(n_obs), miss)
    return RankTable(rank, np.exp(logs), 1.0 - violated, violated)


@reading
def umbrella_threshold(
    scores: Float[np.ndarray, "rep obs"],
    *,
    sensitivity: float,
    confidence: float,
    infeasible: str = "error",
) -> Float[np.ndarray, " rep"]:
    """Threshold of each row that keeps the sensitivity with at least the given confidence.

    Parameters
    ----------
    scores
        Scores of positive cases, one replicate per row.
    sensitivity, confidence
        The target and the probability of keeping it, in (0, 1).
    infeasible
        If no score is safe: "error" refuses, "-inf" calls everybody positive.

    Returns
    -------
    Float[np.ndarray, " rep"]
        To be used with score >= threshold. In score units.
    """
    check_choice("infeasible", infeasible, INFEASIBLE)
    block = as_scores(scores, least=1)
    rank = int(umbrella_rank(block.shape[1], sensitivity, confidence))
    if rank == 0 and infeasible == "error":
        _refuse(block.shape[1], sensitivity, confidence)
    if rank == 0:
        return np.full(block.shape[0], -np.inf)
    return np.asarray(np.partition(block, rank - 1, axis=1)[:, rank - 1])


@reading
def interpolation_weight(n_obs: int, sensitivity: float, confidence: float) -> tuple[int, float]:
    """Find the rank r and weight λ with which X_(r) + λ·(X_(r+1) − X_(r)) has the confidence.

    Exact where the density of the scores is flat around the threshold, and in error by O(1/n)
    elsewhere. r = n has no neighbour and gets λ = 0.

    Parameters
    ----------
    n_obs
        Positive scores, at least 1.
    sensitivity
        Share of positives to keep, in (0, 1).
    confidence
        Probability that the threshold keeps it, in (0, 1).

    Returns
    -------
    tuple[int, float]
        Rank, from 1, and weight, in [0, 1].

    Raises
    ------
    DesignError
        If no rank is safe, so that there is nothing to interpolate from.

    References
    ----------
    Beran & Hall (1993), J. R. Stat. Soc. B 55(3), 643-652.
    """
    rank = int(umbrella_rank(n_obs, sensitivity, confidence))
    if rank == 0:
        _refuse(n_obs, sensitivity, confidence)
    if rank == n_obs:
        return rank, 0.0
    miss, risk = float(complement(sensitivity)), float(complement(confidence))
    low, high = 0.0, 1.0
    while high - low > 1e-14:
        middle = (low + high) / 2
        exceeds = _interpolated_violation(rank, middle, n_obs, miss) > risk
        low, high = (low, middle) if exceeds else (middle, high)
    return rank, low


def _interpolated_violation(rank: int, weight: float, n_obs: int, miss: float) -> float:
    """P(U_(r) + λ·(U_(r+1) − U_(r)) > 1 − k) for uniform scores.

    Given U_(r) = u <= 1−k, the other n − r scores are uniform above u, so the event has
    probability (1 − (1−k−u)/(λ·(1−u)))^(n−r). The product with the density of U_(r) is a
    polynomial of degree n − 1, which Gauss-Legendre with n nodes integrates exactly. Where
    u is so far below that the power is under e^−60 nothing is left to integrate.
    """
    start = float(_violation(np.asarray(rank), np.asarray(n_obs), miss))
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


@reading
def interpolated_threshold(
    scores: Float[np.ndarray, "rep obs"],
    *,
    sensitivity: float,
    confidence: float,
    infeasible: str = "error",
) -> Float[np.ndarray, " rep"]:
    """Set a threshold between two order statistics that has nearly exactly the confidence.

    See `interpolation_weight`. Between X_(r) and X_(r+1) no guarantee holds for every
    distribution: that is the price of using all of the confidence without a coin. `infeasible` is
    that of `umbrella_threshold`.

    Parameters
    ----------
    scores : float array (rep, obs)
        Positive scores, one replicate per row.
    sensitivity
        Share of positives to keep, in (0, 1).
    confidence
        Probability that the threshold keeps it, in (0, 1).
    infeasible
        "error", or "-inf" for a threshold of −∞ where no rank is safe.

    Returns
    -------
    float array (rep,)
        Thresholds, in score units.
    """
    check_choice("infeasible", infeasible, INFEASIBLE)
    ordered = np.sort(as_scores(scores, least=1), axis=1)
    if infeasible == "-inf" and not umbrella_rank(ordered.shape[1], sensitivity, confidence):
        return np.full(len(ordered), -np.inf)
    where = Interpolation(*interpolation_weight(ordered.shape[1], sensitivity, confidence))
    return quantile_of_sorted(ordered, where)


def _violation(
    rank: Int[np.ndarray, "..."], n_obs: Int[np.ndarray, "..."], miss: Numbers
) -> Float[np.ndarray, "..."]:
    """P(Binomial(n, miss) <= r − 1), for ranks from 0 to n + 1."""
    inside = (rank >= 1) & (rank <= n_obs)
    a = np.where(inside, rank, 1)
    b = np.where(inside, n_obs - rank + 1, 1)
    return np.where(inside, special.betaincc(a, b, miss), np.where(rank < 1, 0.0, 1.0))


def _refuse_uncountable(n: Numbers, sensitivity: Numbers, confidence: Numbers) -> None:
    sizes, kept, sure = np.broadcast_arrays(n, sensitivity, confidence)
    beyond = ~(sizes <= MOST)
    if beyond.any():
        raise DesignError(
            f"sensitivity={kept[beyond].flat[0]:.17g} with confidence="
            f"{sure[beyond].flat[0]:.17g} takes more than {MOST:.1g} positives, where whole "
            "numbers are not all doubles. Give values further from 1."
        )


def _refuse(n_obs: int, sensitivity: float, confidence: float) -> None:
    least = least_feasible_n(sensitivity, confidence)
    best = 1.0 - float(violation(1, n_obs, sensitivity))
    raise DesignError(
        f"n_obs={n_obs} positive scores cannot keep a sensitivity of {sensitivity:g} with "
        f"confidence {confidence:g}: even the smallest score as the threshold has only "
        f"{best:.3g}. Collect at least {least} positives, ask for confidence {best:.3g} or less, "
        "or accept the threshold -inf where one is offered."
    )
