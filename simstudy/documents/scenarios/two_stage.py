"""The two-stage trial of a mean: a first sample sets the bound, a second is held against it."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from simstudy.design import Columns
from simstudy.documents.dgps.location import Gaussian, LocationDgp, sample_means, sample_moments
from simstudy.documents.stats.two_stage.design import critical_value, power
from simstudy.errors import DesignError
from simstudy.lazy import special
from simstudy.measures import mean, rejection_rate
from simstudy.provenance.streams import Streams


@dataclass(frozen=True)
class TwoStage:
    """One two-stage trial.

    Parameters
    ----------
    k
        Standard errors of the first mean from it up to the bound mu0.
    n1, n2
        Observations in the first and second stage.
    alpha
        Probability of rejecting, given that the null is true.
    dgp
        Law of the observations.
    draws
        `raw` draws every observation; `sufficient` the sample means (and variances) by their own
        law, where the DGP knows it.
    variance
        `known` to the trial, or `estimated` from each sample.

    Raises
    ------
    DesignError
        If the DGP does not know the law of what is `sufficient`.
    """

    k: float
    n1: int
    n2: int
    alpha: float = 0.05
    dgp: LocationDgp = Gaussian(mean=3.0, variance=2.0)
    draws: str = "raw"
    variance: str = "known"

    def __post_init__(self) -> None:
        law = "draw_moments" if self.variance == "estimated" else "draw_means"
        if self.draws == "sufficient" and not hasattr(self.dgp, law):
            raise DesignError(
                f"the sample {law.removeprefix('draw_')} of {self.dgp} have no law that can be "
                "drawn from. Use draws='raw' for this DGP."
            )

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        rng = streams("data")
        mean1, se1 = self._stage(rng, n_rep, self.n1)
        mean2, se2 = self._stage(rng, n_rep, self.n2)
        bound = mean1 + self.k * se1
        with np.errstate(divide="ignore", invalid="ignore"):  # a sample without spread has no s2
            s2 = (mean2 - bound) / se2
        distance = (bound - self.dgp.mean) / np.sqrt(self.dgp.variance / self.n1)
        reject = s2 < _limit(self.alpha, self.k, self.n1, self.n2)
        return {
            "s2": s2,
            "distance": distance,
            "null_is_false": distance > 0,
            "null_is_true": distance <= 0,
            "reject": reject,
        }

    def _stage(self, rng: np.random.Generator, n_rep: int, n_obs: int) -> tuple[Any, Any]:
        """Mean of each replicate's sample, and its standard error as the trial sees it."""
        sufficient = self.draws == "sufficient"
        dgp: Any = self.dgp
        if self.variance == "estimated":
            moments = (
                dgp.draw_moments(rng, n_rep, n_obs)
                if sufficient
                else sample_moments(dgp, rng, n_rep, n_obs)
            )
            return moments.mean, np.sqrt(moments.variance / n_obs)
        means = (
            dgp.draw_means(rng, n_rep, n_obs)
            if sufficient
            else sample_means(dgp, rng, n_rep, n_obs)
        )
        return means, np.sqrt(dgp.variance / n_obs)

    def exact(self) -> dict[str, float]:
        if not isinstance(self.dgp, Gaussian) or self.variance != "known":
            return {}
        return {
            "power": float(power(self.alpha, self.k, self.n1, self.n2)),
            "type_1_error": self.alpha,
            "null_is_false": float(special.ndtr(self.k)),
            "mean_s2": -self.k * float(np.sqrt(self.n2 / self.n1)),
        }


@functools.lru_cache(maxsize=4096)
def _limit(alpha: float, k: float, n1: int, n2: int) -> float:
    """The critical value, solved once for all blocks of a scenario."""
    return float(critical_value(alpha, k, n1, n2))


MEASURES = (
    rejection_rate("reject", given="null_is_false", name="power"),
    rejection_rate("reject", given="null_is_true", name="type_1_error"),
    rejection_rate("null_is_false", name="null_is_false"),
    mean("s2", name="mean_s2"),
)
