"""Two scores of 0 or 1 of each of n prompts: the chances of its outcomes, draws, exact rates.

A prompt is right in the reference and the check, lost (right before and wrong now), gained (wrong
before and right now) or wrong in both. Given how many prompts the reference had right, the prompts
lost are binomial among these, those gained among the others, and the two are independent.

Many checks are drawn at once. A table of n prompts is a sum of tables of 32 prompts, and there are
few enough of those (6545) that each can have its place in a table of aliases: so a whole check
takes n/32 look-ups. With a reference that is kept there is one look-up for the prompts lost and one
for those gained.

References
----------
Walker (1977), ACM Trans. Math. Softw. 3(3), 253-256: aliases; Vose (1991), IEEE Trans. Softw. Eng.
17(9), 972-975: how a table is filled; Steele, Lea & Flood (2014), OOPSLA, 453-472: SplitMix64.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int, UInt64
from simstudy.documents.stats.accuracy import paired
from simstudy.lazy import special, stats

NEGLIGIBLE = 1e-18  # probability of a count of the reference that sums leave out

CountTable = Int[np.ndarray, "count test"]
Rates = Float[np.ndarray, " test"]
Law = Float[np.ndarray, " count"]
Words = UInt64[np.ndarray, " rep"]


class Chances(NamedTuple):
    """Probabilities of the outcomes of a prompt; they sum to 1."""

    right: float
    lost: float
    gained: float
    wrong: float

    @property
    def lost_if_right(self) -> float:
        """Probability that the check has a prompt wrong which the reference had right."""
        return self.lost / (self.right + self.lost) if self.lost else 0.0

    @property
    def gained_if_wrong(self) -> float:
        """Probability that the check has a prompt right which the reference had wrong."""
        return self.gained / (self.gained + self.wrong) if self.gained else 0.0


class CriticalCounts(NamedTuple):
    """When tests fail a check: a column for each test, a row for each count of 0 to n.

    `right` has the largest count of right answers that fails, by the reference's; `lost` the
    fewest prompts lost that fail, by the number gained.
    """

    right: CountTable
    lost: CountTable


class Counts(NamedTuple):
    """Prompts that the reference had right, and those that the check lost and gained."""

    reference: Int[np.ndarray, " rep"]
    lost: Int[np.ndarray, " rep"]
    gained: Int[np.ndarray, " rep"]

    @property
    def check(self) -> Int[np.ndarray, " rep"]:
        """How many the check had right."""
        return np.asarray(self.reference - self.lost + self.gained)


# ---------------------------------------------------------------- chances
def both_right(accuracy: float, check_accuracy: float, correlation: float) -> float:
    """The chance that both answers are right, by the correlation of their scores."""
    p, q = accuracy, check_accuracy
    return float(p * q + correlation * np.sqrt(p * (1 - p) * q * (1 - q)))


def chances(accuracy: float, check_accuracy: float, correlation: float = 0.0) -> Chances:
    """The chances of a prompt's outcomes."""
    right = both_right(accuracy, check_accuracy, correlation)
    found = (right, accuracy - right, check_accuracy - right, 1 - accuracy - check_accuracy + right)
    return Chances(*(max(0.0, chance) for chance in found))


# ---------------------------------------------------------------- exact rates
def binomial_law(n: int, probability: float) -> Law:
    """Probabilities of 0 to n."""
    return np.asarray(stats.binom.pmf(np.arange(n + 1), n, probability))


def rejection_given(critical: CriticalCounts, count: int, chance: Chances) -> Rates:
    """Probability that each test fails a check, given the reference's count of right answers."""
    lost = binomial_law(count, chance.lost_if_right)
    gained = binomial_law(len(critical.right) - 1 - count, chance.gained_if_wrong)
    return _rejection(critical, lost, gained)


def rejection(critical: CriticalCounts, chance: Chances) -> Rates:
    """Probability that each test fails a check, over the draws of the reference."""
    n = len(critical.right) - 1
    law = binomial_law(n, chance.right + chance.lost)
    counts = np.flatnonzero(law > NEGLIGIBLE)
    each = np.arange(n + 1)  # a call for each law would take most of the time
    of_right, of_wrong = counts[:, np.newaxis], n - counts[:, np.newaxis]
    lost = np.asarray(stats.binom.pmf(each, of_right, chance.lost_if_right))
    gained = np.asarray(stats.binom.pmf(each, of_wrong, chance.gained_if_wrong))
    rates = [
        _rejection(critical, of_lost[: x + 1], of_gained[: n - x + 1])
        for x, of_lost, of_gained in zip(counts, lost, gained, strict=True)
    ]
    return np.asarray(law[counts] @ rates)


def _rejection(
    critical: CriticalCounts,
    lost: Float[np.ndarray, " right"],
    gained: Float[np.ndarray, " wrong"],
) -> Rates:
    """Probability that each test fails a check, from the laws of prompts lost and gained."""
    count = len(lost) - 1  # right answers of the reference
    check = np.convolve(lost[::-1], gained)  # law of the check's right answers
    at_least = np.cumsum(np.append(lost, np.zeros(len(gained)))[::-1])[::-1]
    by_lost = gained @ at_least[critical.lost[: len(gained)]]
    return np.concatenate([_at_most(check)[critical.right[count] + 1], by_lost])


def rejection_of_different(critical: CriticalCounts, p: float, q: float) -> Rates:
    """`rejection` where reference and check are independent, many times as fast."""
    n, chance = len(critical.right) - 1, chances(p, q)
    by_right = binomial_law(n, p) @ _at_most(binomial_law(n, q))[critical.right + 1]
    by_lost = [
        paired.rejection_probability(each, n, chance.lost, chance.gained)
        for each in critical.lost.T
    ]
    return np.array([*by_right, *by_lost])


def _at_most(law: Law) -> Float[np.ndarray, " more"]:
    """Probabilities of at most -1 to n."""
    return np.concatenate([[0.0], np.cumsum(law)])


# ---------------------------------------------------------------- draws
TOGETHER = 32  # prompts that are drawn together: their table (200 kB) fits into a core's own cache
BITS = 21  # bits of a word for each of three counts, so n is below 2^21
LOST, GAINED = BITS, 2 * BITS
SHARE_UNIT = 2**64
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Aliases(NamedTuple):
    """A power of two of columns: the share of the first of two outcomes, and both outcomes."""

    share: UInt64[np.ndarray, " column"]
    first: UInt64[np.ndarray, " column"]
    second: UInt64[np.ndarray, " column"]


def draw_counts(
    rng: np.random.Generator, n_rep: int, n: int, chance: Chances, *, kept: int | None = None
) -> Counts:
    """Draw references and checks of n prompts; `kept` are the right answers of one reference.

    `rng` gives two words, whatever the sizes.
    """
    first, second = rng.integers(0, 2**64, size=2, dtype=np.uint64)
    if kept is None:
        packed = _drawn(_prompts_table(min(n, TOGETHER), chance), n_rep, n // TOGETHER or 1, first)
        if n > TOGETHER and n % TOGETHER:
            packed += _drawn(_prompts_table(n % TOGETHER, chance), n_rep, 1, second)
    else:
        lost = _counts_table(kept, chance.lost_if_right, LOST)
        gained = _counts_table(n - kept, chance.gained_if_wrong, GAINED)
        packed = _drawn(lost, n_rep, 1, first) + _drawn(gained, n_rep, 1, second) + np.uint64(kept)
    counts = (packed.astype(np.int64) >> at & 2**BITS - 1 for at in (0, LOST, GAINED))
    return Counts(*counts)


def _drawn(table: Aliases, n_rep: int, n_drawn: int, seed: np.uint64) -> Words:
    """Sums of so many draws: draw k of all is word k of SplitMix64.

    The upper bits of a word choose the column, all others choose within it.
    """
    n_bits = np.uint64(len(table.share).bit_length() - 1)
    state = seed + GOLDEN * np.arange(n_rep, dtype=np.uint64) * np.uint64(n_drawn)
    total = np.zeros(n_rep, np.uint64)
    for _ in range(n_drawn):
        state += GOLDEN
        word = (state ^ (state >> np.uint64(30))) * FACTORS[0]
        word = (word ^ (word >> np.uint64(27))) * FACTORS[1]
        word ^= word >> np.uint64(31)
        column = (word >> (np.uint64(64) - n_bits)).astype(np.int64)
        is_first = word << n_bits < table.share[column]
        total += np.where(is_first, table.first[column], table.second[column])
    return total


# Blocks of a study's scenarios come in turns, so there is room for the tables of a hundred of them.
@lru_cache(maxsize=128)
def _prompts_table(n: int, chance: Chances) -> Aliases:
    """Aliases of all that can become of n prompts."""
    lost, gained, wrong = np.indices((n + 1, n + 1, n + 1)).reshape(3, -1)
    right = n - lost - gained - wrong
    each = np.stack([right, lost, gained, wrong])[:, right >= 0]
    ways = special.gammaln(n + 1) - special.gammaln(each + 1).sum(axis=0)
    law = np.exp(ways + special.xlogy(each, np.array(chance)[:, np.newaxis]).sum(axis=0))
    right, lost, gained, _ = each
    return _aliases(law, (right + lost) | lost << LOST | gained << GAINED)


@lru_cache(maxsize=128)
def _counts_table(n: int, probability: float, at: int) -> Aliases:
    """Aliases of a binomial count that lies at some bit of a word."""
    return _aliases(binomial_law(n, probability), np.arange(n + 1) << at)


def _aliases(law: Law, outcome: Int[np.ndarray, " count"]) -> Aliases:
    """Share outcomes out over columns of equal probability, at most two to each (Vose)."""
    n_column = 1 << max(1, (len(law) - 1).bit_length())
    outcomes = [*map(int, outcome), *[0] * (n_column - len(law))]
    left = [*(law / law.sum() * n_column).tolist(), *[0.0] * (n_column - len(law))]
    share, second = [SHARE_UNIT - 1] * n_column, outcomes.copy()
    small = [column for column in range(n_column) if left[column] < 1]
    large = [column for column in range(n_column) if left[column] >= 1]
    while small and large:
        i, j = small.pop(), large[-1]
        share[i], second[i] = int(left[i] * SHARE_UNIT), outcomes[j]
        left[j] -= 1 - left[i]
        if left[j] < 1:
            small.append(large.pop())
    return Aliases(*(np.array(each, np.uint64) for each in (share, outcomes, second)))


def decide(critical: CriticalCounts, counts: Counts) -> Bool[np.ndarray, "rep test"]:
    """Which tests fail each check: those of `critical.right`, then those of `critical.lost`."""
    by_right = counts.check[:, np.newaxis] <= critical.right[counts.reference]
    by_lost = counts.lost[:, np.newaxis] >= critical.lost[counts.gained]
    return np.concatenate([by_right, by_lost], axis=1)
