"""The two-stage trial of a least-squares fit, by its MSE and by its MAE."""

import math
from dataclasses import dataclass

import numpy as np

from simstudy.array_types import Float
from simstudy.design import Columns
from simstudy.documents.dgps.fits import DRAWS, draw_errors, draw_fit, refuse_few_observations
from simstudy.documents.dgps.linear import Coefficients, LinearModel, Risk
from simstudy.documents.stats.models.least_squares import LinearFit
from simstudy.documents.stats.models.trial import (
    METHODS,
    Stage,
    null_columns,
    refuse_few_resamples,
    stage_of_errors,
    trial_design,
    verdict,
)
from simstudy.documents.stats.two_stage import TwoStageDesign
from simstudy.errors import DesignError
from simstudy.measures import mean, rejection_rate, relative_bias
from simstudy.options import option
from simstudy.provenance.streams import Streams

METRICS = ("mse", "mae")
AXES = {"method": METHODS, "metric": METRICS}
SAMPLES = ("test", "prospective")


@dataclass
class LinearConfig:
    """Settings of the data of every study of a least-squares fit."""

    n_feature: int = option("features", at_least=1)
    coefficient: float = option("size of every coefficient", above=0, at_most=1e6)
    draws: str = option(
        "fits and errors from their exact laws, or from features and responses", one_of=DRAWS
    )
    n_rep: int = option("published replicates in each scenario", at_least=1)


@dataclass(frozen=True)
class RegressionTrial:
    """One trial of a regression model.

    Parameters
    ----------
    k
        Standard errors from the metric on the test sample to the bound.
    alpha, power
        Probability of rejecting, given that the null is true, and given that it is false: they set
        the prospective sample.
    n_train, n_test
        Observations to learn from, and in the first stage.
    model
        Law of the observations.
    n_boot
        Bootstrap resamples of each sample.
    n_inner
        Resamples of each resample behind its standard error; infinity is the closed form.
    draws
        `law` draws the fit and its new errors from their exact laws; `raw` draws features and
        responses, and fits and predicts.
    """

    k: float = 1.5
    alpha: float = 0.05
    power: float = 0.8
    n_train: int = 150
    n_test: int = 150
    model: LinearModel = LinearModel()
    n_boot: int = 1000
    n_inner: float = math.inf
    draws: str = "law"

    def __post_init__(self) -> None:
        refuse_few_observations(self.n_train, self.model.n_feature)
        refuse_few_resamples(self.k, self.n_boot)
        trial_design(self.n_test, self.k, self.alpha, self.power)  # refuses what has none
        if not self.n_inner >= 2:
            raise DesignError(
                f"n_inner={self.n_inner} inner resamples have no variance, so nothing can be "
                "studentized. Use at least 2, or infinity for the closed form."
            )

    @property
    def design(self) -> TwoStageDesign:
        """Prospective sample size and critical value."""
        return trial_design(self.n_test, self.k, self.alpha, self.power)

    def simulate(self, streams: Streams, n_rep: int) -> Columns:
        rng, design = streams("data"), self.design
        truth, fit = draw_fit(self.model, rng, n_rep, self.n_train, self.draws)
        stages = [self._stage(streams, truth, fit, n) for n in (self.n_test, design.n2)]
        risk, printed = (self.model.risk(truth, fit, with_intercept=x) for x in (True, False))
        columns = verdict(*stages, k=self.k, limit=design.critical_value)
        bound = columns.pop("bound")
        columns |= null_columns(bound, by_metric(risk)[:, np.newaxis])
        columns |= null_columns(bound, by_metric(printed)[:, np.newaxis], suffix="_printed")
        for name, stage, n_obs in zip(SAMPLES, stages, (self.n_test, design.n2), strict=True):
            columns[f"sd_{name}"] = stage.std_error * np.sqrt(n_obs)
            columns[f"reach_{name}"] = stage.reach
        return columns | {
            name: np.sqrt(loss_variances(of))[:, np.newaxis]
            for name, of in (("sd_true", risk), ("sd_printed", printed))
        }

    def _stage(self, streams: Streams, truth: Coefficients, fit: LinearFit, n_obs: int) -> Stage:
        error = draw_errors(self.model, streams("data"), truth, fit, n_obs, self.draws)
        boot = streams("bootstrap")
        return stage_of_errors(error, boot, k=self.k, n_boot=self.n_boot, n_inner=self.n_inner)


def by_metric(risk: Risk) -> Float[np.ndarray, "rep metric"]:
    """The risk, by metric."""
    return np.stack([risk.mse, risk.mae], axis=-1)


def loss_variances(risk: Risk) -> Float[np.ndarray, "rep metric"]:
    """Variance of one observation's loss, by metric."""
    return np.stack([risk.mse_variance, risk.mae_variance], axis=-1)


MEASURES = (
    rejection_rate("reject", given="null_is_false", name="power"),
    rejection_rate("reject", given="null_is_true", name="type_1_error"),
    rejection_rate("null_is_false", name="null_is_false"),
    rejection_rate("reject", given="null_is_false_printed", name="power_printed"),
    rejection_rate("reject", given="null_is_true_printed", name="type_1_error_printed"),
    rejection_rate("null_is_false_printed", name="null_is_false_printed"),
    relative_bias("sd_test", truth="sd_true", name="sd_test_bias"),
    relative_bias("sd_prospective", truth="sd_true", name="sd_prospective_bias"),
    mean("reach_test"),
    mean("reach_prospective"),
)
