"""Generators and samples for tests."""

import numpy as np


def rng_at(seed: int = 9) -> np.random.Generator:
    return np.random.default_rng(seed)


def samples(n1: int, n2: int, n_rep: int = 3, *, ties: bool = False):
    """Two samples of unequal spreads and shapes, with ties where values are rounded."""
    rng = rng_at(n1)
    x, y = 3 * rng.normal(size=(n_rep, n1)) + 1, rng.exponential(size=(n_rep, n2))
    return (np.round(x), np.round(y)) if ties else (x, y)
