"""Generators for tests."""

import numpy as np


def rng_at(seed: int = 9) -> np.random.Generator:
    return np.random.default_rng(seed)
