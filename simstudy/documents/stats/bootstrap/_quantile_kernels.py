"""Compiled loops of the exact bootstrap of a sample quantile; imported late, by what needs it.

A candidate is (1−g)·x[a] + g·x[b] for ranks a <= b, computed as NumPy's quantile computes it, so
that a tie with the estimate is a tie of the same floating-point numbers. For fixed a the masses
telescope: those of b = a..c sum to `diag[a] + row[a]·(tail[a] − tail[c])`. One walk down the
staircase of candidates below a value therefore gives its distribution function in 2n steps.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.stats.compiled.kernel import kernel

Vector = Float[np.ndarray, " obs"]
Block = Float[np.ndarray, "rep obs"]
PerRep = Float[np.ndarray, " rep"]
PerLevel = Float[np.ndarray, "rep level"]


@kernel
def _lerp(a: float, b: float, g: float) -> float:
    """NumPy's interpolation, rounding and all: from the nearer end."""
    return b - (b - a) * (1.0 - g) if g >= 0.5 else a + (b - a) * g


@kernel
def _walk(
    x: Vector, g: float, diag: Vector, row: Vector, tail: Vector, value: float
) -> tuple[float, float, float]:
    """Mass at or below `value`, the largest candidate there, and the least one above."""
    # Candidates grow with both ranks, so the last b at or below `value` falls as a rises: the walk
    # goes down a staircase, and no pair is looked at twice. Mass is added from the lowest rank up.
    n_obs = x.size
    mass, below, above = 0.0, -np.inf, np.inf
    b = n_obs - 1
    for a in range(n_obs):
        while b > a and _lerp(x[a], x[b], g) > value:
            above = min(above, _lerp(x[a], x[b], g))
            b -= 1
        b = max(b, a)
        if x[b] > value and b == a:
            above = min(above, x[a])
            break
        below = max(below, _lerp(x[a], x[b], g))
        mass += diag[a] + row[a] * (tail[a] - tail[b])
    return mass, below, above


@kernel
def _quantile(
    x: Vector,
    g: float,
    diag: Vector,
    row: Vector,
    tail: Vector,
    first: int,
    last: int,
    level: float,
) -> float:
    """Smallest candidate with at least `level` of the mass at or below it.

    `x[first]` and `x[last]` bracket it: the quantiles at that level of the lower and of the
    upper order statistic alone.
    """
    low, high = x[first], x[last]
    if low == high or _walk(x, g, diag, row, tail, low)[0] >= level:
        return low
    while True:
        # Halves before the sum, which could overflow. Bisection over values, whose upper end moves
        # from candidate to candidate: so it ends at one, exactly.
        middle = 0.5 * low + 0.5 * high
        if not low < middle < high:
            return high
        mass, below, above = _walk(x, g, diag, row, tail, middle)
        if mass >= level:
            if below <= low:
                return high
            high = below
        elif above >= high:
            return high
        else:
            low = middle


@kernel
def quantiles(
    x: Block,
    g: float,
    diag: Vector,
    row: Vector,
    tail: Vector,
    cdf_lower: Vector,
    cdf_upper: Vector,
    levels: PerLevel,
) -> PerLevel:
    """Quantiles of each row's bootstrap distribution at that row's own levels: (rep, level)."""
    n_rep, n_obs = x.shape
    out = np.empty((n_rep, levels.shape[1]))
    for rep in range(n_rep):
        for i in range(levels.shape[1]):
            level = levels[rep, i]
            if level >= 1.0:  # the sums below reach 1 early, by rounding
                out[rep, i] = x[rep, n_obs - 1]
                continue
            # The two order statistics alone have quantiles on either side of their mixture's.
            first = min(np.searchsorted(cdf_lower, level), n_obs - 1)
            last = min(np.searchsorted(cdf_upper, level), n_obs - 1)
            out[rep, i] = _quantile(x[rep], g, diag, row, tail, first, last, level)
    return out


@kernel
def masses(
    x: Block, g: float, diag: Vector, row: Vector, tail: Vector, at: PerRep
) -> tuple[PerRep, PerRep]:
    """Mass of each row's bootstrap distribution strictly below and at `at`: (rep,) each.

    A second walk of the same staircase with >= in place of >; both in the order of `a`, so that
    rounding is the same in the two sums.
    """
    n_rep, n_obs = x.shape
    below, weak = np.zeros(n_rep), np.zeros(n_rep)
    for rep in range(n_rep):
        weak[rep] = _walk(x[rep], g, diag, row, tail, at[rep])[0]
        b = n_obs - 1
        for a in range(n_obs):
            while b > a and _lerp(x[rep, a], x[rep, b], g) >= at[rep]:
                b -= 1
            b = max(b, a)
            if b == a and x[rep, a] >= at[rep]:
                break
            below[rep] += diag[a] + row[a] * (tail[a] - tail[b])
    return below, weak


@kernel
def moments(
    x: Block, g: float, diag: Vector, row: Vector, tail: Vector, center: PerRep
) -> tuple[PerRep, PerRep]:
    """Mean and standard deviation of each row's bootstrap distribution: (rep,) each.

    Around `center`, so that a large common offset of the scores costs no digits. The walk goes
    from the last rank down, keeping the sums over b > a that each a needs.
    """
    n_rep, n_obs = x.shape
    mean, std = np.empty(n_rep), np.empty(n_rep)
    for rep in range(n_rep):
        first, second = 0.0, 0.0
        # Sums over b > a of P(a, b)/row[a] times the powers 0, 1 and 2 of the deviation.
        ahead0, ahead1, ahead2 = 0.0, 0.0, 0.0
        for a in range(n_obs - 1, -1, -1):
            d = x[rep, a] - center[rep]
            near = (1.0 - g) * d
            first += diag[a] * d + row[a] * (near * ahead0 + g * ahead1)
            second += diag[a] * d * d + row[a] * (
                near * near * ahead0 + 2.0 * near * g * ahead1 + g * g * ahead2
            )
            step = tail[a - 1] - tail[a] if a > 0 else 0.0
            ahead0 += step
            ahead1 += step * d
            ahead2 += step * d * d
        mean[rep] = center[rep] + first
        std[rep] = np.sqrt(max(second - first * first, 0.0))
    return mean, std
