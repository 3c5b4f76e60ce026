"""A linear model whose coefficients are normal draws, new ones for each replicate."""

from dataclasses import dataclass

import numpy as np

from simstudy.documents.dgps.linear import Coefficients, LinearModel
from simstudy.documents.dgps.normals import standard_normals


@dataclass(frozen=True)
class RandomCoefficients(LinearModel):
    """A `LinearModel` with independent N(0, `coefficient`²) coefficients: no two signals alike.

    The defaults are the smallest design of the simulations in Lindgren's report on leave-one-out
    standard errors: standard normal features and coefficients, no intercept, and errors of standard
    deviation σ = √`noise_variance`. Everything else, the risk of a fitted predictor too, is as
    there.

    Parameters
    ----------
    n_feature
        Features.
    coefficient
        Standard deviation of each coefficient, about 0.
    noise_variance
        Variance σ² of the errors, above 0.
    """

    n_feature: int = 1
    coefficient: float = 1.0
    noise_variance: float = 1.0

    def draw_coefficients(self, rng: np.random.Generator, n_rep: int) -> Coefficients:
        """Draw independent normal coefficients.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.

        Returns
        -------
        Coefficients
            Coefficients of each replicate.
        """
        return np.asarray(self.coefficient * standard_normals(rng, n_rep, self.n_feature))
