"""Friedman's first regression function: nonlinear, with features that say nothing, truth known."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Float
from simstudy.errors import DesignError

N_RELEVANT = 5


class Sample(NamedTuple):
    """Features and responses.

    Attributes
    ----------
    features : float array (rep, obs, feature)
        Features, one replicate per matrix.
    y : float array (rep, obs)
        Responses, in the units of the function.
    """

    features: Float[np.ndarray, "rep obs feature"]
    y: Float[np.ndarray, "rep obs"]


@dataclass(frozen=True)
class Friedman:
    """Responses 10 sin(π x₁ x₂) + 20 (x₃ - ½)² + 10 x₄ + 5 x₅ + noise, of uniform features.

    Parameters
    ----------
    n_feature
        Features, at least 5; those beyond the fifth have nothing to do with the response.
    noise_sd
        Standard deviation of the normal noise, above 0.

    Raises
    ------
    DesignError
        If there are fewer than 5 features, or the noise is not above 0.

    References
    ----------
    Friedman (1991), Ann. Statist. 19, 1-67, section 4.3; with these constants as in his MARS paper
    and in Breiman (1996), Machine Learning 24, 123-140.
    """

    n_feature: int = 13
    noise_sd: float = 1.0

    def __post_init__(self) -> None:
        if self.n_feature < N_RELEVANT:
            raise DesignError(
                f"Friedman(n_feature={self.n_feature}): the function takes 5 features, so fewer "
                "have no response. Use at least 5."
            )
        if not 0 < self.noise_sd < np.inf:
            raise DesignError(
                f"Friedman(noise_sd={self.noise_sd:g}): without normal noise of a finite spread "
                "there is no predictive distribution to be right about. Use a number above 0."
            )

    def sample(self, rng: np.random.Generator, n_rep: int, n_obs: int) -> Sample:
        """Draw new observations of every replicate.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.

        Returns
        -------
        Sample
            Features and responses.
        """
        features = rng.random((n_rep, n_obs, self.n_feature))
        noise = rng.standard_normal((n_rep, n_obs))
        return Sample(features, self.mean_of(features) + self.noise_sd * noise)

    def mean_of(self, features: Float[np.ndarray, "... feature"]) -> Float[np.ndarray, "..."]:
        """Compute the mean response of observations with these features.

        Parameters
        ----------
        features : float array (..., feature)
            Features in [0, 1], along the last axis.

        Returns
        -------
        float array (...)
            Mean responses.
        """
        x1, x2, x3, x4, x5 = np.moveaxis(features[..., :N_RELEVANT], -1, 0)
        return np.asarray(10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5)
