"""Thresholds that keep a sensitivity, by every method on one block of test sets.

The names are those of a study's axis. A method of the bootstrap comes in one of two ways: as
infinitely many resamples would have it, exactly, or from a given number of them. The algorithms are
in the modules next to this one; here is only which of them a name means.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.arguments import (
    check_choice,
    check_proportion,
    complement,
    complement_of,
)
from simstudy.documents.stats.bootstrap import quantiles as bootstrap
from simstudy.documents.stats.bootstrap.resamples import Resamples, draw_resamples, exact_shape
from simstudy.documents.stats.classifier.bounds import (
    TIES,
    bayesian_bootstrap_bound,
    bayesian_bootstrap_cdf,
    bounds_from_resamples,
    exact_bootstrap_bounds,
    normal_tolerance_bound,
    smoothed_bound,
)
from simstudy.documents.stats.classifier.umbrella import (
    interpolated_threshold,
    interpolation_weight,
    umbrella_rank,
    umbrella_threshold,
)
from simstudy.documents.stats.reading import reading

PLAIN = ("percentile", "basic", "normal")
BCA = tuple(f"bca {ties}" for ties in TIES)
BOOTSTRAP = (*PLAIN, *BCA)
METHODS = ("empirical", *BOOTSTRAP, "umbrella", "tolerance")
FURTHER = ("umbrella interpolated", "smoothed", "bayesian")
DIRECT = {
    "tolerance": normal_tolerance_bound,
    "smoothed": smoothed_bound,
    "bayesian": bayesian_bootstrap_bound,
}
"""Methods without a bootstrap."""

PerRep = Float[np.ndarray, " rep"]
Block = Float[np.ndarray, "rep obs"]


class Target(NamedTuple):
    """Target of a threshold: a sensitivity, with a confidence.

    Attributes
    ----------
    sensitivity
        Share of positives to keep, in (0, 1).
    confidence
        Probability that the threshold keeps it, in (0, 1).
    """

    sensitivity: float
    confidence: float

    @property
    def q(self) -> float:
        """Level of the quantile of the positive scores that is to be bounded."""
        return complement_of("sensitivity", self.sensitivity)


def check_target(target: Target) -> None:
    """Raise an error for a target outside (0, 1).

    Parameters
    ----------
    target
        Share of cases that the threshold keeps.

    Raises
    ------
    DesignError
        If one of the two is not in (0, 1).
    """
    check_proportion("sensitivity", target.sensitivity, "a target to keep")
    check_proportion("confidence", target.confidence, "a bound")


# ---------------------------------------------------------------- thresholds
@reading
def thresholds(
    scores: Block,
    target: Target,
    methods: Sequence[str] = METHODS,
    *,
    resamples: Resamples | None = None,
) -> dict[str, PerRep]:
    """A threshold of each row by each method, to be used with score >= threshold.

    Parameters
    ----------
    scores
        Scores of positive cases, one test set per row.
    target
        Share of cases that the threshold keeps.
    methods
        Any of `METHODS` and `FURTHER`. The three `bca` differ in what they do with bootstrap
        values equal to the estimate: leave them out, count half, or count all.
    resamples
        From `draw_resamples`; None means infinitely many.

    Returns
    -------
    dict
        Thresholds by method, in score units. Where no score is safe enough the umbrella says −inf.
    """
    check_target(target)
    for name in methods:
        check_choice("method", name, (*METHODS, *FURTHER))
    ordered = np.sort(scores, axis=1)
    found = _by_bootstrap(ordered, target, methods, resamples)
    return {m: found[m] if m in found else _direct(ordered, target, m) for m in methods}


def _by_bootstrap(
    ordered: Block, target: Target, methods: Sequence[str], resamples: Resamples | None
) -> dict[str, PerRep]:
    plain = [name for name in PLAIN if name in methods]
    found = _bootstrap_bounds(ordered, target, plain, TIES[0], resamples) if plain else {}
    for ties, name in zip(TIES, BCA, strict=True):
        if name in methods:
            found[name] = _bootstrap_bounds(ordered, target, ["bca"], ties, resamples)["bca"]
    return found


def _bootstrap_bounds(
    ordered: Block, target: Target, names: list[str], ties: str, resamples: Resamples | None
) -> dict[str, PerRep]:
    q, confidence = target.q, target.confidence
    if resamples is None:
        return exact_bootstrap_bounds(ordered, q=q, confidence=confidence, methods=names, ties=ties)
    estimate = bootstrap.sample_quantile(ordered, q)
    slope = bootstrap.jackknife_acceleration(ordered, q=q)
    return bounds_from_resamples(
        resamples, estimate, slope, confidence=confidence, methods=names, ties=ties
    )


def _direct(ordered: Block, target: Target, method: str) -> PerRep:
    if method == "empirical":
        return bootstrap.sample_quantile(ordered, target.q)
    if method in DIRECT:
        return DIRECT[method](ordered, q=target.q, confidence=target.confidence)
    keep = umbrella_threshold if method == "umbrella" else interpolated_threshold
    return keep(ordered, **target._asdict(), infeasible="-inf")


# ---------------------------------------------------------------- made of order statistics
class OrderLaw(NamedTuple):
    """A threshold (1−g)·X_(rank) + g·X_(rank+1) of n scores; g = 0 is an order statistic.

    Attributes
    ----------
    n_obs
        Scores in the test set.
    rank
        Rank of the lower order statistic, from 1; 0 is −∞.
    g
        Weight of the upper one, in [0, 1).
    """

    n_obs: int
    rank: int
    g: float


@reading
@lru_cache(maxsize=1024)
def order_law(method: str, n_obs: int, target: Target) -> OrderLaw | None:
    """Find the order statistics a method takes, where these do not depend on the scores.

    Parameters
    ----------
    method
        Name of a method.
    n_obs
        Scores in the test set.
    target
        Share of cases that the threshold keeps.

    Returns
    -------
    OrderLaw | None
        The order statistics; None where they depend on the scores.
    """
    check_choice("method", method, (*METHODS, *FURTHER))
    if method == "empirical":
        return OrderLaw(n_obs, *bootstrap.interpolation(n_obs, target.q))
    if method == "umbrella":
        return OrderLaw(n_obs, int(umbrella_rank(n_obs, *target)), 0.0)
    if method == "umbrella interpolated":
        safe = umbrella_rank(n_obs, *target)
        return OrderLaw(n_obs, *(interpolation_weight(n_obs, *target) if safe else (0, 0.0)))
    if method == "bayesian":
        alpha = float(complement(target.confidence))
        place = np.searchsorted(bayesian_bootstrap_cdf(n_obs, target.q), alpha)
        return OrderLaw(n_obs, int(place) + 1, 0.0)
    return None


# ---------------------------------------------------------------- description of test sets
N_SHOWN = 4  # test sets whose bootstrap is drawn: no single one is typical
STRICTER = 0.92  # the confidence that the umbrella really has
COMPARED = {"umbrella": "umbrella_at_92", "bca strict": "bca_strict_at_92"}
"""Methods whose thresholds are compared at that confidence, and their columns."""


@reading
def described(
    x: Float[np.ndarray, "rep obs"], target: Target, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Describe test sets: the exact bootstrap of the quantile, the lowest scores, some resamples.

    Row r of `resample_1` is resample r of the block's first test set, in ascending order; and so on
    for the first four.

    Parameters
    ----------
    x : float array (rep, obs)
        Positive scores, a test set in each row.
    target
        Share of cases that the threshold keeps.
    rng
        Generator of the resamples.

    Returns
    -------
    dict
        Columns of replicates: arrays (rep,) or (rep, *axes), by name.
    """
    check_target(target)
    x = np.sort(x, axis=1)
    shape, stricter = exact_shape(x, target.q), target._replace(confidence=STRICTER)
    found = thresholds(x, stricter, tuple(COMPARED))
    shown = draw_resamples(rng, x[:N_SHOWN], n_boot=len(x), q=target.q)
    return {
        "sensitivity_on_test_set": (x > bootstrap.sample_quantile(x, target.q)[:, None]).mean(
            axis=1
        ),
        "bootstrap_mean": shape.mean,
        "bootstrap_skewness": shape.skewness,
        **{column: found[method] for method, column in COMPARED.items()},
        **{f"score_{i + 1}": x[:, i] for i in range(n_low(x.shape[1], target.q))},
        **{
            f"resample_{i + 1}": np.repeat(values, counts)
            for i, (values, counts) in enumerate(zip(*shown, strict=True))
        },
    }


@reading
def n_low(n_obs: int, q: float) -> int:
    """Count the lowest scores of which a bootstrapped quantile is made.

    One resample in 10^9 has a quantile made of others.

    Parameters
    ----------
    n_obs
        Scores in a test set.
    q
        Probability of the quantile.

    Returns
    -------
    int
        A number, at most `n_obs`.
    """
    return min(
        int(np.searchsorted(bootstrap.quantile_law(n_obs, q).cdf_upper, 1 - 1e-9)) + 1, n_obs
    )
