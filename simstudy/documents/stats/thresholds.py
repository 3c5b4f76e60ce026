"""Thresholds on the scores of positive cases that keep a sensitivity, by every method of a study.

A threshold keeps sensitivity k where it is at most the (1−k)-quantile of the positive scores, so
a lower confidence bound for that quantile keeps it with the bound's confidence. Some methods take
order statistics that do not depend on the scores (`order_law`), others the bootstrap, others a law.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.quantile_bootstrap import (
    BOOTSTRAP,
    Block,
    PerRep,
    Resamples,
    between_ranks,
    bootstrap_bounds,
    interpolation,
    jackknife_acceleration,
    rank_cdf,
    resample,
    sample_quantile,
    shape_of,
)
from simstudy.documents.stats.umbrella import complement, interpolation_weight, umbrella_rank
from simstudy.lazy import special

METHODS = ("empirical", *BOOTSTRAP, "umbrella", "tolerance")
FURTHER = ("umbrella interpolated", "smoothed", "bayesian")


class Target(NamedTuple):
    """Share of positives to keep, and the probability with which the threshold is to keep it."""

    sensitivity: float
    confidence: float

    @property
    def q(self) -> float:
        """Level of the quantile of the positive scores that is to be bounded."""
        return float(complement(self.sensitivity))

    @property
    def alpha(self) -> float:
        """Chance that the bound may exceed that quantile."""
        return float(complement(self.confidence))


def thresholds(
    scores: Block,
    target: Target,
    methods: Sequence[str] = METHODS,
    *,
    resamples: Resamples | None = None,
) -> dict[str, PerRep]:
    """A threshold of each row by each method, to be used with score >= threshold.

    Bootstraps are of infinitely many resamples if none are given. −∞ where no score is safe enough.
    """
    ordered = np.sort(scores, axis=1)
    found = {}
    if not set(BOOTSTRAP).isdisjoint(methods):
        about = sample_quantile(ordered, target.q), jackknife_acceleration(ordered, target.q)
        drawn = resample(ordered, target.q) if resamples is None else resamples
        found = bootstrap_bounds(drawn, *about, alpha=target.alpha, methods=methods)
    for method in methods:
        if method == "tolerance":
            found[method] = normal_tolerance_bound(ordered, target)
        elif method == "smoothed":
            found[method] = smoothed_bound(ordered, target)
        elif (law := order_law(method, ordered.shape[1], target)) is not None:
            found[method] = between_ranks(ordered, law.rank, law.g)
    return {method: found[method] for method in methods}


# ---------------------------------------------------------------- made of order statistics
class OrderLaw(NamedTuple):
    """A threshold (1−g)·X_(rank) + g·X_(rank+1) of n scores; rank 0 is −∞."""

    n_obs: int
    rank: int
    g: float


@lru_cache(maxsize=1024)
def order_law(method: str, n_obs: int, target: Target) -> OrderLaw | None:
    """The order statistics a method takes; None where these depend on the scores."""
    if method == "empirical":
        return OrderLaw(n_obs, *interpolation(n_obs, target.q))
    if method == "umbrella":
        return OrderLaw(n_obs, int(umbrella_rank(n_obs, *target)), 0.0)
    if method == "umbrella interpolated":
        return OrderLaw(n_obs, *interpolation_weight(n_obs, *target))
    if method == "bayesian":
        place = np.searchsorted(bayesian_bootstrap_cdf(n_obs, target.q), target.alpha)
        return OrderLaw(n_obs, int(place) + 1, 0.0)
    return None


def bayesian_bootstrap_cdf(n_obs: int, q: float) -> Float[np.ndarray, " obs"]:
    """Posterior probability that the q-quantile is at or below X_(c), c = 1..n.

    With Dirichlet(1, ..., 1) weights the c smallest scores weigh beta(c, n−c) together. Rubin
    (1981), Annals of Statistics 9(1), 130-134.
    """
    c = np.arange(1, n_obs)
    return np.append(special.betaincc(c, n_obs - c, q), 1.0)


# ---------------------------------------------------------------- from a law of the scores
def normal_tolerance_bound(scores: Block, target: Target) -> PerRep:
    """Mean plus a multiple of the standard deviation, exact where the scores are normal."""
    factor = normal_tolerance_factor(scores.shape[1], target.q, target.alpha)
    return np.asarray(scores.mean(axis=1) + factor * scores.std(axis=1, ddof=1))


def normal_tolerance_factor(n_obs: int, q: float, alpha: float) -> float:
    """The c with P(mean + c·sd >= the q-quantile) = alpha for n normal scores.

    √n·c is the α quantile of the noncentral t with n − 1 degrees of freedom and noncentrality
    √n·Φ⁻¹(q). Owen (1968), Technometrics 10(3), 445-478. Its series ends without an answer for very
    many scores, where the statistic is normal with variance (1 + z²/2)/n.
    """
    z, root_n = special.ndtri(q), np.sqrt(n_obs)
    quantile = special.nctdtrit(n_obs - 1, root_n * z, alpha) / root_n
    limit = z + special.ndtri(alpha) * np.sqrt((1 + z * z / 2) / n_obs)
    return float(quantile if np.isfinite(quantile) else limit)


def smoothed_bound(scores: Block, target: Target) -> PerRep:
    """Percentile bound of the smoothed bootstrap, exactly.

    The normal kernel has standard deviation h = 1.3·sd·n^(−1/3), the optimal order for a
    distribution function (Azzalini 1981, Biometrika 68(1), 326-328). Resampling from the smoothed
    F_h makes F_h(X*_(r)) a beta(r, n+1−r) variable, also for the fractional r = (n−1)·q + 1 of the
    default sample quantile (Stigler 1977, JASA 72(359), 544-550). The bound is F_h⁻¹ of its α
    quantile, by bisection: every kernel's own quantile brackets that of their mixture.
    """
    n_obs = scores.shape[1]
    position = (n_obs - 1) * target.q + 1.0
    share = special.betaincinv(position, n_obs + 1.0 - position, target.alpha)
    width = 1.3 * scores.std(axis=1, ddof=1) * n_obs ** (-1 / 3)
    low = scores.min(axis=1) + width * special.ndtri(share)
    high = scores.max(axis=1) + width * special.ndtri(share)
    scale = np.where(width > 0, width, 1.0)[:, np.newaxis]
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = special.ndtr((middle[:, np.newaxis] - scores) / scale).mean(axis=1) >= share
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(0.5 * (low + high))


# ---------------------------------------------------------------- description of test sets
N_SHOWN = 4  # test sets whose bootstrap is drawn: no single one is typical
STRICTER = 0.92  # the confidence that the umbrella really has
COMPARED = {"umbrella": "umbrella_at_92", "bca strict": "bca_strict_at_92"}
"""Methods whose thresholds are compared at that confidence, and their columns."""


def described(
    x: Block, target: Target, exactly: Resamples, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Columns that describe test sets: the exact bootstrap, the lowest scores, some resamples.

    Row r of `resample_1` is resample r of the block's first test set, in ascending order; and so on
    for the first four.
    """
    x, q = np.sort(x, axis=1), target.q
    shape, stricter = shape_of(exactly), target._replace(confidence=STRICTER)
    found = thresholds(x, stricter, tuple(COMPARED), resamples=exactly)
    shown = resample(x[:N_SHOWN], q, len(x), rng)
    return {
        "sensitivity_on_test_set": (x > sample_quantile(x, q)[:, None]).mean(axis=1),
        "bootstrap_mean": shape.mean,
        "bootstrap_skewness": shape.skewness,
        **{column: found[method] for method, column in COMPARED.items()},
        **{f"score_{i + 1}": x[:, i] for i in range(n_low(x.shape[1], q))},
        **{
            f"resample_{i + 1}": np.repeat(values, counts)
            for i, (values, counts) in enumerate(zip(shown.values, shown.weights, strict=True))
        },
    }


def n_low(n_obs: int, q: float) -> int:
    """How many of the lowest scores make all bootstrapped quantiles, but one in 10^9."""
    rank, g = interpolation(n_obs, q)
    upto = rank_cdf(n_obs, rank + (g > 0))
    return min(int(np.searchsorted(upto, 1 - 1e-9)) + 1, n_obs)
