"""Tests a stated mean with a statistic that is robust to skewness."""

import numpy as np

from simstudy.array_types import Float
from simstudy.measures.columns import total

FAR = 5.0  # standard errors: right statements go beyond in less than one of a million
FEWEST = 10.0  # replicates that the spread has to rest on, or it says nothing


def far_from_zero(values: Float[np.ndarray, " rep *cells"]) -> Float[np.ndarray, " *cells"]:
    """Standard errors between a mean and 0, by `far_by_powers`; 0 where that is within chance."""
    n = np.asarray(float(len(values)))
    with np.errstate(all="ignore"):
        squares = values * values
        powers = (values, squares, squares * values, squares * squares)
        return far_by_powers(n, *(total(power) / n for power in powers))


def far_by_powers(
    n: np.ndarray, first: np.ndarray, second: np.ndarray, third: np.ndarray, fourth: np.ndarray
) -> Float[np.ndarray, " *cells"]:
    """Standard errors between the mean of values and 0; 0 where that is within chance.

    Beyond `FAR` both as Student's t and after Hall's cubic transformation, which takes from t what
    skewness does to it. Nothing is said of values whose spread rests on fewer than `FEWEST` of
    them (the square of the sum of squares over that of fourth powers, about the mean), nor of those
    that are all equal.

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
        rests = n * variance**2 / fourth >= FEWEST
        is_far = varies & rests & (np.minimum(np.abs(t), np.abs(straight)) > FAR)
    return np.where(is_far, np.abs(t), 0.0)
