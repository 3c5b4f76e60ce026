"""Test of a stated mean that is robust to skewness."""

import numpy as np

from simstudy.array_types import Float
from simstudy.measures.columns import total

FAR = 5.0  # standard errors; correct means exceed it less than once in a million
MIN_EFFECTIVE = 10.0  # effective values behind the spread; with fewer, no test is made


def far_from_zero(values: Float[np.ndarray, " rep *cells"]) -> Float[np.ndarray, " *cells"]:
    """Standard errors between a mean and 0, by `far_by_powers`; 0 if within chance."""
    n = np.asarray(float(len(values)))
    with np.errstate(all="ignore"):
        squares = values * values
        powers = (values, squares, squares * values, squares * squares)
        return far_by_powers(n, *(total(power) / n for power in powers))


def far_by_powers(
    n: np.ndarray, first: np.ndarray, second: np.ndarray, third: np.ndarray, fourth: np.ndarray
) -> Float[np.ndarray, " *cells"]:
    """Standard errors between the mean of values and 0; 0 if within chance.

    The mean is far from 0 if both Student's t and its cubic transformation by Hall, which corrects
    for skewness, exceed `FAR`. The result is also 0 if all values are equal, or if the effective
    number of values behind the spread (the squared sum of squares over the sum of fourth powers,
    about the mean) is below `MIN_EFFECTIVE`.

    Parameters
    ----------
    n
        Number of values.
    first, second, third, fourth
        Means of their powers.

    References
    ----------
    Hall (1992), Journal of the Royal Statistical Society B 54, 221-228.
    """
    with np.errstate(all="ignore"):
        variance = second - first**2
        skew = third - 3 * first * second + 2 * first**3
        fourth = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        t = first * np.sqrt(n / variance)
        bend = skew / variance**1.5 / np.sqrt(n)
        straight = t + bend * t**2 / 3 + bend**2 * t**3 / 27 + bend / 6
        varies = variance > 1e-20 * first**2
        rests = n * variance**2 / fourth >= MIN_EFFECTIVE
        is_far = varies & rests & (np.minimum(np.abs(t), np.abs(straight)) > FAR)
    return np.where(is_far, np.abs(t), 0.0)
