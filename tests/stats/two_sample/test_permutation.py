"""Permutation tests against a loop over the same partitions, against scipy; their level."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from simstudy.stats.bootstrap.losses import replicate_seeds
from simstudy.stats.two_sample.permutation import partitions, permutation
from simstudy.stats.two_sample.samples import fewest_as_extreme, is_rejected
from simstudy.stats.two_sample.theory import permutation_size
from tests.stats.draws import rng_at
from tests.stats.two_sample.data import samples
from tests.stats.words import GOLDEN, WORD, mixed
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

SIZES = [(2, 2), (3, 9), (12, 5), (8, 8), (2, 7)]


# Partitions --------------------------------------------------------------------------------------


def slow_place(state: int, n: int) -> int:
    word = mixed(state % WORD)
    while (word >> 32) * n % 2**32 < 2**32 % n:
        word = mixed((word + GOLDEN) % WORD)
    return (word >> 32) * n >> 32


@pytest.mark.parametrize(("n1", "n2"), SIZES)
def test_partitions_are_those_of_a_loop_in_whole_numbers(n1, n2):
    seed, order, state = WORD - 99, list(range(n1 + n2)), WORD - 99
    for row in partitions(seed, n1, n2, 20):
        for i in range(min(n1, n2)):
            state += GOLDEN
            j = i + slow_place(state, n1 + n2 - i)
            order[i], order[j] = order[j], order[i]
        assert row.tolist() == order[: min(n1, n2)]


@pytest.mark.parametrize("n", [3 * 2**30, 2**31 + 1])
def test_a_word_that_would_favour_a_place_is_mixed_again(n):
    from simstudy.stats.two_sample._permutation_kernels import _place

    states = range(5, 5 + 200 * GOLDEN, GOLDEN)
    fast = [int(_place(np.uint64(state % WORD), n)) for state in states]
    assert fast == [slow_place(state, n) for state in states]


N1, N2 = 2, 3
GROUPS = list(itertools.combinations(range(N1 + N2), N1))
SHARE = 1 / len(GROUPS)
N_DRAWN = replicates_to_catch(SHARE / 4, sd=np.sqrt(SHARE * (1 - SHARE)), comparisons=len(GROUPS))


def shares_of_groups(drawn: np.ndarray) -> list[float]:
    ordered = np.sort(drawn, axis=1)
    return [float((ordered == group).all(axis=1).mean()) for group in GROUPS]


def hold_uniform(drawn: np.ndarray) -> None:
    assert_within_mcse(
        shares_of_groups(drawn), SHARE, np.sqrt(SHARE * (1 - SHARE) / N_DRAWN)
    )  # fmt: skip


def test_every_partition_is_as_likely():
    hold_uniform(partitions(17, N1, N2, N_DRAWN))
    # Caught: drawing j from all places and not from those that are left.
    rng, drawn = rng_at(), np.tile(np.arange(N1 + N2), (N_DRAWN, 1))
    rows = np.arange(N_DRAWN)
    for i in range(N1):
        j = rng.integers(0, N1 + N2, N_DRAWN)
        drawn[rows, i], drawn[rows, j] = drawn[rows, j], drawn[rows, i]
    with pytest.raises(AssertionError, match="suspect the code"):
        hold_uniform(drawn[:, :N1])


# The test and its interval -----------------------------------------------------------------------


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
@pytest.mark.parametrize("sizes", SIZES)
def test_p_is_that_of_a_loop_over_partitions(sizes, studentized):
    x, y = samples(*sizes)
    found = permutation(x, y, rng_at(), n_perm=57, studentized=studentized)
    seeds = replicate_seeds(rng_at(), len(x))[:, 0]
    slow = [slow_p(*one, 57, studentized=studentized) for one in zip(x, y, seeds, strict=True)]
    assert found.p.tolist() == slow


@pytest.mark.parametrize("studentized", [True, False])
def test_ties_are_counted_as_by_a_loop(studentized):
    x, y = (np.round(sample) / 10 for sample in samples(4, 6, 8))
    found = permutation(x, y, rng_at(), n_perm=99, studentized=studentized)
    seeds = replicate_seeds(rng_at(), len(x))[:, 0]
    slow = [slow_p(*one, 99, studentized=studentized) for one in zip(x, y, seeds, strict=True)]
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


# Its level ---------------------------------------------------------------------------------------

ALPHA, N_PERM = 0.11, 19  # p = 1/20, 2/20, ...: 2/20 is the largest that is rejected
LEVEL = 0.1
N_REP = replicates_to_catch(0.02, sd=np.sqrt(LEVEL * (1 - LEVEL)))
MCSE = np.sqrt(LEVEL * (1 - LEVEL) / N_REP)


def p_values(*, sd: float = 1.0, studentized: bool = True) -> np.ndarray:
    rng = rng_at()
    x, y = sd * (rng.exponential(size=(N_REP, 4)) - 1), rng.exponential(size=(N_REP, 16)) - 1
    return permutation(x, y, rng, n_perm=N_PERM, studentized=studentized).p


@pytest.mark.parametrize("studentized", [True, False])
def test_under_equal_distributions_the_level_is_exact(studentized):
    assert permutation_size(N_PERM, ALPHA) == LEVEL
    assert_within_mcse((p_values(studentized=studentized) <= ALPHA).mean(), LEVEL, MCSE)


def test_that_test_catches_a_share_without_the_samples_and_plain_means_of_unequal_variances():
    p = (p_values() * (1 + N_PERM) - 1) / N_PERM  # # / B instead of (1 + #) / (1 + B)
    assert_caught((p <= ALPHA).mean(), LEVEL, MCSE)
    assert_caught((p_values(sd=3, studentized=False) <= ALPHA).mean(), LEVEL, MCSE)


@pytest.mark.parametrize(("n_drawn", "n_rejected"), [(999, 50), (19, 1), (99, 5)])
def test_a_p_value_that_equals_the_level_is_rejected(n_drawn, n_rejected):
    assert fewest_as_extreme(n_drawn, 0.05) == n_rejected
    assert permutation_size(n_drawn, 0.05) == pytest.approx(0.05, rel=1e-15)
    p = np.arange(1, n_drawn + 2) / (n_drawn + 1)
    assert is_rejected(p, 0.05).sum() == n_rejected
    assert not is_rejected([np.nan, 0.0500001], 0.05).any()
