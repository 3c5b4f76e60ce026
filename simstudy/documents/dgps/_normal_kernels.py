"""Standard normals from random words: compiled, self-contained, imported late.

The ziggurat of Marsaglia & Tsang (2000), J. Stat. Software 5(8), with 256 layers of equal area. One
64-bit word gives the layer (8 bits) and a signed place in it (53 bits), and is all that 98.8% of
draws need. The others take what more they need from that word by the mixing function of Steele,
Lea & Flood (2014), OOPSLA, so that draw i is a function of word i alone, however many are drawn.

NumPy does not promise that the normals of its Generator stay the same from one version to the next,
as it does for the words.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"

import math

import numpy as np

from simstudy.array_types import Float, UInt64
from simstudy.documents.stats.compiled.kernel import kernel
from simstudy.documents.stats.compiled.splitmix64 import GOLDEN, mixed

N_LAYERS = 256
EDGE = 3.6541528853610088  # start of the tail: the layers then end at height 1
UNIT = 2.0**-53


def _density(x: float) -> float:
    """The normal density over its height at 0."""
    return math.exp(-0.5 * x * x)


def layer_area() -> float:
    """Area of each layer: of the base with the tail beyond `EDGE`."""
    tail = math.sqrt(math.pi / 2) * math.erfc(EDGE / math.sqrt(2))
    return EDGE * _density(EDGE) + tail


def _layers() -> Float[np.ndarray, " layer"]:
    """Half-widths from the base, whose width includes its tail, up to 0."""
    widths = [layer_area() / _density(EDGE), EDGE]
    while len(widths) < N_LAYERS:
        widths.append(math.sqrt(-2 * math.log(layer_area() / widths[-1] + _density(widths[-1]))))
    return np.array([*widths, 0.0])


WIDTH = _layers()
HEIGHT = np.exp(-0.5 * WIDTH * WIDTH)


@kernel
def _uniform(word: np.uint64) -> float:
    """In (0, 1), never at its ends."""
    return (np.float64(word >> np.uint64(11)) + 0.5) * UNIT


@kernel
def _place(word: np.uint64) -> float:
    """In [-1, 1), from the upper bits, which the layer does not use."""
    return np.float64(np.int64(word) >> np.int64(10)) * UNIT


@kernel
def _tail(state: np.uint64) -> float:
    """A draw beyond `EDGE`, by Marsaglia's (1964) exponential rejection."""
    while True:
        state = state + GOLDEN
        beyond = -math.log(_uniform(mixed(state))) / EDGE
        state = state + GOLDEN
        if -2.0 * math.log(_uniform(mixed(state))) > beyond * beyond:
            return EDGE + beyond


@kernel
def _unsure(word: np.uint64) -> float:
    """A draw whose place lies in the tail or across the curve; the latter may be refused."""
    # The word itself starts the stream that its further words come from: nothing is shared between
    # draws, so how many are refused moves no other.
    state = word
    while True:
        layer = np.int64(word & np.uint64(255))
        x = _place(word) * WIDTH[layer]
        if abs(x) < WIDTH[layer + 1]:
            return x
        if layer == 0:
            return math.copysign(_tail(state), x)
        state = state + GOLDEN
        share = _uniform(mixed(state))
        if HEIGHT[layer] + share * (HEIGHT[layer + 1] - HEIGHT[layer]) < math.exp(-0.5 * x * x):
            return x
        state = state + GOLDEN
        word = mixed(state)


@kernel
def _normal(word: np.uint64) -> float:
    # The layer's number is in the lowest 8 bits and the place in the upper 54, sign included: the
    # two share no bit. Below the width of the layer above, x is under the curve at any height.
    layer = np.int64(word & np.uint64(255))
    x = _place(word) * WIDTH[layer]
    return x if abs(x) < WIDTH[layer + 1] else _unsure(word)


@kernel
def normals(words: UInt64[np.ndarray, " word"], out: Float[np.ndarray, " word"]) -> None:
    """Fill `out` with standard normals, one for each of the words."""
    for i in range(words.size):
        out[i] = _normal(words[i])
