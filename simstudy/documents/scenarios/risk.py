"""The truth that a trial of a fitted regression compares with: its risk and its metrics."""

from dataclasses import dataclass

import numpy as np

from simstudy.design import Columns
from simstudy.documents.dgps.fits import draw_errors, draw_fit, refuse_few_observations
from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.scenarios.regression import by_metric, loss_variances
from simstudy.measures import bias, model_se, rmse
from simstudy.provenance.streams import Streams


@dataclass(frozen=True)
class RegressionRisk:
    """A model, its metrics on a test sample, and its risk; fields as in `RegressionTrial`."""

    n_train: int = 100
    n_test: int = 10000
    model: LinearModel = LinearModel(noise_variance=5.0)
    draws: str = "raw"

    def __post_init__(self) -> None:
        refuse_few_observations(self.n_train, self.model.n_feature)

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        rng = streams("data")
        truth, fit = draw_fit(self.model, rng, n_rep, self.n_train, self.draws)
        error = draw_errors(self.model, rng, truth, fit, self.n_test, self.draws)
        risk = self.model.risk(truth, fit)
        return {
            "empirical": np.stack([(error**2).mean(axis=1), np.abs(error).mean(axis=1)], axis=-1),
            "risk": by_metric(risk),
            "risk_printed": by_metric(self.model.risk(truth, fit, with_intercept=False)),
            "std_error": np.sqrt(loss_variances(risk) / self.n_test),
        }

    def exact(self) -> dict[str, object]:
        """Biases: the printed risk lacks the mean square of the intercept, for the MSE."""
        return {"bias": 0.0, "bias_printed": np.array([self.mean_square_intercept, np.nan])}

    @property
    def mean_square_intercept(self) -> float:
        """σ²/n (1 + p/(n - p - 2)): the means of p features meet their coefficients' errors."""
        p, n = self.model.n_feature, self.n_train
        inflation = p / (n - p - 2) if n > p + 2 else np.inf
        return float(self.model.noise_variance / n * (1 + inflation))


MEASURES = (
    bias("empirical", truth="risk"),
    bias("empirical", truth="risk_printed", name="bias_printed"),
    rmse("empirical", truth="risk"),
    rmse("empirical", truth="risk_printed", name="rmse_printed"),
    model_se("std_error"),
)
