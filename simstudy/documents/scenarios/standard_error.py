"""The standard error on which a trial of a fitted regression rests: the bootstrap's, of its MSE."""

import math
from dataclasses import dataclass

import numpy as np

from simstudy.array_types import Float
from simstudy.design import Columns
from simstudy.documents.dgps.fits import draw_errors, draw_fit, refuse_few_observations
from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.stats.bootstrap.losses import bootstrap_variance, ideal_variance
from simstudy.errors import DesignError
from simstudy.measures import empirical_se, relative_bias
from simstudy.provenance.streams import Streams


@dataclass(frozen=True)
class BootstrapSe:
    """A model, and the bootstrap standard deviation of its MSE on a test sample.

    Parameters
    ----------
    n_train, n_test
        Observations to learn from, and to test on.
    n_boot
        Resamples, at least 2; infinity is the limit, in closed form.
    model
        Law of the observations.
    draws
        `law` draws the fit and its test errors from their exact laws; `raw` draws features and
        responses, and fits and predicts.

    Raises
    ------
    DesignError
        If there are fewer than 2 resamples.
    """

    n_train: int = 100
    n_test: int = 1000
    n_boot: float = math.inf
    model: LinearModel = LinearModel(noise_variance=5.0)
    draws: str = "law"

    def __post_init__(self) -> None:
        refuse_few_observations(self.n_train, self.model.n_feature)
        if not self.n_boot >= 2:
            raise DesignError(
                f"n_boot={self.n_boot} resamples have no variance, so there is no standard error. "
                "Use at least 2, or infinity for the limit."
            )

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        rng = streams("data")
        truth, fit = draw_fit(self.model, rng, n_rep, self.n_train, self.draws)
        error = draw_errors(self.model, rng, truth, fit, self.n_test, self.draws)
        variance = self.n_test * self._variance(error[:, :, None] ** 2, streams)[:, 0]
        risk = self.model.risk(truth, fit)
        printed = self.model.risk(truth, fit, with_intercept=False)
        return {
            "sd": np.sqrt(variance),
            "sd_true": np.sqrt(risk.mse_variance),
            "variance": variance,
            "variance_true": risk.mse_variance,
            "variance_printed": printed.mse_variance,
            "ratio": np.sqrt(variance / risk.mse_variance),
        }

    def _variance(
        self, losses: Float[np.ndarray, "rep obs metric"], streams: Streams
    ) -> Float[np.ndarray, "rep metric"]:
        """Variance of the mean loss, over resamples."""
        if math.isinf(self.n_boot):
            return ideal_variance(losses)
        return bootstrap_variance(losses, streams("bootstrap"), n_boot=int(self.n_boot), ddof=0)

    def exact(self) -> dict[str, float]:
        """Compute the bias of a variance over n of a sample, and over B of its resamples.

        Returns
        -------
        dict[str, float]
            Exact values by measure.
        """
        resampled = 1.0 if math.isinf(self.n_boot) else 1 - 1 / self.n_boot
        return {"variance_bias": (1 - 1 / self.n_test) * resampled - 1}


MEASURES = (
    relative_bias("variance", truth="variance_true", name="variance_bias"),
    relative_bias("variance", truth="variance_printed", name="variance_bias_printed"),
    relative_bias("sd", truth="sd_true", name="sd_bias"),
    empirical_se("ratio", name="scatter"),
)
