"""Two-sided intervals for the mean of one Poisson count: counts in, lower and upper limits out."""

import numpy as np
from scipy import special


def wald(count, level=0.95):
    """The count and its root, with a normal quantile; of no events, a single point."""
    half = special.ndtri((1 + level) / 2) * np.sqrt(count)
    return count - half, count + half


def score(count, level=0.95):
    """Every mean that a score test does not reject."""
    z2 = special.ndtri((1 + level) / 2) ** 2
    half = np.sqrt(z2 * (count + z2 / 4))
    return count + z2 / 2 - half, count + z2 / 2 + half


def exact(count, level=0.95):
    """Garwood (1936), Biometrika 28, 437-442: each tail has at most half of what is left."""
    tail = (1 - level) / 2
    lower = np.where(count > 0, special.gammaincinv(np.maximum(count, 1), tail), 0.0)
    return lower, special.gammainccinv(count + 1, tail)
