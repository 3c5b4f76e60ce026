"""What does the cross-validated lasso find where features outnumber observations?

Aims         Does choosing the penalty by cross-validation find the features that matter, and
             what does refitting them by least squares do to prediction?
Data         60 observations of 120 normal features, whose neighbours are correlated by 0 or 0.7;
             five features, 24 apart, have coefficients of 1; noise of variance 1.
Estimands    The coefficients.
Methods      The lasso with the penalty of least 5-fold error, the same with the largest
             penalty within one standard error of it, and least squares on what the first chose.
Performance  Excess risk (the squared error of a prediction, less the noise), the share of the
             five that is found, and how many others are chosen; means with their MCSE.

Needs scikit-learn.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LassoCV, lasso_path

from simstudy import Study, each_replicate, grid
from simstudy.measures import mean


@dataclass(frozen=True)
class Sparse:
    correlation: float
    n_obs: int = 60
    n_feature: int = 120

    def draw(self, streams, n_rep):
        rng = streams("data")
        root = np.linalg.cholesky(self.covariance())
        x = rng.normal(size=(n_rep, self.n_obs, self.n_feature)) @ root.T
        return {"x": x, "y": x @ self.beta() + rng.normal(size=(n_rep, self.n_obs))}

    def beta(self):
        return (np.arange(self.n_feature) % 24 == 0) * 1.0

    def covariance(self):
        index = np.arange(self.n_feature)
        return self.correlation ** np.abs(index[:, None] - index)


def scored(coefficients, scenario):
    beta, chosen = scenario.beta(), coefficients != 0
    error = coefficients - beta
    return {
        "risk": error @ scenario.covariance() @ error,
        "found": chosen[beta != 0].mean(),
        "false": chosen[beta == 0].sum(),
    }


def cross_validated(x, y):
    """Folds are runs of observations, which come in no order; nothing else is drawn."""
    return LassoCV(cv=5, alphas=50, fit_intercept=False, random_state=0).fit(x, y)


def least_error(x, y, scenario):
    return scored(cross_validated(x, y).coef_, scenario)


def one_se(x, y, scenario):
    fit = cross_validated(x, y)
    errors, se = fit.mse_path_.mean(axis=1), fit.mse_path_.std(axis=1, ddof=1) / np.sqrt(5)
    penalty = fit.alphas_[errors <= errors.min() + se[errors.argmin()]].max()
    return scored(lasso_path(x, y, alphas=[penalty], random_state=0)[1][:, 0], scenario)


def refitted(x, y, scenario):
    coefficients = cross_validated(x, y).coef_
    chosen = coefficients != 0
    coefficients[chosen] = np.linalg.lstsq(x[:, chosen], y, rcond=None)[0]
    return scored(coefficients, scenario)


study = Study(
    name="lasso",
    scenarios=grid(Sparse, correlation=[0.0, 0.7]),
    methods={each.__name__: each_replicate(each) for each in (least_error, one_se, refitted)},
    measures=[mean("risk"), mean("found"), mean("false")],
    block_size=20,
    n_rep=100,
)

if __name__ == "__main__":
    print(study.run(out="results").table("summary"))
