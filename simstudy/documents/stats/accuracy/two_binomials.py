"""Right or wrong, on different prompts: tests of two binomial counts with one unknown probability.

The reference has x successes of n, the check y of m. Each test has a p-value for "the check is
worse" that rises with y, so at a level it is a list of critical counts: the largest y that fails,
for each x. Everything about the test follows from the list by sums over binomial laws.

============  =====================================================================
test          p-value
============  =====================================================================
z_pooled      Φ of the difference of shares over its standard error, both pooled
fisher        P(Y ≤ y) given x + y: hypergeometric
fisher_mid_p  the same less half of P(Y = y)
boschloo      largest P(a Fisher p-value as small) over the common probability
barnard       largest P(a pooled z as small) over the common probability
============  =====================================================================

The last two and Fisher's never exceed their level; the others may. A test fails at p ≤ α.

References
----------
Fisher (1935), J. R. Stat. Soc. 98, 39-82; Lancaster (1961), J. Am. Stat. Assoc. 56, 223-234: mid-p;
Barnard (1947), Biometrika 34, 123-138; Suissa & Shuster (1985), J. R. Stat. Soc. A 148, 317-327,
who order by z; Boschloo (1970), Stat. Neerl. 24, 1-9.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Bool, Float, Int
from simstudy.documents.stats.accuracy.checks import (
    check_counts_within,
    check_critical,
    check_probability,
    check_sizes,
)
from simstudy.documents.stats.accuracy.design import fails, threshold
from simstudy.documents.stats.accuracy.t_tests import one_sided
from simstudy.documents.stats.accuracy.tails import (
    binomial_masses,
    difference_of_products,
    hypergeometric_tail,
    over_root,
    roundings,
)
from simstudy.documents.stats.arguments import (
    Numbers,
    check_choice,
    check_count,
    check_proportion,
    plain,
)
from simstudy.documents.stats.classifier.trial import upper_tail
from simstudy.documents.stats.integer_search import least_count
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

TESTS = ("z_pooled", "fisher", "fisher_mid_p", "boschloo", "barnard")
ORDERED_BY = {"boschloo": "fisher", "barnard": "z_pooled"}
"""Unconditional tests, and the test by whose p-values they order results."""
TRIAL_LIMIT = 10_000
"""Of an unconditional test, reference and check together."""
FEW_RESULTS = 4096  # limit of ordering one by one

Real = Float[np.ndarray, "..."]
Count = Int[np.ndarray, "..."]
Critical = Int[np.ndarray, " reference"]
Points = Float[np.ndarray, " point"]


# ---------------------------------------------------------------- p-values
@reading
def p_values(
    test: str,
    successes_reference: ArrayLike,
    successes_check: ArrayLike,
    n: ArrayLike,
    n_check: ArrayLike,
) -> Any:
    """One-sided p-values for "the check is worse".

    Parameters
    ----------
    test
        One of `TESTS`.
    successes_reference, successes_check
        Counts, within 0 to n and to n_check.
    n, n_check
        Trials of each, at least 1; for "boschloo" and "barnard" at most `TRIAL_LIMIT` together.

    Returns
    -------
    Any
        If all trials of both have succeeded, or none, no test sees a difference: z is 0, so p
        is 1/2. Where the unpooled z has no standard error and the shares differ, z is infinite.
        Suprema are rates that are reached, and underestimated by at most a relative 1e-9 (above
        one half 1e-5).
    """
    check_choice("test", test, TESTS)
    check_sizes(n, n_check)
    check_counts_within("successes_reference", successes_reference, n)
    check_counts_within("successes_check", successes_check, n_check)
    counts = np.broadcast_arrays(successes_reference, successes_check, n, n_check)
    x, y, n, m = (np.asarray(count, np.int64) for count in counts)
    return plain(_unconditional(test, x, y, n, m) if test in ORDERED_BY else _P[test](x, y, n, m))


def _z_pooled(x: Count, y: Count, n: Count, m: Count) -> Real:
    """Pooled z in whole numbers as far as doubles hold them, so that equal z are equal floats."""
    counts = (x + y, n + m - x - y, n, m)
    successes, failures, first, second = (np.asarray(count, np.float64) for count in counts)
    squared = successes * failures * (first * second / (first + second))
    return np.asarray(special.ndtr(over_root(difference_of_products(y, n, x, m), squared)))


def _fisher(x: Count, y: Count, n: Count, m: Count) -> Real:
    tail = hypergeometric_tail(y, x + y, n, m)
    return np.asarray(np.minimum(tail.below + tail.at, 1.0))


def _fisher_mid_p(x: Count, y: Count, n: Count, m: Count) -> Real:
    tail = hypergeometric_tail(y, x + y, n, m)
    return np.asarray(tail.below + tail.at / 2)


_P: dict[str, Callable[[Count, Count, Count, Count], Real]] = {
    "z_pooled": _z_pooled,
    "fisher": _fisher,
    "fisher_mid_p": _fisher_mid_p,
}


def _unconditional(test: str, x: Count, y: Count, n: Count, m: Count) -> Real:
    """Unconditional p-values, computed once for each distinct result."""
    results = np.stack([np.ravel(count) for count in (x, y, n, m)], axis=1)
    distinct, where = np.unique(results, axis=0, return_inverse=True)
    found = [_p_unconditional(test, *map(int, result)) for result in distinct]
    return np.asarray(found, float)[where.reshape(x.shape)]


def _p_unconditional(test: str, x: int, y: int, n: int, m: int) -> float:
    _refuse_too_many(test, n, m)
    order = _P[ORDERED_BY[test]]
    limit = float(order(*(np.asarray(count) for count in (x, y, n, m))))
    return largest_rate(_counts_up_to(order, limit, n, m), m)


def _refuse_too_many(test: str, n: int, m: int) -> None:
    if n + m > TRIAL_LIMIT:
        raise DesignError(
            f"{n} and {m} trials are too many for {test!r}, which holds whole regions of "
            f"results against all probabilities: beyond {TRIAL_LIMIT} trials it takes long. Use "
            "'fisher_mid_p' or 'z_pooled', which hardly differ from it there."
        )


# ---------------------------------------------------------------- critical counts
@reading
def critical_counts(test: str, n: int, n_check: int, alpha: float) -> Critical:
    """The largest count of the check that fails, for each count of the reference.

    Parameters
    ----------
    test
        One of `TESTS`.
    n, n_check
        Trials of each, at least 1; for "boschloo" and "barnard" at most `TRIAL_LIMIT` together.
    alpha
        Level, in (0, 1): results with p ≤ alpha fail, roundings aside.

    Returns
    -------
    Critical
        Array of length n + 1, never falling; -1 where no count fails.
    """
    check_choice("test", test, TESTS)
    _check_one_design(n, n_check, alpha)
    if test not in ORDERED_BY:
        return _counts_up_to(_P[test], alpha, n, n_check)
    _refuse_too_many(test, n, n_check)
    return _unconditional_counts(_P[ORDERED_BY[test]], n, n_check, alpha)


def _check_one_design(n: int, n_check: int, alpha: float) -> None:
    check_sizes(n, n_check)
    check_proportion("alpha", alpha, "a test of that level")


def _counts_up_to(
    p_value: Callable[[Count, Count, Count, Count], Real], limit: float, n: int, m: int
) -> Critical:
    """Counts whose p-values, rising with the count, are at most `limit` or tie with it."""
    allowed = limit * (1 + roundings(n + m))
    return _largest_failing(
        n, m, lambda x, y: p_value(x, y, np.asarray(n), np.asarray(m)) <= allowed
    )


def _largest_failing(
    n: int, m: int, failing: Callable[[Count, Count], Bool[np.ndarray, "..."]]
) -> Critical:
    """Largest failing count, by bisection for all counts of the reference at once."""
    x = np.arange(n + 1)

    def passing(y: Count) -> Bool[np.ndarray, "..."]:
        return np.asarray(~failing(x, y))

    return least_count(passing, np.zeros_like(x), np.full_like(x, m + 1)) - 1


def _unconditional_counts(
    order: Callable[[Count, Count, Count, Count], Real], n: int, m: int, alpha: float
) -> Critical:
    """The largest of the regions that the order makes whose size is at most alpha."""

    def region(limit: float) -> Critical:
        return _counts_up_to(order, limit, n, m)

    def holds_level(limit: float) -> bool:
        allowed = alpha * (1 + roundings(n + m))
        return largest_rate(region(limit), m, enough=allowed) <= allowed

    low, high = _bracket(region, holds_level)
    inside, outside = region(low) if low > 0 else np.full(n + 1, -1), region(high)
    limits = _distinct(order(*_between(inside, outside), np.asarray(n), np.asarray(m)), n + m)
    first_too_large = _first(lambda i: not holds_level(limits[i]), limits.size)
    return region(limits[first_too_large - 1]) if first_too_large else inside


def _bracket(
    region: Callable[[float], Critical], holds_level: Callable[[float], bool]
) -> tuple[float, float]:
    """Limits of regions that hold the level (0: none at all) and do not, with few results between.

    Halved some fifty times at most: what is still between then is equal.
    """
    low, high = 0.0, 1.0
    for _ in range(52):
        n_inside = (region(low) + 1).sum() if low > 0 else 0
        if (region(high) + 1).sum() - n_inside <= FEW_RESULTS:
            break
        middle = (low + high) / 2
        low, high = (middle, high) if holds_level(middle) else (low, middle)
    return low, high


def _between(inside: Critical, outside: Critical) -> tuple[Count, Count]:
    """Results, counts of reference and check, that are in one region alone."""
    extra = outside - inside
    x = np.repeat(np.arange(inside.size), extra)
    place = np.arange(x.size) - np.repeat(np.cumsum(extra) - extra, extra)
    return x, inside[x] + 1 + place


def _distinct(values: Float[np.ndarray, " result"], n_trials: int) -> Float[np.ndarray, " limit"]:
    """Distinct values in order: the largest of those that tie."""
    ordered = np.sort(values)
    apart = np.diff(ordered) > roundings(n_trials) * ordered[1:]
    return ordered[np.append(apart, True)] if ordered.size else ordered


def _first(holds: Callable[[int], bool], n: int) -> int:
    """The least i below n where it holds, and from there on; n where nowhere."""
    found = least_count(lambda i: np.array([holds(int(i[0]))]), np.asarray(0), np.asarray(n))
    return int(found)


@reading
def known_sigma_critical_counts(
    n: int, n_check: int, alpha: float, sigma: float, *, strictly: bool = False
) -> Critical:
    """List `critical_counts` of the z test with a known standard deviation of one score.

    Parameters
    ----------
    n, n_check
        Trials of the reference and of the check, at least 1.
    alpha
        Level of the test, in (0, 1).
    sigma
        On the scale of 0 and 1: at most 0.5 in truth, whatever the share.
    strictly
        A check at the threshold passes; see `design.fails`.

    Returns
    -------
    Critical
        For each count 0 to n of the reference the largest of the check that fails; -1 for none.
    """
    _check_one_design(n, n_check, alpha)
    gamma = threshold(np.arange(n + 1) / n, alpha, sigma, n, n_check)
    return _largest_failing(n, n_check, lambda _, y: fails(y / n_check, gamma, strictly=strictly))


@reading
def t_critical_counts(n: int, n_check: int, alpha: float, *, pooled: bool = False) -> Critical:
    """List `critical_counts` of the t test that takes 0 and 1 for measurements.

    Parameters
    ----------
    n, n_check
        Trials of each, at least 2.
    alpha
        Level of the test, in (0, 1).
    pooled
        Student's test with one variance; else Welch's.

    Returns
    -------
    Critical
        Two constant samples have no standard error: all right against all wrong, t is
        infinite and the check fails; where they are equal t is 0 and it passes unless
        alpha >= 1/2. One constant sample next to one that is not has the other's standard error,
        and with Welch the other's degrees of freedom.
    """
    check_sizes(n, n_check, least=2)
    check_proportion("alpha", alpha, "a test of that level")
    return _largest_failing(n, n_check, lambda x, y: _t_p_value(x, y, n, n_check, pooled) <= alpha)


def _t_p_value(x: Count, y: Count, n: int, m: int, pooled: bool) -> Real:
    """P-value of the t test on 0 and 1: sums of squares about the mean are x(n − x)/n."""
    first, second = x * (n - x) / n / (n - 1), y * (m - y) / m / (m - 1)
    return one_sided((y * n - x * m) / (n * m), first, second, n, m, pooled=pooled)


# ---------------------------------------------------------------- what a list of counts does
@reading
def rejection_probability(
    critical: Critical, n: int, n_check: int, p_reference: Numbers, p_check: Numbers
) -> Any:
    """Compute the probability that the check fails, over draws of both.

    Parameters
    ----------
    critical
        For each count 0 to n of the reference the largest of the check that fails; -1 for none.
    n, n_check
        Trials of the reference and of the check, at least 1.
    p_reference, p_check
        Success probabilities, in [0, 1].

    Returns
    -------
    Any
        Sums over all results, right but for roundings.
    """
    check_sizes(n, n_check)
    check_critical(critical, n + 1, -1, n_check)
    check_probability("p_reference", p_reference)
    check_probability("p_check", p_check)
    first, second = np.broadcast_arrays(np.asarray(p_reference, float), np.asarray(p_check, float))
    rates = _rejection_rates(np.asarray(critical), n_check, first.ravel(), second.ravel())
    return plain(rates.reshape(first.shape))


@reading
def rejection_probability_given(
    critical: Critical, count_reference: ArrayLike, n_check: int, p_check: Numbers
) -> Any:
    """Compute the probability that the check fails, given the reference's count.

    Parameters
    ----------
    critical
        For each count 0 to n of the reference the largest of the check that fails; -1 for none.
    count_reference
        The reference's successes, 0 to n.
    n_check
        Trials of the reference and of the check, at least 1.
    p_check
        Success probability of the check, in [0, 1].

    Returns
    -------
    float or array
        A probability.
    """
    check_count("n_check", n_check, least=1, meaning="the check's mean")
    check_critical(critical, np.size(critical), -1, n_check)
    check_counts_within("count_reference", count_reference, np.size(critical) - 1)
    check_probability("p_check", p_check)
    failing = np.asarray(critical)[np.asarray(count_reference)]
    return upper_tail(n_check - failing, n_check, 1 - np.asarray(p_check))


@reading
def size(critical: Critical, n: int, n_check: int) -> float:
    """Compute the largest rejection probability where both have the same success probability.

    Reached, and underestimated by at most a relative 1e-9 (above one half 1e-5).

    Parameters
    ----------
    critical
        For each count 0 to n of the reference the largest of the check that fails; -1 for none.
    n, n_check
        Trials of the reference and of the check, at least 1.

    Returns
    -------
    float
        A probability.
    """
    check_sizes(n, n_check)
    check_critical(critical, n + 1, -1, n_check)
    return largest_rate(np.asarray(critical), n_check)


# ---------------------------------------------------------------- the size: a supremum
# With N trials in all, s of them successes, a test fails with some conditional probability g_s ≥ 0,
# so its rate is the sum of g_s·b(s), with b(s) the binomial masses. In θ, p = sin²θ,
#
#     −b''/b = 4·N − 4·D²/(p·q) + 2·D·(1 − 2·p)/(p·q),    D = s − N·p,    q = 1 − p,
#
# and that is at most 5·N. For p ≤ 1/2: while N·p ≤ 1/2 the last two terms add up to 0 or less for
# every whole s, and beyond they are at most (1 − 2·p)²/(4·p·q) < N, whatever D. Hence f'' ≥ −5·N·f,
# and between two angles h apart the rate is at most
#
#     the larger of both rates / (1 − 5·N·h²/8).
#
# Intervals in which that is above the best rate found are halved until there are none.
PRECISION, ABOVE_HALF = 1e-9, 1e-5
"""By how much of itself a supremum may be underestimated: up to one half, and where it is above.

Regions that are almost everything have rates that are 1 almost everywhere, and nothing depends on
which of them is the largest.
"""
CELLS = 2**20  # probabilities held at once: 8 MB an array


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


def _rejection_rates(
    critical: Critical, n_check: int, p_reference: Points, p_check: Points
) -> Points:
    """Probability that the check fails, by exact sums, for each pair of success probabilities."""
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
    return _rejection_rates(critical, n_check, p, p)


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
