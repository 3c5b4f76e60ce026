"""Streams and generators for tests; in whole numbers, the words that compiled loops draw."""

from collections.abc import Callable

import numpy as np

from simstudy.provenance.streams import Streams

WORD, GOLDEN = 2**64, 0x9E3779B97F4A7C15


def streams(method: str = "", seed: int = 1) -> Streams:
    return Streams(seed, "study", "scenario", 0, method)


def streams_at(seed: int = 3) -> Callable[[str], np.random.Generator]:
    """Anew for each purpose, and the same whenever one asks."""
    return lambda purpose: np.random.default_rng([seed, *map(ord, purpose)])


def rng_at(seed: int = 9) -> np.random.Generator:
    return np.random.default_rng(seed)


def mixed(state: int) -> int:
    """SplitMix64 (Steele, Lea and Flood 2014)."""
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


def bootstrap_indices(seed: int, n_obs: int, n_boot: int) -> np.ndarray:
    """Indices (boot, obs) of the stream that a word starts: each half of a word gives one."""
    n_word = (n_obs + 1) // 2
    words = [mixed((int(seed) + GOLDEN * (1 + w)) % WORD) for w in range(n_boot * n_word)]
    halves = [[(word >> at) % 2**32 * n_obs >> 32 for word in words] for at in (32, 0)]
    by_half = [np.array(half).reshape(n_boot, n_word) for half in halves]
    return np.concatenate(by_half, axis=1)[:, :n_obs]
