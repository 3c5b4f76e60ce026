"""The two-stage trial of any model, by any metric that is a smooth function of means.

A scenario draws data. Each model on trial is a method of the study: it is fitted to them, and tried
by several metrics and with test samples of several sizes. The axes of columns are model, n_test,
method and metric.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from simstudy.array_types import Float
from simstudy.design import Columns
from simstudy.documents.dgps.linear import Regression
from simstudy.documents.stats.mean_bootstrap import resampled_means
from simstudy.documents.stats.models.least_squares import Predictions, fit_each
from simstudy.documents.stats.models.metrics import Metric
from simstudy.documents.stats.models.trial import (
    Stage,
    joined,
    null_columns,
    refuse_few_resamples,
    stage_of_metric,
    trial_design,
    verdict,
)
from simstudy.documents.stats.two_stage import TwoStageDesign
from simstudy.errors import DesignError
from simstudy.provenance.streams import Streams
from simstudy.store.arrow_schema import has_text

NO_TRUTH = "the true metric is not a finite number: nothing to compare the bound with"


class RegressionDgp(Protocol):
    """Draws features and responses; more of the same, given the coefficients."""

    def draw(
        self,
        rng: np.random.Generator,
        n_rep: int,
        n_obs: int,
        coefficients: Float[np.ndarray, "rep feature"] | None = None,
    ) -> Regression: ...


@dataclass(frozen=True)
class Model:
    """Model of a trial: a scikit-learn estimator, or a function that makes one.

    Parameters
    ----------
    name
        Names the model in summaries, in the store and in its random streams: a study has one of
        each name.
    estimator
        An object with `fit` and `predict` that scikit-learn can clone, or a function without
        arguments that returns one, so that scikit-learn is imported when it is needed.
    """

    name: str
    estimator: Any = field(compare=False, repr=False)

    def fresh(self) -> Any:
        """An estimator that is not fitted."""
        is_class = isinstance(self.estimator, type)  # which makes one, too
        is_estimator = hasattr(self.estimator, "fit") and not is_class
        return self.estimator if is_estimator else self.estimator()

    def identity_text(self) -> str:
        """The text that represents the model in random streams and in the store."""
        return repr(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ModelTrial:
    """Data that models are fitted to and tried on, and the trial.

    Parameters
    ----------
    dgp
        Law of the observations.
    metrics
        Metrics of the models.
    sizes
        Sizes of the test sample; each is the beginning of the largest, and so are the prospective
        samples.
    k, alpha, power
        Settings of the trial.
    n_train
        Observations that a model learns from.
    n_boot
        Bootstrap resamples of each sample.
    n_truth
        Fresh observations that a model's true metric comes from. Their own error is √(n_test /
        n_truth) of the standard error on trial, and lowers the share of false nulls by about
        φ(k) k n_test / 2 n_truth: 0.19 points for 200 of 10000.
    """

    dgp: RegressionDgp
    metrics: tuple[Metric, ...]
    sizes: tuple[int, ...]
    k: float = 1.5
    alpha: float = 0.05
    power: float = 0.8
    n_train: int = 150
    n_boot: int = 500
    n_truth: int = 10000

    def __post_init__(self) -> None:
        refuse_few_resamples(self.k, self.n_boot)
        max(self._prospective)  # refuses what has no design
        if self.n_truth < 10 * max(self.sizes):
            raise DesignError(
                f"n_truth={self.n_truth} fresh observations know the true metric hardly better "
                f"than a test sample of {max(self.sizes)} does, so the bound would be compared "
                f"with noise. Use n_truth >= {10 * max(self.sizes)}."
            )

    @property
    def _prospective(self) -> tuple[int, ...]:
        return tuple(self.design(n).n2 for n in self.sizes)

    def design(self, n_test: int) -> TwoStageDesign:
        """Prospective sample size and critical value for a test sample of this size."""
        return trial_design(n_test, self.k, self.alpha, self.power)

    def draw(self, streams: Streams, n_rep: int) -> Columns:
        """Draw what to learn from, and new observations of the same coefficients.

        The new ones are the largest test sample, the largest prospective one, and the fresh ones
        that the truth comes from, in that order.
        """
        rng = streams("data")
        train = self.dgp.draw(rng, n_rep, self.n_train)
        n_new = max(self.sizes) + max(self._prospective) + self.n_truth
        new = self.dgp.draw(rng, n_rep, n_new, train.coefficients)
        return {
            "features": train.features,
            "y": train.y,
            "new_features": new.features,
            "new_y": new.y,
        }

    def tried(
        self, y: Float[np.ndarray, "rep new"], fitted: Predictions, streams: Streams
    ) -> Columns:
        """Columns `(rep, n_test, method, metric)` of a model, by its predictions of the new `y`."""
        truth = self.true_metrics(y[:, -self.n_truth :], fitted)
        sizes = [self._of_size(n, streams, y, fitted, truth) for n in self.sizes]
        columns = {name: np.stack([each[name] for each in sizes], axis=1) for name in sizes[0]}
        for failure in fitted.failures:
            columns["error"][failure.replicate] = failure.error
        if not has_text(columns["error"]).any():
            del columns["error"]
        return columns

    def true_metrics(
        self, y: Float[np.ndarray, "rep truth"], fitted: Predictions
    ) -> Float[np.ndarray, "rep 1 metric"]:
        """Each metric of the last predictions, those of the fresh observations."""
        prediction = fitted.prediction[:, -self.n_truth :]
        with np.errstate(all="ignore"):
            values = [m.value(m.moments(y, prediction).mean(axis=1)) for m in self.metrics]
        return np.stack(values, axis=-1)[:, np.newaxis]

    def _of_size(
        self,
        n_test: int,
        streams: Streams,
        y: Float[np.ndarray, "rep new"],
        fitted: Predictions,
        truth: Float[np.ndarray, "rep 1 metric"],
    ) -> dict[str, np.ndarray]:
        """Columns `(rep, method, metric)` of one model with one size of the test sample."""
        design, start = self.design(n_test), max(self.sizes)
        parts = slice(0, n_test), slice(start, start + design.n2)
        first, second = (
            self._stage(y[:, part], fitted.prediction[:, part], streams, n_test) for part in parts
        )
        sign = np.array([1 if metric.lower_is_better else -1 for metric in self.metrics])
        columns = verdict(first, second, k=self.k, limit=design.critical_value, sign=sign)
        del columns["z"]
        columns |= null_columns(columns.pop("bound"), truth, sign=sign)
        # A comparison with a truth that is none would go unnoticed.
        error = columns.get("error", np.full(columns["reject"].shape, None))
        no_truth = ~np.isfinite(truth) & ~has_text(error)
        return columns | {"error": np.where(no_truth, NO_TRUTH, error)}

    def _stage(
        self,
        y: Float[np.ndarray, "rep obs"],
        prediction: Float[np.ndarray, "rep obs"],
        streams: Streams,
        n_test: int,
    ) -> Stage:
        stages = []
        for metric in self.metrics:
            rng = streams(f"bootstrap {n_test} {metric.name}")
            with np.errstate(all="ignore"):
                moments = metric.moments(y, prediction)
            stages.append(
                stage_of_metric(
                    metric, moments, rng, k=self.k, n_boot=self.n_boot, resample=resampled_means
                )
            )
        return joined(stages)


def try_model(
    model: Model,
    scenario: ModelTrial,
    streams: Streams,
    features: Float[np.ndarray, "rep obs feature"],
    y: Float[np.ndarray, "rep obs"],
    new_features: Float[np.ndarray, "rep new feature"],
    new_y: Float[np.ndarray, "rep new"],
) -> Columns:
    """The method of a model: fitted to what a scenario drew, and tried.

    The model gets copies, since there are estimators that write into what they are given.
    """
    given = features.copy(), y.copy(), new_features.copy()
    return scenario.tried(new_y, fit_each(model.fresh(), *given, streams("fit")), streams)
