"""The order in which a network takes its observations: another one in each epoch."""

import numpy as np

from simstudy.array_types import Int

WORDS = 2**64


def shuffled(
    rows: Int[np.ndarray, "network draw"], rng: np.random.Generator
) -> Int[np.ndarray, "network draw"]:
    """Shuffle each network's rows in an order of their own, all orders equally likely.

    A word of 64 bits for each network is drawn from `rng`; it begins a stream of SplitMix64 that
    shuffles, which takes a fifth of the time of `rng.permuted` or less.

    Parameters
    ----------
    rows : int array (network, draw)
        Indices of observations, a row for each network.
    rng
        Gives a word of 64 bits for each network.

    Returns
    -------
    int array (network, draw)
        The rows in new orders.
    """
    from simstudy.documents.stats.networks._order_kernels import shuffle_each

    given = np.ascontiguousarray(rows, dtype=np.int32)
    seeds, out = rng.integers(WORDS, size=len(rows), dtype=np.uint64), np.empty_like(given)
    shuffle_each(given, seeds, out)
    return out
