"""Networks trained side by side, each on its own rows (such as bootstrap samples), and predicting.

Every linear layer but the last is followed by batch normalisation and a ramp (ReLU); the last one
gives a single number. Training minimises the mean squared error of mini-batches by Adam with its
usual constants, at a constant rate, without early stopping and without a penalty. Linear layers
before a normalisation have no bias, as the normalisation would take it away.

The arithmetic is compiled (`_training_kernels`), to the same bits on any processor: blocks of
sixteen networks, the last one filled up with copies of the last network, which are dropped.

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
CACHE_LINE = 64  # bytes

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
        trainer.epoch(shuffled(rows, order))
        if epoch in training.epochs:
            predictions.append(trainer.predict())
    return np.asarray(center + unit * np.stack(predictions))


def shuffled(
    rows: Int[np.ndarray, "network draw"], rng: np.random.Generator
) -> Int[np.ndarray, "network draw"]:
    """Each network's rows in an order of their own, from one random word for each network."""
    from simstudy.documents.stats.networks._training_kernels import shuffle_each

    given = np.ascontiguousarray(rows, dtype=np.int32)
    seeds, out = rng.integers(2**64, size=len(rows), dtype=np.uint64), np.empty_like(given)
    shuffle_each(given, seeds, out)
    return out


# ---------------------------------------------------------------- calls of the compiled loops
class Trainer:
    """Some networks, with the standardised data that they learn from."""

    def __init__(
        self,
        weights: Weights,
        features: Float[np.ndarray, "obs feature"],
        y: Float[np.ndarray, " train"],
        training: Training,
        dtype: str = "float32",
    ) -> None:
        from simstudy.documents.stats.compiled.sixteen import LANES
        from simstudy.documents.stats.networks._training_kernels import Constants

        self.training, self.dtype, self.n_step = training, np.dtype(dtype), 0
        numbers = 1.0, VARIANCE_FLOOR, NEWEST, FIRST_DECAY, SECOND_DECAY, ADAM_FLOOR
        self.constants = Constants(*map(self.dtype.type, numbers))
        self.n_network, self.lanes = len(weights[0]), LANES
        self.n_block = -(-self.n_network // LANES)
        self.plan, n_unit = _planned(weights, LANES)
        self.room = self._zeros(n_unit * max(training.batch_size, 3), LANES)  # see `batch_ends`
        self.table = self._zeros(len(features), -(-(features.shape[1] + 1) // LANES), LANES)
        flat = self.table.reshape(len(features), -1)
        flat[:, : features.shape[1]] = features
        flat[: len(y), features.shape[1]] = y
        n_hidden, n_parameter = self.plan.hidden[-1], self.plan.shifts[-1] + 1
        self.values, self.gradient, self.first, self.second = (
            self._zeros(self.n_block, n_parameter, LANES) for _ in range(4)
        )
        last = np.minimum(np.arange(self.n_block * LANES), self.n_network - 1)
        for at, layer in zip(self.plan.weights, weights, strict=True):
            by_parameter = np.moveaxis(layer[last].reshape(self.n_block, LANES, -1), 1, 2)
            self.values[:, at : at + by_parameter.shape[1]] = by_parameter
        self.values[:, self.plan.scales[0] : self.plan.shifts[0]] = 1
        self.moments = self._zeros(2 * n_hidden, LANES)
        self.running = self._zeros(self.n_block, 2 * n_hidden, LANES)
        self.running[:, n_hidden:] = 1

    def _zeros(self, *shape: int) -> Any:
        """Vectors that lie across no two cache lines."""
        size = int(np.prod(shape)) * self.dtype.itemsize
        room = np.zeros(size + CACHE_LINE, np.uint8)
        start = -room.ctypes.data % CACHE_LINE
        return room[start : start + size].view(self.dtype).reshape(shape)

    def epoch(self, order: Int[np.ndarray, "network draw"]) -> None:
        """Train for one pass over each network's observations, in its own order."""
        from simstudy.documents.stats.networks import _training_kernels as kernels

        ends, steps = self.training.batch_ends(order.shape[1]), []
        for n_obs in np.diff(ends):
            self.n_step += 1
            rate = self.training.learning_rate / (1 - FIRST_DECAY**self.n_step)
            steps.append((rate, 1 / np.sqrt(1 - SECOND_DECAY**self.n_step), 1 / n_obs))
        kernels.epoch(
            self.plan, order, ends, np.array(steps, self.dtype),
            self.table, self.values, self.gradient, self.first, self.second,
            self.running, self.moments, self.room, self.constants,
        )  # fmt: skip

    def predict(self) -> Float[np.ndarray, "network obs"]:
        """Predictions of every observation by each network, standardised as the response was."""
        from simstudy.documents.stats.networks import _training_kernels as kernels

        most, n_obs = min(self.training.batch_size, len(self.table)), len(self.table)
        found = self._zeros(self.n_block, n_obs, self.lanes)
        kernels.say(
            self.plan, self.table, self.values, self.running, self.room, most, found, self.constants
        )
        by_network = np.moveaxis(found, 2, 1).reshape(-1, n_obs)
        return np.asarray(by_network[: self.n_network], dtype=float)


def _planned(weights: Weights, lanes: int) -> tuple[Any, int]:
    """Places of the layers in memory, and how many units a batch takes room for."""
    from simstudy.documents.stats.networks._training_kernels import Plan

    sizes = np.array([weights[0].shape[1], *(layer.shape[2] for layer in weights)])
    hidden, n_out = sizes[1:-1], sizes[1:]
    at_weights = _begins(sizes[:-1] * n_out)
    scales = _begins(hidden, at_weights[-1])
    shifts = _begins(n_out, scales[-1])
    n_first = -(-(sizes[0] + 1) // lanes) * lanes  # features and response, whole vectors
    inputs = _begins(np.array([n_first, *hidden]))
    out = _begins(n_out, inputs[-1])
    errors = np.array([*inputs[1:-1], out[-1]])
    parts = at_weights[:-1], scales, shifts[:-1], inputs[:-1], out[:-1], errors, _begins(hidden)
    return Plan(sizes, *parts), int(out[-1]) + 1


def _begins(counts: np.ndarray, start: int = 0) -> np.ndarray:
    """Offsets at which parts begin, and the end of the last."""
    return start + np.array([0, *np.cumsum(counts)])
