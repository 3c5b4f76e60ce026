"""How many replicates a spread rests on; and sums of which rounding is all that is left."""

import numpy as np

from simstudy.measures.columns import total
from simstudy.shapes import Float

ROUNDING = 1e-13  # relative to what was added up: hundreds of times the last digit of a double


def rests_on(values: Float[np.ndarray, " rep *cells"]) -> Float[np.ndarray, " *cells"]:
    """So many equal values have the same spread: (sum of squares)^2 over the sum of fourth powers.

    Parameters
    ----------
    values
        Of mean 0. Where all are 0, so is the number.
    """
    largest = np.abs(values).max(axis=0)
    squares = (values / np.where(largest > 0, largest, 1.0)) ** 2
    fourth = total(squares * squares)
    return np.asarray(total(squares) ** 2 / np.where(fourth > 0, fourth, 1.0))


def without_rounding(
    sums: Float[np.ndarray, " group *cells"], sizes: Float[np.ndarray, " rep *cells"]
) -> Float[np.ndarray, " group *cells"]:
    """Sums, as 0 in cells where they are no larger than the rounding of what was added up.

    Parameters
    ----------
    sizes
        Of what was added and subtracted.
    """
    with np.errstate(all="ignore"):
        is_rounding = total(sums * sums) <= ROUNDING**2 * total(sizes * sizes)
    return np.where(is_rounding, 0.0, sums)
