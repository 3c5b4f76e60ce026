"""Predictions of a regression model, each with a predictive distribution from bootstrap models.

A scenario draws data, splits them and resamples the training part. Each predictor is a method of
the study: it is trained on the training data and on every bootstrap sample, all predictors on the
same ones, and gives a p-value for each test observation. The axes of columns are the epochs after
which networks are asked, the number of bootstrap models, and the kind of predictive distribution.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.data.parts import Data
from simstudy.documents.dgps.friedman import Friedman, Sample
from simstudy.documents.scenarios.models import Model
from simstudy.documents.stats.compatible import combining
from simstudy.documents.stats.compatible import null_proportion as shares
from simstudy.documents.stats.models.least_squares import fit_each
from simstudy.documents.stats.networks.architecture import Network, Training
from simstudy.documents.stats.networks.ensemble import ensemble_predictions
from simstudy.documents.stats.predictive.bootstrap import centered, fitted
from simstudy.documents.stats.predictive.calibration import mean_crps
from simstudy.documents.stats.predictive.distributions import Normal
from simstudy.documents.stats.predictive.p_values import log_p_value
from simstudy.errors import ConfigError, DesignError
from simstudy.measures import Measure, mean
from simstudy.provenance.streams import Streams

DISTRIBUTIONS = ("centered", "fitted", "centered_noise", "fitted_noise")
"""Spread of bootstrap predictions about the trained model's (the paper's example 3) or about their
own mean (its example 2); without and with the noise of an observation."""

RESPONSES = ("value", "log")
LEVEL = 0.9  # levels of the central intervals

Columns = Mapping[str, Any]
OfReplicate = dict[str, np.ndarray]
Said = Float[np.ndarray, "epoch network obs"]
"""Predictions of all observations of a replicate: by the trained model first, then by those of the
bootstrap samples."""


class Source(Protocol):
    """Draws observations, of a process or from a table."""

    def sample(self, rng: np.random.Generator, n_rep: int, n_obs: int) -> Sample: ...


@dataclass(frozen=True)
class TableRows:
    """Rows of a table without replacement, in a new order in each replicate.

    Parameters
    ----------
    data
        An array: features, and the response as its last column.
    """

    data: Data

    def sample(self, rng: np.random.Generator, n_rep: int, n_obs: int) -> Sample:
        """Draw rows of the table without replacement.

        Parameters
        ----------
        rng
            Generator of the draws.
        n_rep
            Replicates.
        n_obs
            Observations of each replicate.

        Returns
        -------
        Sample
            Features and responses of these rows.

        Raises
        ------
        DesignError
            If the table has fewer rows.
        """
        table = self.data.read_array()
        if len(table) < n_obs:
            raise DesignError(
                f"{self.data} has {len(table)} rows, and training and test data take {n_obs}. Use "
                "fewer of either."
            )
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

    Raises
    ------
    DesignError
        If samples are too small, numbers of models do not ascend from at least 2, or the
        response has no such name.
    """

    source: Source
    n_train: int
    n_test: int
    n_boot: tuple[int, ...] = (100,)
    response: str = "value"

    def __post_init__(self) -> None:
        if self.n_train < 2 or self.n_test < 1:
            raise DesignError(
                f"n_train={self.n_train}, n_test={self.n_test}: a model learns from at least 2 "
                "observations, and is judged by at least 1."
            )
        ascending = all(a < b for a, b in itertools.pairwise(self.n_boot))
        if not self.n_boot or self.n_boot[0] < 2 or not ascending:
            raise DesignError(
                f"n_boot={self.n_boot}: a spread over bootstrap models takes 2 of them, and fewer "
                "are the first of more. Give ascending numbers such as (25, 100)."
            )
        if self.response not in RESPONSES:
            raise DesignError(
                f"response={self.response!r} says nothing of what to predict. Use one of "
                f"{', '.join(RESPONSES)}."
            )

    def draw(self, streams: Streams, n_rep: int) -> Columns:
        drawn = self.source.sample(streams("data"), n_rep, self.n_train + self.n_test)
        size = n_rep, self.n_boot[-1], self.n_train
        resamples = streams("resamples").integers(0, self.n_train, size=size, dtype=np.int32)
        return {
            "features": drawn.features,
            "y": drawn.y if self.response == "value" else logs(drawn.y),
            "resamples": resamples,
        }


def logs(y: Float[np.ndarray, "rep obs"]) -> Float[np.ndarray, "rep obs"]:
    """Natural logs of responses, which have to be above 0."""
    if not (y > 0).all():
        raise DesignError(
            f"response=log: {int((y <= 0).sum())} responses are not above 0, and have no log. Use "
            "response=value."
        )
    return np.asarray(np.log(y))


# ---------------------------------------------------------------- predictors
@dataclass(frozen=True)
class Networks:
    """A network on trial: one of the training data and one of each bootstrap sample, together.

    Parameters
    ----------
    network, training
        Network and training.
    """

    network: Network
    training: Training

    def __call__(
        self,
        scenario: Predictions,
        streams: Streams,
        features: Float[np.ndarray, "rep obs feature"],
        y: Float[np.ndarray, "rep obs"],
        resamples: Int[np.ndarray, "rep boot train"],
    ) -> Columns:
        """The method: columns `(rep, epoch, n_boot, distribution)`."""
        parts = zip(features, y, resamples, strict=True)
        return stacked([self._judged(scenario, streams, *part) for part in parts])

    def _judged(
        self,
        scenario: Predictions,
        streams: Streams,
        features: Float[np.ndarray, "obs feature"],
        y: Float[np.ndarray, " obs"],
        resamples: Int[np.ndarray, "boot train"],
    ) -> OfReplicate:
        said = ensemble_predictions(
            self.network,
            self.training,
            features,
            y[: scenario.n_train],
            with_whole(resamples),
            initial=streams("initial weights"),
            order=streams("mini-batches"),
        )
        return judged(scenario, y, resamples, said)


@dataclass(frozen=True)
class Regressor:
    """Any regressor of scikit-learn in the place of a network.

    Parameters
    ----------
    model
        Model fitted to the training data and to each bootstrap sample.
    n_epochs
        Positions of the axis of epochs, at all of which its answers are the same.
    """

    model: Model
    n_epochs: int = 1

    def __call__(
        self,
        scenario: Predictions,
        streams: Streams,
        features: Float[np.ndarray, "rep obs feature"],
        y: Float[np.ndarray, "rep obs"],
        resamples: Int[np.ndarray, "rep boot train"],
    ) -> Columns:
        """The method: columns `(rep, epoch, n_boot, distribution)`."""
        rng, replicates = streams("fit"), []
        for of_replicate in zip(features, y, resamples, strict=True):
            replicates.append(self._judged(scenario, rng, *of_replicate))
        return stacked(replicates)

    def _judged(
        self,
        scenario: Predictions,
        rng: np.random.Generator,
        features: Float[np.ndarray, "obs feature"],
        y: Float[np.ndarray, " obs"],
        resamples: Int[np.ndarray, "boot train"],
    ) -> OfReplicate:
        rows = with_whole(resamples)
        new = np.broadcast_to(features, (len(rows), *features.shape)).copy()
        fits = fit_each(self.model.fresh(), features[rows], y[rows], new, rng)
        said = np.broadcast_to(fits.prediction, (self.n_epochs, *fits.prediction.shape))
        columns = judged(scenario, y, resamples, said)
        if fits.failures:
            columns["error"] = np.array(fits.failures[0].error, dtype=object)
        return columns


def with_whole(resamples: Int[np.ndarray, "boot train"]) -> Int[np.ndarray, "network train"]:
    """The rows that each model learns from: all of them once, and those of each resample."""
    return np.vstack([np.arange(resamples.shape[1], dtype=resamples.dtype), resamples])


def stacked(replicates: Sequence[OfReplicate]) -> dict[str, np.ndarray]:
    """Columns of replicates; one that did not fail has None for its error."""
    names = dict.fromkeys(name for columns in replicates for name in columns)
    nothing = np.array(None, dtype=object)
    return {name: np.stack([c.get(name, nothing) for c in replicates]) for name in names}


# ---------------------------------------------------------------- judging
def judged(
    scenario: Predictions,
    y: Float[np.ndarray, " obs"],
    resamples: Int[np.ndarray, "boot train"],
    said: Said,
) -> OfReplicate:
    """Columns `(epoch, n_boot, distribution)` of a replicate, and p-values `(..., test)`."""
    cells = [
        [_of_cell(scenario, y, resamples[:n], by_epoch[: n + 1]) for n in scenario.n_boot]
        for by_epoch in said
    ]
    return {
        name: np.stack([np.stack([cell[name] for cell in row]) for row in cells])
        for name in cells[0][0]
    }


def _of_cell(
    scenario: Predictions,
    y: Float[np.ndarray, " obs"],
    resamples: Int[np.ndarray, "boot train"],
    said: Float[np.ndarray, "network obs"],
) -> OfReplicate:
    """Columns `(distribution,)` of one number of epochs and of bootstrap models."""
    n_train = scenario.n_train
    noise = residual_sd(y[:n_train], said[1:, :n_train], resamples)
    center, draws, y_test = said[0, n_train:], said[1:, n_train:], y[n_train:]
    predicted = (
        centered(draws, center),
        fitted(draws),
        centered(draws, center, residual_sd=noise),
        fitted(draws, residual_sd=noise),
    )
    return {"residual_sd": np.full(len(DISTRIBUTIONS), noise)} | _scores(predicted, y_test)


def _scores(predicted: Sequence[Normal], y: Float[np.ndarray, " test"]) -> OfReplicate:
    errors = [distribution.mean - y for distribution in predicted]
    return {
        "log_p": np.stack([log_p_value(distribution, y) for distribution in predicted]),
        "crps": np.array([mean_crps(distribution, y) for distribution in predicted]),
        "rmse": np.array([np.sqrt((error**2).mean()) for error in errors]),
    }


def residual_sd(
    y: Float[np.ndarray, " train"],
    said: Float[np.ndarray, "boot train"],
    resamples: Int[np.ndarray, "boot train"],
) -> float:
    """Root mean squared error of the mean prediction by the models that did not see a value.

    An observation that every bootstrap sample holds is left out; NaN where all are.

    References
    ----------
    Breiman (1996), Out-of-bag estimation, technical report, University of California, Berkeley.
    """
    unseen = np.ones(said.shape, dtype=bool)
    unseen[np.arange(len(said))[:, np.newaxis], resamples] = False
    n_models = unseen.sum(axis=0)
    there = n_models > 0
    if not there.any():
        return np.nan
    mean_said = np.where(unseen, said, 0.0).sum(axis=0)[there] / n_models[there]
    return float(np.sqrt(((y[there] - mean_said) ** 2).mean()))


# ---------------------------------------------------------------- controls
@dataclass(frozen=True)
class TrueNulls:
    """Uniform p-values: every predictive distribution is the right one.

    Parameters
    ----------
    n_epochs
        Positions of the axis of epochs, at all of which its answers are the same.
    """

    n_epochs: int = 1

    def __call__(self, scenario: Predictions, streams: Streams, y: np.ndarray) -> Columns:
        """The method; it predicts nothing, so it has p-values alone."""
        share = 1 - streams("uniform").random((len(y), scenario.n_test))  # above 0
        nothing = np.full((len(y), 1, 1, 1), np.nan)
        return {
            "residual_sd": nothing,
            "log_p": everywhere(np.log(share), scenario, self.n_epochs),
            "crps": nothing,
            "rmse": nothing,
        }


@dataclass(frozen=True)
class Truth:
    """The distribution that responses have: known of a process, and of no table.

    Parameters
    ----------
    n_epochs
        Positions of the axis of epochs, at all of which its answers are the same.
    """

    n_epochs: int = 1

    def __call__(
        self,
        scenario: Predictions,
        features: Float[np.ndarray, "rep obs feature"],
        y: Float[np.ndarray, "rep obs"],
    ) -> Columns:
        """The method, whose predictive distributions are all the same one."""
        source = scenario.source
        assert isinstance(source, Friedman)
        test = slice(scenario.n_train, None)
        known, y_test = Normal(source.mean_of(features[:, test]), source.noise_sd), y[:, test]
        rmse = np.sqrt(((known.mean - y_test) ** 2).mean(axis=1))
        return {
            "residual_sd": np.full((len(y), 1, 1, 1), source.noise_sd),
            "log_p": everywhere(log_p_value(known, y_test), scenario, self.n_epochs),
            "crps": mean_crps(known, y_test)[:, np.newaxis, np.newaxis, np.newaxis],
            "rmse": rmse[:, np.newaxis, np.newaxis, np.newaxis],
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
    return np.asarray(combining.in_log10(combining.fisher(log_p)))


def coverage(log_p: np.ndarray) -> np.ndarray:
    """Share of test observations within the central interval: those whose p-value is large."""
    return np.asarray((log_p >= np.log1p(-LEVEL)).mean(axis=-1))


def cfdr(log_p: np.ndarray) -> np.ndarray:
    """Mean CFDR as printed, which may exceed 1."""
    return shares.cfdr_proportion(np.exp(log_p))


def cfdr_clipped(log_p: np.ndarray) -> np.ndarray:
    """Mean CFDR, each at most 1."""
    return shares.cfdr_proportion(np.exp(log_p), clipped=True)


def rfdr(log_p: np.ndarray) -> np.ndarray:
    """Mean RFDR."""
    return shares.rfdr_proportion(np.exp(log_p))


def storey(log_p: np.ndarray) -> np.ndarray:
    """Storey's share of compatible predictions: twice that of p-values above one half."""
    return shares.storey(np.exp(log_p))


def langaas(log_p: np.ndarray) -> np.ndarray:
    """The share by the density of p-values at 1, decreasing and convex."""
    return shares.langaas(np.exp(log_p))


DERIVED: dict[str, Callable[..., np.ndarray]] = {
    "log10_p": log10_p,
    "cfdr": cfdr,
    "cfdr_clipped": cfdr_clipped,
    "rfdr": rfdr,
    "storey": storey,
    "langaas": langaas,
    "coverage": coverage,
}
"""Functions of the p-values that are stored: another one trains no network again."""

MEASURES: tuple[Measure, ...] = tuple(mean(name) for name in (*DERIVED, "crps", "rmse"))
MAY_BE_MISSING = ("crps", "rmse", "residual_sd")  # shares of true nulls, which predict nothing


# ---------------------------------------------------------------- what must be there
def refuse_truth_of(source: Source) -> None:
    """Refuse to ask a table for the distribution that it comes from."""
    if not isinstance(source, Friedman):
        raise ConfigError(
            f"predictor truth: nobody knows the distribution behind {source}. Leave it out, or "
            "take data=friedman."
        )
