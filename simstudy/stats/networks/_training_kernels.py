"""Compiled training of networks side by side: the last axis of every array is the network.

Each network's sums are taken in the order of its observations and units, whatever lies beside it,
so the bits depend neither on how many networks there are nor on how wide a machine's registers
are: a register holds neighbouring networks. There is nothing but + - * / and square roots.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import numpy as np

from simstudy.shapes import Float, Int
from simstudy.stats.compiled.kernel import kernel

Numbers = Float[np.ndarray, "..."]
Layer = Float[np.ndarray, "obs unit network"]
Weights = Float[np.ndarray, "input output network"]
Units = Float[np.ndarray, "unit network"]


@kernel
def gather(
    rows: Int[np.ndarray, "network obs"], features: Float[np.ndarray, "all feature"], out: Layer
) -> None:
    """Each network's own observations."""
    for o in range(rows.shape[1]):
        for i in range(features.shape[1]):
            for k in range(rows.shape[0]):
                out[o, i, k] = features[rows[k, o], i]


@kernel
def spread(features: Float[np.ndarray, "all feature"], out: Layer) -> None:
    """The same observations for every network."""
    for o in range(features.shape[0]):
        for i in range(features.shape[1]):
            for k in range(out.shape[2]):
                out[o, i, k] = features[o, i]


@kernel
def linear(inputs: Layer, weights: Weights, out: Layer) -> None:
    """Sums of inputs times weights."""
    for o in range(inputs.shape[0]):
        for j in range(weights.shape[1]):
            for k in range(out.shape[2]):
                out[o, j, k] = inputs[o, 0, k] * weights[0, j, k]
            for i in range(1, inputs.shape[1]):
                for k in range(out.shape[2]):
                    out[o, j, k] += inputs[o, i, k] * weights[i, j, k]


@kernel
def normalise(out: Layer, root: Units, running: Float[np.ndarray, "2 unit network"],
              floor: Numbers, newest: Numbers, one: Numbers) -> None:  # fmt: skip
    """Each unit's outputs less their mean, over their standard deviation; both are remembered.

    Constants come as arrays without axes, in the type of everything else: beside a literal numba
    would compute in doubles.
    """
    n_obs, n_unit, n_network = out.shape
    n, keep = one[()] * n_obs, one[()] - newest[()]
    for j in range(n_unit):
        mean, square = np.zeros_like(root[j]), np.zeros_like(root[j])
        for o in range(n_obs):
            for k in range(n_network):
                mean[k] += out[o, j, k]
        for k in range(n_network):
            mean[k] /= n
        for o in range(n_obs):
            for k in range(n_network):
                out[o, j, k] -= mean[k]
                square[k] += out[o, j, k] * out[o, j, k]
        for k in range(n_network):
            unbiased = square[k] / (n - one[()])
            running[0, j, k] = keep * running[0, j, k] + newest[()] * mean[k]
            running[1, j, k] = keep * running[1, j, k] + newest[()] * unbiased
            root[j, k] = one[()] / np.sqrt(square[k] / n + floor[()])
        for o in range(n_obs):
            for k in range(n_network):
                out[o, j, k] *= root[j, k]


@kernel
def normalise_as_remembered(
    out: Layer, running: Float[np.ndarray, "2 unit network"], floor: Numbers
) -> None:
    """The same by what was remembered, for predictions."""
    n_obs, n_unit, n_network = out.shape
    for j in range(n_unit):
        root = np.sqrt(running[1, j] + floor[()])
        for o in range(n_obs):
            for k in range(n_network):
                out[o, j, k] = (out[o, j, k] - running[0, j, k]) / root[k]


@kernel
def ramp(normalised: Layer, scale: Units, shift: Units, out: Layer) -> None:
    """Scaled and shifted; 0 where that is negative."""
    n_obs, n_unit, n_network = out.shape
    zero = scale[0, 0] - scale[0, 0]
    for o in range(n_obs):
        for j in range(n_unit):
            for k in range(n_network):
                value = normalised[o, j, k] * scale[j, k] + shift[j, k]
                out[o, j, k] = value if value > zero else zero


@kernel
def weights_gradient(inputs: Layer, error: Layer, gradient: Weights) -> None:
    """Of the loss, by weights."""
    gradient[:] = 0
    for o in range(inputs.shape[0]):
        for i in range(inputs.shape[1]):
            for j in range(error.shape[1]):
                for k in range(error.shape[2]):
                    gradient[i, j, k] += inputs[o, i, k] * error[o, j, k]


@kernel
def inputs_gradient(error: Layer, weights: Weights, outputs: Layer, back: Layer) -> None:
    """Of the loss, by what a ramp gave; 0 where it gave nothing."""
    zero = weights[0, 0, 0] - weights[0, 0, 0]
    for o in range(error.shape[0]):
        for i in range(weights.shape[0]):
            for k in range(back.shape[2]):
                back[o, i, k] = error[o, 0, k] * weights[i, 0, k]
            for j in range(1, weights.shape[1]):
                for k in range(back.shape[2]):
                    back[o, i, k] += error[o, j, k] * weights[i, j, k]
            for k in range(back.shape[2]):
                back[o, i, k] = back[o, i, k] if outputs[o, i, k] > zero else zero


@kernel
def through_normalisation(
    error: Layer, normalised: Layer, root: Units, scale: Units,
    scale_gradient: Units, shift_gradient: Units, one: Numbers,
) -> None:  # fmt: skip
    """The gradient before a normalisation, in place of that behind it."""
    n_obs, n_unit, n_network = error.shape
    n = one[()] * n_obs
    scale_gradient[:] = 0
    shift_gradient[:] = 0
    for o in range(n_obs):
        for j in range(n_unit):
            for k in range(n_network):
                scale_gradient[j, k] += error[o, j, k] * normalised[o, j, k]
                shift_gradient[j, k] += error[o, j, k]
    for o in range(n_obs):
        for j in range(n_unit):
            for k in range(n_network):
                centred = error[o, j, k] - shift_gradient[j, k] / n
                centred -= normalised[o, j, k] * (scale_gradient[j, k] / n)
                error[o, j, k] = centred * (root[j, k] * scale[j, k])


@kernel
def error_of(said: Layer, rows: Int[np.ndarray, "network obs"], y: Float[np.ndarray, " all"],
             bias: Float[np.ndarray, " network"], bias_gradient: Float[np.ndarray, " network"],
             one: Numbers) -> None:  # fmt: skip
    """Gradient of the mean squared error by what came out, in its place; and by the bias."""
    n_obs, _, n_network = said.shape
    factor = (one[()] + one[()]) / (one[()] * n_obs)
    bias_gradient[:] = 0
    for o in range(n_obs):
        for k in range(n_network):
            said[o, 0, k] = (said[o, 0, k] + bias[k] - y[rows[k, o]]) * factor
            bias_gradient[k] += said[o, 0, k]


@kernel
def adam(
    parameters: Numbers, gradient: Numbers, first: Numbers, second: Numbers, constants: Numbers
) -> None:
    """One step; `constants` are both decays and their complements, rate, divisor and floor."""
    decay, decay2, fresh, fresh2, rate, divisor, floor = constants
    for at in range(len(parameters)):
        first[at] = decay * first[at] + fresh * gradient[at]
        second[at] = decay2 * second[at] + fresh2 * (gradient[at] * gradient[at])
        parameters[at] -= rate * first[at] / (np.sqrt(second[at]) / divisor + floor)
