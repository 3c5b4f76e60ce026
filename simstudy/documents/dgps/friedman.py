"""Friedman's first regression function: nonlinear, with features that say nothing, truth known."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float


class Sample(NamedTuple):
    """Features and responses of each replicate."""

    features: Float[np.ndarray, "rep obs feature"]
    y: Float[np.ndarray, "rep obs"]


@dataclass(frozen=True)
class Friedman:
    """Responses 10 sin(π x₁ x₂) + 20 (x₃ - ½)² + 10 x₄ + 5 x₅ + normal noise, of uniform features.

    Friedman (1991), Ann. Statist. 19, 1-67, section 4.3; Breiman (1996), Machine Learning 24,
    123-140.
    """

    n_feature: int = 13
    noise_sd: float = 1.0

    def sample(self, rng: np.random.Generator, n_rep: int, n_obs: int) -> Sample:
        """Draw new observations of every replicate."""
        features = rng.random((n_rep, n_obs, self.n_feature))
        noise = rng.standard_normal((n_rep, n_obs))
        return Sample(features, self.mean_of(features) + self.noise_sd * noise)

    def mean_of(self, features: Float[np.ndarray, "... feature"]) -> Float[np.ndarray, "..."]:
        """Mean responses of observations with these features."""
        x1, x2, x3, x4, x5 = np.moveaxis(features[..., :5], -1, 0)
        return np.asarray(10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5)
