"""Predictive p-values of which a known share comes from their predictive distributions.

A prediction's score is how many predictive standard deviations its value lies from the center of a
normal predictive distribution. Scores of compatible predictions are standard normal; those of the
others are `shift` away, `spread` times as wide, or both. The p-value is two-sided.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simstudy.array_types import Bool, Float
from simstudy.documents.dgps.normals import standard_normals
from simstudy.errors import DesignError
from simstudy.lazy import special


@dataclass(frozen=True)
class ScoredPredictions:
    """Two-sided p-values of normal scores, independent or with common factors.

    Parameters
    ----------
    n_prediction
        p-values in each list.
    null_share
        Share of them that are compatible, in [0, 1]; the number is rounded. They lie evenly among
        the others, so that every group of neighbours has about its share.
    shift
        Mean score of the others, in predictive standard deviations.
    spread
        Standard deviation of the others' scores: √(1 + σ² / s²) for a predictive distribution with
        standard deviation s that lacks residual noise with standard deviation σ.
    correlation
        Correlation of the scores in a group, in [0, 1).
    n_together
        Neighbours in a group; 0 for all of them.

    Raises
    ------
    DesignError
        If a number or a proportion is out of range.
    """

    n_prediction: int = 168
    null_share: float = 1.0
    shift: float = 0.0
    spread: float = 1.0
    correlation: float = 0.0
    n_together: int = 0

    def __post_init__(self) -> None:
        if self.n_prediction < 1 or self.n_together < 0:
            raise DesignError(
                f"n_prediction={self.n_prediction}, n_together={self.n_together}: there is no such "
                "number of p-values. Use at least 1 prediction, and groups of at least 1 (0 for "
                "one group of all)."
            )
        if not 0 <= self.null_share <= 1 or not 0 <= self.correlation < 1:
            raise DesignError(
                f"null_share={self.null_share:g}, correlation={self.correlation:g}: shares lie in "
                "[0, 1] and a common factor's correlation in [0, 1). Give proportions (0.95, not "
                "95)."
            )
        if not (np.isfinite(self.shift) and np.isfinite(self.spread) and self.spread > 0):
            raise DesignError(
                f"shift={self.shift:g}, spread={self.spread:g}: scores with these have no "
                "distribution. Give a finite shift, and a finite spread above 0."
            )

    @property
    def n_null(self) -> int:
        """Compatible predictions in each list."""
        return round(self.n_prediction * self.null_share)

    @property
    def true_share(self) -> float:
        """The proportion that is to be estimated."""
        return self.n_null / self.n_prediction

    @property
    def is_null(self) -> Bool[np.ndarray, " n"]:
        """Which predictions are compatible."""
        steps = np.arange(self.n_prediction + 1) * self.n_null // self.n_prediction
        return np.asarray(np.diff(steps) > 0)

    def draw(self, rng: np.random.Generator, n_rep: int) -> Float[np.ndarray, "rep n"]:
        """Draw natural logs of the p-values of `n_rep` lists.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.

        Returns
        -------
        float array (rep, n)
            Natural logs, one list per row.
        """
        center = np.where(self.is_null, 0.0, self.shift)
        scale = np.where(self.is_null, 1.0, self.spread)
        scores = center + scale * self._standard_scores(rng, n_rep)
        return np.asarray(np.log(2) + special.log_ndtr(-np.abs(scores)))

    def _standard_scores(self, rng: np.random.Generator, n_rep: int) -> Float[np.ndarray, "rep n"]:
        own = standard_normals(rng, n_rep, self.n_prediction)
        if self.correlation == 0:
            return own
        size = self.n_together or self.n_prediction
        group = np.arange(self.n_prediction) // size
        shared = standard_normals(rng, n_rep, int(group[-1]) + 1)[:, group]
        return np.asarray(np.sqrt(self.correlation) * shared + np.sqrt(1 - self.correlation) * own)

    def cdf_of_others(self, p: ArrayLike) -> Float[np.ndarray, "..."]:
        """Compute the probability that the p-value of an incompatible prediction is at most p.

        Parameters
        ----------
        p
            p-values, in [0, 1].

        Returns
        -------
        float array (...)
            Probabilities.
        """
        reach = -special.ndtri(np.asarray(p, float) / 2)
        below, above = (
            special.ndtr((-reach + sign * self.shift) / self.spread) for sign in (-1, 1)
        )
        return np.asarray(below + above)
