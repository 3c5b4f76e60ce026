"""Networks trained side by side by compiled loops, to the same bits on any processor.

The arithmetic is that of linear layers, batch normalisation and Adam in `torch.nn` and
`torch.optim`. Sums are taken in an order of their own (see the kernels), so torch's predictions
differ from these as those of two processors do.

Networks are trained in blocks of sixteen, each for a whole epoch while its numbers are near. The
last block is filled up with copies of the last network, which are dropped.
"""

from typing import Any

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.documents.stats.networks.architecture import (
    ADAM_FLOOR,
    FIRST_DECAY,
    NEWEST,
    SECOND_DECAY,
    VARIANCE_FLOOR,
    Training,
    Weights,
    count_of,
    first_rates,
)

CACHE_LINE = 64  # bytes


class CompiledTrainer:
    """Some networks, with what they learn from.

    Parameters
    ----------
    weights
        Initial weights; scales begin at 1, shifts and the last layer's bias at 0.
    features, y
        Features of all observations, standardised.
    training
        Batches and rate.
    dtype
        Type of all arithmetic; single precision is what networks are trained in.
    """

    def __init__(
        self,
        weights: Weights,
        features: Float[np.ndarray, "obs feature"],
        y: Float[np.ndarray, " train"],
        training: Training,
        dtype: str = "float32",
    ) -> None:
        from simstudy.documents.stats.compiled.sixteen import LANES

        self.training, self.dtype, self.n_network = training, np.dtype(dtype), count_of(weights)
        self.lanes, self.n_block = LANES, -(-self.n_network // LANES)
        shapes = [layer.shape[1:] for layer in weights]
        self.plan, self.n_unit = planned([shapes[0][0], *(n_out for _, n_out in shapes)], LANES)
        self.table = self._table(features, y)
        n_hidden, n_parameter = self.plan.hidden[-1], self.plan.shifts[-1] + 1
        shape = self.n_block, n_parameter, LANES
        self.values, self.gradient, self.first, self.second = (self._zeros(*shape) for _ in "vgfs")
        self.running = self._zeros(self.n_block, 2 * n_hidden, LANES)
        self.running[:, n_hidden:] = 1
        self.moments = self._zeros(2 * n_hidden, LANES)
        self._begin_at(weights)
        self.n_step = 0
        self.room = self._zeros(0, LANES)

    def _zeros(self, *shape: int) -> Any:
        """Vectors that lie across no two cache lines."""
        size = int(np.prod(shape)) * self.dtype.itemsize
        room = np.zeros(size + CACHE_LINE, np.uint8)
        start = -room.ctypes.data % CACHE_LINE
        return room[start : start + size].view(self.dtype).reshape(shape)

    def _table(self, features: np.ndarray, y: np.ndarray) -> Any:
        """A row of whole vectors for each observation: features, its response, zeros."""
        n_obs, n_feature = features.shape
        table = self._zeros(n_obs, -(-(n_feature + 1) // self.lanes), self.lanes)
        row = table.reshape(n_obs, -1)
        row[:, :n_feature] = features
        row[: len(y), n_feature] = y
        return table

    def _begin_at(self, weights: Weights) -> None:
        last = np.minimum(np.arange(self.n_block * self.lanes), self.n_network - 1)
        for at, layer in zip(self.plan.weights, weights, strict=True):
            by_parameter = layer[last].reshape(self.n_block, self.lanes, -1)
            n = by_parameter.shape[2]
            self.values[:, at : at + n] = np.moveaxis(by_parameter, 1, 2)
        self.values[:, self.plan.scales[0] : self.plan.shifts[0]] = 1

    def of_network(self, at: int, numbers: Float[np.ndarray, "block parameter lane"]) -> np.ndarray:
        """Return the numbers of one network.

        These are weights by layer, then scales, shifts, and the last layer's bias.

        Parameters
        ----------
        at
            Index of the network.
        numbers : float array (block, parameter, lane)
            Numbers of all networks, in lanes.

        Returns
        -------
        array (parameter,)
            The network's own.
        """
        return np.asarray(numbers[at // self.lanes, :, at % self.lanes])

    def epoch(self, order: Int[np.ndarray, "network draw"]) -> None:
        """Train for one pass over each network's observations, in its own order.

        Parameters
        ----------
        order : int array (network, draw)
            Indices of observations, a row for each network.
        """
        batches = self.training.batches(order.shape[1])
        self._pass(order, batches, [self._next_step() for _ in batches])

    def gradient_of(self, rows: Int[np.ndarray, "network obs"]) -> None:
        """Compute gradients of each network's mean squared error over its own batch.

        Parameters
        ----------
        rows : int array (network, obs)
            Indices of observations, a row for each network.
        """
        self._pass(rows, [slice(0, rows.shape[1])], [(0.0, 1.0)])

    def _next_step(self) -> tuple[float, float]:
        """Adam's rate, and what its second root is multiplied by."""
        self.n_step += 1
        rate, divisor = first_rates(self.n_step, self.training.learning_rate)
        return rate, 1 / divisor

    def _pass(self, order: np.ndarray, batches: list[slice], steps: Any) -> None:
        from simstudy.documents.stats.networks import _training_kernels as kernels

        counts = [batch.stop - batch.start for batch in batches]
        ends = np.array([0, *np.cumsum(counts)])
        of_batches = np.column_stack([np.array(steps), 1 / np.array(counts)]).astype(self.dtype)
        rows = np.ascontiguousarray(order, dtype=np.int32)
        kernels.epoch(
            self.plan, rows, ends, of_batches, self.table,
            self.values, self.gradient, self.first, self.second,
            self.running, self.moments, self._room(max(counts)), self._constants(),
        )  # fmt: skip

    def _room(self, n_obs: int) -> Any:
        """Buffers for the numbers of a batch, kept for the next."""
        if len(self.room) < self.n_unit * n_obs:
            self.room = self._zeros(self.n_unit * n_obs, self.lanes)
        return self.room

    def _constants(self) -> Any:
        from simstudy.documents.stats.networks._layer_kernels import Constants

        numbers = 1.0, VARIANCE_FLOOR, NEWEST, FIRST_DECAY, SECOND_DECAY, ADAM_FLOOR
        return Constants(*map(self.dtype.type, numbers))

    def predict(self) -> Float[np.ndarray, "network obs"]:
        """Predict every observation by each network, standardised as the response was.

        Returns
        -------
        float array (network, obs)
            Predictions.
        """
        from simstudy.documents.stats.networks import _training_kernels as kernels

        most = min(self.training.batch_size, len(self.table))
        said = self._zeros(self.n_block, len(self.table), self.lanes)
        kernels.say(
            self.plan, self.table, self.values, self.running, self._room(most), most, said,
            self._constants(),
        )  # fmt: skip
        by_network = np.moveaxis(said, 2, 1).reshape(-1, len(self.table))
        return np.asarray(by_network[: self.n_network], dtype=float)


def planned(sizes: list[int], lanes: int) -> tuple[Any, int]:
    """Plan the layers of a network in memory.

    Parameters
    ----------
    sizes
        Units of each layer, from inputs to output.
    lanes
        Networks side by side.

    Returns
    -------
    tuple[Any, int]
        The plan, and how many units a batch takes room for.
    """
    from simstudy.documents.stats.networks._layer_kernels import Plan

    n_in, n_out = np.array(sizes[:-1]), np.array(sizes[1:])
    hidden = n_out[:-1]
    weights = _begins(n_in * n_out)
    scales = _begins(hidden, weights[-1])
    shifts = _begins(n_out, scales[-1])
    n_first = -(-(sizes[0] + 1) // lanes) * lanes  # features and response, whole vectors
    inputs = _begins(np.array([n_first, *hidden]))
    out = _begins(n_out, inputs[-1])
    errors = np.array([*inputs[1:-1], out[-1]])
    parts = weights[:-1], scales, shifts[:-1], inputs[:-1], out[:-1], errors, _begins(hidden)
    return Plan(np.array(sizes), *parts), int(out[-1]) + 1


def _begins(counts: np.ndarray, start: int = 0) -> np.ndarray:
    """Offsets at which parts begin, and the end of the last."""
    return start + np.array([0, *np.cumsum(counts)])
