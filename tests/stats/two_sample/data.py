"""Two samples of unequal spreads and shapes, with ties where values are rounded."""

import numpy as np

from tests.stats.draws import rng_at


def samples(n1: int, n2: int, n_rep: int = 3, *, ties: bool = False):
    rng = rng_at(n1)
    x, y = 3 * rng.normal(size=(n_rep, n1)) + 1, rng.exponential(size=(n_rep, n2))
    return (np.round(x), np.round(y)) if ties else (x, y)
