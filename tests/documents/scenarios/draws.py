"""Random streams of one block, as a run or a plain function gives them."""

from collections.abc import Callable

import numpy as np

from simstudy.provenance.streams import Streams


def streams(method: str = "", seed: int = 1) -> Streams:
    return Streams(seed, "study", "scenario", 0, method)


def streams_at(seed: int = 3) -> Callable[[str], np.random.Generator]:
    """Anew for each purpose, and the same whenever one asks."""
    return lambda purpose: np.random.default_rng([seed, *map(ord, purpose)])
