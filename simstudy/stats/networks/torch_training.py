"""Networks trained side by side in torch: one product of batches of matrices for all of them.

A network of this size takes torch a few microseconds of arithmetic a step and a millisecond of
calls. Here the first axis of every tensor is the network, so that a hundred networks cost about
as many calls as one. The gradient is written out, which takes half the time of torch's own
(`autograd`): tests hold it to that of a plain `torch.nn.Sequential`, and to `torch.optim.Adam`.

*Bits.* No random number is torch's, and no operation here leaves its order of sums to chance, so
with one thread (as wherever the engine draws) the same machine gives the same bits, whichever
networks were trained before. Sums and products of matrices are taken in an order that depends on
the vector instructions that torch and MKL find, so another kind of processor, or another version
of torch, may differ in the last bit of a step; training carries such a bit on.
"""

# mypy: disable-error-code="no-any-return"

from typing import Any

import numpy as np

from simstudy.lazy import torch
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

Tensor = Any  # torch.Tensor, which only exists where torch does


class TorchTrainer:
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
        Name of torch's type for all arithmetic; single precision is what networks are trained in.
    """

    def __init__(
        self,
        weights: Weights,
        features: Float[np.ndarray, "obs feature"],
        y: Float[np.ndarray, " train"],
        training: Training,
        dtype: str = "float32",
    ) -> None:
        self.training, self.dtype = training, getattr(torch, dtype)
        self.features, self.y = self._tensor(features), self._tensor(y)
        self.parameters, self.values = _Parameters.of(weights, self.dtype)
        self.gradient, self.gradients = _Parameters.like(self.parameters, weights)
        self.first, self.second = (torch.zeros_like(self.parameters) for _ in range(2))
        self.n_step = 0
        self.running = [
            (torch.zeros_like(shift), torch.ones_like(shift)) for shift in self.values.shifts
        ]

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(array), dtype=self.dtype)

    def epoch(self, order: Int[np.ndarray, "network draw"]) -> None:
        """One pass over each network's observations, in its own order."""
        rows = torch.as_tensor(order)
        with torch.no_grad():
            for batch in self.training.batches(order.shape[1]):
                self.gradient_of(rows[:, batch])
                self._step()

    def gradient_of(self, rows: Tensor) -> None:
        """Gradients of each network's mean squared error over one batch of its own."""
        outputs, normalised = self._forward(self.features[rows])
        error = outputs.pop() - self.y[rows][:, :, None]
        self._backward(outputs, normalised, error.mul_(2 / rows.shape[1]))

    def _forward(self, inputs: Tensor) -> tuple[list[Tensor], list[tuple[Tensor, Tensor]]]:
        """Inputs of every layer and what comes out; normalised outputs with their scales."""
        inputs_of, normalised, v = [inputs], [], self.values
        for layer, (scale, shift) in enumerate(zip(v.scales, v.shifts, strict=True)):
            output, root = self._normalise(layer, torch.bmm(inputs_of[-1], v.weights[layer]))
            normalised.append((output, root))
            inputs_of.append(torch.addcmul(shift, output, scale).relu_())
        return [*inputs_of, torch.baddbmm(v.bias, inputs_of[-1], v.weights[-1])], normalised

    def _normalise(self, layer: int, output: Tensor) -> tuple[Tensor, Tensor]:
        """Each unit's output over a batch, less its mean and over its standard deviation.

        Sums and squares, since `torch.var_mean` takes ten times as long along a middle axis.
        """
        n_obs = output.shape[1]
        mean = output.sum(1, keepdim=True).div_(n_obs)
        output.sub_(mean)
        variance = (output * output).sum(1, keepdim=True).div_(n_obs)
        self._remember(layer, mean, variance * (n_obs / (n_obs - 1)))
        root = variance.add_(VARIANCE_FLOOR).rsqrt_()
        return output.mul_(root), root

    def _remember(self, layer: int, *latest: Tensor) -> None:
        """Means and (unbiased) variances of recent batches, which predictions use."""
        for known, new in zip(self.running[layer], latest, strict=True):
            known.mul_(1 - NEWEST).add_(new, alpha=NEWEST)

    def _backward(
        self, inputs_of: list[Tensor], normalised: list[tuple[Tensor, Tensor]], error: Tensor
    ) -> None:
        """Fill the gradients, from that of the last layer's output."""
        v, g = self.values, self.gradients
        torch.sum(error, 1, keepdim=True, out=g.bias)
        for layer in reversed(range(len(v.weights))):
            torch.bmm(inputs_of[layer].transpose(1, 2), error, out=g.weights[layer])
            if layer:
                error = torch.bmm(error, v.weights[layer].transpose(1, 2))
                error.mul_(inputs_of[layer] > 0)
                error = self._through_normalisation(layer - 1, *normalised[layer - 1], error)

    def _through_normalisation(
        self, layer: int, output: Tensor, root: Tensor, error: Tensor
    ) -> Tensor:
        """The gradient before a normalisation, from that behind it."""
        scales, shifts, n_obs = self.gradients.scales, self.gradients.shifts, output.shape[1]
        torch.sum(error * output, 1, keepdim=True, out=scales[layer])
        torch.sum(error, 1, keepdim=True, out=shifts[layer])
        error.sub_(shifts[layer] / n_obs).addcmul_(output, scales[layer] / n_obs, value=-1)
        return error.mul_(root * self.values.scales[layer])

    def _step(self) -> None:
        """Adam's, for all parameters of all networks at once."""
        self.n_step += 1
        rate, divisor = first_rates(self.n_step, self.training.learning_rate)
        self.first.mul_(FIRST_DECAY).add_(self.gradient, alpha=1 - FIRST_DECAY)
        self.second.mul_(SECOND_DECAY)
        self.second.addcmul_(self.gradient, self.gradient, value=1 - SECOND_DECAY)
        root = self.second.sqrt().div_(divisor).add_(ADAM_FLOOR)
        self.parameters.addcdiv_(self.first, root, value=-rate)

    def predict(self) -> Float[np.ndarray, "network obs"]:
        """What each network says of every observation, standardised as the response was."""
        with torch.no_grad():
            output = self.features.expand(len(self.values.weights[0]), -1, -1)
            v = self.values
            for layer, (mean, variance) in enumerate(self.running):
                root = (variance + VARIANCE_FLOOR).rsqrt_()
                output = torch.bmm(output, v.weights[layer]).sub_(mean).mul_(root)
                output = torch.addcmul(v.shifts[layer], output, v.scales[layer]).relu_()
            said = torch.baddbmm(v.bias, output, v.weights[-1])
        return said[:, :, 0].double().numpy()


class _Parameters:
    """Views of one flat tensor, so that a step of Adam is a handful of calls."""

    def __init__(self, flat: Tensor, weights: Weights) -> None:
        n_network, self._flat, self._at = count_of(weights), flat, 0
        shapes = [layer.shape[1:] for layer in weights]
        self.weights = [self._next(n_network, *shape) for shape in shapes]
        self.bias = self._next(n_network, 1, 1)
        hidden = [n_out for _, n_out in shapes[:-1]]
        self.scales = [self._next(n_network, 1, n_out) for n_out in hidden]
        self.shifts = [self._next(n_network, 1, n_out) for n_out in hidden]

    def _next(self, *shape: int) -> Tensor:
        size = int(np.prod(shape))
        view = self._flat[self._at : self._at + size].view(shape)
        self._at += size
        return view

    @classmethod
    def of(cls, weights: Weights, dtype: Any) -> "tuple[Tensor, _Parameters]":
        flat = torch.zeros(_size(weights), dtype=dtype)
        values = cls(flat, weights)
        for view, given in zip(values.weights, weights, strict=True):
            view.copy_(torch.as_tensor(given))
        for scale in values.scales:
            scale.fill_(1)
        return flat, values

    @classmethod
    def like(cls, flat: Tensor, weights: Weights) -> "tuple[Tensor, _Parameters]":
        gradient = torch.zeros_like(flat)
        return gradient, cls(gradient, weights)


def _size(weights: Weights) -> int:
    """Parameters of all networks: weights, a scale and shift of each hidden unit, and a bias."""
    hidden = sum(layer.shape[2] for layer in weights[:-1])
    return sum(layer.size for layer in weights) + count_of(weights) * (2 * hidden + 1)
