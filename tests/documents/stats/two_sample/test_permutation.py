"""Permutation tests against a loop over the same partitions, against scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.stats.bootstrap.losses import replicate_seeds
from simstudy.documents.stats.two_sample.permutation import partitions, permutation
from simstudy.documents.stats.two_sample.samples import fewest_as_extreme, is_rejected
from simstudy.documents.stats.two_sample.theory import permutation_size
from tests.documents.stats.draws import rng_at, samples
from tests.documents.stats.words import GOLDEN, WORD, mixed, place
from tests.support import assert_within_mcse

SIZES = [(2, 2), (3, 9), (12, 5), (8, 8), (2, 7)]


# ---------------------------------------------------------------- partitions
@pytest.mark.parametrize(("n1", "n2"), SIZES)
def test_partitions_are_those_of_a_loop_in_whole_numbers(n1, n2):
    seed, order, state = WORD - 99, list(range(n1 + n2)), WORD - 99
    for row in partitions(seed, n1, n2, 20):
        for i in range(min(n1, n2)):
            state += GOLDEN
            j = i + place(mixed(state % WORD), n1 + n2 - i)
            order[i], order[j] = order[j], order[i]
        assert row.tolist() == order[: min(n1, n2)]


@pytest.mark.parametrize("n", [3 * 2**30, 2**31 + 1])
def test_a_word_that_would_favour_a_place_is_mixed_again(n):
    from simstudy.documents.stats.two_sample._permutation_kernels import _place

    states = range(5, 5 + 200 * GOLDEN, GOLDEN)
    fast = [int(_place(np.uint64(state % WORD), n)) for state in states]
    assert fast == [place(mixed(state % WORD), n) for state in states]


# ---------------------------------------------------------------- the test and its interval
def statistic(x: np.ndarray, y: np.ndarray, *, studentized: bool) -> float:
    difference = x.mean() - y.mean()
    spread = np.sqrt(x.var(ddof=1) / len(x) + y.var(ddof=1) / len(y)) if studentized else 1.0
    return difference / spread


def slow_p(x, y, seed: int, n_perm: int, *, studentized: bool) -> float:
    pooled, observed, count = np.concatenate([x, y]), statistic(x, y, studentized=studentized), 0
    for places in partitions(seed, len(x), len(y), n_perm):
        some, others = pooled[places], np.delete(pooled, places)
        if math.isclose(some.min(), some.max()) and math.isclose(others.min(), others.max()):
            count += 1  # infinite
            continue
        drawn = statistic(some, others, studentized=studentized)
        count += abs(drawn) >= abs(observed) or math.isclose(abs(drawn), abs(observed))
    return (1 + count) / (1 + n_perm)


@pytest.mark.parametrize("studentized", [True, False])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_p_is_that_of_a_loop_over_partitions(sizes, ties, studentized):
    x, y = (sample / 10 for sample in samples(*sizes, ties=ties))
    found = permutation(x, y, rng_at(), n_perm=57, studentized=studentized)
    seeds = replicate_seeds(rng_at(), len(x))[:, 0]
    slow = [slow_p(*one, 57, studentized=studentized) for one in zip(x, y, seeds, strict=True)]
    assert found.p.tolist() == slow


def test_far_from_zero_the_answers_are_the_same():
    """Means are taken out first, so a large one costs no digits of the spread."""
    x, y = (np.round(2**20 * sample) / 2**20 for sample in samples(8, 9))
    here, far = (permutation(x + at, y + at, rng_at()) for at in (0.0, 2.0**25))
    assert (here.p == far.p).all()


@pytest.mark.parametrize("studentized", [True, False])
@pytest.mark.parametrize("sizes", SIZES[1:4])
def test_the_interval_ends_where_the_test_begins_to_reject(sizes, studentized):
    x, y = samples(*sizes)

    def p(shift: np.ndarray) -> np.ndarray:
        moved = x - shift[:, np.newaxis]
        return permutation(moved, y, rng_at(), n_perm=199, studentized=studentized).p

    found = permutation(x, y, rng_at(), n_perm=199, studentized=studentized, alpha=0.1)
    for end, sign in ((found.lower, -1), (found.upper, 1)):
        step = sign * 1e-6 * np.abs(end - found.estimate)
        assert (p(end - step) > 0.1).all()
        assert (p(end + step) <= 0.1).all()


def test_with_equal_sizes_it_does_not_matter_whether_one_studentizes():
    x, y = samples(8, 8)
    assert (permutation(x, y, rng_at()).p == permutation(x, y, rng_at(), studentized=False).p).all()


@pytest.mark.parametrize("studentized", [True, False])
def test_all_partitions_are_approached_as_scipy_lists_them(studentized):
    x, y = samples(4, 5)
    found = permutation(x, y, rng_at(), n_perm=100_000, studentized=studentized).p
    of = [stats.permutation_test(
        one, lambda a, b: abs(statistic(a, b, studentized=studentized)),
        n_resamples=np.inf, alternative="greater",
    ).pvalue for one in zip(x, y, strict=True)]  # fmt: skip
    exact = np.array(of)
    assert_within_mcse(found, exact, np.sqrt(exact * (1 - exact) / 100_000))


# ---------------------------------------------------------------- its level
@pytest.mark.parametrize("n_drawn", [1, 19, 99, 999, 1999])
@pytest.mark.parametrize("alpha", [0.01, 0.025, 0.05, 0.1])
def test_a_p_value_that_equals_the_level_is_rejected(n_drawn, alpha):
    p = np.arange(1, n_drawn + 2) / (n_drawn + 1)
    n_rejected = sum(p <= alpha * (1 + 1e-12))
    assert fewest_as_extreme(n_drawn, alpha) == is_rejected(p, alpha).sum() == n_rejected
    assert permutation_size(n_drawn, alpha) == pytest.approx(n_rejected / (n_drawn + 1))
    assert not is_rejected([np.nan, alpha + 1e-7], alpha).any()
