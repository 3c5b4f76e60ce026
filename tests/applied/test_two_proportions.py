"""Exact tests of two counts, against tables counted one by one."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from simstudy.applied.count_tests import COUNT_TESTS, TwoProportions
from simstudy.applied.scores import Scores
from simstudy.errors import DesignError

ALPHA, BETA = 0.1, 0.2
N, M = 9, 7
TABLES = list(itertools.product(range(N + 1), range(M + 1)))


def scores(x, y, n=N, m=M, unit=1.0, lower_is_better=False):
    """Of which x and y answers are right."""
    right = [np.repeat([1.0, 0.0], [k, size - k]) for k, size in ((x, n), (y, m))]
    reference, candidate = (unit * (1 - side if lower_is_better else side) for side in right)
    return Scores(reference, candidate, False, lower_is_better)


def rule(x, y, test="fisher", **options):
    return TwoProportions(scores(x, y, **options), ALPHA, test)


def fisher_fails(x, y, n=N, m=M):
    table = [[y, m - y], [x, n - x]]
    return stats.fisher_exact(table, alternative="less").pvalue <= ALPHA


def power_by_hand(p_reference, p_check, n=N, m=M):
    return sum(
        stats.binom.pmf(x, n, p_reference) * stats.binom.pmf(y, m, p_check)
        for x, y in itertools.product(range(n + 1), range(m + 1))
        if fisher_fails(x, y, n, m)
    )


def test_every_table_fails_as_by_scipy():
    assert [rule(x, y).fails for x, y in TABLES] == [fisher_fails(x, y) for x, y in TABLES]


@pytest.mark.slow
@pytest.mark.parametrize("test", COUNT_TESTS)
def test_verdict_p_value_and_threshold_say_the_same(test):
    """In every table: p is at most alpha where the candidate fails, and so is its mean gamma."""
    for x, y in TABLES:
        found = rule(x, y, test)
        assert found.fails == (found.p_value <= ALPHA)
        at_threshold = not math.isnan(found.margin) and x / N - y / M >= found.margin - 1e-12
        assert found.fails == at_threshold


def test_power_and_level_are_sums_over_tables():
    found = rule(6, 4)
    assert found.power(0.3) == pytest.approx(power_by_hand(6 / 9, 6 / 9 - 0.3))
    assert found.level == pytest.approx(power_by_hand(10 / 16, 10 / 16))


def test_the_detectable_effect_has_its_power():
    found = rule(8, 6)
    effect = found.detectable_effect(BETA)
    assert found.power(effect) == pytest.approx(1 - BETA)
    assert math.isnan(rule(2, 2).detectable_effect(BETA)), "all wrong is not wrong enough"
    assert math.isnan(rule(0, 0).detectable_effect(BETA))
    assert math.isnan(rule(2, 2).power(math.nan))


def test_n_has_the_power_and_one_less_has_not():
    found = rule(8, 6, unit=100.0)
    n = found.n_needed(50.0, BETA)
    powers = [power_by_hand(8 / 9, 8 / 9 - 0.5, size, size) for size in (n - 1, n)]
    assert powers[0] < 1 - BETA <= powers[1]


def test_fishers_n_is_enough_for_boschloo():
    assert rule(8, 6, "boschloo").n_needed(0.5, BETA) == rule(8, 6).n_needed(0.5, BETA)


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_the_scale_and_its_direction_change_nothing_else(lower_is_better):
    plain, other = rule(8, 3), rule(8, 3, unit=100.0, lower_is_better=lower_is_better)
    assert other.p_value == plain.p_value
    assert other.words == plain.words
    assert other.power(30.0) == pytest.approx(plain.power(0.3))
    for measured in ("margin", "standard_error"):
        assert getattr(other, measured) == pytest.approx(100 * getattr(plain, measured))
    assert other.detectable_effect(BETA) == pytest.approx(100 * plain.detectable_effect(BETA))


def test_an_effect_that_cannot_be_is_refused():
    with pytest.raises(
        DesignError, match=r"theta=90: .* worse than the reference by more than 88\.8"
    ):
        rule(8, 3, unit=100.0).power(90.0)


def test_all_right_has_no_law():
    assert rule(N, M).law(0.0) is None
    assert rule(8, 3).law(0.0).std() == pytest.approx(math.sqrt(8 / 81 * (1 / 9 + 1 / 7)))


@pytest.mark.parametrize("test", ["z_pooled", "fisher_mid_p"])
def test_a_level_above_the_power_that_is_asked_for_needs_no_effect(test):
    """Two answers beside thirty: unchanged candidates fail more often than 1 - beta."""
    found = TwoProportions(scores(2, 1, 30, 2), 0.49, test)
    assert found.power(0.0) > 0.51
    assert found.detectable_effect(0.49) == 0


def test_sizes_beyond_those_that_are_summed_are_those_of_the_formula():
    found = TwoProportions(scores(50, 45, 100, 100), ALPHA, "barnard")
    share = (0.5 * 0.5 + 0.48 * 0.52) / 2
    z = stats.norm.isf([ALPHA, BETA]).sum()
    assert found.n_needed(0.02, BETA) == math.ceil(2 * share * (z / 0.02) ** 2)
    assert found.n_needed(0.02, BETA) > found.most_sized == 5000
