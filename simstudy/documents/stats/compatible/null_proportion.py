"""The proportion of predictions that are compatible with their predictive distributions.

Each estimator takes p-values (..., n) and gives one proportion for each list of n: NaN for a list
with NaN in it. Those of the paper are means of corrected false discovery rates; the others are the
standard ones of multiple testing, which rest on p-values of compatible predictions being uniform
and on those of others being rare where p is large.
"""

import functools
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.accuracy.checks import check_probability
from simstudy.documents.stats.arguments import check_choice, check_count, check_proportion
from simstudy.documents.stats.compatible.false_discovery import (
    ORDERS,
    PRINTED_RATIO,
    checked,
    harmonic_numbers,
    later_ranks,
)
from simstudy.documents.stats.reading import reading

PValues = Float[np.ndarray, "... n"]
Shares = Float[np.ndarray, "..."]
Grid = Float[np.ndarray, " threshold"]

LAMBDAS = np.arange(1, 20) / 20  # 0.05, 0.10, ..., 0.95: those of Storey & Tibshirani's package
SPLINE_DF = 3.0
# How close the mean log likelihood comes to its maximum. The log likelihood of n values is then
# within 1e-6 n of it, and an estimate so far from the maximum is off by √(2e-6 n) of its standard
# error: 2% for 168 values, at most.
TOLERANCE = 1e-6


# ---------------------------------------------------------------- of the paper
@reading
def cfdr_proportion(p: PValues, *, order: str = "nfdr", clipped: bool = False) -> Shares:
    """Estimate the share of compatible predictions by the mean of the CFDRs.

    It is above 1, as printed, whenever most predictions are compatible.

    Parameters
    ----------
    p
        p-values in [0, 1], one list along the last axis; NaN gives NaN.
    order
        Ranked values: `nfdr` as in the paper, ties by p, or `p`.
    clipped
        Whether values above 1 are taken for 1.

    Returns
    -------
    Shares
        An estimate for each list.

    References
    ----------
    Bickel (2019), hal-02334579, equation 4.
    """
    from simstudy.documents.stats.compatible import _kernels as kernels

    check_choice("order", order, ORDERS)
    p = checked(p)
    harmonic = harmonic_numbers(p.shape[-1])
    return _of_ascending(p, kernels.corrected_means, order == "nfdr", clipped, harmonic)


@reading
def rfdr_proportion(p: PValues, *, order: str = "nfdr", ratio: float = PRINTED_RATIO) -> Shares:
    """Estimate the share of compatible predictions by the mean of the RFDRs.

    It is never below the share of ranks without a later one (63 of 168).

    Parameters
    ----------
    p
        p-values in [0, 1], one list along the last axis; NaN gives NaN.
    order
        Ranked values: `nfdr` as in the paper, ties by p, or `p`.
    ratio
        At least 1: as printed, or 1 / (1 - 1/e).

    Returns
    -------
    Shares
        An estimate for each list.

    References
    ----------
    Bickel (2019), hal-02334579, equation 5.
    """
    from simstudy.documents.stats.compatible import _kernels as kernels

    check_choice("order", order, ORDERS)
    p = checked(p)
    later = later_ranks(p.shape[-1], ratio)
    return _of_ascending(p, kernels.reranked_means, order == "nfdr", later)


def _of_ascending(p: PValues, kernel: Callable[..., None], *settings: Any) -> Shares:
    """Apply a kernel to each list, in ascending order with NaN at the end."""
    p = np.sort(p, axis=-1)
    rows = p.reshape(-1, p.shape[-1])
    found = np.empty(len(rows))
    kernel(rows, *settings, found)
    return found.reshape(p.shape[:-1])


# ---------------------------------------------------------------- beyond a threshold
@reading
def storey(p: PValues, lam: float = 0.5) -> Shares:
    """Divide the p-values above a threshold by what uniform ones would give, n (1 - λ); at most 1.

    Parameters
    ----------
    p
        p-values in [0, 1], one list along the last axis; NaN gives NaN.
    lam
        The threshold λ, in (0, 1).

    Returns
    -------
    Shares
        An estimate for each list.

    References
    ----------
    Schweder & Spjøtvoll (1982), Biometrika 69, 493-502; Storey (2002), J. R. Statist. Soc. B 64,
    479-498, equation 6.
    """
    check_proportion("lam", lam, "a share of p-values beyond it")
    p = checked(p)
    share = np.count_nonzero(p > lam, axis=-1) / p.shape[-1]
    return np.where(_incomplete(p), np.nan, np.minimum(share / (1 - lam), 1.0))


@reading
def storey_smoother(p: PValues) -> Shares:
    """Smooth Storey's estimate for 19 thresholds by a natural cubic spline, at the last one.

    The spline has 3 degrees of freedom and is linear in the estimates: one weight for each
    threshold. Kept within [0, 1].

    Parameters
    ----------
    p
        p-values in [0, 1], one list along the last axis; NaN gives NaN.

    Returns
    -------
    Shares
        An estimate for each list.

    References
    ----------
    Storey & Tibshirani (2003), Proc. Natl. Acad. Sci. 100, 9440-9445, remark B.
    """
    return np.asarray(np.clip(_by_threshold(p, LAMBDAS) @ _smoother_weights(), 0.0, 1.0))


@reading
def storey_bootstrap(p: PValues, *, reference: float = 0.0) -> Shares:
    """Compute Storey's estimate at the threshold of least bootstrap mean squared error; at most 1.

    Infinitely many resamples: the count above a threshold is then binomial. The first of several
    least ones is taken.

    Parameters
    ----------
    p
        p-values.
    reference
        Quantile of the estimates that the error is about: the least, as published, or 0.1 as in the
        authors' package qvalue since version 2.

    Returns
    -------
    Shares
        An estimate for each list.

    References
    ----------
    Storey, Taylor & Siegmund (2004), J. R. Statist. Soc. B 66, 187-205, section 6.
    """
    check_probability("reference", reference)
    p = checked(p)
    n, found = p.shape[-1], _by_threshold(p, LAMBDAS)
    share = found * (1 - LAMBDAS)  # number of p-values above
    variance = share * (1 - share) / (n * (1 - LAMBDAS) ** 2)
    low = np.quantile(found, reference, axis=-1) if reference else found.min(axis=-1)
    center = low[..., np.newaxis]
    at = np.argmin(variance + (found - center) ** 2, axis=-1)[..., np.newaxis]
    return np.asarray(np.minimum(np.take_along_axis(found, at, axis=-1)[..., 0], 1.0))


def _by_threshold(p: PValues, thresholds: Grid) -> Float[np.ndarray, "... threshold"]:
    """Storey's estimate for each threshold, not clipped."""
    p = checked(p)
    share = _counts(p, thresholds, or_equal=False) / p.shape[-1]
    return np.where(_incomplete(p)[..., np.newaxis], np.nan, share / (1 - thresholds))


def _counts(p: PValues, thresholds: Grid, *, or_equal: bool) -> Int[np.ndarray, "... threshold"]:
    from simstudy.documents.stats.compatible import _kernels as kernels

    rows = np.sort(p, axis=-1).reshape(-1, p.shape[-1])
    counts = np.empty((len(rows), len(thresholds)), dtype=np.int64)
    kernels.counts_above(rows, thresholds, or_equal, counts)
    return counts.reshape(*p.shape[:-1], len(thresholds))


def _incomplete(p: PValues) -> Bool[np.ndarray, "..."]:
    return np.asarray(np.isnan(p.sum(axis=-1)))


@functools.cache
def _smoother_weights() -> Grid:
    """Weights of the estimates in the last value of a smoothing spline with 3 degrees of freedom.

    The smoother is 1 / (1 + α K) for the matrix K of the integrated squared second derivative of a
    natural cubic spline; α is that for which its trace is 3.

    References
    ----------
    Green & Silverman (1994), Nonparametric Regression and Generalized Linear Models, chapter 2.
    """
    sizes, vectors = np.linalg.eigh(_roughness(LAMBDAS))
    sizes = np.maximum(sizes, 0.0)
    low, high = -40.0, 40.0  # step of log α
    for _ in range(100):
        middle = (low + high) / 2
        too_rough = (1 / (1 + np.exp(middle) * sizes)).sum() > SPLINE_DF
        low, high = (middle, high) if too_rough else (low, middle)
    return np.asarray((vectors[-1] / (1 + np.exp(low) * sizes)) @ vectors.T)


def _roughness(places: Grid) -> Float[np.ndarray, "threshold threshold"]:
    """Quadratic form of the heights that is the integral of the squared second derivative."""
    gaps = np.diff(places)
    slopes = np.diff(np.eye(len(places)), axis=0) / gaps[:, np.newaxis]
    bends = np.diff(slopes, axis=0)
    beside = gaps[1:-1] / 6
    products = np.diag((gaps[:-1] + gaps[1:]) / 3) + np.diag(beside, 1) + np.diag(beside, -1)
    return np.asarray(bends.T @ np.linalg.solve(products, bends))


# ---------------------------------------------------------------- by bins, means, densities
@reading
def jiang_doerge(p: PValues, *, n_bins: int = 20) -> Shares:
    """Average Storey's estimates from just before the first bin that is no fuller than the rest.

    A bin is no fuller where it has no more p-values than the mean of it and of all to its right.
    At most 1. The bins are given: the authors choose among five numbers of them by a bootstrap.

    Parameters
    ----------
    p
        p-values in [0, 1], one list along the last axis; NaN gives NaN.
    n_bins
        Bins of the histogram, at least 2.

    Returns
    -------
    Shares
        An estimate for each list.

    References
    ----------
    Jiang & Doerge (2008), Cancer Inform. 6, 25-32.
    """
    check_count("n_bins", n_bins, least=2, meaning="a histogram with a bin to compare with")
    p = checked(p)
    edges = np.arange(n_bins) / n_bins
    above = _counts(p, edges, or_equal=True)
    inside = above - np.append(above[..., 1:], np.zeros_like(above[..., :1]), axis=-1)
    no_fuller = inside * np.arange(n_bins, 0, -1) <= above  # always so in the last bin
    first = np.maximum(np.argmax(no_fuller, axis=-1) - 1, 0)[..., np.newaxis]
    taken = np.arange(n_bins) >= first
    mean = (above / (p.shape[-1] * (1 - edges)) * taken).sum(axis=-1) / taken.sum(axis=-1)
    return np.where(_incomplete(p), np.nan, np.minimum(mean, 1.0))


@reading
def pounds_cheng(p: PValues) -> Shares:
    """Compute twice the mean p-value, at most 1: 2 E p is 1 for compatible predictions.

    Parameters
    ----------
    p
        p-values in [0, 1], one list along the last axis; NaN gives NaN.

    Returns
    -------
    Shares
        An estimate for each list.

    References
    ----------
    Pounds & Cheng (2006), Bioinformatics 22, 1979-1987.
    """
    return np.asarray(np.minimum(2 * checked(p).mean(axis=-1), 1.0))


@reading
def langaas(p: PValues) -> Shares:
    """Compute the height at 1 of the most likely density that decreases and is convex.

    Such a density is a mixture of the uniform and of triangles that end at θ. θ is one of 0.01,
    0.02, ..., 1, and the weights are found by exchanging mass between the worst and the best of
    them until the mean log likelihood is within 1e-6 of its maximum.

    Parameters
    ----------
    p
        p-values in [0, 1], one list along the last axis; NaN gives NaN.

    Returns
    -------
    Shares
        An estimate for each list.

    References
    ----------
    Langaas, Lindqvist & Ferkingstad (2005), J. R. Statist. Soc. B 67, 555-572; the exchange:
    Böhning (1986), Metrika 33, 337-347.
    """
    from simstudy.documents.stats.compatible import _kernels as kernels

    return _of_ascending(checked(p), kernels.convex_shares, TOLERANCE)


ESTIMATORS: Mapping[str, Callable[[PValues], Shares]] = {
    "cfdr": cfdr_proportion,
    "cfdr_clipped": partial(cfdr_proportion, clipped=True),
    "cfdr_by_p": partial(cfdr_proportion, order="p"),
    "cfdr_by_p_clipped": partial(cfdr_proportion, order="p", clipped=True),
    "rfdr": rfdr_proportion,
    "rfdr_by_p": partial(rfdr_proportion, order="p"),
    "storey": storey,
    "storey_smoother": storey_smoother,
    "storey_bootstrap": storey_bootstrap,
    "jiang_doerge": jiang_doerge,
    "pounds_cheng": pounds_cheng,
    "langaas": langaas,
}
"""What may be asked of p-values alone; `cfdr` and `rfdr` are as printed."""
