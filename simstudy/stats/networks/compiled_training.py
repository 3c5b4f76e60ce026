"""Networks trained side by side by compiled loops: torch's arithmetic, the same bits anywhere.

It needs no library beyond the package's own, and its numbers, unlike torch's, depend on no
processor: see the kernels. Sums are taken in another order than torch takes them, so the two
trainers differ as two processors do.
"""

from typing import Any

import numpy as np

from simstudy.shapes import Float, Int
from simstudy.stats.networks.architecture import (
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

Layers = list[np.ndarray]
"""Each `(obs, unit, network)`."""


class CompiledTrainer:
    """Some networks, with what they learn from.

    Parameters
    ----------
    weights
        Initial weights; scales begin at 1, shifts and the last layer's bias at 0.
    features, y
        Of all observations, standardised.
    training
        Batches and rate.
    dtype
        Of all arithmetic; single precision is what networks are trained in.
    """

    def __init__(
        self,
        weights: Weights,
        features: Float[np.ndarray, "obs feature"],
        y: Float[np.ndarray, " train"],
        training: Training,
        dtype: str = "float32",
    ) -> None:
        self.training, self.dtype, self.n_network = training, np.dtype(dtype), count_of(weights)
        self.features, self.y = (np.ascontiguousarray(a, dtype=self.dtype) for a in (features, y))
        shapes = [layer.shape[1:] for layer in weights]
        self.sizes = [shapes[0][0], *(n_out for _, n_out in shapes)]
        self.values, self.gradients = (_Parameters(shapes, self.n_network, dtype) for _ in range(2))
        for view, given in zip(self.values.weights, weights, strict=True):
            view[:] = np.moveaxis(given, 0, -1)
        for scale in self.values.scales:
            scale[:] = 1
        self.first, self.second = (np.zeros_like(self.values.flat) for _ in range(2))
        self.running = [self._remembered(scale.shape) for scale in self.values.scales]
        self.one, self.floor, self.newest = map(self._constant, (1.0, VARIANCE_FLOOR, NEWEST))
        self.n_step = 0
        self._rooms: dict[int, Layers] = {}

    def _constant(self, value: Any) -> Any:
        return np.array(value, dtype=self.dtype)

    def _remembered(self, shape: tuple[int, ...]) -> Any:
        """Means of 0 and variances of 1."""
        return np.stack([np.zeros(shape, self.dtype), np.ones(shape, self.dtype)])

    def _room(self, n_obs: int) -> Layers:
        """Inputs of each layer and what comes out, and normalised outputs, for so many at once."""
        if n_obs not in self._rooms:
            sizes = [*self.sizes, *self.sizes[1:-1]]
            shapes = [(n_obs, n_unit, self.n_network) for n_unit in sizes]
            self._rooms[n_obs] = [np.empty(shape, dtype=self.dtype) for shape in shapes]
        return self._rooms[n_obs]

    def epoch(self, order: Int[np.ndarray, "network draw"]) -> None:
        """One pass over each network's observations, in its own order."""
        for batch in self.training.batches(order.shape[1]):
            self.gradient_of(np.ascontiguousarray(order[:, batch]))
            self._step()

    def gradient_of(self, rows: Int[np.ndarray, "network obs"]) -> None:
        """Gradients of each network's mean squared error over one batch of its own."""
        from simstudy.stats.networks import _training_kernels as kernels

        layers, v, g = self._room(rows.shape[1]), self.values, self.gradients
        n_layer, roots = len(v.weights), [np.empty_like(scale) for scale in v.scales]
        kernels.gather(rows, self.features, layers[0])
        for layer in range(n_layer - 1):
            normalised = layers[n_layer + 1 + layer]
            kernels.linear(layers[layer], v.weights[layer], normalised)
            constants = self.floor, self.newest, self.one
            kernels.normalise(normalised, roots[layer], self.running[layer], *constants)
            kernels.ramp(normalised, v.scales[layer], v.shifts[layer], layers[layer + 1])
        kernels.linear(layers[n_layer - 1], v.weights[-1], layers[n_layer])
        kernels.error_of(layers[n_layer], rows, self.y, v.bias, g.bias, self.one)
        self._backward(layers, roots)

    def _backward(self, layers: Layers, roots: list[Any]) -> None:
        """Fill the gradients, from that of the last layer's output."""
        from simstudy.stats.networks import _training_kernels as kernels

        v, g, n_layer = self.values, self.gradients, len(self.values.weights)
        error = layers[n_layer]
        for layer in reversed(range(n_layer)):
            kernels.weights_gradient(layers[layer], error, g.weights[layer])
            if layer:
                back, before = np.empty_like(layers[layer]), layer - 1
                kernels.inputs_gradient(error, v.weights[layer], layers[layer], back)
                kernels.through_normalisation(
                    back, layers[n_layer + layer], roots[before], v.scales[before],
                    g.scales[before], g.shifts[before], self.one,
                )  # fmt: skip
                error = back

    def _step(self) -> None:
        """Adam's, for all parameters of all networks at once."""
        from simstudy.stats.networks import _training_kernels as kernels

        self.n_step += 1
        rate, divisor = first_rates(self.n_step, self.training.learning_rate)
        decays = FIRST_DECAY, SECOND_DECAY, 1 - FIRST_DECAY, 1 - SECOND_DECAY
        constants = self._constant([*decays, rate, divisor, ADAM_FLOOR])
        kernels.adam(self.values.flat, self.gradients.flat, self.first, self.second, constants)

    def predict(self) -> Float[np.ndarray, "network obs"]:
        """What each network says of every observation, standardised as the response was."""
        from simstudy.stats.networks import _training_kernels as kernels

        layers, v = self._room(len(self.features)), self.values
        n_layer = len(v.weights)
        kernels.spread(self.features, layers[0])
        for layer in range(n_layer - 1):
            normalised = layers[n_layer + 1 + layer]
            kernels.linear(layers[layer], v.weights[layer], normalised)
            kernels.normalise_as_remembered(normalised, self.running[layer], self.floor)
            kernels.ramp(normalised, v.scales[layer], v.shifts[layer], layers[layer + 1])
        kernels.linear(layers[n_layer - 1], v.weights[-1], layers[n_layer])
        return (layers[n_layer][:, 0] + v.bias).T.astype(float)


class _Parameters:
    """Views of one flat array: the network is the last axis of each."""

    def __init__(self, shapes: list[tuple[int, ...]], n_network: int, dtype: str) -> None:
        hidden = [n_out for _, n_out in shapes[:-1]]
        wanted = [*shapes, *((n,) for n in hidden), *((n,) for n in hidden), ()]
        sizes = [int(np.prod(shape)) * n_network for shape in wanted]
        ends = np.cumsum([0, *sizes])
        self.flat = np.zeros(ends[-1], dtype=dtype)
        views = [
            self.flat[start:end].reshape(*shape, n_network)
            for shape, start, end in zip(wanted, ends[:-1], ends[1:], strict=True)
        ]
        n_layer, n_hidden = len(shapes), len(hidden)
        self.weights = views[:n_layer]
        self.scales = views[n_layer : n_layer + n_hidden]
        self.shifts = views[n_layer + n_hidden : -1]
        self.bias = views[-1]
