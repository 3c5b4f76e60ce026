"""Exact means of estimated proportions, for independent p-values in the order of their size.

With N(s) the number of p-values at or below s, the i-th smallest is above s where N(s) < i, so

    E min(p(i) / a, 1) = 1/a times the integral of P(N(s) < i) from 0 to a,

and N(s) is the sum of two binomials: of the compatible predictions, whose p-values are uniform,
and of the others.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.compatible.false_discovery import (
    PRINTED_RATIO,
    harmonic_numbers,
    later_ranks,
)
from simstudy.documents.stats.reading import reading

NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
EVENLY = np.linspace(0, 1, 33)  # further edges, for a few p-values
N_HALVINGS = 60  # first interval: distributions of p may be steep at 0
Ranks = Float[np.ndarray, " n"]
CountLaw = Float[np.ndarray, "place count"]


class Mixture(NamedTuple):
    """Independent p-values, some uniform and the others with a distribution of their own.

    Attributes
    ----------
    n_null
        Uniform p-values.
    n_other
        Other p-values.
    cdf
        Distribution function of the others, elementwise.
    """

    n_null: int
    n_other: int
    cdf: Callable[[Float[np.ndarray, "..."]], Float[np.ndarray, "..."]]

    @property
    def n(self) -> int:
        """Number of p-values."""
        return self.n_null + self.n_other

    def counts(self, places: Float[np.ndarray, " place"]) -> CountLaw:
        """Compute probabilities of 0, 1, ..., n p-values at or below each place.

        From the characteristic function, by a Fourier transform as long as there are counts. Errors
        are below 1e-14.

        Parameters
        ----------
        places : float array (places,)
            Places in [0, 1].

        Returns
        -------
        CountLaw
            A row of probabilities for each place.
        """
        n = self.n
        turn = np.exp(-2j * np.pi * np.arange(n // 2 + 1 + n % 2) / (n + 1)) - 1
        null, other = (
            (1 + np.multiply.outer(share, turn)) ** count
            for share, count in ((places, self.n_null), (self.cdf(places), self.n_other))
        )
        return np.maximum(np.fft.irfft(null * other, n=n + 1, axis=-1), 0.0)


class Moments(NamedTuple):
    """Moments of an estimate, and how often it has its most frequent value.

    Attributes
    ----------
    mean
        Expectation.
    sd
        Standard deviation.
    most_frequent
        Probability of the most frequent value.
    """

    mean: float
    sd: float
    most_frequent: float


@reading
def mean_cfdr_proportion(mixture: Mixture, *, clipped: bool = False) -> float:
    """Compute the expectation of `cfdr_proportion` in the order of p.

    Parameters
    ----------
    mixture
        Law of the p-values.
    clipped
        Whether values above 1 are taken for 1.

    Returns
    -------
    float
        The expectation.
    """
    harmonic = harmonic_numbers(mixture.n)
    if clipped:
        return float(_mean_capped(mixture, _steps(mixture) / harmonic).mean())
    return float((harmonic * _mean_capped(mixture, _steps(mixture))).mean())


@reading
def mean_rfdr_proportion(mixture: Mixture, *, ratio: float = PRINTED_RATIO) -> float:
    """Compute the expectation of `rfdr_proportion` in the order of p.

    Parameters
    ----------
    mixture
        Law of the p-values.
    ratio
        At least 1: as printed, or 1 / (1 - 1/e).

    Returns
    -------
    float
        The expectation.
    """
    later = later_ranks(mixture.n, ratio)
    rates = _mean_capped(mixture, _steps(mixture))
    there = later <= mixture.n
    return float((rates[later[there] - 1].sum() + (~there).sum()) / mixture.n)


@reading
def storey_moments(mixture: Mixture, lam: float = 0.5) -> Moments:
    """Compute moments of Storey's estimate, clipped at 1: a function of one count.

    Parameters
    ----------
    mixture
        Law of the p-values.
    lam
        The threshold λ, in (0, 1).

    Returns
    -------
    Moments
        The moments.
    """
    above = mixture.n - np.arange(mixture.n + 1)
    estimate = np.minimum(above / (mixture.n * (1 - lam)), 1.0)
    law = mixture.counts(np.array([lam]))[0]
    mean = float(law @ estimate)
    sd = float(np.sqrt(law @ (estimate - mean) ** 2))
    return Moments(mean, sd, float(law.max()))


def _steps(mixture: Mixture) -> Ranks:
    """Bounds i / n by rank: up to there the NFDR is below 1."""
    return np.arange(1, mixture.n + 1) / mixture.n


def _mean_capped(mixture: Mixture, ends: Ranks) -> Ranks:
    """E min(p(i) / end, 1) at each rank."""
    first = ends.min() * 0.5 ** np.arange(1, N_HALVINGS + 1)
    edges = np.unique(np.concatenate([[0.0], first, EVENLY * ends.max(), ends]))
    widths = np.diff(edges)
    places = edges[:-1, np.newaxis] + np.multiply.outer(widths, (1 + NODES) / 2)
    fewer = np.cumsum(mixture.counts(places.ravel()), axis=-1)[:, :-1]  # P(N < 1), ..., P(N < n)
    over = np.einsum("ejn,j->en", fewer.reshape(*places.shape, -1), WEIGHTS / 2)
    so_far = np.cumsum(over * widths[:, np.newaxis], axis=0)
    rank = np.arange(mixture.n)
    return np.asarray(so_far[np.searchsorted(edges, ends) - 1, rank] / ends)
