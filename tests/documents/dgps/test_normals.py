"""Normals from words: the algorithm by a slow loop, the law by counting."""

import math

import mpmath
import numpy as np
import pytest
from scipy import special

from simstudy.documents.dgps import _normal_kernels as kernels
from simstudy.documents.dgps.normals import (
    CHUNK,
    WHOLE_WORDS,
    _words,
    standard_normals,
)
from tests.documents.stats.words import GOLDEN, WORD, mixed
from tests.support import assert_caught, assert_within_mcse


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


def words(n: int, seed: int = 1) -> np.ndarray:
    return rng(seed).integers(0, 2**64, size=n, dtype=np.uint64)


# ---------------------------------------------------------------- the algorithm
class More:
    """More words from one, SplitMix64."""

    def __init__(self, word: int) -> None:
        self.state = word

    def word(self) -> int:
        self.state = (self.state + GOLDEN) % WORD
        return mixed(self.state)

    def uniform(self) -> float:
        return ((self.word() >> 11) + 0.5) * 2.0**-53


def slow_normal(word: int) -> float:
    """The ziggurat as it is written down, on Python's integers."""
    more = More(word)
    while True:
        layer = word & 255
        signed = word - 2**64 if word >> 63 else word
        x = (signed >> 10) * 2.0**-53 * kernels.WIDTH[layer]
        if abs(x) < kernels.WIDTH[layer + 1]:
            return x
        if layer == 0:
            while True:
                beyond = -math.log(more.uniform()) / kernels.EDGE
                if -2 * math.log(more.uniform()) > beyond**2:
                    return math.copysign(kernels.EDGE + beyond, x)
        low, high = kernels.HEIGHT[layer], kernels.HEIGHT[layer + 1]
        if low + more.uniform() * (high - low) < math.exp(-x * x / 2):
            return x
        word = more.word()


def test_a_draw_is_the_ziggurat_of_its_word():
    some = words(20_000)
    out = np.empty(some.size)
    kernels.normals(some, out)
    np.testing.assert_allclose(out, [slow_normal(int(word)) for word in some], rtol=1e-15)
    assert (np.abs(out) > kernels.EDGE).any()


def test_layers_have_one_area_and_end_at_the_peak():
    with mpmath.workdps(40):
        edge = mpmath.mpf(kernels.EDGE)
        area = edge * mpmath.exp(-(edge**2) / 2)
        area += mpmath.sqrt(mpmath.pi / 2) * mpmath.erfc(edge / mpmath.sqrt(2))
        assert abs(kernels.layer_area() / area - 1) < 1e-14
        width, height = edge, mpmath.exp(-(edge**2) / 2)
        for layer in range(1, 256):
            assert abs(kernels.WIDTH[layer] - width) < 1e-11
            height += area / width
            width = mpmath.sqrt(-2 * mpmath.log(height)) if layer < 255 else mpmath.mpf(0)
        assert abs(height - 1) < 1e-12


def test_chunks_change_nothing():
    whole = np.empty(CHUNK + 777)
    kernels.normals(words(whole.size), whole)
    assert (standard_normals(rng(), 1, whole.size)[0] == whole).all()


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_words_of_any_generator_are_whole(kind):
    """MT19937 makes 32 bits at a time, which alone would have no sign."""
    n = 20_000
    x = standard_normals(np.random.Generator(kind(1)), 1, n)[0]
    assert_within_mcse([x.mean(), (x**2).mean()], [0, 1], [n**-0.5, (2 / n) ** 0.5])


@pytest.mark.parametrize("kind", WHOLE_WORDS)
def test_the_two_ways_to_words_are_one(kind):
    expected = np.random.Generator(kind(3)).integers(0, 2**64, size=999, dtype=np.uint64)
    assert (_words(np.random.Generator(kind(3)), 999) == expected).all()


# ---------------------------------------------------------------- the law
EDGES = np.unique(np.concatenate([-kernels.WIDTH[1:], kernels.WIDTH[1:], [-4.5, 4.5, -4, 4]]))
N_DRAWS = 8_000_000


def counts(draw) -> np.ndarray:
    """Draws in each interval between the edges of layers, where a wrong wedge would show."""
    bins = np.concatenate([[-np.inf], EDGES, [np.inf]])
    return sum(np.histogram(draw(words(N_DRAWS // 8, seed)), bins)[0] for seed in range(8))


def probabilities() -> np.ndarray:
    below = special.ndtr(np.concatenate([[-np.inf], EDGES, [np.inf]]))
    above = special.ndtr(-np.concatenate([[-np.inf], EDGES, [np.inf]]))
    return np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))


def ziggurat(some: np.ndarray) -> np.ndarray:
    out = np.empty(some.size)
    kernels.normals(some, out)
    return out


def without_refusals(some: np.ndarray) -> np.ndarray:
    """The ziggurat that keeps every place in a layer: a plausible slip."""
    layer = (some & np.uint64(255)).astype(int)
    x = (some.astype(np.int64) >> 10) * 2.0**-53 * kernels.WIDTH[layer]
    return np.where(layer == 0, ziggurat(some), x)


def test_every_layer_gets_its_share():
    p = probabilities()
    assert_within_mcse(counts(ziggurat) / N_DRAWS, p, np.sqrt(p * (1 - p) / N_DRAWS))
    # Caught: a ziggurat that refuses nothing.
    assert_caught(counts(without_refusals) / N_DRAWS, p, np.sqrt(p * (1 - p) / N_DRAWS))
