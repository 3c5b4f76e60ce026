"""Counts of many checks at once: right in the reference, lost, gained; and which tests fail them.

A table of n prompts is a sum of tables of 32 prompts, and there are few enough of those (6545) that
each can have its place in a table of aliases: so a whole check takes n/32 look-ups and no draw of
a single score. With a reference that is kept there is one look-up for the prompts lost and one for
those gained.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int, UInt64
from simstudy.documents.stats.accuracy.prompts import Chances, CriticalCounts, binomial_law
from simstudy.documents.stats.arguments import check_count
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

# Prompts that are drawn together. A table of 32 fits into a core's own cache (200 kB); with 16 a
# check takes 1.7 times as long, with 64 two thirds, and to fill a table eight times as long.
TOGETHER = 32
BITS = 21  # bits of a word for each of three counts
LOW, LOST, GAINED = (np.uint64(number) for number in (2**BITS - 1, BITS, 2 * BITS))


class Counts(NamedTuple):
    """Prompts that the reference had right, and those that the check lost and gained.

    Attributes
    ----------
    reference : int array (rep,)
        Prompts that the reference had right.
    lost : int array (rep,)
        Prompts that the reference had right and the check had wrong.
    gained : int array (rep,)
        Prompts that the reference had wrong and the check had right.
    """

    reference: Int[np.ndarray, " rep"]
    lost: Int[np.ndarray, " rep"]
    gained: Int[np.ndarray, " rep"]

    @property
    def check(self) -> Int[np.ndarray, " rep"]:
        """How many the check had right."""
        return np.asarray(self.reference - self.lost + self.gained)


@reading
def draw_counts(
    rng: np.random.Generator, n_rep: int, n: int, chance: Chances, *, kept: int | None = None
) -> Counts:
    """Draw references and checks of n prompts each.

    Parameters
    ----------
    rng
        Gives two words, whatever the sizes.
    n_rep
        Replicates, at least 0.
    n
        Prompts, at least 1.
    chance
        Probabilities of each prompt's outcomes.
    kept
        Prompts that the reference had right, where it is the same in every replicate; unless
        given, it is drawn with the check.

    Returns
    -------
    Counts
        Counts of each replicate.
    """
    _check_sizes(n, kept)
    first, second = rng.integers(0, 2**64, size=2, dtype=np.uint64)
    if kept is None:
        packed = np.zeros(n_rep, np.uint64)
        _add(packed, _prompts_table(min(n, TOGETHER), chance), n // TOGETHER or 1, first)
        if n > TOGETHER and n % TOGETHER:
            _add(packed, _prompts_table(n % TOGETHER, chance), 1, second)
    else:
        packed = np.full(n_rep, kept, np.uint64)
        _add(packed, _counts_table(kept, chance.lost_if_right, int(LOST)), 1, first)
        _add(packed, _counts_table(n - kept, chance.gained_if_wrong, int(GAINED)), 1, second)
    return Counts(*(_unpacked(packed, at) for at in (np.uint64(0), LOST, GAINED)))


def _check_sizes(n: int, kept: int | None) -> None:
    check_count("n", n, least=1, meaning="a check")
    if n > int(LOW):
        raise DesignError(
            f"n={n} prompts are more than {int(LOW)}, and a count of them has no room in a word. "
            "Use fewer: the normal approximation is exact to all digits of interest there."
        )
    if kept is not None:
        check_count("kept", kept, least=0, meaning="a reference")
        check_count("n - kept", n - kept, least=0, meaning="a reference")


def _unpacked(packed: UInt64[np.ndarray, " rep"], at: np.uint64) -> Int[np.ndarray, " rep"]:
    return np.asarray(((packed >> at) & LOW).astype(np.int64))


def _add(
    packed: UInt64[np.ndarray, " rep"],
    table: UInt64[np.ndarray, "column 3"],
    n_drawn: int,
    seed: np.uint64,
) -> None:
    from simstudy.documents.stats.accuracy import _count_kernels as kernels

    n_bits = np.uint64(len(table).bit_length() - 1)
    kernels.add_drawn(table, n_bits, n_drawn, seed, packed)


# ---------------------------------------------------------------- tables
# Blocks of a study's scenarios come in turns, so there is room for the tables of a hundred of them:
# one of 32 prompts takes longer to fill than ten thousand checks take to draw.
@lru_cache(maxsize=128)
def _prompts_table(n: int, chance: Chances) -> UInt64[np.ndarray, "column 3"]:
    """Aliases of all that can become of n prompts."""
    lost, gained, wrong = np.indices((n + 1, n + 1, n + 1)).reshape(3, -1)
    right = n - lost - gained - wrong
    each = np.stack([right, lost, gained, wrong])[:, right >= 0]
    ways = special.gammaln(n + 1) - special.gammaln(each + 1).sum(axis=0)
    law = np.exp(ways + special.xlogy(each, np.array(chance)[:, np.newaxis]).sum(axis=0))
    right, lost, gained, _ = each
    return _aliases(law, (right + lost) | lost << int(LOST) | gained << int(GAINED))


@lru_cache(maxsize=128)
def _counts_table(n: int, probability: float, at: int) -> UInt64[np.ndarray, "column 3"]:
    """Aliases of a binomial count that lies at some bit of a word."""
    return _aliases(binomial_law(n, probability), np.arange(n + 1) << at)


def _aliases(
    law: Float[np.ndarray, " outcome"], outcome: Int[np.ndarray, " outcome"]
) -> UInt64[np.ndarray, "column 3"]:
    """A table of a power of two of columns, at least 2; outcomes that it is short of have none."""
    from simstudy.documents.stats.accuracy import _count_kernels as kernels

    n_column = 1 << max(1, (len(law) - 1).bit_length())
    probability, words = np.zeros(n_column), np.zeros(n_column, np.uint64)
    probability[: len(law)], words[: len(law)] = law / law.sum(), outcome
    table = np.empty((n_column, 3), np.uint64)
    kernels.fill_table(probability, words, table)
    return table


# ---------------------------------------------------------------- decisions
@reading
def decide(critical: CriticalCounts, counts: Counts) -> Bool[np.ndarray, "rep test"]:
    """Decide which tests fail each check: those of `critical.right`, then those of `critical.lost`.

    Parameters
    ----------
    critical
        When each test fails a check.
    counts
        Counts of each replicate.

    Returns
    -------
    bool array (rep, test)
        True where the check fails.
    """
    from simstudy.documents.stats.accuracy import _count_kernels as kernels

    right, lost = (np.ascontiguousarray(table, np.int64) for table in critical)
    n_test = right.shape[1] + lost.shape[1]
    fails = np.empty((len(counts.reference), n_test), bool)
    kernels.look_up(right, lost, *counts, fails)
    return fails
