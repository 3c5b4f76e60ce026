"""The two-stage trial of a mean: a first sample sets the bound, a second is held against it."""

from dataclasses import dataclass

import numpy as np

from simstudy.design import Columns
from simstudy.documents.dgps.location import Gaussian
from simstudy.documents.stats.two_stage import critical_value, power
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
        Law of the observations, whose variance the trial knows.
    draws
        `raw` draws every observation; `sufficient` the sample means by their own law.
    """

    k: float
    n1: int
    n2: int
    alpha: float = 0.05
    dgp: Gaussian = Gaussian(mean=3.0, variance=2.0)
    draws: str = "raw"

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        rng = streams("data")
        draw = self.dgp.draw_means if self.draws == "sufficient" else self.dgp.sample_means
        mean1, mean2 = (draw(rng, n_rep, n) for n in (self.n1, self.n2))
        se1, se2 = (np.sqrt(self.dgp.variance / n) for n in (self.n1, self.n2))
        bound = mean1 + self.k * se1
        s2, distance = (mean2 - bound) / se2, (bound - self.dgp.mean) / se1
        return {
            "s2": s2,
            "distance": distance,
            "null_is_false": distance > 0,
            "null_is_true": distance <= 0,
            "reject": s2 < critical_value(self.alpha, self.k, self.n1, self.n2),
        }

    def exact(self) -> dict[str, float]:
        return {
            "power": float(power(self.alpha, self.k, self.n1, self.n2)),
            "type_1_error": self.alpha,
            "null_is_false": float(special.ndtr(self.k)),
            "mean_s2": -self.k * float(np.sqrt(self.n2 / self.n1)),
        }


MEASURES = (
    rejection_rate("reject", given="null_is_false", name="power"),
    rejection_rate("reject", given="null_is_true", name="type_1_error"),
    rejection_rate("null_is_false", name="null_is_false"),
    mean("s2", name="mean_s2"),
)
