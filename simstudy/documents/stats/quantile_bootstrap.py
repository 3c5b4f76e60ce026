"""The bootstrap of a sample quantile: pairs of order statistics, likely enough to matter.

A sample quantile is (1−g)·X_(j) + g·X_(j+1). In a resample both order statistics are values of the
sample, so its quantile lies on a pair of them. The probabilities of the pairs depend on n and q
alone. So all resamples of a row are one multinomial draw over pairs, and infinitely many resamples
are the probabilities themselves. Lower bounds for the quantile, with α = 1 − confidence:

==========  ======================================================
percentile  quantile of the bootstrap distribution at α
basic       2·estimate − quantile at 1 − α
normal      estimate + z_α · bootstrap standard error
bca         percentile at Φ(z0 + (z0 + z_α)/(1 − a·(z0 + z_α)))
==========  ======================================================

z0 = Φ⁻¹(share of bootstrap values below the estimate) depends on what is done with those **equal**
to it, about one in ten for a 5% quantile: "bca strict" leaves them out, "bca weak" counts them,
"bca mid" counts half.

Sources: Efron (1979), Annals of Statistics 7(1), section 3, and Maritz & Jarrett (1978), JASA
73(361), for the law of an order statistic of a resample; Efron & Tibshirani (1993), chapters 12-14,
for the bounds.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.lazy import special, stats

UNLIKELY = 1e-30
"""Probability up to which a pair of ranks is left out. Among tied scores BCa may read as far."""
BCA = ("bca strict", "bca mid", "bca weak")
BOOTSTRAP = ("percentile", "basic", "normal", *BCA)

Block = Float[np.ndarray, "rep obs"]
PerRep = Float[np.ndarray, " rep"]


# ---------------------------------------------------------------- the sample quantile
class Interpolation(NamedTuple):
    """A sample quantile as (1−g)·X_(rank) + g·X_(rank+1), with the rank from 1."""

    rank: int
    g: float


@lru_cache(maxsize=256)
def interpolation(n_obs: int, q: float) -> Interpolation:
    """NumPy's default quantile: its answer on the sample 0, 1, ..., n−1 is rank − 1 + g."""
    position = float(np.quantile(np.arange(float(n_obs)), q))
    return Interpolation(int(position) + 1, position % 1)


def between(
    lower: Float[np.ndarray, "..."], upper: Float[np.ndarray, "..."], g: float | PerRep
) -> Float[np.ndarray, "..."]:
    """(1−g)·lower + g·upper, rounded as NumPy's quantile rounds: from the nearer end."""
    gap = upper - lower
    return np.asarray(np.where(np.greater_equal(g, 0.5), upper - gap * (1.0 - g), lower + gap * g))


def between_ranks(ordered: Block, rank: int, g: float) -> PerRep:
    """(1−g)·X_(rank) + g·X_(rank+1) of ascending rows; −∞ at rank 0."""
    if rank == 0:
        return np.full(len(ordered), -np.inf)
    upper = min(rank, ordered.shape[1] - 1)
    return between(ordered[:, rank - 1], ordered[:, upper], g)


def sample_quantile(ordered: Block, q: float) -> PerRep:
    """`np.quantile` of ascending rows, to the last bit."""
    return between_ranks(ordered, *interpolation(ordered.shape[1], q))


def jackknife_acceleration(ordered: Block, q: float) -> PerRep:
    """Acceleration of BCa for the quantile of ascending rows: Σu³ / (6·(Σu²)^1.5).

    u is the jackknife mean less the jackknife values, of which there are three: without a rank up
    to j, without j+1 and without a higher one, (j, g) being the interpolation at n − 1. 0 where
    they agree. Efron (1987), JASA 82(397), equation 6.6.
    """
    n_obs = ordered.shape[1]
    rank, g = interpolation(n_obs - 1, q)
    x0, x1, x2 = (ordered[:, min(rank - 1 + step, n_obs - 1)] for step in range(3))
    values = np.stack([between(x1, x2, g), between(x0, x2, g), between(x0, x1, g)])
    times = np.array([[rank], [1], [n_obs - 1 - rank]])
    u = (times * (values - values[0])).sum(0) / times.sum() - (values - values[0])
    largest = np.abs(u).max(0)
    u = np.divide(u, largest, out=np.zeros_like(u), where=largest > 0)  # the scale cancels
    skew, spread = (times * u**3).sum(0), (times * u**2).sum(0) ** 1.5
    return np.asarray(np.divide(skew, 6.0 * spread, out=np.zeros_like(skew), where=spread > 0))


# ---------------------------------------------------------------- its bootstrap distribution
class Pairs(NamedTuple):
    """Ranks of two order statistics of a resample, from 0, and the probability of each pair."""

    lower: Int[np.ndarray, " pair"]
    upper: Int[np.ndarray, " pair"]
    probability: Float[np.ndarray, " pair"]


@lru_cache(maxsize=64)
def likely_pairs(n_obs: int, q: float) -> Pairs:
    """Pairs in falling order of probability, so that a multinomial draw is soon done.

    P(a, b > a), ranks from 1: j of n draws are at most a, at least one of them a, which has the
    probability C(n, j)·(a/n)^j·(1−a/n)^(n−j)·[1 − (1−1/a)^j]; and the least of the others is b:
    ((n−b+1)/(n−a))^(n−j) − ((n−b)/(n−a))^(n−j).
    """
    j, g = interpolation(n_obs, q)
    alone = _rank_law(n_obs, j)
    ranks = np.flatnonzero(alone > UNLIKELY)
    joint = alone[ranks, np.newaxis]
    if g:
        a = ranks[:, np.newaxis] + 1.0
        with np.errstate(divide="ignore"):  # a = 1: all draws are of the least
            exactly = stats.binom.pmf(j, n_obs, a / n_obs) * -np.expm1(j * np.log1p(-1 / a))
        above = np.maximum(n_obs - a, 1)  # if a = n, nothing is above, and `exactly` is 0
        reach = int(min(-np.log(UNLIKELY) * above.max() / (n_obs - j), above.max()))
        beyond = np.maximum(1 - np.arange(reach + 1) / above, 0) ** (n_obs - j)
        joint = np.hstack([np.maximum(joint - exactly, 0), exactly * -np.diff(beyond)])
    place, step = np.nonzero(joint > UNLIKELY)
    probability = joint[place, step]
    first = np.argsort(-np.log(probability).round(9), kind="stable")  # equal ones: lowest first
    lower, probability = ranks[place][first], probability[first]
    return Pairs(lower, lower + step[first], probability / probability.sum())


def rank_cdf(n_obs: int, rank: int) -> Float[np.ndarray, " obs"]:
    """P(X*_(rank) <= x_(c)) for c = 1..n: that many of n draws have ranks up to c."""
    return np.asarray(special.betainc(rank, n_obs - rank + 1, np.arange(1, n_obs + 1) / n_obs))


def _rank_law(n_obs: int, rank: int) -> Float[np.ndarray, " obs"]:
    """P(X*_(rank) = x_(c)), each tail from its own side."""
    at = np.arange(n_obs + 1) / n_obs
    cdf = special.betainc(rank, n_obs - rank + 1, at)
    survival = special.betaincc(rank, n_obs - rank + 1, at)
    return np.where(cdf[1:] < 0.5, np.diff(cdf), -np.diff(survival))


class Resamples(NamedTuple):
    """Bootstrap values of each row, ascending, and the weight of each.

    Weights count the `n_boot` resamples; if that is 0 they are probabilities: infinitely many.
    """

    values: Float[np.ndarray, "rep value"]
    weights: Float[np.ndarray, "rep value"]
    n_boot: int


def resample(
    ordered: Block, q: float, n_boot: int = 0, rng: np.random.Generator | None = None
) -> Resamples:
    """The sample quantile of `n_boot` resamples of each ascending row, or of infinitely many."""
    lower, upper, weights = likely_pairs(ordered.shape[1], q)
    if rng is not None:
        weights = rng.multinomial(n_boot, weights, size=len(ordered))
        some = np.flatnonzero(weights.any(axis=0))
        lower, upper, weights = lower[some], upper[some], weights[:, some]
    g = interpolation(ordered.shape[1], q).g
    values = between(ordered[:, lower], ordered[:, upper], g)
    order = np.argsort(values, axis=1)
    weights = np.take_along_axis(np.broadcast_to(weights, values.shape), order, axis=1)
    return Resamples(np.take_along_axis(values, order, axis=1), weights, n_boot)


class Shape(NamedTuple):
    """Moments of each row's bootstrap distribution; skewness 0 where nothing spreads."""

    mean: PerRep
    std: PerRep
    skewness: PerRep


def shape_of(resamples: Resamples) -> Shape:
    """Moments of the resamples as they are: the variance divides by their number."""
    weights = resamples.weights / resamples.weights.sum(axis=1, keepdims=True)
    mean = (weights * resamples.values).sum(axis=1)
    off = resamples.values - mean[:, np.newaxis]
    weights *= off * off
    std = np.sqrt(weights.sum(axis=1))
    cubed = np.where(std > 0, std, 1.0) ** 3
    return Shape(mean, std, (weights * off).sum(axis=1) / cubed)


def quantile_of(resamples: Resamples, level: PerRep) -> PerRep:
    """Quantile of each row's resamples at its own level.

    NumPy's default for counted resamples; for infinitely many the least value that at least `level`
    of the distribution does not exceed.
    """
    values, weights, n_boot = resamples
    upto = np.cumsum(weights, axis=1)

    def reached(mass: PerRep) -> PerRep:
        place = np.minimum((upto < mass[:, np.newaxis]).sum(axis=1), values.shape[1] - 1)
        return np.take_along_axis(values, place[:, np.newaxis], axis=1)[:, 0]

    if not n_boot:
        return reached(level)
    position = level * (n_boot - 1)
    rank = np.floor(position)
    return between(reached(rank + 1), reached(rank + 2), position - rank)


# ---------------------------------------------------------------- bounds
def bootstrap_bounds(
    resamples: Resamples,
    estimate: PerRep,
    acceleration: PerRep,
    *,
    alpha: float,
    methods: Sequence[str] = BOOTSTRAP,
) -> dict[str, PerRep]:
    """Lower bounds of each row by the methods named, whatever the statistic that was resampled."""
    level = np.full_like(estimate, alpha)
    levels = {"percentile": level, "basic": 1 - level}
    for method, share in _shares_below(resamples, estimate).items():
        z0 = special.ndtri(np.clip(share, 0, 1))
        levels[method] = corrected_level(z0, acceleration, alpha)
    found = {m: quantile_of(resamples, level) for m, level in levels.items() if m in methods}
    if "basic" in found:
        found["basic"] = 2 * estimate - found["basic"]
    if "normal" in methods:
        found["normal"] = estimate + special.ndtri(alpha) * shape_of(resamples).std
    return found


def _shares_below(resamples: Resamples, at: PerRep) -> dict[str, PerRep]:
    """Share of each row's resamples below one value each, by the treatment of ties."""
    values, weights, _ = resamples
    place = at[:, np.newaxis]
    strict, weak = (
        (weights * kept).sum(axis=1) / weights.sum(axis=1)
        for kept in (values < place, values <= place)
    )
    return dict(zip(BCA, (strict, 0.5 * (strict + weak), weak), strict=True))


def corrected_level(z0: PerRep, acceleration: PerRep, alpha: float) -> PerRep:
    """The level at which BCa reads the bootstrap distribution, Φ(z0 + w/(1 − a·w)), w = z0 + z_α.

    An infinite z0 reads the extreme on its side. Past the pole a·w = 1 the formula comes back from
    the other end: the level stays at the extreme. Efron (1987), JASA 82(397), 171-185.
    """
    w = np.where(np.isfinite(z0), z0, 0.0) + special.ndtri(alpha)
    room = 1.0 - acceleration * w
    shift = np.divide(w, room, out=np.copysign(np.full_like(w, np.inf), w), where=room > 0)
    return np.asarray(special.ndtr(np.where(np.isfinite(z0), z0 + shift, z0)))
