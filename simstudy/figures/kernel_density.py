"""Gaussian kernel density of a sample, with optional upper bound and Monte Carlo error."""

from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.errors import DesignError
from simstudy.lazy import special

N_POINTS = 200  # points at which the density is evaluated
N_BINS = 2_000  # values are binned, finer than any bandwidth, before smoothing
FAR = 40.0  # bandwidths: a bound further away has no effect


class Density(NamedTuple):
    """A density at some points, with its Monte Carlo error.

    Attributes
    ----------
    value : float array (place,)
        Points at which the density is evaluated.
    density : float array (place,)
        Density at these points.
    lower, upper : float array (place,)
        Density minus and plus two standard errors.
    """

    value: Float[np.ndarray, " place"]
    density: Float[np.ndarray, " place"]
    lower: Float[np.ndarray, " place"]
    upper: Float[np.ndarray, " place"]


def kernel_density(values: Float[np.ndarray, " rep"], *, at_most: float = np.inf) -> Density:
    """Estimate a density with a Gaussian kernel, with two Monte Carlo standard errors either side.

    The bandwidth h is Silverman's (1986, equation 3.31). Near a bound the kernel is a local linear
    one, whose bias is of order h² everywhere. (Reflection at the bound would force a slope of 0
    there, a bias of 0.8 h times the true slope.) To first order the variance of the density f is
    f / (n h) times the integral of the squared kernel, which is 1 / (2 √π), and 6.3 times that at a
    bound.

    Parameters
    ----------
    values
        One finite value per replicate; at least two must differ.
    at_most
        Upper bound of the possible values.

    Returns
    -------
    Density
        Density at 200 points, not below 0.

    Raises
    ------
    DesignError
        If all values are equal, fewer than two, or not finite.

    References
    ----------
    Jones (1993), Statistics and Computing 3, 135-146.
    """
    values = np.asarray(values, dtype=float)
    if values.size < 2 or not np.isfinite(values).all():
        raise DesignError("a density needs at least two values, all of them finite")
    width = _bandwidth(values)
    last = min(values.max() + 2 * width, at_most)
    place = np.linspace(values.min() - 2 * width, last, N_POINTS)
    constant, slope, squared = _kernel_before(np.minimum((at_most - place) / width, FAR))
    mean, moment = _smoothed(values, place, width)
    density = np.maximum(constant * mean + slope * moment, 0)
    half = 2 * np.sqrt(density * squared / (len(values) * width))
    return Density(place, density, np.maximum(density - half, 0), density + half)


def _kernel_before(room: Float[np.ndarray, " place"]) -> Float[np.ndarray, "3 place"]:
    """The local linear kernel (a + b u) φ(u), u below `room`, its integral 1 and its mean 0.

    Parameters
    ----------
    room
        Distance from each point to the bound, in bandwidths.

    Returns
    -------
    array
        a, b, and the integral of the squared kernel, from the moments of φ and φ² up to the bound.
    """
    height, below = np.exp(-(room**2) / 2) / np.sqrt(2 * np.pi), special.ndtr(room)
    zeroth, first, second = below, -height, below - room * height
    determinant = zeroth * second - first**2
    constant, slope = second / determinant, -first / determinant
    square = special.ndtr(np.sqrt(2) * room) / (2 * np.sqrt(np.pi))
    of_mean, of_spread = -(height**2) / 2, (square - room * height**2) / 2
    squared = constant**2 * square + 2 * constant * slope * of_mean + slope**2 * of_spread
    return np.stack([constant, slope, squared])


def _bandwidth(values: Float[np.ndarray, " rep"]) -> float:
    quartiles = float(np.subtract(*np.percentile(values, [75, 25])))
    spread = min(float(values.std()), quartiles / 1.349) or float(values.std())
    if len(values) < 2 or spread == 0:
        raise DesignError(
            f"{len(values)} equal values have no density to draw. Draw more replicates, "
            "or give the value in the text."
        )
    return float(0.9 * spread * len(values) ** -0.2)


def _smoothed(
    values: Float[np.ndarray, " rep"], place: Float[np.ndarray, " place"], width: float
) -> tuple[Float[np.ndarray, " place"], Float[np.ndarray, " place"]]:
    """Means of the kernel φ(u) and of u φ(u) over the values, u their distance in bandwidths."""
    count, edges = np.histogram(values, N_BINS)
    apart = ((edges[:-1] + edges[1:]) / 2 - place[:, np.newaxis]) / width
    kernel = np.exp(-(apart**2) / 2) / (width * np.sqrt(2 * np.pi))
    return kernel @ count / len(values), (apart * kernel) @ count / len(values)
