"""A curve through noisy readings, and the interval in which it crosses a level.

The curve is a straight line plus an integrated Wiener process, so that its mean is a cubic
smoothing spline. How much it bends is averaged over, with the restricted likelihood as weight.

References
----------
Fieller (1954), J. R. Statist. Soc. B 16, 175-185.
Wahba (1978), J. R. Statist. Soc. B 40, 364-372.
Wecker & Ansley (1983), J. Am. Statist. Assoc. 78, 81-89.
"""

from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.lazy import optimize

Points = Float[np.ndarray, " point"]

ROUGHNESS = np.geomspace(1 / 8, 512, 7)
"""Sizes of the Wiener process that are averaged over, in units of the rise over the bracket: from
nearly straight to a step. A curve's distance from its chord, halfway, has a standard deviation of
0.14 of them."""


class Curve:
    """Curves through measured heights that may bend: mean and standard error at any place.

    A second difference of the heights depends only on how the curve bends and on the noise, not
    on the line. Everything is computed from these differences, which keeps every digit however
    small the noise is. Their likelihood is the restricted likelihood.

    Parameters
    ----------
    places
        Ascending, all different; at least two.
    heights, errors
        Independent readings at these places, with their standard errors.
    rise
        The unit of the roughness.
    roughness
        Sizes of the process to average over, equally likely beforehand.
    """

    def __init__(
        self,
        places: Points,
        heights: Points,
        errors: Points,
        *,
        rise: float,
        roughness: Float[np.ndarray, " size"] = ROUGHNESS,
    ) -> None:
        self._places, self._heights, self._noise = places, heights, errors**2
        self._sizes = (roughness * rise)[:, None, None] ** 2
        self._gaps = gaps = np.diff(places)
        slopes = np.diff(np.eye(len(places)), axis=0) / gaps[:, None]
        self._contrasts = np.diff(slopes, axis=0).T  # slope after an inner place minus that before
        between = gaps[1:-1] / 6
        bends = np.diag((gaps[:-1] + gaps[1:]) / 3) + np.diag(between, 1) + np.diag(between, -1)
        spread = (self._contrasts.T * self._noise) @ self._contrasts
        covariance = self._sizes * bends + spread
        differences = self._contrasts.T @ heights
        self._inverse = np.linalg.inv(covariance)
        self._bend = (self._inverse @ differences)[..., None]
        log = np.linalg.slogdet(covariance)[1] + (self._bend[..., 0] @ differences)
        likely = np.exp((log.min() - log) / 2)
        self._likely = likely / likely.sum()

    def __call__(self, at: Points) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard error of the curve at places between the first and the last.

        Between two readings the curve is their chord plus a departure from it. The differences
        determine a part of the departure (for the spline the usual cubic, a^3 - a); the rest has
        the variance of a bridge of the process, a^2 b^2 gap^3 / 3.
        """
        i = np.clip(np.searchsorted(self._places, at, side="right") - 1, 0, len(self._gaps) - 1)
        before, after = np.eye(len(self._places))[[i, i + 1]]
        gap = self._gaps[i, None]
        b = (at - self._places[i])[:, None] / gap
        a = 1 - b
        chord = a * before + b * after
        cubic = ((a**3 - a) * before + (b**3 - b) * after)[:, 1:-1]
        shift = self._sizes * cubic * (gap**2 / 6) - (chord * self._noise) @ self._contrasts
        means = chord @ self._heights + (shift @ self._bend)[..., 0]
        bridge = (self._sizes * (a * b) ** 2 * gap**3 / 3)[..., 0]
        known = ((shift @ self._inverse) * shift).sum(axis=-1)
        variances = bridge + chord**2 @ self._noise - known
        mean = self._likely @ means
        spread = self._likely @ (np.maximum(variances, 0.0) + (means - mean) ** 2)
        return mean, np.sqrt(spread)


class Crossing(NamedTuple):
    """The crossing of a curve and a level on [0, 1], with its interval and the slope there."""

    place: float
    lower: float
    upper: float
    slope: float

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.upper - self.lower) / 2


DISTANCES = np.append(0.0, np.geomspace(1e-7, 1, 60))  # from a crossing, to bracket its interval


def cross(curve: Curve, goal: float, z: float) -> Crossing:
    """Find where a curve crosses a level.

    Parameters
    ----------
    curve
        The curve, with its standard errors.
    goal
        The level to be crossed.
    z
        Standard errors, > 0: the interval extends to the first places at which the curve is this
        many standard errors from the level (Fieller 1954), or to the ends of the bracket.

    Returns
    -------
    Crossing
        The crossing with its interval.
    """

    def above(at: float) -> float:
        return float(curve(np.array([at]))[0][0] - goal)

    def excess(at: Points) -> np.ndarray:
        mean, error = curve(at)
        return np.abs(mean - goal) - z * error

    def edge(end: float) -> float:
        places = place + (end - place) * DISTANCES
        outside = np.flatnonzero(excess(places) > 0)
        if not len(outside):
            return end
        if outside[0] == 0:
            return place
        inner, outer = places[outside[0] - 1 : outside[0] + 1]
        return float(optimize.brentq(lambda at: excess(np.array([at]))[0], inner, outer))

    if above(0.0) * above(1.0) < 0:
        place = float(optimize.brentq(above, 0.0, 1.0))
    else:
        place = min(0.0, 1.0, key=lambda end: abs(above(end)))
    lower, upper = edge(0.0), edge(1.0)
    ends = np.clip([2 * lower - place, 2 * upper - place], 0, 1)  # twice as far: a steadier slope
    return Crossing(place, lower, upper, float(np.diff(curve(ends)[0])[0] / np.diff(ends)[0]))
