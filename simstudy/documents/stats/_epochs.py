"""Compiled training and predictions of networks, one network after another.

The numbers of a unit lie side by side, an observation each, so sums over the inputs of a unit are
taken for many observations at once. Sums over observations may be taken in any order (`reassoc`),
and products that are added may be fused: in double precision that moves a prediction by roundings.

numba's cache on disk is renewed when this file changes, so no compiled function may call a function
or read a constant of another file. Whole passes alone are in the cache, with all that they call put
into them: code that is called from the cache is optimised otherwise than code that was compiled
just before, so the first run would differ from later ones by roundings.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

from typing import NamedTuple

import numba
import numpy as np

from simstudy.array_types import Float, Int

SETTINGS = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
}
compiled = numba.njit(forceinline=True, **SETTINGS)
whole_pass = numba.njit(cache=True, **SETTINGS)

Vector = Float[np.ndarray, " obs"]
Units = Float[np.ndarray, "unit obs"]
Rows = Int[np.ndarray, "network draw"]
Parameters = Float[np.ndarray, "network parameter"]


class Plan(NamedTuple):
    """Sizes of layers, from the features to the one output; places of parameters; constants.

    Parameters are weights by layer, scales and shifts of hidden units, and a bias.
    """

    sizes: Int[np.ndarray, " size"]
    weights: Int[np.ndarray, " size"]
    hidden: Int[np.ndarray, " size"]
    floor: float
    newest: float
    decay: float
    decay2: float
    adam_floor: float


# ---------------------------------------------------------------- sums
@compiled
def combine(weights: Float[np.ndarray, "output input"], rows: Units, out: Units) -> None:
    """Sums of rows times weights, one for each output: two of them read four rows together."""
    n_row, n_obs = rows.shape
    n_pair = len(out) // 2 * 2
    out[:] = 0.0
    for j in range(0, n_pair, 2):
        v, w, one, two = weights[j], weights[j + 1], out[j], out[j + 1]
        for k in range(0, n_row - 3, 4):
            a, b, c, d = v[k], v[k + 1], v[k + 2], v[k + 3]
            e, f, g, h = w[k], w[k + 1], w[k + 2], w[k + 3]
            p, q, r, s = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
            for i in range(n_obs):
                one[i] += (a * p[i] + b * q[i]) + (c * r[i] + d * s[i])
                two[i] += (e * p[i] + f * q[i]) + (g * r[i] + h * s[i])
        for k in range(n_row // 4 * 4, n_row):
            a, e, p = v[k], w[k], rows[k]
            for i in range(n_obs):
                one[i] += a * p[i]
                two[i] += e * p[i]
    if n_pair < len(out):
        add(weights[n_pair], rows, out[n_pair])


@compiled
def add(weights: Vector, rows: Units, out: Vector) -> None:
    """Add rows times weights, four rows at a time."""
    n_row, n_obs = rows.shape
    for k in range(0, n_row - 3, 4):
        a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        p, q, r, s = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        for i in range(n_obs):
            out[i] += (a * p[i] + b * q[i]) + (c * r[i] + d * s[i])
    for k in range(n_row // 4 * 4, n_row):
        a, p = weights[k], rows[k]
        for i in range(n_obs):
            out[i] += a * p[i]


@compiled
def products(rows: Units, others: Units, out: Float[np.ndarray, "row other"]) -> None:
    """Inner products of all rows with all others."""
    n_row, n_obs = rows.shape
    for k in range(0, n_row - 1, 2):
        p, q = rows[k], rows[k + 1]
        for j in range(others.shape[0]):
            a, b, e = 0.0, 0.0, others[j]
            for i in range(n_obs):
                a += p[i] * e[i]
                b += q[i] * e[i]
            out[k, j], out[k + 1, j] = a, b
    if n_row % 2:
        p = rows[n_row - 1]
        for j in range(others.shape[0]):
            a, e = 0.0, others[j]
            for i in range(n_obs):
                a += p[i] * e[i]
            out[n_row - 1, j] = a


# ---------------------------------------------------------------- layers
@compiled
def ramp(z: Vector, mean: float, factor: float, scale: float, shift: float, out: Vector) -> None:
    """Normalise a unit's numbers in their place; what goes out is scaled, shifted, at least 0."""
    for i in range(z.size):
        unit = (z[i] - mean) * factor
        z[i] = unit
        passed = scale * unit + shift
        out[i] = passed if passed > 0.0 else 0.0


@compiled
def moments(z: Vector) -> tuple[float, float]:
    """Mean and variance."""
    total, square = 0.0, 0.0
    for i in range(z.size):
        total += z[i]
    mean = total / z.size
    for i in range(z.size):
        square += (z[i] - mean) * (z[i] - mean)
    return mean, square / z.size


@compiled
def before_ramp(error: Vector, z: Vector, out: Vector, factor: float) -> tuple[float, float]:
    """Turn the gradient behind a ramp into that before the normalisation, in its place.

    `factor` is the unit's scale over its root of variance. Gives the gradients by shift and scale.
    """
    n_obs, plain, times = z.size, 0.0, 0.0
    for i in range(n_obs):
        passed = error[i] if out[i] > 0.0 else 0.0
        error[i] = passed
        plain += passed
        times += passed * z[i]
    mean, slope = plain / n_obs, times / n_obs
    for i in range(n_obs):
        error[i] = (error[i] - mean - z[i] * slope) * factor
    return plain, times


@compiled
def layer_of(plan: Plan, values: Vector, layer: int) -> Float[np.ndarray, "input output"]:
    """The part of parameters, or of gradients, that a layer's weights are."""
    part = values[plan.weights[layer] : plan.weights[layer + 1]]
    return part.reshape(plan.sizes[layer], plan.sizes[layer + 1])


@compiled
def adam(values: Vector, gradient: Vector, first: Vector, second: Vector, plan: Plan,
         n_step: int, learning_rate: float) -> None:  # fmt: skip
    """A step of all parameters of a network."""
    rate = learning_rate / (1.0 - plan.decay**n_step)
    unbiased = 1.0 / np.sqrt(1.0 - plan.decay2**n_step)
    for at in range(values.size):
        slope = gradient[at]
        first[at] = plan.decay * first[at] + (1.0 - plan.decay) * slope
        second[at] = plan.decay2 * second[at] + (1.0 - plan.decay2) * slope * slope
        values[at] -= rate * first[at] / (np.sqrt(second[at]) * unbiased + plan.adam_floor)


# ---------------------------------------------------------------- a batch
@compiled
def batch_gradient(plan: Plan, inputs: Units, out: Units, errors: Units, y: Vector,
                   values: Vector, running: Float[np.ndarray, "moment unit"],
                   gradient: Vector) -> None:  # fmt: skip
    """Gradient of the mean squared error of a network's batch, whose features are in `inputs`.

    `inputs` has the units of every layer but the last, `out` and `errors` those of every layer but
    the first: what comes from the linear layer, and the gradient by it.
    """
    sizes, hidden, n_obs = plan.sizes, plan.hidden, y.size
    n_layer, n_hidden, n_in = len(sizes) - 1, hidden[-1], sizes[0]
    scales = values[plan.weights[-1] :]
    shifts, of_scales = scales[n_hidden:], gradient[plan.weights[-1] :]
    of_shifts, factors = of_scales[n_hidden:], np.empty(n_hidden)
    before = 0
    for layer in range(n_layer):
        weights, rows = layer_of(plan, values, layer), inputs[before : before + sizes[layer]]
        before += sizes[layer]
        own = hidden[layer]
        combine(weights.T, rows, out[own : own + sizes[layer + 1]])
        if layer == n_layer - 1:
            break
        for unit in range(own, own + sizes[layer + 1]):
            mean, variance = moments(out[unit])
            factors[unit] = 1.0 / np.sqrt(variance + plan.floor)
            ramp(out[unit], mean, factors[unit], scales[unit], shifts[unit], inputs[n_in + unit])
            unbiased = variance * n_obs / (n_obs - 1)
            running[0, unit] += plan.newest * (mean - running[0, unit])
            running[1, unit] += plan.newest * (unbiased - running[1, unit])
    total = 0.0
    for i in range(n_obs):
        errors[n_hidden, i] = 2.0 * (out[n_hidden, i] + shifts[n_hidden] - y[i]) / n_obs
        total += errors[n_hidden, i]
    of_shifts[n_hidden] = total
    for layer in range(n_layer - 1, -1, -1):
        before -= sizes[layer]
        rows, own = inputs[before : before + sizes[layer]], hidden[layer]
        error = errors[own : own + sizes[layer + 1]]
        products(rows, error, layer_of(plan, gradient, layer))
        if layer > 0:
            weights, own = layer_of(plan, values, layer), hidden[layer - 1]
            combine(weights, error, errors[own : own + sizes[layer]])
            for j in range(sizes[layer]):
                unit = own + j
                of_shifts[unit], of_scales[unit] = before_ramp(
                    errors[unit], out[unit], rows[j], factors[unit] * scales[unit]
                )


@whole_pass
def epoch(plan: Plan, x: Float[np.ndarray, "obs feature"], y: Vector, order: Rows,
          ends: Int[np.ndarray, " end"], values: Parameters, first: Parameters,
          second: Parameters, running: Float[np.ndarray, "network moment unit"], n_step: int,
          learning_rate: float) -> None:  # fmt: skip
    """Train each network for one pass over its batches, in its order."""
    n_unit, n_out = plan.sizes[:-1].sum(), plan.sizes[1:].sum()
    gradient = np.empty(values.shape[1])
    for k in range(order.shape[0]):
        for batch in range(len(ends) - 1):
            rows = order[k, ends[batch] : ends[batch + 1]]
            inputs, response = np.empty((n_unit, rows.size)), np.empty(rows.size)
            out, errors = np.empty((n_out, rows.size)), np.empty((n_out, rows.size))
            for i in range(rows.size):
                response[i] = y[rows[i]]
                for j in range(x.shape[1]):
                    inputs[j, i] = x[rows[i], j]
            batch_gradient(plan, inputs, out, errors, response, values[k], running[k], gradient)
            step = n_step + batch + 1
            adam(values[k], gradient, first[k], second[k], plan, step, learning_rate)


@whole_pass
def predict(plan: Plan, x: Float[np.ndarray, "feature obs"], values: Parameters,
            running: Float[np.ndarray, "network moment unit"],
            found: Float[np.ndarray, "network obs"]) -> None:  # fmt: skip
    """Predictions of each network for all observations, by its running moments."""
    sizes, n_layer, n_hidden = plan.sizes, len(plan.sizes) - 1, plan.hidden[-1]
    for k in range(len(values)):
        scales, rows = values[k, plan.weights[-1] :], x
        shifts = scales[n_hidden:]
        for layer in range(n_layer - 1):
            weights, out = (
                layer_of(plan, values[k], layer),
                np.empty((sizes[layer + 1], x.shape[1])),
            )
            combine(weights.T, rows, out)
            for j in range(sizes[layer + 1]):
                unit = plan.hidden[layer] + j
                mean, factor = running[k, 0, unit], 1.0 / np.sqrt(running[k, 1, unit] + plan.floor)
                ramp(out[j], mean, factor, scales[unit], shifts[unit], out[j])
            rows = out
        combine(layer_of(plan, values[k], n_layer - 1).T, rows, found[k : k + 1])
        found[k] += shifts[n_hidden]
