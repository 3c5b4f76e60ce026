"""Compiled for blocks of replicates: the likeliest convex density at 1.

The weights are found by exchanging mass between the worst and the best component (Böhning 1986,
Metrika 33, 337-347) until the mean log likelihood is within a tolerance of its maximum.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import numba
import numpy as np

from simstudy.array_types import Float

N_GRID = 100  # triangles, by where their base ends: 0.01, 0.02, ..., 1
STEP_LIMIT = 2000
NEWTON_LIMIT = 60
TOLERANCE = 1e-4  # relative size of a step of Newton's; the next one is closer by as much again

kernel = numba.njit(nogil=True, cache=True, error_model="numpy")


@kernel
def _triangle(place: int, x: float) -> float:
    """Density of the triangle that goes down to 0 at place / 100; place 0 is the uniform."""
    if place == 0:
        return 1.0
    end = place / N_GRID
    return 2.0 * (end - x) / (end * end) if x < end else 0.0


@kernel
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


@kernel
def _best_exchange(
    density: Float[np.ndarray, " n"], change: Float[np.ndarray, " n"], most: float
) -> float:
    """Mass to move, from 0 to `most`, for the largest likelihood: by guarded Newton steps."""
    low, high, step = 0.0, most, 0.0
    for _ in range(NEWTON_LIMIT):
        slope, bend = 0.0, 0.0
        for i in range(density.shape[0]):
            share = change[i] / (density[i] + step * change[i])
            slope += share
            bend += share * share
        if slope >= 0.0:
            if step == most:
                return most
            low = step
        else:
            high = step
        proposed = step + slope / bend
        if not low < proposed < high:
            ahead = slope >= 0.0 and high == most
            proposed = most if ahead else 0.5 * (low + high)
        if abs(proposed - step) <= TOLERANCE * proposed:
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
    for _ in range(STEP_LIMIT):
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
        missing = np.isnan(ordered[rep, -1])
        out[rep] = np.nan if missing else _convex_share(ordered[rep], tolerance, room)
