"""Weighted sums of columns over draws of exponential weights: compiled, imported late.

Standard exponentials by the ziggurat of Marsaglia & Tsang (2000), J. Stat. Software 5(8), with 256
layers of equal area. Weight i of draw s comes from word s · n + i of a stream, and word w is
`splitmix64` of `seed + (w + 1) · GOLDEN`: nothing is stored, and no weight
depends on another. The few draws that a word cannot decide take more words by mixing it again.

Sums run from the first observation to the last, four draws side by side.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import math

import numpy as np

from simstudy.array_types import Float, UInt64
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats.compiled.lanes import WIDTH, add_multiple, load, store, zeros
from simstudy.documents.stats.compiled.splitmix64 import GOLDEN, mixed

N_LAYERS = 256
LAYER = np.uint64(N_LAYERS - 1)
EDGE = 7.69711747013104972  # start of the tail: the layers then end at height 1
UNIT = 2.0**-53
BITS_11 = np.uint64(11)
AT_ONCE = 4  # draws side by side


def layer_area() -> float:
    """Area of each layer: of the base with the tail beyond `EDGE`."""
    return (EDGE + 1) * math.exp(-EDGE)


def _layers() -> Float[np.ndarray, " layer"]:
    """Widths from the base, whose width includes its tail, up to 0."""
    widths = [layer_area() / math.exp(-EDGE), EDGE]
    while len(widths) < N_LAYERS:
        widths.append(-math.log(layer_area() / widths[-1] + math.exp(-widths[-1])))
    return np.array([*widths, 0.0])


EDGES = _layers()
HEIGHT = np.exp(-EDGES)


@kernel
def _place(word: np.uint64) -> float:
    """In [0, 1), from the upper bits, which the layer does not use."""
    return np.float64(np.int64(word >> BITS_11)) * UNIT


@kernel
def _uniform(word: np.uint64) -> float:
    """In (0, 1), never at its ends."""
    return _place(word) + 0.5 * UNIT


@kernel
def _unsure(word: np.uint64) -> float:
    """A draw whose place lies in the tail or across the curve; the latter may be refused."""
    state = word
    while True:
        layer = np.int64(word & LAYER)
        x = _place(word) * EDGES[layer]
        if x < EDGES[layer + 1]:
            return x
        state = state + GOLDEN
        share = _uniform(mixed(state))
        if layer == 0:
            return EDGE - math.log(share)  # an exponential has no memory
        if HEIGHT[layer] + share * (HEIGHT[layer + 1] - HEIGHT[layer]) < math.exp(-x):
            return x
        state = state + GOLDEN
        word = mixed(state)


@kernel
def _fill_row(
    state: np.uint64, words: UInt64[np.ndarray, " obs"], row: Float[np.ndarray, " obs"]
) -> None:
    """One draw's weights: three plain loops, which take a third less time than one."""
    for i in range(words.shape[0]):
        state += GOLDEN
        words[i] = mixed(state)
    for i in range(words.shape[0]):
        row[i] = _place(words[i]) * EDGES[np.int64(words[i] & LAYER)]
    for i in range(words.shape[0]):
        if row[i] >= EDGES[np.int64(words[i] & LAYER) + 1]:
            row[i] = _unsure(words[i])


@kernel
def fill_exponentials(
    seed: np.uint64,
    first: int,
    words: UInt64[np.ndarray, " obs"],
    weights: Float[np.ndarray, "draw obs"],
) -> None:
    """Weights of draws `first`, `first` + 1, ... of one stream; `words` is room for one draw's."""
    n_obs = weights.shape[1]
    for s in range(weights.shape[0]):
        _fill_row(seed + np.uint64((first + s) * n_obs) * GOLDEN, words, weights[s])


@kernel
def _add_columns(
    weights: Float[np.ndarray, "four obs"],
    values: Float[np.ndarray, " obs_column"],
    n_column: int,
    sums: Float[np.ndarray, " four_column"],
) -> None:
    """Sums of four columns at a time; draw d begins at `sums[d * n_column]`."""
    for column in range(0, n_column, WIDTH):
        a, b, c, d = zeros(), zeros(), zeros(), zeros()
        for i in range(weights.shape[1]):
            row = load(values, i * n_column + column)
            a = add_multiple(a, weights[0, i], row)
            b = add_multiple(b, weights[1, i], row)
            c = add_multiple(c, weights[2, i], row)
            d = add_multiple(d, weights[3, i], row)
        store(sums, column, a)
        store(sums, n_column + column, b)
        store(sums, 2 * n_column + column, c)
        store(sums, 3 * n_column + column, d)


@kernel
def _add_squares(
    weights: Float[np.ndarray, "four obs"],
    squared: Float[np.ndarray, "side obs"],
    sums: Float[np.ndarray, "four side"],
) -> None:
    for side in range(squared.shape[0]):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for i in range(weights.shape[1]):
            square = squared[side, i]
            a += weights[0, i] * weights[0, i] * square
            b += weights[1, i] * weights[1, i] * square
            c += weights[2, i] * weights[2, i] * square
            d += weights[3, i] * weights[3, i] * square
        sums[0, side], sums[1, side], sums[2, side], sums[3, side] = a, b, c, d


@kernel
def weighted_sums(
    values: Float[np.ndarray, "rep obs_column"],
    squared: Float[np.ndarray, "rep side obs"],
    seeds: UInt64[np.ndarray, " rep"],
    sums: Float[np.ndarray, "rep column draw"],
    square_sums: Float[np.ndarray, "rep side draw"],
) -> None:
    """Fill with sums of w · values, and of w² · squared, over the observations of each replicate.

    `values` has the columns of an observation side by side, a multiple of four.
    """
    n_rep, n_column, n_draw = sums.shape
    n_obs = squared.shape[2]
    weights, words = np.empty((AT_ONCE, n_obs)), np.empty(n_obs, np.uint64)
    four, four_squares = np.empty(AT_ONCE * n_column), np.empty((AT_ONCE, squared.shape[1]))
    for rep in range(n_rep):
        for first in range(0, n_draw, AT_ONCE):
            fill_exponentials(seeds[rep], first, words, weights)
            _add_columns(weights, values[rep], n_column, four)
            _add_squares(weights, squared[rep], four_squares)
            for s in range(min(AT_ONCE, n_draw - first)):
                for column in range(n_column):
                    sums[rep, column, first + s] = four[s * n_column + column]
                for side in range(squared.shape[1]):
                    square_sums[rep, side, first + s] = four_squares[s, side]
