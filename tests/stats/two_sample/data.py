"""Data of the tests of two samples: unequal spreads and shapes."""

import numpy as np


def rng_at(seed: int = 4) -> np.random.Generator:
    return np.random.default_rng(seed)


def samples(n1: int, n2: int, n_rep: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = rng_at(n1)
    return 3 * rng.normal(size=(n_rep, n1)) + 1, rng.exponential(size=(n_rep, n2))
