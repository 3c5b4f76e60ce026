"""A study small enough to run many times: two intervals for a mean."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from simstudy.design import Columns, grid
from simstudy.measures import bias, coverage, empirical_se
from simstudy.provenance.streams import Streams
from simstudy.study import Study

METHODS = ("t", "z")


@dataclass(frozen=True)
class Mean:
    """The mean of n_obs normal values, with its t and its z interval."""

    n_obs: int
    truth: float = 0.0

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        x = self.truth + streams("data").standard_normal((n_rep, self.n_obs))
        estimate = np.repeat(x.mean(axis=1)[:, None], 2, axis=1)
        half = [special.stdtrit(self.n_obs - 1, 0.975), special.ndtri(0.975)]
        half = np.outer(x.std(axis=1, ddof=1) / np.sqrt(self.n_obs), half)
        return {
            "estimate": estimate,
            "lower": estimate - half,
            "upper": estimate + half,
            "truth": np.float64(self.truth),
        }

    def exact(self) -> dict[str, object]:
        return {"coverage": np.array([0.95, np.nan]), "bias": 0.0}


def study(n_obs: object = (3, 10, 30), *, block_size: int = 50) -> Study:
    return Study(
        name="toy",
        scenarios=grid(Mean, n_obs=n_obs),
        measures=[
            bias("estimate", truth="truth"),
            coverage("lower", "upper", truth="truth"),
            empirical_se("estimate"),
        ],
        axes={"method": METHODS},
        block_size=block_size,
        n_rep=200,
    )
