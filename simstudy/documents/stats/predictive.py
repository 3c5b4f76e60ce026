"""Normal predictive distributions, p-values of what came of predictions, and their calibration.

Source: Bickel (2019), Testing prediction algorithms as null hypotheses, hal-02334579.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Float
from simstudy.lazy import special

Values = Float[np.ndarray, "..."]


class Normal(NamedTuple):
    """Normal distributions of predictions, in the units of the response; a point where sd is 0."""

    mean: Values
    sd: ArrayLike

    def standardised(self, y: ArrayLike) -> Values:
        """(y - mean) / sd, infinite next to a point and 0 at it."""
        off = np.asarray(y, dtype=float) - self.mean
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((off == 0) & (np.asarray(self.sd) == 0), 0.0, off / self.sd)


def fitted(draws: Float[np.ndarray, "boot obs"], residual_sd: float = 0.0) -> Normal:
    """Mean and spread of bootstrap predictions (example 2); residual noise adds its variance."""
    return centered(draws, draws.mean(axis=0), residual_sd)


def centered(
    draws: Float[np.ndarray, "boot obs"],
    center: Float[np.ndarray, " obs"],
    residual_sd: float = 0.0,
) -> Normal:
    """The same spread about the prediction of the model trained on all data (example 3)."""
    return Normal(center, np.hypot(draws.std(axis=0, ddof=1), residual_sd))


def log_p_value(distribution: Normal, y: ArrayLike, tail: str = "both") -> Values:
    """Log of the p-value of each response (example 5): twice the smaller tail, or one of them."""
    z = distribution.standardised(y)
    if tail == "both":
        return np.asarray(np.minimum(np.log(2) + special.log_ndtr(-np.abs(z)), 0.0))
    return np.asarray(special.log_ndtr(z if tail == "lower" else -z))


def mean_crps(distribution: Normal, y: ArrayLike) -> Values:
    """Mean continuous ranked probability score over the last axis, in the units of y.

    Gneiting & Raftery (2007), J. Am. Stat. Assoc. 102, 359-378, section 4.2.
    """
    z = distribution.standardised(y)
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    # |y - mean| apart from z (2 Φ(z) - 1), so that an infinite z has an answer.
    off = np.abs(np.asarray(y, dtype=float) - distribution.mean)
    score = off * special.erf(np.abs(z) / np.sqrt(2))
    score += distribution.sd * (2 * density - 1 / np.sqrt(np.pi))
    return np.asarray(score.mean(axis=-1))


def pit_distance(values: Float[np.ndarray, " n"]) -> float:
    """Kolmogorov's distance of values in [0, 1] from the uniform law."""
    ordered, n = np.sort(values), len(values)
    above, below = np.arange(1, n + 1) / n - ordered, ordered - np.arange(n) / n
    return float(max(above.max(), below.max()))
