"""Counts against a loop over the same random words; tables against the laws they stand for."""

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.stats.accuracy import prompts as module
from simstudy.documents.stats.accuracy.prompts import (
    BITS,
    TOGETHER,
    CriticalCounts,
    chances,
    decide,
    draw_counts,
)
from tests.documents.stats.draws import rng_at
from tests.documents.stats.words import GOLDEN, WORD, mixed

CHANCE = chances(0.8, 0.7, 0.3)


# ---------------------------------------------------------------- tables
def law_of(table: np.ndarray) -> dict[tuple[int, ...], float]:
    """Probabilities of the counts in a table of aliases: in whole numbers until the end."""
    found: dict[int, int] = {}
    for share, first, second in table.tolist():
        found[first] = found.get(first, 0) + share
        found[second] = found.get(second, 0) + WORD - share
    unpacked = {tuple(packed >> BITS * i & 2**BITS - 1 for i in range(3)): weight
                for packed, weight in found.items()}  # fmt: skip
    return {each: weight / (WORD * len(table)) for each, weight in unpacked.items()}


@pytest.mark.parametrize("n", [1, 2, 7, TOGETHER])
def test_a_table_of_prompts_has_their_multinomial_law(n):
    found = law_of(module._prompts_table(n, CHANCE))
    for (reference, lost, gained), probability in found.items():
        cells = [reference - lost, lost, gained, n - reference - gained]
        known = stats.multinomial.pmf(cells, n, CHANCE)
        assert probability == pytest.approx(known, rel=1e-9, abs=1e-15)
    assert len(found) == (n + 1) * (n + 2) * (n + 3) // 6
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("n", "p"), [(0, 0.2), (1, 0.5), (17, 0.9), (300, 0.1), (5, 0.0)])
def test_a_table_of_a_count_has_its_binomial_law(n, p):
    found = law_of(module._counts_table(n, p, BITS))
    for (reference, lost, gained), probability in found.items():
        assert (reference, gained) == (0, 0)
        assert probability == pytest.approx(stats.binom.pmf(lost, n, p), rel=1e-9, abs=1e-15)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


def test_what_cannot_happen_is_never_drawn():
    table = module._prompts_table(5, chances(0.3, 0.3, 1.0))
    possible = {each for each, weight in law_of(table).items() if weight > 0}
    assert possible == {(right, 0, 0) for right in range(6)}


# ---------------------------------------------------------------- draws
def slow_sums(table: np.ndarray, seed: int, n_drawn: int, n_rep: int) -> list[int]:
    """Packed sums of draws, one word at a time."""
    n_bits, state, sums = len(table).bit_length() - 1, seed, []
    for _ in range(n_rep):
        total = 0
        for _ in range(n_drawn):
            state = (state + GOLDEN) % WORD
            word = mixed(state)
            share, first, second = table[word >> (64 - n_bits)].tolist()
            total += first if (word << n_bits) % WORD < share else second
        sums.append(total)
    return sums


def unpacked(sums: list[int]) -> np.ndarray:
    return np.array([[packed >> BITS * i & 2**BITS - 1 for packed in sums] for i in range(3)])


def seeds() -> list[int]:
    return rng_at().integers(0, WORD, size=2, dtype=np.uint64).tolist()


@pytest.mark.parametrize("n", [1, 20, TOGETHER, TOGETHER + 1, 3 * TOGETHER, 3 * TOGETHER + 11])
def test_counts_are_those_of_a_loop_over_the_same_words(n):
    n_rep, (first, second) = 30, seeds()
    whole, rest = divmod(n, TOGETHER)
    slow = np.zeros((3, n_rep), int)
    if whole:
        slow += unpacked(slow_sums(module._prompts_table(TOGETHER, CHANCE), first, whole, n_rep))
    if rest:
        seed = second if whole else first
        slow += unpacked(slow_sums(module._prompts_table(rest, CHANCE), seed, 1, n_rep))
    np.testing.assert_array_equal(draw_counts(rng_at(), n_rep, n, CHANCE), slow)


@pytest.mark.parametrize(("n", "kept"), [(40, 0), (40, 31), (40, 40)])
def test_counts_of_a_kept_reference_are_those_of_a_loop(n, kept):
    n_rep, (first, second) = 30, seeds()
    of_right = module._counts_table(kept, CHANCE.lost_if_right, BITS)
    of_wrong = module._counts_table(n - kept, CHANCE.gained_if_wrong, 2 * BITS)
    slow = unpacked(slow_sums(of_right, first, 1, n_rep))
    slow += unpacked(slow_sums(of_wrong, second, 1, n_rep))
    found = draw_counts(rng_at(), n_rep, n, CHANCE, kept=kept)
    np.testing.assert_array_equal(found.reference, np.full(n_rep, kept))
    np.testing.assert_array_equal([found.lost, found.gained], slow[1:])


# ---------------------------------------------------------------- decisions
def test_decisions_are_those_of_a_loop():
    n, rng = 12, rng_at()
    critical = CriticalCounts(rng.integers(-1, n, (n + 1, 3)), rng.integers(0, n + 2, (n + 1, 2)))
    counts = draw_counts(rng, 100, n, CHANCE)
    found = decide(critical, counts)
    for row, reference, lost, gained in zip(found, *counts, strict=True):
        by_right = [reference - lost + gained <= limit for limit in critical.right[reference]]
        by_lost = [lost >= limit for limit in critical.lost[gained]]
        assert row.tolist() == by_right + by_lost
