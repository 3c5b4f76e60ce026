"""The indices that the compiled bootstraps draw, in whole numbers: slow."""

import numpy as np

from tests.documents.stats.words import GOLDEN, WORD, mixed


def bootstrap_indices(seed: int, n_obs: int, n_boot: int) -> np.ndarray:
    """Indices (boot, obs) of the stream that a word starts: each half of a word gives one."""
    n_word = (n_obs + 1) // 2
    words = [mixed((int(seed) + GOLDEN * (1 + w)) % WORD) for w in range(n_boot * n_word)]
    halves = [[(word >> at) % 2**32 * n_obs >> 32 for word in words] for at in (32, 0)]
    by_half = [np.array(half).reshape(n_boot, n_word) for half in halves]
    return np.concatenate(by_half, axis=1)[:, :n_obs]
