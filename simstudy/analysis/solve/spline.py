"""A curve through noisy readings, without a guess of how much it bends.

The curve is a straight line plus an integrated Wiener process, so that its mean is a cubic
smoothing spline. How much it bends is not taken for known but averaged over, with the restricted
likelihood as weight.

References
----------
Wahba (1978), J. R. Statist. Soc. B 40, 364-372.
Wecker & Ansley (1983), J. Am. Statist. Assoc. 78, 81-89.
"""

import numpy as np

from simstudy.array_types import Float

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
