"""Expectations of losses of a normal error: the truth of a risk."""

import numpy as np

from simstudy.array_types import Float
from simstudy.lazy import special


def folded_normal_mean(
    mean: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """E|e| of a normal e (Leone, Nelson & Nottingham 1961, Technometrics 3(4), 543-550)."""
    scaled = mean / np.sqrt(2 * variance)
    exponential = 1 + special.expm1(-(scaled**2))  # NumPy's own rounds by processor
    density = np.sqrt(2 * variance / np.pi) * exponential
    return np.asarray(density + mean * special.erf(scaled))
