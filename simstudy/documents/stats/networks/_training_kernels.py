"""Compiled training of networks side by side: a vector holds one number of sixteen networks.

Each network's sums are taken in the order written here, whatever else is computed, so the bits
depend neither on how many networks there are nor on how wide a machine's registers are: a register
holds neighbouring networks. There is nothing but + - * / and square roots, and products that are
added are fused on every machine (`simstudy.documents.stats.compiled.sixteen`).

All observations of a unit lie together, and what happens to a unit's outputs (mean, variance,
ramp, and the way back) happens while they are near. A `Plan` says where things are: vectors are
numbered from the first parameter of sixteen networks, or from the first observation of the first
unit in the room of a batch.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

from typing import Any, NamedTuple

import numpy as np

from simstudy.array_types import Float, Int, UInt64
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats.compiled.sixteen import (
    LANES,
    TILE_COLUMNS,
    TILE_ROWS,
    add_product,
    load,
    multiply_tile,
    root,
    spread,
    store,
    store_columns,
    where_above_zero,
)
from simstudy.documents.stats.compiled.splitmix64 import BITS_32, GOLDEN, HALF, mixed, place_of_half

Vector = Any  # a `SixteenType` of numba
Numbers = Float[np.ndarray, "..."]
Parameters = Float[np.ndarray, "block parameter lane"]
OfBlock = Float[np.ndarray, "parameter lane"]
Places = Int[np.ndarray, " layer"]
Units = tuple[int, int]
"""Of a layer: the first, and the one behind the last."""


class Plan(NamedTuple):
    """Places in memory: `sizes` of layers, then places by layer.

    Parameters: `weights`, and of hidden layers `scales` and `shifts`; the last layer's shift is
    its bias. In the room of a batch, as counts of units: `inputs`, what comes `out` of the linear
    layer (normalised in its place), and `errors`, the gradient by that, which takes the place of
    the next layer's inputs. `hidden` is how many hidden units come before a layer's.
    """

    sizes: Int[np.ndarray, " size"]
    weights: Places
    scales: Places
    shifts: Places
    inputs: Places
    out: Places
    errors: Places
    hidden: Places


class Constants(NamedTuple):
    """Numbers in the type of everything else: next to a literal numba computes in doubles."""

    one: Any
    floor: Any
    newest: Any
    decay: Any
    decay2: Any
    adam_floor: Any


# No literals, for each of which numba would compile once more.
FIRST: Any = np.int64(0)
NEXT: Any = np.int64(1)


@kernel
def some_units(plan: Plan, layer: int, begin: int) -> Units:
    """The units of a layer that one product computes."""
    return begin, min(begin + TILE_COLUMNS, plan.sizes[layer + 1])


# ---------------------------------------------------------------- products of matrices
@kernel
def multiply(a: Numbers, a_at: int, a_row: int, a_in: int,
             b: Numbers, b_at: int, b_in: int, b_column: int,
             out: Numbers, out_at: int, out_row: int, out_column: int,
             n_row: int, n_in: int, n_column: int) -> None:  # fmt: skip
    """All rows and columns of a product, tile by tile: see `multiply_tile`."""
    for r in range(0, n_row, TILE_ROWS):
        for c in range(0, n_column, TILE_COLUMNS):
            multiply_tile(
                a, a_at + r * a_row, a_row, a_in,
                b, b_at + c * b_column, b_in, b_column,
                out, out_at + r * out_row + c * out_column, out_row, out_column,
                n_in, min(TILE_ROWS, n_row - r), min(TILE_COLUMNS, n_column - c),
            )  # fmt: skip


@kernel(inline="always")
def linear(
    plan: Plan, layer: int, units: Units, values: OfBlock, room: Numbers, n_obs: int
) -> None:
    """Sums of inputs times weights, of some units of a layer."""
    n_in, n_out, (begin, end) = plan.sizes[layer], plan.sizes[layer + 1], units
    multiply(
        room, plan.inputs[layer] * n_obs, NEXT, n_obs,
        values, plan.weights[layer] + begin, n_out, NEXT,
        room, (plan.out[layer] + begin) * n_obs, NEXT, n_obs,
        n_obs, n_in, end - begin,
    )  # fmt: skip


@kernel(inline="always")
def weights_gradient(plan: Plan, layer: int, units: Units, gradient: OfBlock, room: Numbers,
                     n_obs: int) -> None:  # fmt: skip
    """Derivatives of the loss by the weights of some units of a layer: a sum over observations."""
    n_in, n_out, (begin, end) = plan.sizes[layer], plan.sizes[layer + 1], units
    multiply(
        room, plan.inputs[layer] * n_obs, n_obs, NEXT,
        room, (plan.errors[layer] + begin) * n_obs, NEXT, n_obs,
        gradient, plan.weights[layer] + begin, n_out, NEXT,
        n_in, n_obs, end - begin,
    )  # fmt: skip


@kernel(inline="always")
def outputs_gradient(plan: Plan, layer: int, units: Units, values: OfBlock, room: Numbers,
                     n_obs: int) -> None:  # fmt: skip
    """Derivatives of the loss by what some units of a layer give the next one."""
    n_next, (begin, end) = plan.sizes[layer + 2], units
    multiply(
        room, plan.errors[layer + 1] * n_obs, NEXT, n_obs,
        values, plan.weights[layer + 1] + begin * n_next, NEXT, n_next,
        room, (plan.errors[layer] + begin) * n_obs, NEXT, n_obs,
        n_obs, n_next, end - begin,
    )  # fmt: skip


# ---------------------------------------------------------------- sums over a unit's observations
# Several sums of every fourth or second observation, so that one addition need not wait for
# another; what is left over goes to the first.
@kernel
def total(room: Numbers, at: int, n_obs: int, zero: Vector) -> Vector:
    """Mean of as many vectors."""
    a, b, c, d = zero, zero, zero, zero
    n_in_fours = n_obs // 4 * 4
    for o in range(at, at + n_in_fours, 4):
        a, b = a + load(room, o), b + load(room, o + 1)
        c, d = c + load(room, o + 2), d + load(room, o + 3)
    for o in range(at + n_in_fours, at + n_obs):
        a = a + load(room, o)
    return (a + b) + (c + d)


@kernel
def squares_about(room: Numbers, at: int, n_obs: int, mean: Vector, zero: Vector) -> Vector:
    """Sum of squared deviations."""
    a, b, c, d = zero, zero, zero, zero
    n_in_fours = n_obs // 4 * 4
    for o in range(at, at + n_in_fours, 4):
        p, q = load(room, o) - mean, load(room, o + 1) - mean
        r, s = load(room, o + 2) - mean, load(room, o + 3) - mean
        a, b = add_product(a, p, p), add_product(b, q, q)
        c, d = add_product(c, r, r), add_product(d, s, s)
    for o in range(at + n_in_fours, at + n_obs):
        p = load(room, o) - mean
        a = add_product(a, p, p)
    return (a + b) + (c + d)


@kernel
def masked(room: Numbers, error: int, normalised: Vector, scale: Vector, shift: Vector) -> Vector:
    """The error, 0 where the ramp gave nothing; also put in its place."""
    passed = add_product(shift, scale, normalised)
    found = where_above_zero(passed, load(room, error))
    store(room, error, found)
    return found


@kernel
def error_sums(room: Numbers, error: int, at: int, n_obs: int,
               scale: Vector, shift: Vector, zero: Vector) -> tuple[Vector, Vector]:  # fmt: skip
    """Sums of a unit's errors behind its ramp, and of their products with what was normalised."""
    a, b, ax, bx = zero, zero, zero, zero
    n_in_twos = n_obs // 2 * 2
    for o in range(0, n_in_twos, 2):
        x, y = load(room, at + o), load(room, at + o + 1)
        p = masked(room, error + o, x, scale, shift)
        q = masked(room, error + o + 1, y, scale, shift)
        a, b, ax, bx = a + p, b + q, add_product(ax, p, x), add_product(bx, q, y)
    for o in range(n_in_twos, n_obs):
        x = load(room, at + o)
        p = masked(room, error + o, x, scale, shift)
        a, ax = a + p, add_product(ax, p, x)
    return a + b, ax + bx


# ---------------------------------------------------------------- normalising and ramps
@kernel
def ramps(room: Numbers, at: int, out: int, n_obs: int, mean: Vector, factor: Vector,
          scale: Vector, shift: Vector) -> None:  # fmt: skip
    """A unit's outputs less a mean, times a factor; and, scaled and shifted, 0 if negative."""
    for o in range(n_obs):
        normalised = (load(room, at + o) - mean) * factor
        store(room, at + o, normalised)
        passed = add_product(shift, scale, normalised)
        store(room, out + o, where_above_zero(passed, passed))


@kernel
def activate(plan: Plan, layer: int, units: Units, values: OfBlock, running: OfBlock,
             moments: OfBlock, room: Numbers, n_obs: int, share: Vector,
             c: Constants) -> None:  # fmt: skip
    """Normalise by a batch's means and variances, which are remembered, and ramp."""
    one, floor, n_hidden = spread(c.one), spread(c.floor), plan.hidden[-1]
    zero = one - one
    for j in range(*units):
        at, unit = (plan.out[layer] + j) * n_obs, plan.hidden[layer] + j
        mean = total(room, at, n_obs, zero) * share
        variance = squares_about(room, at, n_obs, mean, zero) * share
        factor = one / root(variance + floor)
        store(moments, unit, mean)
        store(moments, n_hidden + unit, variance)
        scale, shift = load(values, plan.scales[layer] + j), load(values, plan.shifts[layer] + j)
        ramps(room, at, (plan.inputs[layer + 1] + j) * n_obs, n_obs, mean, factor, scale, shift)
        remember(running, moments, unit, n_hidden, share, c)
        store(moments, n_hidden + unit, factor)


@kernel
def remember(running: OfBlock, moments: OfBlock, unit: int, n_hidden: int, share: Vector,
             c: Constants) -> None:  # fmt: skip
    """A unit's mean and (unbiased) variance in recent batches."""
    one, newest = spread(c.one), spread(c.newest)
    unbiased = load(moments, n_hidden + unit) / (one - share)
    remembered = load(running, unit) * (one - newest)
    store(running, unit, add_product(remembered, newest, load(moments, unit)))
    remembered = load(running, n_hidden + unit) * (one - newest)
    store(running, n_hidden + unit, add_product(remembered, newest, unbiased))


@kernel
def activate_as_remembered(plan: Plan, layer: int, units: Units, values: OfBlock,
                           running: OfBlock, room: Numbers, n_obs: int,
                           c: Constants) -> None:  # fmt: skip
    """The same by what was remembered, for predictions."""
    one, floor, n_hidden = spread(c.one), spread(c.floor), plan.hidden[-1]
    for j in range(*units):
        at, unit = (plan.out[layer] + j) * n_obs, plan.hidden[layer] + j
        mean, factor = load(running, unit), one / root(load(running, n_hidden + unit) + floor)
        scale, shift = load(values, plan.scales[layer] + j), load(values, plan.shifts[layer] + j)
        ramps(room, at, (plan.inputs[layer + 1] + j) * n_obs, n_obs, mean, factor, scale, shift)


@kernel
def before_activation(plan: Plan, layer: int, units: Units, values: OfBlock, gradient: OfBlock,
                      moments: OfBlock, room: Numbers, n_obs: int, share: Vector,
                      zero: Vector) -> None:  # fmt: skip
    """The gradient before a normalisation, in place of that behind its ramp."""
    for j in range(*units):
        error, at = (plan.errors[layer] + j) * n_obs, (plan.out[layer] + j) * n_obs
        scale, shift = load(values, plan.scales[layer] + j), load(values, plan.shifts[layer] + j)
        plain, times = error_sums(room, error, at, n_obs, scale, shift, zero)
        store(gradient, plan.shifts[layer] + j, plain)
        store(gradient, plan.scales[layer] + j, times)
    for j in range(*units):
        error, at = (plan.errors[layer] + j) * n_obs, (plan.out[layer] + j) * n_obs
        unit = plan.hidden[-1] + plan.hidden[layer] + j
        factor = load(moments, unit) * load(values, plan.scales[layer] + j)
        mean = load(gradient, plan.shifts[layer] + j) * share
        slope = zero - load(gradient, plan.scales[layer] + j) * share
        for o in range(n_obs):
            centred = load(room, error + o) - mean
            store(room, error + o, add_product(centred, slope, load(room, at + o)) * factor)


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


# ---------------------------------------------------------------- orders
@kernel
def _place(word: np.uint64, n: np.uint64) -> np.uint64:
    """`place_of_half` of the upper half, without its division where that decides nothing."""
    scaled = (word >> BITS_32) * n
    if (scaled & HALF) < n:  # once in millions of times
        return place_of_half(word, BITS_32, n)
    return scaled >> BITS_32


@kernel
def shuffle_each(
    rows: Int[np.ndarray, "network draw"],
    seeds: UInt64[np.ndarray, " network"],
    out: Int[np.ndarray, "network draw"],
) -> None:
    """Each row in an order drawn by the stream of its seed (Fisher-Yates, from the front)."""
    n = rows.shape[1]
    for k in range(rows.shape[0]):
        state, order = seeds[k], out[k]
        order[:] = rows[k]
        for i in range(n - 1):
            state += GOLDEN
            j = i + np.int64(_place(mixed(state), np.uint64(n - i)))
            order[i], order[j] = order[j], order[i]
