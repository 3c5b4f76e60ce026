"""Density of a sample by a Gaussian kernel, also up to a known end, with its Monte Carlo error."""

from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.errors import DesignError
from simstudy.lazy import special

N_PLACES = 200
N_BINS = 2_000  # finer than any bandwidth: the kernel runs over bins and not over values
FAR = 40.0  # bandwidths, from which on an end is none


class Density(NamedTuple):
    """A density at some places, with its Monte Carlo error.

    Attributes
    ----------
    value : float array (places,)
        The places.
    density : float array (places,)
        The density there.
    lower, upper : float array (places,)
        Two standard errors either side of it.
    """

    value: Float[np.ndarray, " place"]
    density: Float[np.ndarray, " place"]
    lower: Float[np.ndarray, " place"]
    upper: Float[np.ndarray, " place"]


def kernel_density(values: Float[np.ndarray, " rep"], *, at_most: float = np.inf) -> Density:
    """Gaussian kernel density with two Monte Carlo standard errors either side.

    The bandwidth h is Silverman's (1986, equation 3.31). Near an end the kernel is the local linear
    one, whose bias is of the order of h² there as elsewhere: mass reflected at the end would make
    the curve level, and put it too low by 0.8 h times the density's slope. The variance of the
    density f is f / (n h) times the integral of the squared kernel, to first order: 1 / (2 √π), and
    6.3 times that at an end.

    Parameters
    ----------
    values
        One per replicate, finite; at least two that differ.
    at_most
        Upper end of what the values can be.

    Returns
    -------
    Density
        At 200 places, none of it below 0.

    Raises
    ------
    DesignError
        Where all values are the same, fewer than two, or not finite.

    References
    ----------
    Jones (1993), Statistics and Computing 3, 135-146.
    """
    values = np.asarray(values, dtype=float)
    if values.size < 2 or not np.isfinite(values).all():
        raise DesignError("values has to hold at least two finite numbers, to have a density")
    width = _bandwidth(values)
    last = min(values.max() + 2 * width, at_most)
    place = np.linspace(values.min() - 2 * width, last, N_PLACES)
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
        From each place to the end, in bandwidths.

    Returns
    -------
    array
        a, b, and the integral of the squared kernel, from those of φ and of φ² up to the end.
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
            f"{len(values)} values, all the same, have no density to draw. Draw more replicates, "
            "or say the value in words."
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
