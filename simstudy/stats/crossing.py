"""Where a curve through noisy readings crosses a level, with an interval for the place.

The curve is a straight line plus an integrated Wiener process, so that its mean is a cubic
smoothing spline. How much it bends is not taken for known but averaged over, with the restricted
likelihood as weight. The interval inverts the band of the curve.

References
----------
Wahba (1978), J. R. Statist. Soc. B 40, 364-372.
Wecker & Ansley (1983), J. Am. Statist. Assoc. 78, 81-89.
Fieller (1954), J. R. Statist. Soc. B 16, 175-185.
"""

from typing import NamedTuple

import numpy as np

from simstudy.shapes import Float

Points = Float[np.ndarray, " point"]

ROUGHNESS = np.geomspace(1 / 8, 512, 7)
"""Sizes of the Wiener process that are averaged over, in units of the rise over the bracket: from
nearly straight to a step. A curve's distance from its chord, halfway, has a standard deviation of
0.14 of them."""


class Curve:
    """Curves through measured heights that may bend: mean and standard error at any place.

    A second difference of the heights does not depend on the line, only on how the curve bends
    and on the noise. All is computed from these differences, which keeps every digit however
    small the noise is, and their likelihood is the restricted likelihood.

    Parameters
    ----------
    places
        Ascending, all different; at least two.
    heights, errors
        What was measured there, with its standard errors; independent.
    rise
        What the roughness is in units of.
    roughness
        Sizes of the process to average over, all taken for equally likely beforehand.
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
        self._gaps = np.diff(places)
        self._sizes = (roughness * rise)[:, None, None] ** 2
        self._contrasts = _second_differences(self._gaps)
        differences = self._contrasts.T @ heights
        spread = (self._contrasts.T * self._noise) @ self._contrasts
        covariance = self._sizes * _bends(self._gaps) + spread
        self._inverse = np.linalg.inv(covariance)
        self._bend = (self._inverse @ differences)[..., None]
        log = np.linalg.slogdet(covariance)[1] + (self._bend[..., 0] @ differences)
        likely = np.exp((log.min() - log) / 2)
        self._likely = likely / likely.sum()

    def __call__(self, at: Points) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard error of the curve at places between the first and the last.

        A place between two readings is their chord, and what the curve departs from it: of that
        the differences tell a part (for the spline this is the usual cubic, a^3 - a), and the rest
        has the variance of a bridge of the process, a^2 b^2 gap^3 / 3.
        """
        i = np.clip(np.searchsorted(self._places, at, side="right") - 1, 0, len(self._gaps) - 1)
        gap = self._gaps[i]
        b = (at - self._places[i]) / gap
        a = 1 - b
        chord = _pairs(i, a, b, len(self._places))
        cubic = _pairs(i, a**3 - a, b**3 - b, len(self._places))[:, 1:-1]
        told = self._sizes * cubic * (gap**2 / 6)[:, None] - (chord * self._noise) @ self._contrasts
        means = chord @ self._heights + (told @ self._bend)[..., 0]
        bridge = self._sizes[..., 0] * (a * b) ** 2 * gap**3 / 3
        known = ((told @ self._inverse) * told).sum(axis=-1)
        variances = bridge + chord**2 @ self._noise - known
        mean = self._likely @ means
        spread = self._likely @ (np.maximum(variances, 0.0) + (means - mean) ** 2)
        return mean, np.sqrt(spread)


def _pairs(
    i: np.ndarray, first: np.ndarray, second: np.ndarray, n: int
) -> Float[np.ndarray, "row n"]:
    """Rows of zeros, but for two numbers at columns i and i + 1."""
    rows = np.zeros((len(i), n))
    row = np.arange(len(i))
    rows[row, i], rows[row, i + 1] = first, second
    return rows


def _second_differences(gaps: np.ndarray) -> Float[np.ndarray, "point inner"]:
    """Columns that take the slope before each inner place from the slope after it."""
    slopes = np.diff(np.eye(len(gaps) + 1), axis=0) / gaps[:, None]
    return np.asarray(np.diff(slopes, axis=0).T)


def _bends(gaps: np.ndarray) -> Float[np.ndarray, "inner inner"]:
    """Covariance of the second differences of an integrated Wiener process of size 1."""
    between = gaps[1:-1] / 6
    return np.diag((gaps[:-1] + gaps[1:]) / 3) + np.diag(between, 1) + np.diag(between, -1)


class Crossing(NamedTuple):
    """Where a curve crosses its goal, with an interval and the slope there; all on [0, 1]."""

    place: float
    lower: float
    upper: float
    slope: float

    @property
    def half_width(self) -> float:
        return (self.upper - self.lower) / 2


DISTANCES = np.geomspace(1e-7, 1, 60)  # from a crossing, to look for the ends of its interval


def cross(curve: Curve, goal: float, z: float) -> Crossing:
    """The crossing, and the places around it that are within z standard errors of the goal."""
    place = _crossing(curve, goal)
    lower, upper = (_edge(curve, goal, z, place, side) for side in (-1, 1))
    ends = np.clip([2 * lower - place, 2 * upper - place], 0, 1)  # twice as far: a steadier slope
    below, above = curve(ends)[0]
    return Crossing(place, lower, upper, float((above - below) / (ends[1] - ends[0])))


def _crossing(curve: Curve, goal: float) -> float:
    """By four looks, each 40 times closer; of several crossings the one in the middle."""
    left, right, share = 0.0, 1.0, 0.5
    for _ in range(4):
        places = np.linspace(left, right, 41)
        above = curve(places)[0] - goal
        i = _middle_change(above)
        left, right = places[i], places[i + 1]
        share = above[i] / (above[i] - above[i + 1]) if above[i] != above[i + 1] else 0.5
    return float(left + min(max(share, 0.0), 1.0) * (right - left))


def _middle_change(above: np.ndarray) -> int:
    """Index before the change of sign; before the value nearest to 0 where there is none."""
    changes = np.flatnonzero((above[:-1] <= 0) != (above[1:] <= 0))
    if len(changes):
        return int(changes[len(changes) // 2])
    return min(int(np.abs(above).argmin()), len(above) - 2)


def _edge(curve: Curve, goal: float, z: float, place: float, side: int) -> float:
    """The first place on this side that the goal is excluded from; the bracket's end if none is."""
    places = np.clip(place + side * DISTANCES, 0.0, 1.0)
    for _ in range(2):
        mean, error = curve(places)
        excess = np.abs(mean - goal) - z * error
        outside = np.flatnonzero(excess > 0)
        if not len(outside):
            return float(places[-1])
        if not outside[0]:
            return float(places[0])
        last = outside[0] - 1
        share = excess[last] / (excess[last] - excess[last + 1])
        edge = places[last] + share * (places[last + 1] - places[last])
        places = np.linspace(places[last], places[last + 1], 9)
    return float(edge)
