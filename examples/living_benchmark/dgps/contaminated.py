"""Normal values of which one in ten has ten times the standard deviation."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Contaminated:
    n_obs: int
    centre: float = 0.0

    def draw(self, streams, n_rep):
        rng, shape = streams("data"), (n_rep, self.n_obs)
        sd = np.where(rng.random(shape) < 0.1, 10.0, 1.0)
        return {"x": self.centre + sd * rng.standard_normal(shape)}
