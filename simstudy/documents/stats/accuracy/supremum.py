"""The size of a test with an unknown common success probability: its largest rejection rate.

With N trials in all, s of them successes, a test fails with some conditional probability g_s ≥ 0,
so its rate is the sum of g_s·b(s), with b(s) the binomial masses. In θ, p = sin²θ,

    −b''/b = 4·N − 4·D²/(p·q) + 2·D·(1 − 2·p)/(p·q),    D = s − N·p,    q = 1 − p,

and that is at most 5·N. For p ≤ 1/2: while N·p ≤ 1/2 the last two terms add up to 0 or less for
every whole s, and beyond they are at most (1 − 2·p)²/(4·p·q) < N, whatever D. Hence f'' ≥ −5·N·f,
and between two angles h apart the rate is at most

    the larger of both rates / (1 − 5·N·h²/8).

Intervals in which that is above the best rate found are halved until there are none.
"""

from typing import NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.accuracy.tails import binomial_masses

PRECISION, ABOVE_HALF = 1e-9, 1e-5
"""By how much of itself a supremum may be underestimated: up to one half, and where it is above.

Regions that are almost everything have rates that are 1 almost everywhere, and nothing depends on
which of them is the largest.
"""
CELLS = 2**20  # probabilities held at once: 8 MB an array

Points = Float[np.ndarray, " point"]
Critical = Int[np.ndarray, " reference"]


class Intervals(NamedTuple):
    """Intervals of angles, with the rates at both ends.

    Attributes
    ----------
    left, right
        Ends of each interval.
    low, high
        Rates at the left and at the right end.
    """

    left: Points
    right: Points
    low: Points
    high: Points


def rejection_rates(
    critical: Critical, n_check: int, p_reference: Points, p_check: Points
) -> Points:
    """Compute the probability that the check has at most as many successes as are critical.

    Exact sums over all results, for each pair of success probabilities.

    Parameters
    ----------
    critical
        For each count 0 to n of the reference the largest of the check that fails; -1 for none.
    n_check
        Trials of the check.
    p_reference, p_check
        Success probabilities, in [0, 1].

    Returns
    -------
    Points
        A probability for each pair.
    """
    n = critical.size - 1
    per_chunk = max(1, CELLS // (n + n_check + 2))
    chunks = [
        _rates(critical, n_check, p_reference[i : i + per_chunk], p_check[i : i + per_chunk])
        for i in range(0, p_check.size, per_chunk)
    ]
    return np.concatenate(chunks) if chunks else np.empty(0)


def _rates(critical: Critical, n_check: int, p_reference: Points, p_check: Points) -> Points:
    failing = np.cumsum(binomial_masses(n_check, p_check), axis=1)[:, np.maximum(critical, 0)]
    failing = np.where(critical >= 0, failing, 0.0)
    masses = binomial_masses(critical.size - 1, p_reference)
    return np.asarray(np.minimum((masses * failing).sum(axis=1), 1.0))


def largest_rate(critical: Critical, n_check: int, *, enough: float | None = None) -> float:
    """Supremum of the rejection probability over a common p.

    Parameters
    ----------
    critical
        For each count of the reference the largest of the check that fails; -1 for none.
    n_check
        Trials of the check.
    enough
        Only whether the supremum is above this is asked: an answer above it is some rate above
        it, any other says that no rate is.

    Returns
    -------
    float
        A rate that is reached; no other exceeds it by more than `PRECISION` of it (above one half
        `ABOVE_HALF`).
    """
    if critical.max() < 0:
        return 0.0
    n_trials = critical.size - 1 + n_check
    theta = np.linspace(0, np.pi / 2, 2 + 4 * int(np.sqrt(n_trials)))
    rate = _rates_at(critical, n_check, theta)
    intervals = Intervals(theta[:-1], theta[1:], rate[:-1], rate[1:])
    best = float(rate.max())
    while enough is None or best <= enough:
        precision = PRECISION if best <= 0.5 else ABOVE_HALF
        is_open = _upper_bound(intervals, n_trials) > max(best * (1 + precision), enough or 0.0)
        if not is_open.any():
            break
        intervals, rate = _halved(critical, n_check, intervals, is_open)
        best = max(best, float(rate.max()))
    return best


def _rates_at(critical: Critical, n_check: int, theta: Points) -> Points:
    p = np.sin(theta) ** 2
    return rejection_rates(critical, n_check, p, p)


def _upper_bound(intervals: Intervals, n_trials: int) -> Points:
    """Upper bound of the rate between two angles; see the module."""
    apart = intervals.right - intervals.left
    largest = np.maximum(intervals.low, intervals.high)
    return np.asarray(largest / (1 - 5 * n_trials * apart**2 / 8))


def _halved(
    critical: Critical, n_check: int, intervals: Intervals, is_open: Bool[np.ndarray, " point"]
) -> tuple[Intervals, Float[np.ndarray, " middle"]]:
    """Both halves of the open intervals, and the rates at what divides them."""
    left, right, low, high = (values[is_open] for values in intervals)
    middle = (left + right) / 2
    rate = _rates_at(critical, n_check, middle)
    ends = ((left, middle), (middle, right), (low, rate), (rate, high))
    return Intervals(*map(np.concatenate, ends)), rate
