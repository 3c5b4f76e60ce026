"""Scenarios that read data: declared as parts, or behind the engine's back."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from simstudy import Data, Study, by_method, grid
from simstudy.measures import bias, empirical_se

PRICES = pd.DataFrame({"day": ["mo", "tu", "we", "th"], "price": [1.5, 2.0, 4.0, 8.5]})


@dataclass(frozen=True)
class Resampled:
    """The mean of prices drawn with replacement."""

    data: Data
    n_obs: int = 5

    def prices(self):
        return self.data.read_frame()["price"].to_numpy()

    def simulate(self, streams, n_rep):
        prices = self.prices()
        x = streams("data").choice(prices, size=(n_rep, self.n_obs))
        return {"estimate": x.mean(axis=1), "truth": prices.mean()}


@dataclass(frozen=True)
class Undeclared:
    """Reads a file that it names, and does not declare."""

    path: str
    how: str = "plain"

    def read(self):
        with open(self.path) as file:
            return json.load(file)

    def simulate(self, streams, n_rep):
        if self.how == "swallowed":
            return by_method({"a": lambda: {"x": np.full(n_rep, self.read()["x"] / 0)}}, n_rep)
        x = self.read()["x"]
        if self.how == "raises":
            raise ValueError("later")
        return {"x": np.full(n_rep, float(x))}


def study_of(*scenarios):
    return Study(
        name="with_data",
        scenarios=scenarios,
        measures=[bias("estimate", truth="truth"), empirical_se("estimate")],
        block_size=20,
        n_rep=120,
    )


def resampling(data):
    return study_of(*grid(Resampled, data=data, n_obs=[5, 9]))
