"""Predictions of a regression model, each with a predictive distribution from bootstrap models.

A scenario draws data, splits them and resamples the training part. Each predictor is a method of
the study: it is trained on the training data and on every bootstrap sample, all predictors on the
same ones, and gives a p-value for each test observation. The axes of columns are the epochs after
which networks are asked, the number of bootstrap models, and the kind of predictive distribution.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.data.parts import Data
from simstudy.design import Columns
from simstudy.documents.dgps.friedman import Friedman, Sample
from simstudy.documents.scenarios.models import Model
from simstudy.documents.stats.compatible import ESTIMATORS, fisher
from simstudy.documents.stats.models.least_squares import fit_each
from simstudy.documents.stats.networks import Network, Training, ensemble_predictions
from simstudy.documents.stats.predictive import Normal, centered, fitted, log_p_value, mean_crps
from simstudy.errors import DesignError
from simstudy.measures import Measure, mean
from simstudy.provenance.streams import Streams

DISTRIBUTIONS = ("centered", "fitted", "centered_noise", "fitted_noise")
"""Spread of bootstrap predictions about the trained model's (the paper's example 3) or about their
own mean (its example 2); without and with the noise of an observation."""

RESPONSES = ("value", "log")
LEVEL = 0.9  # levels of the central intervals

OfReplicate = dict[str, np.ndarray]
Features = Float[np.ndarray, "rep obs feature"]
Responses = Float[np.ndarray, "rep obs"]
Resamples = Int[np.ndarray, "rep boot train"]


@dataclass(frozen=True)
class TableRows:
    """Rows of a table (features, and the response as its last column), in a new order each time."""

    data: Data

    def sample(self, rng: np.random.Generator, n_rep: int, n_obs: int) -> Sample:
        """Draw rows of the table without replacement."""
        table = self.data.read_array()
        rows = rng.permuted(np.tile(np.arange(len(table)), (n_rep, 1)), axis=1)[:, :n_obs]
        return Sample(table[rows, :-1], table[rows, -1])

    def __str__(self) -> str:
        return str(self.data)


@dataclass(frozen=True)
class Predictions:
    """Data to learn from and to predict, and bootstrap samples of the former.

    Parameters
    ----------
    source
        Law of the observations.
    n_train, n_test
        Observations to learn from, at least 2, and to predict.
    n_boot
        Numbers of bootstrap models, ascending; fewer are the first of more.
    response
        `value` as it is, or the `log` of it, which is then what is predicted.
    """

    source: Friedman | TableRows
    n_train: int
    n_test: int
    n_boot: tuple[int, ...] = (100,)
    response: str = "value"

    def draw(self, streams: Streams, n_rep: int) -> Columns:
        features, y = self.source.sample(streams("data"), n_rep, self.n_train + self.n_test)
        if self.response == "log":
            if not (y > 0).all():
                raise DesignError(
                    f"response=log: {int((y <= 0).sum())} responses are not above 0, and have no "
                    "log. Use response=value."
                )
            y = np.log(y)
        size = n_rep, self.n_boot[-1], self.n_train
        resamples = streams("resamples").integers(0, self.n_train, size=size, dtype=np.int32)
        return {"features": features, "y": y, "resamples": resamples}


# ---------------------------------------------------------------- predictors
@dataclass(frozen=True)
class Networks:
    """A network on trial: one of the training data and one of each bootstrap sample, together."""

    network: Network
    training: Training

    def __call__(
        self,
        scenario: Predictions,
        streams: Streams,
        features: Features,
        y: Responses,
        resamples: Resamples,
    ) -> Columns:
        """The method: columns `(rep, epoch, n_boot, distribution)`."""
        replicates = []
        for x, response, drawn in zip(features, y, resamples, strict=True):
            predicted = ensemble_predictions(
                self.network,
                self.training,
                x,
                response[: scenario.n_train],
                with_whole(drawn),
                initial=streams("initial weights"),
                order=streams("mini-batches"),
            )
            replicates.append(judged(scenario, response, drawn, predicted))
        return stacked(replicates)


@dataclass(frozen=True)
class Regressor:
    """A regressor of scikit-learn in place of a network, with one answer for all of `n_epochs`."""

    model: Model
    n_epochs: int = 1

    def __call__(
        self,
        scenario: Predictions,
        streams: Streams,
        features: Features,
        y: Responses,
        resamples: Resamples,
    ) -> Columns:
        """The method: columns `(rep, epoch, n_boot, distribution)`."""
        rng, replicates = streams("fit"), []
        for x, response, drawn in zip(features, y, resamples, strict=True):
            rows = with_whole(drawn)
            new = np.broadcast_to(x, (len(rows), *x.shape)).copy()
            fits = fit_each(self.model.fresh(), x[rows], response[rows], new, rng)
            predicted = np.broadcast_to(fits.prediction, (self.n_epochs, *fits.prediction.shape))
            columns = judged(scenario, response, drawn, predicted)
            if fits.failures:
                columns["error"] = np.array(fits.failures[0].error, dtype=object)
            replicates.append(columns)
        return stacked(replicates)


def with_whole(resamples: Int[np.ndarray, "boot train"]) -> Int[np.ndarray, "network train"]:
    """The rows that each model learns from: all of them once, and those of each resample."""
    return np.vstack([np.arange(resamples.shape[1], dtype=resamples.dtype), resamples])


def stacked(replicates: Sequence[OfReplicate]) -> OfReplicate:
    """Columns of replicates; one that did not fail has None for its error."""
    names = dict.fromkeys(name for columns in replicates for name in columns)
    nothing = np.array(None, dtype=object)
    return {name: np.stack([c.get(name, nothing) for c in replicates]) for name in names}


# ---------------------------------------------------------------- judging
def judged(
    scenario: Predictions,
    y: Float[np.ndarray, " obs"],
    resamples: Int[np.ndarray, "boot train"],
    predicted: Float[np.ndarray, "epoch network obs"],
) -> OfReplicate:
    """Columns `(epoch, n_boot, distribution)` of a replicate, and p-values `(..., test)`.

    Predictions are of all observations: by the trained model first, then by those of the resamples.
    """
    cells = [
        _of_cell(scenario.n_train, y, resamples[:n], by_epoch[: n + 1])
        for by_epoch in predicted
        for n in scenario.n_boot
    ]
    shape = len(predicted), len(scenario.n_boot)
    found = {name: np.stack([cell[name] for cell in cells]) for name in cells[0]}
    return {name: values.reshape(*shape, *values.shape[1:]) for name, values in found.items()}


def _of_cell(
    n_train: int,
    y: Float[np.ndarray, " obs"],
    resamples: Int[np.ndarray, "boot train"],
    predicted: Float[np.ndarray, "network obs"],
) -> OfReplicate:
    """Columns `(distribution,)` of one number of epochs and of bootstrap models."""
    noise = residual_sd(y[:n_train], predicted[1:, :n_train], resamples)
    center, draws, y_test = predicted[0, n_train:], predicted[1:, n_train:], y[n_train:]
    laws = [law for sd in (0.0, noise) for law in (centered(draws, center, sd), fitted(draws, sd))]
    return {
        "residual_sd": np.full(len(laws), noise),
        "log_p": np.stack([log_p_value(law, y_test) for law in laws]),
        "crps": np.array([mean_crps(law, y_test) for law in laws]),
        "rmse": np.array([np.sqrt(((law.mean - y_test) ** 2).mean()) for law in laws]),
    }


def residual_sd(
    y: Float[np.ndarray, " train"],
    predicted: Float[np.ndarray, "boot train"],
    resamples: Int[np.ndarray, "boot train"],
) -> float:
    """Root mean squared error of the mean prediction by the models that did not see a value.

    An observation that every bootstrap sample holds is left out; NaN where all are. Breiman (1996),
    Out-of-bag estimation, technical report, University of California, Berkeley.
    """
    unseen = np.ones(predicted.shape, dtype=bool)
    unseen[np.arange(len(predicted))[:, np.newaxis], resamples] = False
    n_models = unseen.sum(axis=0)
    there = n_models > 0
    if not there.any():
        return np.nan
    mean_predicted = np.where(unseen, predicted, 0.0).sum(axis=0)[there] / n_models[there]
    return float(np.sqrt(((y[there] - mean_predicted) ** 2).mean()))


# ---------------------------------------------------------------- controls
@dataclass(frozen=True)
class TrueNulls:
    """Uniform p-values: every predictive distribution is the right one, at all of `n_epochs`."""

    n_epochs: int = 1

    def __call__(self, scenario: Predictions, streams: Streams, y: Responses) -> Columns:
        """The method; it predicts nothing, so it has p-values alone."""
        share = 1 - streams("uniform").random((len(y), scenario.n_test))  # above 0
        nothing = np.full((len(y), 1, 1, 1), np.nan)
        log_p = everywhere(np.log(share), scenario, self.n_epochs)
        return {"residual_sd": nothing, "log_p": log_p, "crps": nothing, "rmse": nothing}


@dataclass(frozen=True)
class Truth:
    """The distribution that responses of Friedman's function have, at all of `n_epochs`."""

    n_epochs: int = 1

    def __call__(self, scenario: Predictions, features: Features, y: Responses) -> Columns:
        """The method, whose predictive distributions are all the same one."""
        source, y = scenario.source, y[:, scenario.n_train :]
        assert isinstance(source, Friedman)
        known = Normal(source.mean_of(features[:, scenario.n_train :]), source.noise_sd)
        one = (slice(None), np.newaxis, np.newaxis, np.newaxis)  # for all positions of the axes
        return {
            "residual_sd": np.full((len(y), 1, 1, 1), source.noise_sd),
            "log_p": everywhere(log_p_value(known, y), scenario, self.n_epochs),
            "crps": mean_crps(known, y)[one],
            "rmse": np.sqrt(((known.mean - y) ** 2).mean(axis=1))[one],
        }


def everywhere(
    values: Float[np.ndarray, "rep test"], scenario: Predictions, n_epochs: int
) -> Float[np.ndarray, "rep epoch n_boot distribution test"]:
    """A vector at every position of the axes."""
    shape = len(values), n_epochs, len(scenario.n_boot), len(DISTRIBUTIONS), values.shape[1]
    return np.broadcast_to(values[:, np.newaxis, np.newaxis, np.newaxis], shape)


# ---------------------------------------------------------------- what is derived
def log10_p(log_p: np.ndarray) -> np.ndarray:
    """Fisher's combined p-value: its log to base 10."""
    return np.asarray(fisher(log_p) / np.log(10))


def coverage(log_p: np.ndarray) -> np.ndarray:
    """Share of test observations within the central interval: those whose p-value is large."""
    return np.asarray((log_p >= np.log1p(-LEVEL)).mean(axis=-1))


def estimated_share(estimator: Callable[..., np.ndarray], log_p: np.ndarray) -> np.ndarray:
    """An estimate of the share of compatible predictions."""
    return estimator(np.exp(log_p))


SHARES = ("cfdr", "cfdr_clipped", "rfdr", "storey", "langaas")
DERIVED: dict[str, Callable[..., np.ndarray]] = {
    "log10_p": log10_p,
    **{name: partial(estimated_share, ESTIMATORS[name]) for name in SHARES},
    "coverage": coverage,
}
"""Functions of the p-values that are stored: another one trains no network again."""

MEASURES: tuple[Measure, ...] = tuple(mean(name) for name in (*DERIVED, "crps", "rmse"))
MAY_BE_MISSING = ("crps", "rmse", "residual_sd")  # shares of true nulls, which predict nothing
