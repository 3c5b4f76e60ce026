"""Positive and skewed responses, as prices are."""

from dataclasses import dataclass

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.dgps.linear import LinearModel, Regression
from simstudy.errors import DesignError


@dataclass(frozen=True)
class Prices:
    """Positive responses: the exponential of a linear signal in noise, with median 1.

    They are rounded to single precision, to seven digits.

    Parameters
    ----------
    spread
        Standard deviation of the log of the response, above 0: 1 is as skewed as prices.
    signal
        Share of the log's variance that the features explain, in (0, 1).
    n_feature
        Number of features, each standard normal.
    """

    spread: float
    signal: float = 2 / 3
    n_feature: int = 20

    def __post_init__(self) -> None:
        if not (0 < self.spread < np.inf and 0 < self.signal < 1):
            raise DesignError(
                f"Prices(spread={self.spread:g}, signal={self.signal:g}) has no prices to predict: "
                "every metric needs both signal and noise. Use a finite spread above 0 and a "
                "signal between 0 and 1, both excluded."
            )

    def draw(
        self,
        rng: np.random.Generator,
        n_rep: int,
        n_obs: int,
        coefficients: Float[np.ndarray, "rep feature"] | None = None,
    ) -> Regression:
        """Features and prices; `coefficients`, on the log scale, are new ones if None."""
        variance = self.spread**2
        coefficient = float(np.sqrt(variance * self.signal / self.n_feature))
        log_scale = LinearModel(self.n_feature, coefficient, variance * (1 - self.signal))
        drawn = log_scale.draw(rng, n_rep, n_obs, coefficients)
        # Processors differ in the last bit of an exponential, which would move splits of trees.
        return drawn._replace(y=np.exp(drawn.y).astype(np.float32).astype(float))
