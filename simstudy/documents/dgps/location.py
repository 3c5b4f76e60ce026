"""Independent normal draws around a mean: the data of a trial that asks how large a mean is."""

from dataclasses import dataclass

import numpy as np

from simstudy.array_types import Float
from simstudy.errors import DesignError

CHUNK = 1 << 15  # values drawn at a time


@dataclass(frozen=True)
class Gaussian:
    """Normal draws.

    Parameters
    ----------
    mean
        Mean, in the units of the data.
    variance
        Variance, in their square, above 0.
    """

    mean: float = 3.0
    variance: float = 2.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and 0 < self.variance < np.inf):
            raise DesignError(
                f"Gaussian(mean={self.mean:g}, variance={self.variance:g}) is no distribution: "
                "use a finite mean and a variance above 0."
            )

    def sample_means(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, " rep"]:
        """Mean of each replicate's sample, of which every observation is drawn."""
        rows, z = max(1, CHUNK // n_obs), np.empty(n_rep)
        for at in range(0, n_rep, rows):
            part = z[at : at + rows]
            rng.standard_normal((part.size, n_obs)).mean(axis=1, out=part)
        return np.asarray(self.mean + np.sqrt(self.variance) * z)

    def draw_means(
        self, rng: np.random.Generator, n_rep: int, n_obs: int
    ) -> Float[np.ndarray, " rep"]:
        """Sample means from their own law: normal, with variance over n."""
        z = rng.standard_normal(n_rep)
        return np.asarray(self.mean + np.sqrt(self.variance / n_obs) * z)
