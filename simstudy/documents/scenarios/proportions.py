"""Lists of predictive p-values of which a known share is compatible, and estimators of that share.

A prediction's score is how many predictive standard deviations its value lies from the center of a
normal predictive distribution; the p-value is two-sided. Scores of compatible predictions are
standard normal; those of the others are `shift` away, `spread` times as wide, or both.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from simstudy.array_types import Bool, Float
from simstudy.documents.stats.compatible import ESTIMATORS, Mixture, fisher
from simstudy.lazy import special
from simstudy.measures import bias, empirical_se, mean, rmse
from simstudy.provenance.streams import Streams

ALIKE = 0.9  # share of lists with one value, above which theory is not compared

PValues = Float[np.ndarray, "rep n"]
PerEstimator = Float[np.ndarray, " estimator"]
Columns = dict[str, Any]


@dataclass(frozen=True)
class Proportion:
    """Lists of p-values with a known share of compatible predictions.

    Parameters
    ----------
    n_prediction
        p-values in each list.
    null_share
        Share of them that are compatible; the number is rounded. They lie evenly among the others.
    shift
        Mean score of the others, in predictive standard deviations.
    spread
        Standard deviation of the others' scores: √(1 + σ² / s²) for a predictive distribution with
        standard deviation s that lacks residual noise with standard deviation σ.
    correlation
        Correlation of the scores in a group, in [0, 1).
    n_together
        Neighbours in a group; 0 for all of them.
    """

    n_prediction: int = 168
    null_share: float = 1.0
    shift: float = 0.0
    spread: float = 1.0
    correlation: float = 0.0
    n_together: int = 0

    @property
    def n_null(self) -> int:
        """Compatible predictions in each list."""
        return round(self.n_prediction * self.null_share)

    @property
    def is_null(self) -> Bool[np.ndarray, " n"]:
        """Which predictions are compatible."""
        steps = np.arange(self.n_prediction + 1) * self.n_null // self.n_prediction
        return np.asarray(np.diff(steps) > 0)

    def draw(self, streams: Streams, n_rep: int) -> Columns:
        log_p = self.log_p_values(streams("data"), n_rep)
        return {
            "p": np.exp(log_p),
            "log10_p": fisher(log_p) / np.log(10),
            "truth": self.n_null / self.n_prediction,
        }

    def log_p_values(self, rng: np.random.Generator, n_rep: int) -> PValues:
        """Natural logs of the p-values of each list."""
        own = rng.standard_normal((n_rep, self.n_prediction))
        if self.correlation:
            group = np.arange(self.n_prediction) // (self.n_together or self.n_prediction)
            shared = rng.standard_normal((n_rep, int(group[-1]) + 1))[:, group]
            own = np.sqrt(self.correlation) * shared + np.sqrt(1 - self.correlation) * own
        center = np.where(self.is_null, 0.0, self.shift)
        scores = center + np.where(self.is_null, 1.0, self.spread) * own
        return np.asarray(np.log(2) + special.log_ndtr(-np.abs(scores)))

    def cdf_of_others(self, p: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Probability that the p-value of an incompatible prediction is at most p."""
        reach = -special.ndtri(p / 2)
        below, above = (
            special.ndtr((-reach + sign * self.shift) / self.spread) for sign in (-1, 1)
        )
        return np.asarray(below + above)


@dataclass(frozen=True)
class EstimatedProportion(Proportion):
    """Lists that all of `METHODS` judge, in that order: with what is known of them."""

    def exact(self) -> dict[str, PerEstimator]:
        """Exact values of independent p-values, by estimator; NaN where only simulation says."""
        if self.correlation:
            return {}
        means, sds = exact_moments(self)
        off = means - self.n_null / self.n_prediction
        return {"bias": off, "empirical_se": sds, "rmse": np.hypot(off, sds)}


@functools.cache
def exact_moments(lists: Proportion) -> tuple[PerEstimator, PerEstimator]:
    """Mean and standard deviation of each estimator, for independent p-values.

    NaN for Storey's where nearly all lists have one value: then the rest decide, of which a run may
    have none, and its Monte Carlo error would say 0.
    """
    mixture = Mixture(lists.n_null, lists.n_prediction - lists.n_null, lists.cdf_of_others)
    mean_storey, sd_storey, most_frequent = mixture.storey()
    if most_frequent >= ALIKE:
        mean_storey = sd_storey = np.nan
    means = mixture.means() | {"storey": mean_storey}
    sds = {"storey": sd_storey}
    return (
        np.array([means.get(name, np.nan) for name in ESTIMATORS]),
        np.array([sds.get(name, np.nan) for name in ESTIMATORS]),
    )


def estimate(
    estimator: Callable[[PValues], Float[np.ndarray, " rep"]],
    p: PValues,
    log10_p: Float[np.ndarray, " rep"],
    truth: float,
) -> Columns:
    """Estimate the share of each list; `log10_p` is Fisher's, whatever the estimator."""
    return {"estimate": estimator(p), "log10_p": log10_p, "truth": truth}


METHODS: dict[str, Callable[..., Columns]] = {
    name: partial(estimate, estimator) for name, estimator in ESTIMATORS.items()
}
"""Every estimator; each is stored apart, so any of them will do."""

MEASURES = (
    bias("estimate", truth="truth"),
    empirical_se("estimate"),
    rmse("estimate", truth="truth"),
    mean("log10_p"),
)
