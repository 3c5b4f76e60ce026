"""Compiled for blocks of replicates: p-values above thresholds, and a convex density at 1."""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import numpy as np

from simstudy.shapes import Float, Int64
from simstudy.stats.compiled.kernel import kernel

N_GRID = 100  # triangles, by where their base ends: 0.01, 0.02, ..., 1
MOST_STEPS = 2000
MOST_NEWTON = 60


@kernel
def _n_below(thresholds: Float[np.ndarray, " threshold"], value: float, or_equal: bool) -> int:
    """How many ascending thresholds are below a value, or at it."""
    low, high = 0, thresholds.shape[0]
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] < value or (or_equal and thresholds[middle] == value):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def counts_above(
    p: Float[np.ndarray, "rep n"],
    thresholds: Float[np.ndarray, " threshold"],
    or_equal: bool,
    out: Int64[np.ndarray, "rep threshold"],
) -> None:
    """How many p-values of each replicate are above each of ascending thresholds, or at it."""
    last = thresholds.shape[0] - 1
    for rep in range(p.shape[0]):
        out[rep] = 0
        for value in p[rep]:
            below = _n_below(thresholds, value, or_equal)
            if below > 0:
                out[rep, below - 1] += 1
        for k in range(last - 1, -1, -1):
            out[rep, k] += out[rep, k + 1]


# ---------------------------------------------------------------- convex decreasing density
@kernel
def _triangle(place: int, x: float) -> float:
    """Density of the triangle that goes down to 0 at place / 100; place 0 is the uniform."""
    if place == 0:
        return 1.0
    end = place / N_GRID
    return 2.0 * (end - x) / (end * end) if x < end else 0.0


@kernel(error_model="numpy")
def _fill_gradient(
    x: Float[np.ndarray, " n"],
    density: Float[np.ndarray, " n"],
    gradient: Float[np.ndarray, " place"],
) -> None:
    """Sums of each component over the mixture; all are at most n where it is the likeliest one.

    `x` ascends, so one pass over it serves all triangles.
    """
    n, at, weight, moment = x.shape[0], 0, 0.0, 0.0
    for place in range(1, N_GRID + 1):
        end = place / N_GRID
        while at < n and x[at] < end:
            inverse = 1.0 / density[at]
            weight += inverse
            moment += x[at] * inverse
            at += 1
        gradient[place] = 2.0 * (end * weight - moment) / (end * end)
    while at < n:
        weight += 1.0 / density[at]
        at += 1
    gradient[0] = weight


@kernel(error_model="numpy")
def _best_exchange(
    density: Float[np.ndarray, " n"], change: Float[np.ndarray, " n"], most: float
) -> float:
    """How much mass to move, from 0 to `most`, for the largest likelihood: by guarded Newton."""
    low, high, step = 0.0, most, most
    for _ in range(MOST_NEWTON):
        slope, bend = 0.0, 0.0
        for i in range(density.shape[0]):
            here = density[i] + step * change[i]
            share = change[i] / here if here > 0.0 else -np.inf
            slope += share
            bend += share * share
        if slope >= 0.0:
            if step == most:
                return most
            low = step
        else:
            high = step
        proposed = step + slope / bend if bend > 0.0 and np.isfinite(bend) else high
        inside = low < proposed < high
        proposed = proposed if inside else 0.5 * (low + high)
        if abs(proposed - step) <= 1e-6 * most:
            return proposed
        step = proposed
    return step


@kernel
def _convex_share(
    x: Float[np.ndarray, " n"], tolerance: float, room: Float[np.ndarray, "2 n"]
) -> float:
    """Weight of the uniform in the likeliest mixture of it and triangles, from ascending values."""
    n, density, change = x.shape[0], room[0], room[1]
    gradient, weights = np.empty(N_GRID + 1), np.zeros(N_GRID + 1)
    weights[0] = 1.0
    density[:] = 1.0
    for _ in range(MOST_STEPS):
        _fill_gradient(x, density, gradient)
        best = int(np.argmax(gradient))
        if gradient[best] <= n * (1.0 + tolerance):
            break
        worst = best
        for place in range(N_GRID + 1):
            if weights[place] > 0.0 and gradient[place] < gradient[worst]:
                worst = place
        for i in range(n):
            change[i] = _triangle(best, x[i]) - _triangle(worst, x[i])
        moved = _best_exchange(density, change, weights[worst])
        weights[best] += moved
        weights[worst] = 0.0 if moved == weights[worst] else weights[worst] - moved
        for i in range(n):
            density[i] += moved * change[i]
    return weights[0]


@kernel
def convex_shares(
    ordered: Float[np.ndarray, "rep n"], tolerance: float, out: Float[np.ndarray, " rep"]
) -> None:
    """The same for each replicate; NaN where one of its values, then the last, is."""
    room = np.empty((2, ordered.shape[1]))
    for rep in range(ordered.shape[0]):
        if np.isnan(ordered[rep, -1]):
            out[rep] = np.nan
        else:
            out[rep] = _convex_share(ordered[rep], tolerance, room)
