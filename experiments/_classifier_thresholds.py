"""Thresholds by every method on one block of test sets.

Shared by the classifier's experiments. A method of the bootstrap comes in one of two ways: as
infinitely many resamples would have it, exactly, or from a given number of them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from simstudy.analysis.result import Result
from simstudy.lazy.scipy import special
from simstudy.shapes import Float, Int
from simstudy.stats.arguments import complement
from simstudy.stats.bootstrap import quantiles as bootstrap
from simstudy.stats.classifier.bounds import (
    TIES,
    bayesian_bootstrap_bound,
    bayesian_bootstrap_cdf,
    corrected_level,
    exact_bootstrap_bounds,
    normal_tolerance_bound,
    order_statistic_bound,
    smoothed_bound,
)
from simstudy.stats.classifier.umbrella import interpolation_weight, umbrella_rank

PLAIN = ("percentile", "basic", "normal")
BCA = tuple(f"bca {ties}" for ties in TIES)
BOOTSTRAP = (*PLAIN, *BCA)
METHODS = ("empirical", *BOOTSTRAP, "umbrella", "tolerance")
FURTHER = ("umbrella interpolated", "smoothed", "bayesian")

# The document's coverage table, and the replicates behind it.
PUBLISHED = {"bca strict": 0.780, "normal": 0.684, "basic": 0.652, "percentile": 0.640}
N_SIM = 250

PerRep = Float[np.ndarray, " rep"]
Block = Float[np.ndarray, "rep obs"]


class Target(NamedTuple):
    """What a threshold should keep: a sensitivity, with a confidence."""

    sensitivity: float
    confidence: float

    @property
    def q(self) -> float:
        """Level of the quantile of the positive scores that is to be bounded."""
        return float(complement(self.sensitivity))


class Resamples(NamedTuple):
    """Bootstrap values of each row in ascending order, and how many of the resamples took each."""

    values: Float[np.ndarray, "rep value"]
    counts: Int[np.ndarray, "rep value"]


# ---------------------------------------------------------------- thresholds
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
        What to keep.
    methods
        Any of `METHODS` and `FURTHER`. The three `bca` differ in what they do with bootstrap
        values equal to the estimate: leave them out, count half, or count all.
    resamples
        From `draw_resamples`; None stands for infinitely many.

    Returns
    -------
    dict
        By method, in score units. Where no score is safe enough the umbrella says −inf.
    """
    ordered = np.sort(scores, axis=1)
    boot = [name for name in methods if name in BOOTSTRAP]
    if resamples is None:
        found = _exact(ordered, target, boot)
    else:
        found = _resampled(ordered, target, boot, resamples)
    return {m: found[m] if m in found else _DIRECT[m](ordered, target) for m in methods}


def _exact(ordered: Block, target: Target, methods: Sequence[str]) -> dict[str, PerRep]:
    bounds = partial(exact_bootstrap_bounds, ordered, q=target.q, confidence=target.confidence)
    found = bounds(methods=[name for name in methods if name in PLAIN])
    for ties, name in zip(TIES, BCA, strict=True):
        if name in methods:
            found[name] = bounds(methods=("bca",), ties=ties)["bca"]
    return found


def draw_resamples(rng: np.random.Generator, scores: Block, *, n_boot: int, q: float) -> Resamples:
    """The sample quantile of `n_boot` resamples of each row, drawn as counts.

    A bootstrap value is made of a pair of ranks whose law depends on n and q alone, so the
    resamples of a row are one multinomial draw over pairs: a few hundred binomials stand for
    `n_boot` resamples of n scores, with the same law.
    """
    ordered = np.sort(scores, axis=1)
    lower, upper, probability = _pairs(ordered.shape[1], q)
    g = bootstrap.interpolation(ordered.shape[1], q).g
    counts = rng.multinomial(n_boot, probability, size=len(ordered))
    some = np.flatnonzero(counts.any(axis=0))
    both = np.stack([ordered[:, lower[some]], ordered[:, upper[some]]], axis=-1)
    values = bootstrap.quantile_of_sorted(both, bootstrap.Interpolation(1, g))
    order = np.argsort(values, axis=1)
    return Resamples(
        np.take_along_axis(values, order, axis=1),
        np.take_along_axis(counts[:, some], order, axis=1),
    )


@lru_cache(maxsize=64)
def _pairs(n_obs: int, q: float) -> tuple[Any, Any, Any]:
    """Both ranks of every pair, from 0, and its probability: the likely pairs first.

    In that order most of a multinomial is drawn after the first hundred pairs.
    """
    joint = bootstrap.pair_probabilities(bootstrap.quantile_law(n_obs, q))
    lower, upper = np.nonzero(joint > 1e-30)
    first = np.argsort(-joint[lower, upper], kind="stable")
    lower, upper = lower[first], upper[first]
    probability = joint[lower, upper]
    return lower, upper, probability / probability.sum()


def _resampled(
    ordered: Block, target: Target, methods: Sequence[str], resamples: Resamples
) -> dict[str, PerRep]:
    estimate = sample_quantile(ordered, target.q)
    alpha = float(complement(target.confidence))
    n_boot = resamples.counts.sum(axis=1)
    below, upto = (
        (resamples.counts * side).sum(axis=1) / n_boot
        for side in (resamples.values < estimate[:, None], resamples.values <= estimate[:, None])
    )
    shares = {"strict": below, "mid": (below + upto) / 2, "weak": upto}
    slope = bootstrap.jackknife_acceleration(ordered, q=target.q)
    level: dict[str, Any] = {"percentile": alpha, "basic": target.confidence}
    level |= {f"bca {t}": corrected_level(special.ndtri(p), slope, alpha)
              for t, p in shares.items()}  # fmt: skip
    found = {m: weighted_quantile(resamples, level[m]) for m in methods if m in level}
    if "basic" in found:
        found["basic"] = 2 * estimate - found["basic"]
    if "normal" in methods:
        found["normal"] = estimate + special.ndtri(alpha) * moments_of(resamples).std
    return found


def sample_quantile(ordered: Block, q: float) -> PerRep:
    """NumPy's default quantile of rows already sorted."""
    return bootstrap.quantile_of_sorted(ordered, bootstrap.interpolation(ordered.shape[1], q))


def weighted_quantile(resamples: Resamples, level: Any) -> PerRep:
    """NumPy's default quantile of all resamples of a row, each row at its own level."""
    upto = np.cumsum(resamples.counts, axis=1)
    position = np.broadcast_to(level, len(upto)) * (upto[:, -1] - 1)
    rank = np.floor(position)
    low, high = (_value_at(resamples.values, upto, rank + step) for step in (0, 1))
    part = position - rank
    near = np.where(part >= 0.5, high - (high - low) * (1 - part), low + (high - low) * part)
    return np.asarray(near)


def _value_at(values: Float[np.ndarray, "rep value"], upto: Any, rank: PerRep) -> PerRep:
    """The value at a rank, from 0, of each row; beyond the last it is the last."""
    last = upto[:, -1] - 1
    place = (upto <= np.minimum(rank, last)[:, None]).sum(axis=1)
    return np.take_along_axis(values, place[:, None], axis=1)[:, 0]


# ---------------------------------------------------------------- shape of a bootstrap
class Shape(NamedTuple):
    """Mean, standard deviation and skewness of each row's bootstrap distribution."""

    mean: PerRep
    std: PerRep
    skewness: PerRep


def moments_of(resamples: Resamples) -> Shape:
    """Of the resamples as they were drawn; the standard deviation divides by their number."""
    weight = resamples.counts / resamples.counts.sum(axis=1, keepdims=True)
    mean = (weight * resamples.values).sum(axis=1)
    off = resamples.values - mean[:, None]
    weight *= off * off
    return _shape(mean, weight.sum(axis=1), (weight * off).sum(axis=1))


def exact_moments(scores: Block, q: float) -> Shape:
    """Of infinitely many resamples, from the probabilities of all pairs of ranks."""
    ordered = np.sort(scores, axis=1)
    law = bootstrap.quantile_law(ordered.shape[1], q)
    mean = bootstrap.bootstrap_moments(ordered, q=q).mean
    off = ordered - mean[:, None]
    return _shape(mean, _central(off, law, 2), _central(off, law, 3))


def _central(x: Block, law: bootstrap.QuantileLaw, power: int) -> PerRep:
    """E[((1−g)·x_a + g·x_b)^power], with the sums over b > a that the law's form allows."""
    low, high = (_powers(part * x, power) for part in (1 - law.g, law.g))
    step = -np.diff(law.tail, prepend=law.tail[:1])  # P(a, b) = row[a]·step[b] for b > a
    total = law.diag * _powers(x, power)[power]
    for j in range(power + 1):
        upto = np.cumsum(step * high[j], axis=1)
        ways = special.comb(power, j) * law.row * low[power - j]
        total = total + ways * (upto[:, -1:] - upto)
    return np.asarray(total.sum(axis=1))


def _powers(x: Block, highest: int) -> list[Block]:
    """1, x, x², ... by multiplication, which is many times faster than a power."""
    made = [np.ones_like(x)]
    for _ in range(highest):
        made.append(made[-1] * x)
    return made


def _shape(mean: PerRep, second: PerRep, third: PerRep) -> Shape:
    spread = np.sqrt(np.maximum(second, 0))
    cubed = np.where(spread > 0, spread, 1.0) ** 3
    return Shape(mean, spread, np.where(spread > 0, third / cubed, 0.0))


# ---------------------------------------------------------------- methods without a bootstrap
class OrderLaw(NamedTuple):
    """A threshold (1−g)·X_(rank) + g·X_(rank+1) of n scores; g = 0 is an order statistic."""

    n_obs: int
    rank: int
    g: float


@lru_cache(maxsize=1024)
def order_law(method: str, n_obs: int, target: Target) -> OrderLaw | None:
    """Which order statistics a method takes, where that does not depend on the scores."""
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


def _umbrella(ordered: Block, target: Target) -> PerRep:
    return order_statistic_bound(ordered, q=target.q, confidence=target.confidence)


def _tolerance(ordered: Block, target: Target) -> PerRep:
    return normal_tolerance_bound(ordered, q=target.q, confidence=target.confidence)


def _interpolated(ordered: Block, target: Target) -> PerRep:
    """Between two order statistics, as `umbrella` has it; −∞ where none is safe."""
    law = order_law("umbrella interpolated", ordered.shape[1], target)
    assert law is not None
    if law.rank == 0:
        return np.full(len(ordered), -np.inf)
    return bootstrap.quantile_of_sorted(ordered, bootstrap.Interpolation(law.rank, law.g))


def _smoothed(ordered: Block, target: Target) -> PerRep:
    return smoothed_bound(ordered, q=target.q, confidence=target.confidence)


def _bayesian(ordered: Block, target: Target) -> PerRep:
    return bayesian_bootstrap_bound(ordered, q=target.q, confidence=target.confidence)


_DIRECT: Mapping[str, Callable[[Block, Target], PerRep]] = {
    "empirical": lambda ordered, target: sample_quantile(ordered, target.q),
    "umbrella": _umbrella,
    "tolerance": _tolerance,
    "umbrella interpolated": _interpolated,
    "smoothed": _smoothed,
    "bayesian": _bayesian,
}


# ---------------------------------------------------------------- what a result holds
def pick(result: Result, **where: Any) -> Any:
    """The first scenario of a result with these factors."""
    for one in result.plan.scenarios:
        if all(getattr(one, name) == value for name, value in where.items()):
            return one
    raise LookupError(f"no scenario of this run has {where}")


def first_test_sets(result: Result, one: Any) -> Block:
    """The sorted test sets of a scenario's whole first block, drawn again."""
    rng = result.plan.streams(one, 0)("data")
    return np.sort(one.scores.draw(rng, result.plan.block_size, one.n_obs), axis=1)
