"""Two scores of 0 or 1 of each of n prompts: the chances of its four outcomes, and exact rates.

The reference's score of a prompt comes first, the check's second. A prompt is right in both, lost
(right before and wrong now), gained (wrong before and right now) or wrong in both. Given how many
prompts the reference had right, the prompts lost are binomial among these, the prompts gained among
the others, and the two are independent: so what a test does is a sum, whether it looks at how many
are right or at how many were lost and gained.

Many checks are drawn at once. A table of n prompts is a sum of tables of 32 prompts, and there are
few enough of those (6545) that each can have its place in a table of aliases: so a whole check
takes n/32 look-ups and no draw of a single score. With a reference that is kept there is one
look-up for the prompts lost and one for those gained.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simstudy.array_types import Bool, Float, Int, UInt64
from simstudy.documents.stats.accuracy.checks import check_probability
from simstudy.documents.stats.arguments import check_count
from simstudy.documents.stats.reading import reading
from simstudy.errors import DesignError
from simstudy.lazy import special

NEGLIGIBLE = 1e-18  # probability of a count of the reference that enumeration leaves out
ROUNDING = 1e-12  # tolerance of a correlation beyond its limit

CountTable = Int[np.ndarray, "count test"]
Given = Int[np.ndarray, " given"]  # counts of the reference
Laws = Float[np.ndarray, "given outcome"]


class Chances(NamedTuple):
    """Probabilities of the outcomes of a prompt; they sum to 1.

    Attributes
    ----------
    right
        The reference and the check have the prompt right.
    lost
        Only the reference has it right.
    gained
        Only the check has it right.
    wrong
        Neither has it right.
    """

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

    Attributes
    ----------
    right
        For tests that look at right answers: the largest count of the check that fails, by the
        reference's count; -1 where none does.
    lost
        For tests that look at changes: the least number of prompts lost that fails, by the
        number gained; n + 1 where none does.
    """

    right: CountTable
    lost: CountTable


# ---------------------------------------------------------------- chances
@reading
def chances(accuracy: float, check_accuracy: float, correlation: float = 0.0) -> Chances:
    """Compute the chances of a prompt's outcomes from both accuracies and the scores' correlation.

    Parameters
    ----------
    accuracy, check_accuracy
        Probabilities that a prompt is right, in (0, 1).
    correlation
        Correlation of a prompt's scores; its limits depend on the accuracies, and only scores of
        one accuracy can have a correlation of 1.

    Returns
    -------
    Chances
        Probabilities that sum to 1.
    """
    for name, value in {"accuracy": accuracy, "check_accuracy": check_accuracy}.items():
        _check_accuracy(name, value)
    spread = np.sqrt(accuracy * (1 - accuracy) * check_accuracy * (1 - check_accuracy))
    independent = accuracy * check_accuracy
    least = (max(0.0, accuracy + check_accuracy - 1) - independent) / spread
    most = (min(accuracy, check_accuracy) - independent) / spread
    _check_correlation(correlation, least, most, accuracy, check_accuracy)
    right = independent + min(max(correlation, least), most) * spread
    found = (right, accuracy - right, check_accuracy - right, 1 - accuracy - check_accuracy + right)
    return Chances(*(max(0.0, float(chance)) for chance in found))


def _check_accuracy(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise DesignError(
            f"{name}={value:g} is not inside (0, 1), so its scores do not vary and no test of them "
            "has anything to go by. Give a share of right answers such as 0.8; where it is that of "
            "a check, a smaller effect or more prompts."
        )


def _check_correlation(
    correlation: float, least: float, most: float, accuracy: float, check_accuracy: float
) -> None:
    if not least - ROUNDING <= correlation <= most + ROUNDING:
        raise DesignError(
            f"correlation={correlation:g} is none that right and wrong answers of accuracies "
            f"{accuracy:g} and {check_accuracy:g} can have: the more these differ, the less the "
            f"two scores of a prompt agree. Give one from {least:.3f} to {most:.3f}."
        )


# ---------------------------------------------------------------- laws
@reading
def binomial_law(n: int, probability: float) -> Float[np.ndarray, " count"]:
    """Compute the probabilities of 0 to n, with a relative error about n times that of a double.

    Parameters
    ----------
    n
        Trials, at least 0.
    probability
        Probability of a success, in [0, 1].

    Returns
    -------
    float array (count,)
        Probabilities of 0, 1, …, n, whose sum is 1.
    """
    check_count("n", n, least=0, meaning="a law of counts")
    check_probability("probability", probability)
    count = np.arange(n + 1)
    ways = special.gammaln(n + 1) - special.gammaln(count + 1) - special.gammaln(n - count + 1)
    law = np.exp(
        ways + special.xlogy(count, probability) + special.xlog1py(n - count, -probability)
    )
    return np.asarray(law / law.sum())


@reading
def rejection_given(
    critical: CriticalCounts, count: int, chance: Chances
) -> Float[np.ndarray, " test"]:
    """Probability that each test fails a check, given the reference's count of right answers.

    Parameters
    ----------
    critical
        Counts of n prompts.
    count
        Prompts that the reference had right, in 0 to n.
    chance
        Probabilities of each prompt's outcomes.

    Returns
    -------
    Float[np.ndarray, " test"]
        For `critical.right`, then for `critical.lost`; absolute error about 1e-13.
    """
    n = len(critical.right) - 1
    check_count("count", count, least=0, meaning="a result of the reference")
    check_count("n - count", n - count, least=0, meaning="a result of the reference")
    counts = np.array([count])
    lost, gained = _changes(n, counts, chance)
    by_lost = np.einsum("cg,cgt->t", gained, _tail(lost)[:, critical.lost])
    return np.concatenate([_by_right(critical.right, counts, lost, gained)[0], by_lost])


@reading
def rejection(critical: CriticalCounts, chance: Chances) -> Float[np.ndarray, " test"]:
    """Compute the probability that each test fails a check, over the draws of the reference.

    Counts that have less than 1e-18 are left out.

    Parameters
    ----------
    critical
        When each test fails a check.
    chance
        Probabilities of a prompt's outcomes.

    Returns
    -------
    float array (test,)
        Tests of `critical.right`, then those of `critical.lost`.
    """
    n = len(critical.right) - 1
    law = binomial_law(n, chance.right + chance.lost)
    counts = np.flatnonzero(law > NEGLIGIBLE)
    changes = _changes(n, counts, chance)
    by_right = law[counts] @ _by_right(critical.right, counts, *changes)
    return np.concatenate([by_right, _by_lost(critical.lost, chance.lost, chance.gained)])


@reading
def rejection_of_different(
    critical: CriticalCounts, accuracy: float, check_accuracy: float
) -> Float[np.ndarray, " test"]:
    """Compute `rejection` where reference and check are independent, ten times as fast.

    Parameters
    ----------
    critical
        When each test fails a check.
    accuracy, check_accuracy
        Probabilities that a prompt is right, in (0, 1).

    Returns
    -------
    float array (test,)
        Tests of `critical.right`, then those of `critical.lost`.
    """
    chance = chances(accuracy, check_accuracy)
    n = len(critical.right) - 1
    failing = _at_most(binomial_law(n, check_accuracy))[critical.right + 1]
    by_right = binomial_law(n, accuracy) @ failing
    return np.concatenate([by_right, _by_lost(critical.lost, chance.lost, chance.gained)])


# ---------------------------------------------------------------- sums
def _changes(n: int, counts: Given, chance: Chances) -> tuple[Laws, Laws]:
    """Laws of the prompts lost and of those gained, given each count of the reference."""
    lost = _laws(counts, n, chance.lost_if_right)
    return lost, _laws(n - counts, n, chance.gained_if_wrong)


def _laws(n: Given, largest: int, probability: float) -> Laws:
    """Binomial laws of some numbers of trials, none above the largest: a row of 0 to that each.

    The same as `binomial_law`, with each factor looked up.
    """
    count = np.arange(largest + 1)
    factorial = special.gammaln(count + 1)
    successes = special.xlogy(count, probability) - factorial
    failures = special.xlog1py(count, -probability) - factorial
    left = np.subtract.outer(n, count)
    logs = factorial[n][:, np.newaxis] + successes + np.where(left >= 0, failures[left], -np.inf)
    with np.errstate(under="ignore"):
        laws = np.exp(logs)
    return np.asarray(laws / laws.sum(axis=1, keepdims=True))


def _at_most(law: Float[np.ndarray, "*given outcome"]) -> Float[np.ndarray, "*given more"]:
    """Probabilities of at most -1 to n."""
    return np.insert(np.cumsum(law, axis=-1), 0, 0.0, axis=-1)


def _tail(law: Float[np.ndarray, "*given outcome"]) -> Float[np.ndarray, "*given more"]:
    """Probabilities of at least 0 to n + 1."""
    return _at_most(law[..., ::-1])[..., ::-1]


def _by_right(
    critical: CountTable, counts: Given, lost: Laws, gained: Laws
) -> Float[np.ndarray, "given test"]:
    """Given each count of the reference, P(gained ≤ critical - count + lost)."""
    n = lost.shape[1] - 1
    kept = 1 + int(np.flatnonzero((lost > NEGLIGIBLE).any(axis=0))[-1])
    at_most = np.pad(np.cumsum(gained, axis=1), ((0, 0), (n + 1, n)), mode="edge")
    at_most[:, : n + 1] = 0.0
    from_each = np.lib.stride_tricks.sliding_window_view(at_most, kept, axis=1)
    first = (n + 1) + critical[counts] - counts[:, np.newaxis]
    every = np.arange(len(counts))
    rates = [np.einsum("cl,cl->c", lost[:, :kept], from_each[every, at]) for at in first.T]
    return np.stack(rates, axis=1) if rates else np.empty((len(counts), 0))


def _by_lost(critical: CountTable, p_lost: float, p_gained: float) -> Float[np.ndarray, " test"]:
    """Gains are binomial among all prompts, losses among those that are not gained."""
    if not critical.size:
        return np.empty(0)
    n = len(critical) - 1
    law = binomial_law(n, p_gained)
    gains = np.flatnonzero(law > NEGLIGIBLE)
    of_the_rest = min(p_lost / (1 - p_gained), 1.0) if p_gained < 1 else 0.0
    at_least = _tail(_laws(n - gains, n, of_the_rest))
    return np.asarray(law[gains] @ np.take_along_axis(at_least, critical[gains], axis=1))


# ---------------------------------------------------------------- draws
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
