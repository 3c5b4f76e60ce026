"""Laplace values, whose tails are heavier than those of normal ones."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HeavyTails:
    n_obs: int
    centre: float = 0.0

    def draw(self, streams, n_rep):
        return {"x": streams("data").laplace(self.centre, size=(n_rep, self.n_obs))}
