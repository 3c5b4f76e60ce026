"""Where a curve through noisy readings crosses a level, with an interval for the place.

The interval inverts the band of the curve: it holds the places whose height is not told from the
level.

References
----------
Fieller (1954), J. R. Statist. Soc. B 16, 175-185.
"""

from typing import NamedTuple

import numpy as np

from simstudy.analysis.solve.spline import Curve


class Crossing(NamedTuple):
    """Crossing of a curve and its goal, on [0, 1].

    Attributes
    ----------
    place
        The crossing.
    lower, upper
        Its interval.
    slope
        Slope of the curve there.
    """

    place: float
    lower: float
    upper: float
    slope: float

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.upper - self.lower) / 2


DISTANCES = np.geomspace(1e-7, 1, 60)  # from a crossing, to look for the ends of its interval


def cross(curve: Curve, goal: float, z: float) -> Crossing:
    """Find the crossing, and the places around it within z standard errors of the goal.

    Parameters
    ----------
    curve
        The curve, with its standard errors.
    goal
        The value to be crossed.
    z
        Standard errors, > 0.

    Returns
    -------
    Crossing
        The crossing with its interval.
    """
    place = _crossing(curve, goal)
    lower, upper = (_edge(curve, goal, z, place, side) for side in (-1, 1))
    ends = np.clip([2 * lower - place, 2 * upper - place], 0, 1)  # twice as far: a steadier slope
    below, above = curve(ends)[0]
    return Crossing(place, lower, upper, float((above - below) / (ends[1] - ends[0])))


def _crossing(curve: Curve, goal: float) -> float:
    """Find the crossing in four passes, each 40 times finer; of several, the middle one."""
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
