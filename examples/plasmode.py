"""Which adjustment recovers an effect that was planted in real, confounded data?

Aims         Do regression and inverse-probability weighting find a treatment's effect among
             real covariates, where the assignment depends on them?
Data         Plasmode: rows of the diabetes data of Efron and others (2004) are drawn with
             replacement; the treatment is assigned with log odds of `strength` times the
             standardised body-mass index plus half of that times the blood pressure; `effect`
             is added to the real response (disease progression) of the treated.
Estimands    The average effect of the treatment, 20, since it is the same for every row.
Methods      Difference of means, least squares with all covariates, normalised inverse-
             probability weighting with a logistic model of the two confounders.
Performance  Bias, empirical SE, root mean squared error; one MCSE of the bias is about 0.3 with
             100 rows and 0.15 with 400 at the default 2000 replicates.

Needs scikit-learn, which ships the data.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special
from sklearn.datasets import load_diabetes

from simstudy import Data, Study, grid
from simstudy.measures import bias, empirical_se, rmse

BMI, PRESSURE = 2, 3  # columns of the covariates
table = load_diabetes()
diabetes = Data.from_array(np.column_stack([table.data, table.target]), name="diabetes")


@dataclass(frozen=True)
class Plasmode:
    rows: Data
    n_obs: int
    strength: float = 1.0
    effect: float = 20.0

    def draw(self, streams, n_rep):
        rng, rows = streams("data"), self.rows.read_array()
        drawn = rows[rng.integers(len(rows), size=(n_rep, self.n_obs))]
        x, response = drawn[..., :-1] / rows[:, :-1].std(axis=0), drawn[..., -1]
        odds = self.strength * (x[..., BMI] + x[..., PRESSURE] / 2)
        treated = rng.random((n_rep, self.n_obs)) < special.expit(odds)
        return {"x": x, "treated": treated, "y": response + self.effect * treated}


def crude(treated, y):
    return {"estimate": weighted(y, treated) - weighted(y, ~treated)}


def regression(x, treated, y):
    design = np.concatenate([treated[..., None], np.ones_like(treated)[..., None], x], axis=2)
    return {"estimate": (np.linalg.pinv(design) @ y[..., None])[:, 0, 0]}


def weighting(x, treated, y):
    design = np.concatenate([np.ones_like(y)[..., None], x[..., [BMI, PRESSURE]]], axis=2)
    beta = np.zeros((len(y), 3, 1))
    for _ in range(8):  # Newton's method for the logistic model
        p = special.expit(design @ beta)
        score = design.mT @ (treated[..., None] - p)
        beta = beta + np.linalg.solve(design.mT @ (p * (1 - p) * design), score)
    p = special.expit(design @ beta)[..., 0]
    return {"estimate": weighted(y, treated / p) - weighted(y, ~treated / (1 - p))}


def weighted(y, weights):
    return (weights * y).sum(axis=1) / weights.sum(axis=1)


study = Study(
    name="plasmode",
    scenarios=grid(Plasmode, rows=diabetes, n_obs=[100, 400]),
    methods={"crude": crude, "regression": regression, "weighting": weighting},
    measures=[
        bias("estimate", truth="effect"),
        empirical_se("estimate"),
        rmse("estimate", "effect"),
    ],
    block_size=200,
    n_rep=2000,
)

if __name__ == "__main__":
    print(study.run(out="results").table("summary"))
