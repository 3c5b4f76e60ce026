"""How well the proportion of compatible predictions is known: lists of p-values, and estimators.

`Proportion` draws lists of which the share is known; each of `METHODS` estimates it, and so does
any function with such parameters. For an estimator that is added the very same p-values are drawn
again, and nothing of the others is.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from simstudy.array_types import Float
from simstudy.documents.dgps.p_values import ScoredPredictions
from simstudy.documents.stats.compatible import theory
from simstudy.documents.stats.compatible.combining import fisher, in_log10
from simstudy.documents.stats.compatible.null_proportion import ESTIMATORS
from simstudy.measures import bias, empirical_se, mean, rmse
from simstudy.provenance.streams import Streams

ALIKE = 0.9  # share of lists with one value, above which theory is not compared

PValues = Float[np.ndarray, "rep n"]
PerEstimator = Float[np.ndarray, " estimator"]


@dataclass(frozen=True)
class Proportion:
    """Lists of p-values with a known share of compatible predictions.

    Parameters
    ----------
    n_prediction, null_share, shift, spread, correlation, n_together
        The same as in `ScoredPredictions`.
    """

    n_prediction: int = 168
    null_share: float = 1.0
    shift: float = 0.0
    spread: float = 1.0
    correlation: float = 0.0
    n_together: int = 0

    def __post_init__(self) -> None:
        _ = self.predictions

    @property
    def predictions(self) -> ScoredPredictions:
        """Source of the p-values."""
        return ScoredPredictions(
            self.n_prediction,
            self.null_share,
            self.shift,
            self.spread,
            self.correlation,
            self.n_together,
        )

    def draw(self, streams: Streams, n_rep: int) -> Mapping[str, Any]:
        log_p = self.predictions.draw(streams("data"), n_rep)
        return {
            "p": np.exp(log_p),
            "log10_p": in_log10(fisher(log_p)),
            "truth": self.predictions.true_share,
        }


@dataclass(frozen=True)
class EstimatedProportion(Proportion):
    """Lists that all of `METHODS` judge, in that order: with what is known of them."""

    def exact(self) -> dict[str, PerEstimator]:
        """Exact values of independent p-values, by estimator; NaN where only simulation says."""
        if self.correlation:
            return {}
        means, sds = exact_moments(self.predictions)
        off = means - self.predictions.true_share
        return {"bias": off, "empirical_se": sds, "rmse": np.hypot(off, sds)}


Told = dict[str, Any]  # columns: (rep,), or one number for all
Estimator = Callable[[Float[np.ndarray, "... n"]], Float[np.ndarray, "..."]]


def estimate(
    estimator: Estimator, p: PValues, log10_p: Float[np.ndarray, " rep"], truth: float
) -> Told:
    """Estimate the proportion of each list by one estimator.

    `log10_p` is Fisher's combined p-value of the same list, whatever the estimator.
    """
    return {"estimate": estimator(p), "log10_p": log10_p, "truth": truth}


METHODS: dict[str, Callable[..., Told]] = {
    name: partial(estimate, estimator) for name, estimator in ESTIMATORS.items()
}
"""Every estimator; each is stored apart, so any of them will do."""

MEASURES = (
    bias("estimate", truth="truth"),
    empirical_se("estimate"),
    rmse("estimate", truth="truth"),
    mean("log10_p"),
)


# ---------------------------------------------------------------- theory
@functools.cache
def exact_moments(predictions: ScoredPredictions) -> tuple[PerEstimator, PerEstimator]:
    """Mean and standard deviation of each estimator, for independent p-values.

    NaN for Storey's where nearly all lists have one value: then the rest decide, of which a run may
    have none, and its Monte Carlo error would say 0.
    """
    n_null, n = predictions.n_null, predictions.n_prediction
    mixture = theory.Mixture(n_null, n - n_null, predictions.cdf_of_others)
    storey = theory.storey_moments(mixture)
    known = {
        "cfdr_by_p": theory.mean_cfdr_proportion(mixture),
        "cfdr_by_p_clipped": theory.mean_cfdr_proportion(mixture, clipped=True),
        "rfdr_by_p": theory.mean_rfdr_proportion(mixture),
    }
    if storey.most_frequent < ALIKE:
        known["storey"] = storey.mean
    means = np.array([known.get(name, np.nan) for name in ESTIMATORS])
    spreads = {"storey": storey.sd} if "storey" in known else {}
    sds = np.array([spreads.get(name, np.nan) for name in ESTIMATORS])
    return means, sds
