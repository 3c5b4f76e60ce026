"""The indices that the compiled bootstraps draw, in whole numbers: slow."""

import numpy as np

from tests.documents.stats.words import GOLDEN, WORD, mixed, place


def bootstrap_indices(seed: int, n_obs: int, n_boot: int) -> np.ndarray:
    """Indices (boot, obs) of the stream that a word starts: each quarter of a word gives one."""
    n_word = -(-n_obs // 32) * 8
    states = (int(seed) + GOLDEN * (1 + w) for w in range(n_boot * n_word))
    words = [mixed(state % WORD) for state in states]
    indices = [place(word, n_obs, bits=16, at=at) for word in words for at in (0, 16, 32, 48)]
    return np.array(indices).reshape(n_boot, -1)[:, :n_obs]
