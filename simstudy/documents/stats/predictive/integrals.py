"""Integrals of smooth functions, elementwise: over a half line, and from 0 to many ends."""

from collections.abc import Callable

import numpy as np

from simstudy.array_types import Float

Values = Float[np.ndarray, "..."]
# Steps of the double exponential rule: places go from exp(-40) to exp(40) of the scale.
STEP, N_STEPS = 1 / 32, 126
NODES, WEIGHTS = np.polynomial.legendre.leggauss(128)


def over_half_line(function: Callable[[Values], Values], scale: Values) -> Values:
    """Integrate a function that decreases over distances like `scale`, from 0 to infinity.

    Parameters
    ----------
    function
        From places (node, ...) to values.
    scale
        Distance over which the function decreases, for each integral.

    Returns
    -------
    Values
        Integrals.

    References
    ----------
    Takahasi & Mori (1974), Publ. RIMS Kyoto 9, 721-741: the double exponential rule.
    """
    t = STEP * np.arange(-N_STEPS, N_STEPS + 1)
    place = np.exp(np.pi / 2 * np.sinh(t))
    weight = STEP * np.pi / 2 * np.cosh(t) * place
    at, weights = (np.multiply.outer(each, scale) for each in (place, weight))
    return np.asarray((function(at) * weights).sum(axis=0))


def from_zero_to(end: Values, function: Callable[[Values], Values]) -> Values:
    """Integrate from 0 to each of many ends, of either sign, by Gauss and Legendre.

    Parameters
    ----------
    end
        The ends.
    function
        From places (node, ...) to values.

    Returns
    -------
    Values
        Integrals.
    """
    half = np.asarray(end) / 2
    values = function(np.multiply.outer(1 + NODES, half))
    return np.asarray(np.tensordot(WEIGHTS, values, axes=1) * half)
