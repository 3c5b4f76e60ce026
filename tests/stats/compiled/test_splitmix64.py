"""The mixer of words against published outputs; eight at once are those of `bootstrap_indices`."""

import numpy as np
import pytest

from simstudy.stats.compiled.splitmix64 import GOLDEN, mixed, mixed_by_numpy

PUBLISHED = {
    0: [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F],
    1234567: [6457827717110365317, 3203168211198807973],
}
"""First outputs of the authors' reference program, by its seed."""


@pytest.mark.parametrize("seed", PUBLISHED)
def test_words_are_those_of_the_published_generator(seed):
    states = np.uint64(seed) + np.arange(1, len(PUBLISHED[seed]) + 1, dtype=np.uint64) * GOLDEN
    assert [mixed(state) for state in states] == PUBLISHED[seed]
    assert mixed_by_numpy(states).tolist() == PUBLISHED[seed]
