"""Normal samples: no outliers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Normal:
    n_obs: int
    centre: float = 0.0

    def draw(self, streams, n_rep):
        return {"x": streams("data").normal(self.centre, size=(n_rep, self.n_obs))}
