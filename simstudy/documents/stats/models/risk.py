"""Expectations of losses of a normal error, and of mixtures of normals: the truth of a risk."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.lazy import special

REACH = 12.0  # the normal weight beyond is below 1e-31, times any scale a model here may have
FIRST_STEP, LAST_STEP = 2.0**-3, 2.0**-10
TOLERANCE = 1e-9


class StudentMixture(NamedTuple):
    """A unit-variance Student t as a mixture of normals: their variances and weights."""

    variance: Float[np.ndarray, " node"]
    weight: Float[np.ndarray, " node"]


def folded_normal_mean(
    mean: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]
) -> Float[np.ndarray, "*shape"]:
    """E|e| of a normal e (Leone, Nelson & Nottingham 1961, Technometrics 3(4), 543-550)."""
    scaled = mean / np.sqrt(2 * variance)
    exponential = 1 + special.expm1(-(scaled**2))  # NumPy's own rounds by processor
    density = np.sqrt(2 * variance / np.pi) * exponential
    return np.asarray(density + mean * special.erf(scaled))


def student_mixture(df: float) -> StudentMixture:
    """Nodes and weights for expectations under a unit-variance Student t, df > 2.

    It is √V times a standard normal, V = (df - 2) / χ²(df). The trapezoidal rule in log χ²
    converges geometrically (Trefethen & Weideman 2014, SIAM Rev. 56(3), 385-458): exact for
    anything that grows no faster than the scale.
    """
    step = min(0.25, np.sqrt(2 / df) / 2)
    left = 90 / (df - 1) + 12 * np.sqrt(2 / df)
    right = np.log1p(90 / df) + 12 * np.sqrt(2 / df)
    log_chi2 = np.log(df) + step * np.arange(-np.ceil(left / step), np.ceil(right / step) + 1)
    log_weight = df / 2 * (log_chi2 - np.log(2)) - np.exp(log_chi2) / 2 - special.gammaln(df / 2)
    weight = np.exp(log_weight)
    return StudentMixture((df - 2) * np.exp(-log_chi2), weight / weight.sum())


def normal_expectation(
    function: Callable[[Float[np.ndarray, " node"]], Float[np.ndarray, "rep node"]],
) -> Float[np.ndarray, " rep"]:
    """Integrate a function under the standard normal, replicate by replicate, to a relative 1e-9.

    The trapezoidal rule, its step halved until the answer holds still; it converges geometrically
    for smooth functions. NaN for a replicate that still moves at a step of 1/1024.
    """
    step = FIRST_STEP
    total = _weighted_sum(function, np.arange(-REACH, REACH + step, step))
    answer = step * total
    while True:
        step, previous = step / 2, answer
        total = total + _weighted_sum(function, np.arange(step - REACH, REACH, 2 * step))
        answer = step * total
        settled = _holds_still(answer, previous)
        if settled.all() or step <= LAST_STEP:
            return np.where(settled, answer, np.nan)


def _weighted_sum(
    function: Callable[[Float[np.ndarray, " node"]], Float[np.ndarray, "rep node"]],
    nodes: Float[np.ndarray, " node"],
) -> Float[np.ndarray, " rep"]:
    return np.asarray(function(nodes) @ (np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)))


def _holds_still(
    answer: Float[np.ndarray, " rep"], previous: Float[np.ndarray, " rep"]
) -> Bool[np.ndarray, " rep"]:
    """NaN replicates hold still too: no step will make numbers of them."""
    still = np.abs(answer - previous) <= TOLERANCE * np.abs(answer)
    return np.asarray(still | np.isnan(answer))
