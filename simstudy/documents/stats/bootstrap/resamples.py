"""The bootstrap of a sample quantile by Monte Carlo: resamples drawn as counts of their values.

A resample's quantile is made of a pair of ranks whose law depends on n and q alone
(`simstudy.documents.stats.bootstrap.quantiles`). So all resamples of a row are one multinomial draw
over pairs: a few hundred binomials represent any number of resamples of n scores, with the same
law.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.documents.stats.arguments import as_scores, check_count
from simstudy.documents.stats.bootstrap.quantiles import (
    Interpolation,
    QuantileLaw,
    bootstrap_moments,
    interpolation,
    quantile_law,
    quantile_of_sorted,
)
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

UNLIKELY = 1e-30
"""Probability below which a pair of ranks is left out: no run will ever draw it."""

Block = Float[np.ndarray, "rep obs"]
PerRep = Float[np.ndarray, " rep"]


class Resamples(NamedTuple):
    """Bootstrap values of each row, and how many of the resamples took each.

    Attributes
    ----------
    values : float array (rep, value)
        Values in ascending order, in score units.
    counts : int array (rep, value)
        Number of resamples with each value.
    """

    values: Float[np.ndarray, "rep value"]
    counts: Int[np.ndarray, "rep value"]


class Shape(NamedTuple):
    """Moments of each row's bootstrap distribution.

    Attributes
    ----------
    mean
        Mean, in score units.
    std
        Standard deviation, in score units.
    skewness
        Third central moment over the cube of the standard deviation.
    """

    mean: PerRep
    std: PerRep
    skewness: PerRep


class Pairs(NamedTuple):
    """Ranks of two order statistics of a resample, and how probable they are together.

    Attributes
    ----------
    lower, upper : int array (pair,)
        Ranks from 0.
    probability : float array (pair,)
        Joint probability.
    """

    lower: Int[np.ndarray, " pair"]
    upper: Int[np.ndarray, " pair"]
    probability: Float[np.ndarray, " pair"]


# ---------------------------------------------------------------- drawing
@reading
def draw_resamples(
    rng: np.random.Generator,
    scores: Block,
    *,
    n_boot: int,
    q: float,
    quantile_method: str = "linear",
) -> Resamples:
    """Draw the sample quantile of `n_boot` resamples of each row, without drawing the resamples.

    Parameters
    ----------
    rng
        Gives one multinomial draw per row.
    scores
        One replicate per row, any units, in any order.
    n_boot
        Resamples of each row, at least 1.
    q, quantile_method
        The sample quantile, as in `interpolation`.

    Returns
    -------
    Resamples
        Values and counts of each row.
    """
    check_count("n_boot", n_boot, least=1, meaning="a bootstrap")
    ordered = np.sort(as_scores(scores, least=1), axis=1)
    lower, upper, probability = likely_pairs(ordered.shape[1], q, quantile_method)
    g = interpolation(ordered.shape[1], q, quantile_method).g
    counts = rng.multinomial(n_boot, probability, size=len(ordered))
    some = np.flatnonzero(counts.any(axis=0))
    both = np.stack([ordered[:, lower[some]], ordered[:, upper[some]]], axis=-1)
    return in_order(quantile_of_sorted(both, Interpolation(1, g)), counts[:, some])


@reading
def in_order(
    values: Float[np.ndarray, "rep value"], counts: Int[np.ndarray, "rep value"] | None = None
) -> Resamples:
    """Sort given bootstrap values, with how often each was drawn.

    Parameters
    ----------
    values : float array (rep, value)
        Bootstrap values of each row, in any order.
    counts : int array (rep, value) or None
        How often each was drawn; None for once.

    Returns
    -------
    Resamples
        Values in ascending order, with their counts.
    """
    order = np.argsort(values, axis=1)
    counts = np.ones(values.shape, np.int64) if counts is None else counts
    _check_counts(counts)
    return Resamples(
        np.take_along_axis(values, order, axis=1), np.take_along_axis(counts, order, axis=1)
    )


@reading
@lru_cache(maxsize=64)
def likely_pairs(n_obs: int, q: float, quantile_method: str = "linear") -> Pairs:
    """List pairs of ranks in falling order of probability.

    In that order most of a multinomial is drawn after the first hundred pairs.

    Parameters
    ----------
    n_obs
        Observations in a sample.
    q, quantile_method
        The sample quantile, as in `interpolation`.

    Returns
    -------
    Pairs
        Pairs whose probabilities sum to 1.
    """
    law = quantile_law(n_obs, q, quantile_method)
    start, joint = _likely_block(law)
    lower, upper = np.nonzero(joint > UNLIKELY)
    first = np.argsort(-joint[lower, upper], kind="stable")
    lower, upper = lower[first], upper[first]
    probability = joint[lower, upper]
    pairs = Pairs(start + lower, start + upper, probability / probability.sum())
    for part in pairs:  # kept for the next call
        part.flags.writeable = False
    return pairs


def _likely_block(law: QuantileLaw) -> tuple[int, Float[np.ndarray, "some some"]]:
    """The first rank that matters, and the joint probabilities from there to the last that does.

    The whole table has n² entries: 80 GB for a hundred thousand scores, of which some thousand
    ranks matter. P(a, b) is at most row[a] times the largest step beyond a, and at most step[b]
    times the largest row before b, also as rounded.
    """
    step = -np.diff(law.tail, prepend=law.tail[:1])
    beyond = np.append(np.maximum.accumulate(step[:0:-1])[::-1], 0.0)
    before = np.append(0.0, np.maximum.accumulate(law.row)[:-1])
    matters = (law.diag > UNLIKELY) | (law.row * beyond > UNLIKELY) | (before * step > UNLIKELY)
    ranks = np.flatnonzero(matters)
    here = slice(ranks[0], ranks[-1] + 1)
    with np.errstate(over="ignore"):  # below the diagonal, which is dropped
        joint = np.triu(law.row[here, np.newaxis] * step[here], k=1) + np.diag(law.diag[here])
    return int(ranks[0]), joint


# ---------------------------------------------------------------- what the draws say
@reading
def shares_below(resamples: Resamples, at: PerRep) -> tuple[PerRep, PerRep]:
    """Compute the share of each row's resamples below, and at or below, one value per row.

    NaN where that value or one of the row's resamples is.

    Parameters
    ----------
    resamples
        Bootstrap values of each row, with their counts.
    at
        A value for each row.

    Returns
    -------
    tuple[PerRep, PerRep]
        Shares below, and at or below; NaN where that value or one of the row's resamples is.
    """
    _check_resamples(resamples)
    n_boot = resamples.counts.sum(axis=1).astype(float)
    n_boot[np.isnan(at) | np.isnan(resamples.values[:, -1])] = np.nan  # NaN is sorted to the end
    place = at[:, np.newaxis]
    below = (resamples.counts * (resamples.values < place)).sum(axis=1) / n_boot
    upto = (resamples.counts * (resamples.values <= place)).sum(axis=1) / n_boot
    return below, upto


@reading
def resampled_quantile(resamples: Resamples, level: PerRep) -> PerRep:
    """Compute NumPy's default quantile of all resamples of a row, each row at its own level.

    Infinite values are allowed: between them and anything else lies the upper one. A row with a
    NaN, among its resamples or as its level, has NaN.

    Parameters
    ----------
    resamples
        Bootstrap values of each row, with their counts.
    level
        Level of each row, in [0, 1].

    Returns
    -------
    PerRep
        Quantiles, in score units.
    """
    _check_levels(level)
    _check_resamples(resamples)
    upto = np.cumsum(resamples.counts, axis=1)
    position = level * (upto[:, -1] - 1)
    rank = np.floor(position)
    low, high = (_value_at(resamples.values, upto, rank + step) for step in (0, 1))
    known = ~np.isnan(resamples.values[:, -1] + level)  # NaN is sorted to the end
    return np.where(known, _between(low, high, position - rank), np.nan)


def _check_levels(level: PerRep) -> None:
    outside = (level < 0) | (level > 1)
    if outside.any():
        raise DesignError(
            f"level={level[outside][0]:g} is not a probability, so the resamples have no quantile "
            "there. Give levels from 0 to 1 (0.2, not 20)."
        )


def _check_resamples(resamples: Resamples) -> None:
    """Refuse values that are not in ascending order, NaN last, and counts that count nothing."""
    values = resamples.values
    before, after = values[:, :-1], values[:, 1:]
    falling = (after < before) | (np.isnan(before) & ~np.isnan(after))
    if falling.any():
        row = int(np.flatnonzero(falling.any(axis=1))[0])
        raise DesignError(
            f"resamples.values of row {row} are not in ascending order, so no quantile can be read "
            "off them. Make resamples by in_order(values, counts)."
        )
    _check_counts(resamples.counts)


def _check_counts(counts: Int[np.ndarray, "rep value"]) -> None:
    if (counts < 0).any():
        raise DesignError(
            f"counts={counts[counts < 0][0]} of a resampled value is below 0, so it was not drawn "
            "that often. Give how often each value was drawn, from 0 on."
        )
    if counts.size and not counts.any(axis=1).all():
        row = int(np.flatnonzero(~counts.any(axis=1))[0])
        raise DesignError(
            f"counts of row {row} are all 0, so there is no resample in it. Give how often each "
            "value was drawn, at least one of them once."
        )


def _value_at(
    values: Float[np.ndarray, "rep value"], upto: Int[np.ndarray, "rep value"], rank: PerRep
) -> PerRep:
    """The value at a rank, from 0, of each row; beyond the last it is the last."""
    last = upto[:, -1] - 1
    place = (upto <= np.minimum(rank, last)[:, np.newaxis]).sum(axis=1)
    return np.take_along_axis(values, place[:, np.newaxis], axis=1)[:, 0]


def _between(low: PerRep, high: PerRep, part: PerRep) -> PerRep:
    """Interpolation rounded as NumPy rounds, from the nearer end."""
    gap = np.subtract(high, low, out=np.zeros_like(low), where=high != low)
    with np.errstate(invalid="ignore"):
        near = np.where(part >= 0.5, high - gap * (1.0 - part), low + gap * part)
    return np.where(np.isfinite(gap), near, np.where(part > 0, high, low))


# ---------------------------------------------------------------- shape of the distribution
@reading
def resampled_shape(resamples: Resamples) -> Shape:
    """Compute moments of the resamples as they were drawn.

    Parameters
    ----------
    resamples
        Bootstrap values of each row, with their counts.

    Returns
    -------
    Shape
        The standard deviation divides by the number of resamples.
    """
    _check_resamples(resamples)
    weight = resamples.counts / resamples.counts.sum(axis=1, keepdims=True)
    mean = (weight * resamples.values).sum(axis=1)
    off = resamples.values - mean[:, np.newaxis]
    weight *= off * off
    return _shape(mean, weight.sum(axis=1), (weight * off).sum(axis=1))


@reading
def exact_shape(scores: Block, q: float) -> Shape:
    """Compute moments of infinitely many resamples, from the probabilities of all pairs of ranks.

    Parameters
    ----------
    scores
        One replicate per row, in any order.
    q
        Probability of the sample quantile, in [0, 1].

    Returns
    -------
    Shape
        In score units.
    """
    ordered = np.sort(scores, axis=1)
    law = quantile_law(ordered.shape[1], q)
    mean = bootstrap_moments(ordered, q=q).mean
    off = ordered - mean[:, np.newaxis]
    return _shape(mean, _central(off, law, 2), _central(off, law, 3))


def _central(x: Block, law: QuantileLaw, power: int) -> PerRep:
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
    """Skewness 0 where nothing spreads."""
    spread = np.sqrt(np.maximum(second, 0))
    cubed = np.where(spread > 0, spread, 1.0) ** 3
    return Shape(mean, spread, np.where(spread > 0, third / cubed, 0.0))
