"""Many predictive p-values together: combined, and the share of predictions that are compatible.

p-values are arrays (..., n) with a list along the last axis, and each estimator gives one number a
list, NaN for a list that holds NaN. A prediction is compatible if its value comes from its
predictive distribution: its p-value is then uniform. Equations are those of Bickel (2019), Testing
prediction algorithms as null hypotheses, hal-02334579.
"""

import functools
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.lazy import optimize, special, stats

PValues = Float[np.ndarray, "... n"]
Lists = Float[np.ndarray, "..."]
Ranks = Float[np.ndarray, " n"]
Thresholds = Float[np.ndarray, " threshold"]

FAR = np.log(1e15)  # from there on 1/x and the tail of Landau's law differ by a few roundings
LAMBDA = 0.5  # threshold of Storey's estimate
LAMBDAS = np.arange(1, 20) / 20  # those of Storey & Tibshirani's package
SPLINE_DF = 3.0
N_BINS = 20  # Jiang & Doerge choose among five numbers of bins by a bootstrap
# How close the mean log likelihood comes to its maximum. The log likelihood of n values is then
# within 1e-6 n of it, and an estimate so far from the maximum is off by √(2e-6 n) of its standard
# error: 2% for 168 values, at most.
TOLERANCE = 1e-6
STEP_LIMIT = 200
N_TRIANGLES = 100
START = [0, 1, 3, 10, 30, 100]  # the uniform and triangles: near enough to save half of the steps
MAX_LOSS = 0.999  # of a density in a step: none becomes 0


# ---------------------------------------------------------------- combined p-values, in logs
def fisher(log_p: PValues) -> Lists:
    """Log of Fisher's combined p-value: -2 Σ log p is χ² with 2 n degrees of freedom (1932).

    Its tail is that of a Poisson count: a sum of n terms, or 1 minus another where p is near 1.
    """
    n = log_p.shape[-1]
    half = -log_p.sum(axis=-1)
    k, each = np.arange(n), half[..., np.newaxis]
    with np.errstate(invalid="ignore"):  # infinite: replaced below
        terms = special.xlogy(k, each) - special.gammaln(k + 1) - each
    found = np.minimum(special.logsumexp(terms, axis=-1), 0.0)
    below = special.gammainc(n, half)
    found = np.where(below < 0.5, np.log1p(-np.minimum(below, 0.5)), found)
    return np.where(np.isposinf(half), -np.inf, found)


def harmonic_mean(log_p: PValues) -> Lists:
    """Log of Wilson's combined p-value: the harmonic mean, calibrated by Landau's law.

    The mean of n inverse p-values has nearly that law, with location log n + 1 - γ + log(π/2) and
    scale π/2, also under dependence. Wilson (2019), Proc. Natl. Acad. Sci. 116, 1195-1200, eq. 4.
    """
    n = log_p.shape[-1]
    if n == 1:
        return np.asarray(log_p[..., 0])  # the law is one of many p-values
    log_inverse = special.logsumexp(-log_p, axis=-1) - np.log(n)
    location = np.log(n) + 1 - np.euler_gamma + np.log(np.pi / 2)
    near = np.exp(np.minimum(log_inverse, FAR))
    tail = stats.landau.logsf(near, loc=location, scale=np.pi / 2)
    return np.asarray(np.where(log_inverse > FAR, -log_inverse, tail))


# ---------------------------------------------------------------- estimates of the document
def ranked_rates(p: PValues, order: str) -> PValues:
    """Rates min(n p / #{p_j <= p}, 1) (NFDR, section 4.2), at the ranks of the `nfdr` or of `p`."""
    ordered, n = np.sort(p, axis=-1), p.shape[-1]
    last_of_ties = np.ones(ordered.shape, dtype=bool)
    last_of_ties[..., :-1] = ordered[..., 1:] > ordered[..., :-1]
    ranks = np.where(last_of_ties, np.arange(1, n + 1), n)
    n_at_most = np.minimum.accumulate(ranks[..., ::-1], axis=-1)[..., ::-1]
    rates = np.minimum(ordered * n / n_at_most, 1.0)
    rates = np.where(np.isnan(ordered[..., -1:]), np.nan, rates)  # NaN is sorted to the end
    return np.sort(rates, axis=-1) if order == "nfdr" else rates


def cfdr(p: PValues, order: str = "nfdr", *, clipped: bool = False) -> Lists:
    """Mean corrected rate: that at rank i times 1 + 1/2 + ... + 1/i (eq. 4); clipped at 1 or not.

    The ranks are those of the rate (`nfdr`) as printed, or of `p` as in the authors' package.
    """
    corrected = ranked_rates(p, order) * harmonic_numbers(p.shape[-1])
    return np.asarray((np.minimum(corrected, 1.0) if clipped else corrected).mean(axis=-1))


def rfdr(p: PValues, order: str = "nfdr") -> Lists:
    """Mean re-ranked rate: that at rank [1.6 i], or 1 where there is none (eq. 5)."""
    rates, later = ranked_rates(p, order), later_ranks(p.shape[-1])
    total = rates[..., later - 1].sum(axis=-1) + (p.shape[-1] - len(later))
    return np.asarray(total / p.shape[-1])


def harmonic_numbers(n: int) -> Ranks:
    """1, 1 + 1/2, ..., 1 + 1/2 + ... + 1/n."""
    return np.asarray(np.cumsum(1 / np.arange(1, n + 1)))


def later_ranks(n: int) -> Int[np.ndarray, " rank"]:
    """Rank [1.6 i] of the rate that each rank i gets, where it is at most n."""
    later = np.floor(1.6 * np.arange(1, n + 1) + 0.5).astype(np.int64)
    return np.asarray(later[later <= n])


# ---------------------------------------------------------------- beyond a threshold
def storey(p: PValues) -> Lists:
    """Number of p-values above 1/2 over that of uniform ones, n/2; at most 1.

    Storey (2002), J. R. Statist. Soc. B 64, 479-498, eq. 6.
    """
    return np.asarray(np.minimum(_beyond(p, np.array([LAMBDA]))[..., 0], 1.0))


def storey_smoother(p: PValues) -> Lists:
    """Storey's estimates for 19 thresholds, smoothed by a natural cubic spline, at the last one.

    Storey & Tibshirani (2003), Proc. Natl. Acad. Sci. 100, 9440-9445, remark B.
    """
    return np.asarray(np.clip(_beyond(p, LAMBDAS) @ _smoother_weights(), 0.0, 1.0))


def storey_bootstrap(p: PValues) -> Lists:
    """Storey's estimate at the threshold of least bootstrap mean squared error about the least one.

    For infinitely many resamples the count above a threshold is binomial. Storey, Taylor &
    Siegmund (2004), J. R. Statist. Soc. B 66, 187-205, section 6.
    """
    found = _beyond(p, LAMBDAS)
    share = found * (1 - LAMBDAS)
    variance = share * (1 - share) / (p.shape[-1] * (1 - LAMBDAS) ** 2)
    error = variance + (found - found.min(axis=-1, keepdims=True)) ** 2
    at = np.argmin(error, axis=-1)[..., np.newaxis]
    return np.asarray(np.minimum(np.take_along_axis(found, at, axis=-1)[..., 0], 1.0))


def _beyond(p: PValues, thresholds: Thresholds) -> Float[np.ndarray, "... threshold"]:
    """Share of p-values above each threshold, over that of uniform ones."""
    above = [np.count_nonzero(p > each, axis=-1) for each in thresholds]
    share = np.stack(above, axis=-1) / p.shape[-1]
    return np.where(np.isnan(p).any(axis=-1, keepdims=True), np.nan, share / (1 - thresholds))


@functools.cache
def _smoother_weights() -> Thresholds:
    """Weights of the heights in the last value of a smoothing spline with 3 degrees of freedom.

    The smoother is 1 / (1 + α K), with K the quadratic form of the heights that is the integral of
    the squared second derivative; α is that for which its trace is 3. Green & Silverman (1994),
    Nonparametric Regression and Generalized Linear Models, chapter 2.
    """
    gaps = np.diff(LAMBDAS)
    slopes = np.diff(np.eye(len(LAMBDAS)), axis=0) / gaps[:, np.newaxis]
    bends = np.diff(slopes, axis=0)
    beside = gaps[1:-1] / 6
    products = np.diag((gaps[:-1] + gaps[1:]) / 3) + np.diag(beside, 1) + np.diag(beside, -1)
    sizes, vectors = np.linalg.eigh(bends.T @ np.linalg.solve(products, bends))
    sizes = np.maximum(sizes, 0.0)

    def excess(log_alpha: float) -> float:
        return float((1 / (1 + np.exp(log_alpha) * sizes)).sum()) - SPLINE_DF

    alpha = np.exp(optimize.brentq(excess, -40, 40, xtol=1e-14))
    return np.asarray((vectors[-1] / (1 + alpha * sizes)) @ vectors.T)


# ---------------------------------------------------------------- by bins, means, densities
def jiang_doerge(p: PValues) -> Lists:
    """Mean of Storey's estimates from just before the first bin that is no fuller than the rest.

    A bin is no fuller where it has no more p-values than the mean of it and of all to its right.
    At most 1. Jiang & Doerge (2008), Cancer Inform. 6, 25-32.
    """
    edges = np.arange(N_BINS) / N_BINS
    above = np.stack([np.count_nonzero(p >= edge, axis=-1) for edge in edges], axis=-1)
    inside = -np.diff(above, axis=-1, append=0)
    no_fuller = inside * np.arange(N_BINS, 0, -1) <= above  # always so in the last bin
    first = np.maximum(np.argmax(no_fuller, axis=-1) - 1, 0)[..., np.newaxis]
    taken = np.arange(N_BINS) >= first
    mean = (above / (p.shape[-1] * (1 - edges)) * taken).sum(axis=-1) / taken.sum(axis=-1)
    return np.where(np.isnan(p).any(axis=-1), np.nan, np.minimum(mean, 1.0))


def pounds_cheng(p: PValues) -> Lists:
    """Twice the mean p-value, at most 1: 2 E p is 1 for compatible predictions.

    Pounds & Cheng (2006), Bioinformatics 22, 1979-1987.
    """
    return np.asarray(np.minimum(2 * p.mean(axis=-1), 1.0))


def langaas(p: PValues) -> Lists:
    """Height at 1 of the most likely density that decreases and is convex.

    Such a density is a mixture of the uniform and of triangles that end at 0.01, 0.02, ..., 1.
    Langaas, Lindqvist & Ferkingstad (2005), J. R. Statist. Soc. B 67, 555-572.
    """
    ordered = np.sort(p, axis=-1).reshape(-1, p.shape[-1])
    shares = [np.nan if np.isnan(each[-1]) else _convex_share(each) for each in ordered]
    return np.reshape(shares, p.shape[:-1])


def _convex_share(p: PValues) -> float:
    """Weight of the uniform in the likeliest mixture of it and triangles.

    Newton's steps with weights that are not negative, over the components in use and those that
    are likelier than their neighbours: Wang (2007), J. R. Statist. Soc. B 69, 185-198.
    """
    n, ends = len(p), np.arange(1, N_TRIANGLES + 1)[:, np.newaxis] / N_TRIANGLES
    densities = np.vstack([np.ones(n), 2 * np.maximum(ends - p, 0) / ends**2])
    weights = np.zeros(len(densities))
    weights[START] = 1 / len(START)
    mixture, target = weights @ densities, np.append(np.full(n, 2.0), 10.0 * n)
    for _ in range(STEP_LIMIT):
        gradient = densities @ (1 / mixture)
        if gradient.max() <= n * (1 + TOLERANCE):
            break
        rises = np.diff(gradient, prepend=-np.inf, append=-np.inf) >= 0
        used = np.flatnonzero((weights > 0) | (rises[:-1] & ~rises[1:] & (gradient > n)))
        # Least squares of the second-order terms; the last row asks for a sum of 1.
        rows = np.vstack([(densities[used] / mixture).T, np.full(len(used), 10.0 * n)])
        move = optimize.nnls(rows, target)[0]
        move = move / move.sum() - weights[used]
        change, step = move @ densities[used] / mixture, 1.0
        gain = change.sum() / 3
        while step * change.min() < -MAX_LOSS or np.log1p(step * change).sum() < step * gain:
            step /= 2
        weights[used] = np.maximum(weights[used] + step * move, 0.0)
        mixture = mixture * (1 + step * change)
    return float(weights[0])


ESTIMATORS: dict[str, Callable[[PValues], Lists]] = {
    "cfdr": cfdr,
    "cfdr_clipped": partial(cfdr, clipped=True),
    "cfdr_by_p": partial(cfdr, order="p"),
    "cfdr_by_p_clipped": partial(cfdr, order="p", clipped=True),
    "rfdr": rfdr,
    "rfdr_by_p": partial(rfdr, order="p"),
    "storey": storey,
    "storey_smoother": storey_smoother,
    "storey_bootstrap": storey_bootstrap,
    "jiang_doerge": jiang_doerge,
    "pounds_cheng": pounds_cheng,
    "langaas": langaas,
}
"""Estimators of the share of compatible predictions; `cfdr` and `rfdr` are as printed."""


# ---------------------------------------------------------------- exact means
class Mixture(NamedTuple):
    """Independent p-values: `n_null` uniform ones and `n_other` with distribution function `cdf`.

    With N(s) the number of p-values at or below s, the i-th smallest is above s where N(s) < i, so

        E min(p(i) / a, 1) = 1/a times the integral of P(N(s) < i) from 0 to a.
    """

    n_null: int
    n_other: int
    cdf: Callable[[Float[np.ndarray, "..."]], Float[np.ndarray, "..."]]

    @property
    def n(self) -> int:
        """Number of p-values."""
        return self.n_null + self.n_other

    def counts(self, places: Float[np.ndarray, " place"]) -> Float[np.ndarray, "place count"]:
        """P(N(s) = 0, 1, ..., n) at each place s, from the characteristic function of N(s)."""
        turn = np.exp(-2j * np.pi * np.arange((self.n + 1) // 2 + 1) / (self.n + 1)) - 1
        null = (1 + np.multiply.outer(places, turn)) ** self.n_null
        other = (1 + np.multiply.outer(self.cdf(places), turn)) ** self.n_other
        return np.maximum(np.fft.irfft(null * other, n=self.n + 1, axis=-1), 0.0)

    def mean_capped(self, ends: Ranks) -> Ranks:
        """E min(p(i) / end, 1) at each rank, by Gauss-Legendre rules between ends, finer at 0."""
        nodes, weights = np.polynomial.legendre.leggauss(4)
        halves = ends.min() * 0.5 ** np.arange(1, 61)  # the law of p may be steep at 0
        edges = np.unique(np.concatenate([halves, ends.max() * np.linspace(0, 1, 33), ends]))
        widths = np.diff(edges)
        places = edges[:-1, np.newaxis] + np.multiply.outer(widths, (1 + nodes) / 2)
        fewer = np.cumsum(self.counts(places.ravel()), axis=-1)[:, :-1]  # P(N < 1), ..., P(N < n)
        over = np.einsum("ejn,j->en", fewer.reshape(*places.shape, -1), weights / 2)
        so_far = np.cumsum(over * widths[:, np.newaxis], axis=0)
        return np.asarray(so_far[np.searchsorted(edges, ends) - 1, np.arange(self.n)] / ends)

    def means(self) -> dict[str, float]:
        """Expectations of the estimators of the document in the order of p, by name."""
        n, harmonic, later = self.n, harmonic_numbers(self.n), later_ranks(self.n)
        steps = np.arange(1, n + 1) / n  # up to there the rate is below 1
        rates = self.mean_capped(steps)
        return {
            "cfdr_by_p": float((harmonic * rates).mean()),
            "cfdr_by_p_clipped": float(self.mean_capped(steps / harmonic).mean()),
            "rfdr_by_p": float((rates[later - 1].sum() + n - len(later)) / n),
        }

    def storey(self) -> tuple[float, float, float]:
        """Mean and standard deviation of Storey's estimate, and the mass of its likeliest value."""
        estimate = np.minimum((self.n - np.arange(self.n + 1)) / (self.n * (1 - LAMBDA)), 1.0)
        law = self.counts(np.array([LAMBDA]))[0]
        mean = float(law @ estimate)
        return mean, float(np.sqrt(law @ (estimate - mean) ** 2)), float(law.max())
