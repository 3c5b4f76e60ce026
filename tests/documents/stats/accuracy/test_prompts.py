"""Chances, exact rates and draws of two scores of a prompt, against sums and loops."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.stats.accuracy import counts, paired
from simstudy.documents.stats.accuracy import prompts as module
from simstudy.documents.stats.accuracy.prompts import (
    BITS,
    TOGETHER,
    Chances,
    CriticalCounts,
    chances,
    decide,
    draw_counts,
    rejection,
    rejection_given,
    rejection_of_different,
)
from tests.documents.draws import GOLDEN, WORD, mixed, rng_at

CORRELATED = chances(0.8, 0.7, 0.3)
N = 9


@pytest.mark.parametrize(
    ("accuracy", "check", "correlation"),
    [(0.5, 0.5, 0.0), (0.8, 0.7, 0.3), (0.9, 0.6, 0.4), (0.5, 0.4, -0.5), (0.3, 0.3, 1.0)],
)
def test_chances_have_the_accuracies_and_the_correlation(accuracy, check, correlation):
    found = chances(accuracy, check, correlation)
    scores = np.array([(1, 1), (1, 0), (0, 1), (0, 0)])
    first, second = (np.array(found) @ scores).tolist()
    covariance = np.array(found) @ np.prod(scores, axis=1) - first * second
    assert sum(found) == pytest.approx(1, abs=1e-15)
    assert (first, second) == pytest.approx((accuracy, check), rel=1e-14)
    spread = math.sqrt(first * (1 - first) * second * (1 - second))
    assert covariance / spread == pytest.approx(correlation, abs=1e-14)


def critical_at(n: int = N, alpha: float = 0.2) -> CriticalCounts:
    right = [counts.critical_counts(test, n, n, alpha) for test in ("z_pooled", "fisher")]
    lost = [paired.critical_losses(test, n, alpha) for test in ("mcnemar", "paired_z")]
    return CriticalCounts(np.stack(right, axis=1), np.stack(lost, axis=1))


def slow_rejection(critical: CriticalCounts, chance: Chances, given=None) -> np.ndarray:
    """Over every table of n prompts, one at a time; of those with a reference, if it is given."""
    n, total, rate = len(critical.right) - 1, 0.0, 0.0
    for right, lost, gained in itertools.product(range(n + 1), repeat=3):
        wrong = n - right - lost - gained
        if wrong < 0 or given not in (None, right + lost):
            continue
        cells = [right, lost, gained, wrong]
        ways = math.factorial(n) // math.prod(map(math.factorial, cells))
        weight = ways * math.prod(p**k for p, k in zip(chance, cells, strict=True))
        by_right = right + gained <= critical.right[right + lost]
        rate = rate + weight * np.concatenate([by_right, lost >= critical.lost[gained]])
        total += weight
    return rate / total


@pytest.mark.parametrize("chance", [CORRELATED, chances(0.5, 0.5), chances(0.3, 0.3, 1.0)])
def test_rejection_is_the_sum_over_all_tables(chance):
    slow = slow_rejection(critical_at(), chance)
    np.testing.assert_allclose(rejection(critical_at(), chance), slow, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("count", [0, 4, N])
def test_rejection_given_a_reference_is_the_sum_over_its_tables(count):
    slow = slow_rejection(critical_at(), CORRELATED, given=count)
    found = rejection_given(critical_at(), count, CORRELATED)
    np.testing.assert_allclose(found, slow, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("n", [33, 300])
def test_rejection_is_that_of_two_binomials_and_of_pairs(n):
    critical, chance = critical_at(n, 0.05), chances(0.8, 0.72)
    both = [counts.rejection_probability(c, n, n, 0.8, 0.72) for c in critical.right.T]
    both += [
        paired.rejection_probability(c, n, chance.lost, chance.gained) for c in critical.lost.T
    ]
    np.testing.assert_allclose(rejection(critical, chance), both, rtol=1e-11)
    np.testing.assert_allclose(rejection_of_different(critical, 0.8, 0.72), both, rtol=1e-11)


def law_of(table: module.Aliases) -> dict[tuple[int, ...], float]:
    """Probabilities of the counts in a table of aliases: in whole numbers until the end."""
    found: dict[int, int] = {}
    for share, first, second in zip(*(column.tolist() for column in table), strict=True):
        found[first] = found.get(first, 0) + share
        found[second] = found.get(second, 0) + WORD - share
    unpacked = {tuple(packed >> BITS * i & 2**BITS - 1 for i in range(3)): weight
                for packed, weight in found.items()}  # fmt: skip
    return {each: weight / (WORD * len(table.share)) for each, weight in unpacked.items()}


@pytest.mark.parametrize("n", [1, 2, 7, TOGETHER])
def test_a_table_of_prompts_has_their_multinomial_law(n):
    found = law_of(module._prompts_table(n, CORRELATED))
    for (reference, lost, gained), probability in found.items():
        cells = [reference - lost, lost, gained, n - reference - gained]
        known = stats.multinomial.pmf(cells, n, CORRELATED)
        assert probability == pytest.approx(known, rel=1e-9, abs=1e-15)
    assert len(found) == (n + 1) * (n + 2) * (n + 3) // 6
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("n", "p"), [(0, 0.2), (1, 0.5), (300, 0.1), (5, 0.0)])
def test_a_table_of_a_count_has_its_binomial_law(n, p):
    found = law_of(module._counts_table(n, p, BITS))
    for (reference, lost, gained), probability in found.items():
        assert (reference, gained) == (0, 0)
        assert probability == pytest.approx(stats.binom.pmf(lost, n, p), rel=1e-9, abs=1e-15)


def test_what_cannot_happen_is_never_drawn():
    table = module._prompts_table(5, chances(0.3, 0.3, 1.0))
    possible = {each for each, weight in law_of(table).items() if weight > 0}
    assert possible == {(right, 0, 0) for right in range(6)}


def slow_sums(table: module.Aliases, seed: int, n_drawn: int, n_rep: int) -> np.ndarray:
    """Sums of draws, one word at a time: a row for each of the three counts."""
    n_bits, state, sums = len(table.share).bit_length() - 1, seed, []
    for _ in range(n_rep):
        total = 0
        for _ in range(n_drawn):
            state = (state + GOLDEN) % WORD
            word = mixed(state)
            share, first, second = (int(column[word >> (64 - n_bits)]) for column in table)
            total += first if (word << n_bits) % WORD < share else second
        sums.append(total)
    return np.array([[packed >> BITS * i & 2**BITS - 1 for packed in sums] for i in range(3)])


def seeds() -> list[int]:
    return rng_at().integers(0, WORD, size=2, dtype=np.uint64).tolist()


@pytest.mark.parametrize("n", [1, 20, TOGETHER, TOGETHER + 1, 3 * TOGETHER + 11])
def test_counts_are_those_of_a_loop_over_the_same_words(n):
    n_rep, (first, second) = 30, seeds()
    whole, rest = divmod(n, TOGETHER)
    slow = np.zeros((3, n_rep), int)
    if whole:
        slow += slow_sums(module._prompts_table(TOGETHER, CORRELATED), first, whole, n_rep)
    if rest:
        seed = second if whole else first
        slow += slow_sums(module._prompts_table(rest, CORRELATED), seed, 1, n_rep)
    np.testing.assert_array_equal(draw_counts(rng_at(), n_rep, n, CORRELATED), slow)


@pytest.mark.parametrize(("n", "kept"), [(40, 0), (40, 31), (40, 40)])
def test_counts_of_a_kept_reference_are_those_of_a_loop(n, kept):
    n_rep, (first, second) = 30, seeds()
    of_right = module._counts_table(kept, CORRELATED.lost_if_right, BITS)
    of_wrong = module._counts_table(n - kept, CORRELATED.gained_if_wrong, 2 * BITS)
    slow = slow_sums(of_right, first, 1, n_rep) + slow_sums(of_wrong, second, 1, n_rep)
    slow[0] += kept
    np.testing.assert_array_equal(draw_counts(rng_at(), n_rep, n, CORRELATED, kept=kept), slow)


def test_decisions_are_those_of_a_loop():
    n, rng = 12, rng_at()
    critical = CriticalCounts(rng.integers(-1, n, (n + 1, 3)), rng.integers(0, n + 2, (n + 1, 2)))
    drawn = draw_counts(rng, 100, n, CORRELATED)
    for row, reference, lost, gained in zip(decide(critical, drawn), *drawn, strict=True):
        by_right = [reference - lost + gained <= limit for limit in critical.right[reference]]
        by_lost = [lost >= limit for limit in critical.lost[gained]]
        assert row.tolist() == by_right + by_lost
