"""Compiled training of networks side by side: a vector holds one number of sixteen networks.

Each network's sums are taken in the order written here, whatever else is computed, so the bits
depend neither on how many networks there are nor on how wide a machine's registers are: a register
holds neighbouring networks. There is nothing but + - * / and square roots, and products that are
added are fused on every machine (`simstudy.documents.stats.compiled.sixteen`).
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

from typing import Any

import numpy as np

from simstudy.array_types import Float, Int
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats.compiled.sixteen import (
    LANES,
    TILE_COLUMNS,
    add_product,
    load,
    root,
    spread,
    store,
    store_columns,
)
from simstudy.documents.stats.networks._layer_kernels import (
    FIRST,
    Constants,
    Numbers,
    OfBlock,
    Parameters,
    Plan,
    Vector,
    activate,
    activate_as_remembered,
    before_activation,
    linear,
    outputs_gradient,
    some_units,
    total,
    weights_gradient,
)


# ---------------------------------------------------------------- a batch
@kernel
def gather(rows: Int[np.ndarray, "network draw"], start: int, first: int,
           table: Float[np.ndarray, "obs chunk lane"], room: Numbers, n_obs: int,
           places: Int[np.ndarray, " lane"]) -> None:  # fmt: skip
    """The observations of sixteen networks, features and then the response, a lane for each.

    Lanes beyond the last network hold that one again.
    """
    n_chunk, last = table.shape[1], rows.shape[0] - 1
    for o in range(n_obs):
        for k in range(LANES):
            places[k] = rows[min(first + k, last), start + o] * n_chunk
        for chunk in range(n_chunk):
            store_columns(table, places, room, chunk * LANES * n_obs + o, n_obs)
            for k in range(LANES):
                places[k] += 1


@kernel
def last_error(plan: Plan, values: OfBlock, gradient: OfBlock, room: Numbers, n_obs: int,
               share: Vector, zero: Vector) -> None:  # fmt: skip
    """Gradient of the mean squared error by what comes out, and by the bias."""
    last = len(plan.sizes) - 2
    bias, at = load(values, plan.shifts[last]), plan.out[last] * n_obs
    error, response = plan.errors[last] * n_obs, plan.sizes[0] * n_obs
    for o in range(n_obs):
        off = load(room, at + o) + bias - load(room, response + o)
        store(room, error + o, (off + off) * share)
    store(gradient, plan.shifts[last], total(room, error, n_obs, zero))


@kernel
def batch_gradient(plan: Plan, values: OfBlock, gradient: OfBlock, running: OfBlock,
                   moments: OfBlock, room: Numbers, n_obs: int, share: Any,
                   c: Constants) -> None:  # fmt: skip
    """Gradients of each network's mean squared error over the observations in the room."""
    n_layer, share = len(plan.sizes) - 1, spread(share)
    zero = share - share
    for layer in range(n_layer - 1):
        for begin in range(0, plan.sizes[layer + 1], TILE_COLUMNS):
            units = some_units(plan, layer, begin)
            linear(plan, layer, units, values, room, n_obs)
            activate(plan, layer, units, values, running, moments, room, n_obs, share, c)
    linear(plan, n_layer - 1, some_units(plan, n_layer - 1, FIRST), values, room, n_obs)
    last_error(plan, values, gradient, room, n_obs, share, zero)
    weights_gradient(plan, n_layer - 1, some_units(plan, n_layer - 1, FIRST), gradient, room, n_obs)
    for layer in range(n_layer - 2, -1, -1):
        for begin in range(0, plan.sizes[layer + 1], TILE_COLUMNS):
            units = some_units(plan, layer, begin)
            outputs_gradient(plan, layer, units, values, room, n_obs)
            before_activation(
                plan, layer, units, values, gradient, moments, room, n_obs, share, zero
            )
            weights_gradient(plan, layer, units, gradient, room, n_obs)


@kernel
def adam(values: OfBlock, gradient: OfBlock, first: OfBlock, second: OfBlock,
         rate: Any, unbiased: Any, c: Constants) -> None:  # fmt: skip
    """One step for all parameters; `unbiased` is what the second root is multiplied by."""
    one, decay, decay2 = spread(c.one), spread(c.decay), spread(c.decay2)
    rate, unbiased, floor = spread(rate), spread(unbiased), spread(c.adam_floor)
    fresh, fresh2 = one - decay, one - decay2
    for at in range(len(values)):
        slope = load(gradient, at)
        recent = add_product(fresh * slope, decay, load(first, at))
        store(first, at, recent)
        square = add_product(fresh2 * (slope * slope), decay2, load(second, at))
        store(second, at, square)
        step = rate * recent / add_product(floor, root(square), unbiased)
        store(values, at, load(values, at) - step)


# ---------------------------------------------------------------- all networks
@kernel
def epoch(plan: Plan, rows: Int[np.ndarray, "network draw"], ends: Int[np.ndarray, " end"],
          steps: Float[np.ndarray, "batch 3"], table: Float[np.ndarray, "obs chunk lane"],
          values: Parameters, gradient: Parameters, first: Parameters, second: Parameters,
          running: Parameters, moments: OfBlock, room: Numbers, c: Constants) -> None:  # fmt: skip
    """A pass over all batches; `steps` are Adam's two numbers and one over a batch's size."""
    places = np.empty(LANES, np.int64)
    for block in range(len(values)):
        for batch in range(len(steps)):
            start, n_obs = ends[batch], ends[batch + 1] - ends[batch]
            rate, unbiased, share = steps[batch, 0], steps[batch, 1], steps[batch, 2]
            gather(rows, start, block * LANES, table, room, n_obs, places)
            batch_gradient(
                plan, values[block], gradient[block], running[block], moments, room, n_obs, share, c
            )
            adam(values[block], gradient[block], first[block], second[block], rate, unbiased, c)


@kernel
def say(plan: Plan, table: Float[np.ndarray, "obs chunk lane"], values: Parameters,
        running: Parameters, room: Numbers, most: int, said: Float[np.ndarray, "block obs lane"],
        c: Constants) -> None:  # fmt: skip
    """Predictions of each network for all observations, as many at once as a batch may have."""
    last = len(plan.sizes) - 2
    flat = table.reshape(len(table), -1)
    for block in range(len(values)):
        for start in range(0, len(table), most):
            n_obs = min(most, len(table) - start)
            for o in range(n_obs):
                for i in range(plan.sizes[0]):
                    store(room, i * n_obs + o, spread(flat[start + o, i]))
            for layer in range(last):
                for begin in range(0, plan.sizes[layer + 1], TILE_COLUMNS):
                    units = some_units(plan, layer, begin)
                    linear(plan, layer, units, values[block], room, n_obs)
                    activate_as_remembered(
                        plan, layer, units, values[block], running[block], room, n_obs, c
                    )
            linear(plan, last, some_units(plan, last, FIRST), values[block], room, n_obs)
            bias = load(values[block], plan.shifts[last])
            for o in range(n_obs):
                out = load(room, plan.out[last] * n_obs + o) + bias
                store(said[block], start + o, out)
