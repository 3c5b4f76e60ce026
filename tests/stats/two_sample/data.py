"""Data of the tests of two samples: unequal spreads and shapes."""

import numpy as np

from tests.stats.draws import rng_at


def samples(n1: int, n2: int, n_rep: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = rng_at(n1)
    return 3 * rng.normal(size=(n_rep, n1)) + 1, rng.exponential(size=(n_rep, n2))
