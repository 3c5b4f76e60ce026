"""Networks trained side by side, each on its own rows (such as bootstrap samples), and predicting.

Every linear layer but the last is followed by batch normalisation and a ramp (ReLU); the last one
gives a single number. Training minimises the mean squared error of mini-batches by Adam with its
usual constants, at a constant rate, without early stopping and without a penalty. Linear layers
before a normalisation have no bias, as the normalisation would take it away.

The loops are compiled (`_epochs`), in double precision: training enlarges roundings, and those of
single precision would show in the third digit of a prediction.

Sources: Ioffe & Szegedy (2015), Batch normalization, ICML 37, 448-456; Kingma & Ba (2015), Adam,
ICLR, algorithm 1.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from simstudy.array_types import Float, Int

VARIANCE_FLOOR = 1e-3  # added to a batch's variance, in the squared units of a layer's output
NEWEST = 0.1  # share of the latest batch in the means and variances that predictions use
FIRST_DECAY, SECOND_DECAY = 0.9, 0.999  # Adam's decay of mean gradients, and of their squares
ADAM_FLOOR = 1e-8  # added to the root of the latter

Weights = list[np.ndarray]
"""By layer, `(network, input, output)`."""


@dataclass(frozen=True)
class Network:
    """A network, by the outputs of its hidden layers; it has one output in the end."""

    hidden: tuple[int, ...]

    def initial(self, n_network: int, n_feature: int, rng: np.random.Generator) -> Weights:
        """Initial weights, uniform with variance 2 / inputs (He et al. 2015, ICCV, eq. 10)."""
        layers = pairwise((n_feature, *self.hidden, 1))
        return [
            (2 * rng.random((n_network, n_in, n_out)) - 1) * np.sqrt(6 / n_in)
            for n_in, n_out in layers
        ]


@dataclass(frozen=True)
class Training:
    """How networks are trained, and after which ascending numbers of epochs they predict."""

    epochs: tuple[int, ...] = (100,)
    batch_size: int = 64
    learning_rate: float = 1e-3

    def batch_ends(self, n_obs: int) -> Int[np.ndarray, " end"]:
        """Ends of mini-batches that are as equal as possible and have at least 2 observations."""
        n_batch = min(-(-n_obs // self.batch_size), n_obs // 2)
        return np.asarray(n_obs * np.arange(n_batch + 1) // n_batch)


def ensemble_predictions(
    network: Network,
    training: Training,
    features: Float[np.ndarray, "obs feature"],
    y: Float[np.ndarray, " train"],
    rows: Int[np.ndarray, "network draw"],
    *,
    initial: np.random.Generator,
    order: np.random.Generator,
) -> Float[np.ndarray, "epoch network obs"]:
    """Train a network on each row of `rows`, and predict all observations after some epochs.

    Training observations come first in `features`. Features and responses are standardised by the
    training observations; predictions are in the units of `y`.
    """
    train = features[: len(y)]
    spread = train.std(axis=0)
    scaled = (features - train.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    center, unit = y.mean(), y.std() or 1.0
    weights = network.initial(len(rows), features.shape[1], initial)
    trainer, predictions = Trainer(weights, scaled, (y - center) / unit, training), []
    for epoch in range(1, training.epochs[-1] + 1):
        trainer.epoch(order.permuted(rows, axis=1))
        if epoch in training.epochs:
            predictions.append(trainer.predict())
    return np.asarray(center + unit * np.stack(predictions))


class Trainer:
    """Some networks, with the standardised data that they learn from."""

    def __init__(
        self,
        weights: Weights,
        features: Float[np.ndarray, "obs feature"],
        y: Float[np.ndarray, " train"],
        training: Training,
    ) -> None:
        self.training, self.n_step = training, 0
        self.features, self.y = np.ascontiguousarray(features, float), np.asarray(y, float)
        self.plan = _planned(weights)
        n_network, n_hidden = len(weights[0]), self.plan.hidden[-1]
        flat = [layer.reshape(n_network, -1) for layer in weights]
        scales, shifts = np.ones((n_network, n_hidden)), np.zeros((n_network, n_hidden + 1))
        self.values = np.concatenate([*flat, scales, shifts], axis=1)
        self.first, self.second = np.zeros_like(self.values), np.zeros_like(self.values)
        self.running = np.zeros((n_network, 2, n_hidden))
        self.running[:, 1] = 1

    def epoch(self, order: Int[np.ndarray, "network draw"]) -> None:
        """Train for one pass over each network's observations, in its own order."""
        from simstudy.documents.stats import _epochs

        ends = self.training.batch_ends(order.shape[1])
        _epochs.epoch(
            self.plan, self.features, self.y, np.ascontiguousarray(order, np.int64), ends,
            self.values, self.first, self.second, self.running,
            self.n_step, self.training.learning_rate,
        )  # fmt: skip
        self.n_step += len(ends) - 1

    def predict(self) -> Float[np.ndarray, "network obs"]:
        """Predictions of every observation by each network, standardised as the response was."""
        from simstudy.documents.stats import _epochs

        found = np.empty((len(self.values), len(self.features)))
        by_feature = np.ascontiguousarray(self.features.T)
        _epochs.predict(self.plan, by_feature, self.values, self.running, found)
        return found


def _planned(weights: Weights) -> Any:
    from simstudy.documents.stats import _epochs

    sizes = np.array([weights[0].shape[1], *(layer.shape[2] for layer in weights)])
    return _epochs.Plan(
        sizes,
        _begins(sizes[:-1] * sizes[1:]),
        _begins(sizes[1:-1]),
        VARIANCE_FLOOR,
        NEWEST,
        FIRST_DECAY,
        SECOND_DECAY,
        ADAM_FLOOR,
    )


def _begins(counts: np.ndarray) -> Int[np.ndarray, " begin"]:
    """Offsets at which parts begin, and the end of the last."""
    return np.array([0, *np.cumsum(counts)])
