"""Exact tests of changed answers, against outcomes counted one by one."""

import math

import numpy as np
import pytest
from scipy import stats

from simstudy.applied.count_tests import CHANGE_TESTS, ChangedAnswers
from simstudy.applied.scores import Scores
from simstudy.errors import DesignError

ALPHA, BETA = 0.1, 0.2
N = 12
OUTCOMES = [(lost, gained) for lost in range(N + 1) for gained in range(N + 1 - lost)]


def rule(losses, gains, test="mcnemar", n=N, unit=1.0, lower_is_better=False):
    """Half of the answers that did not change are right."""
    same = n - losses - gains
    counts = [losses, gains, same // 2, same - same // 2]
    reference, candidate = np.repeat([1, 0, 1, 0], counts), np.repeat([0, 1, 1, 0], counts)
    sides = [unit * (1 - side if lower_is_better else side) for side in (reference, candidate)]
    return ChangedAnswers(Scores(*sides, True, lower_is_better), ALPHA, test)


def mcnemar_fails(losses, gains):
    changed = losses + gains
    return changed > 0 and stats.binomtest(losses, changed, alternative="greater").pvalue <= ALPHA


def power_by_hand(p_loss, p_gain, n=N):
    law = stats.multinomial(n, [p_loss, p_gain, 1 - p_loss - p_gain])
    return sum(
        law.pmf([lost, gained, n - lost - gained])
        for lost in range(n + 1)
        for gained in range(n + 1 - lost)
        if mcnemar_fails(lost, gained)
    )


def test_every_outcome_fails_as_by_scipy():
    assert [rule(*o).fails for o in OUTCOMES] == [mcnemar_fails(*o) for o in OUTCOMES]


@pytest.mark.parametrize("test", CHANGE_TESTS)
def test_verdict_p_value_and_threshold_say_the_same(test):
    for losses, gains in OUTCOMES:
        found = rule(losses, gains, test)
        assert found.fails == (found.p_value <= ALPHA)
        at_threshold = not math.isnan(found.margin) and (losses - gains) / N >= found.margin - 1e-12
        assert found.fails == at_threshold


def test_power_and_level_are_sums_over_outcomes():
    found = rule(3, 1)
    assert found.power(0.3) == pytest.approx(power_by_hand(1 / 12 + 0.3, 1 / 12))
    assert found.level == pytest.approx(power_by_hand(1 / 6, 1 / 6))


def test_the_detectable_effect_has_its_power():
    found = rule(1, 0)
    assert found.power(found.detectable_effect(BETA)) == pytest.approx(1 - BETA)
    assert math.isnan(rule(1, 8).detectable_effect(BETA)), "as many are gained as can be lost"


def test_n_has_the_power_and_one_less_has_not():
    found = rule(2, 1, unit=100.0)
    n = found.n_needed(40.0, BETA)
    powers = [power_by_hand(1 / 12 + 0.4, 1 / 12, size) for size in (n - 1, n)]
    assert powers[0] < 1 - BETA <= powers[1]


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_the_scale_and_its_direction_change_nothing_else(lower_is_better):
    plain, other = rule(5, 1), rule(5, 1, unit=100.0, lower_is_better=lower_is_better)
    assert other.p_value == plain.p_value
    assert other.words == plain.words
    assert other.power(30.0) == pytest.approx(plain.power(0.3))
    for measured in ("margin", "standard_error"):
        assert getattr(other, measured) == pytest.approx(100 * getattr(plain, measured))


def test_the_standard_error_is_that_of_the_differences():
    differences = np.repeat([1.0, -1.0, 0.0], [5, 1, 6])
    assert rule(5, 1).standard_error == pytest.approx(differences.std() / math.sqrt(N))


def test_an_effect_that_cannot_be_is_refused():
    with pytest.raises(DesignError, match=r"theta=0\.9: .* by more than 0\.6667"):
        rule(5, 1).power(0.9)


def test_what_did_not_change_has_no_law():
    assert rule(0, 0).law(0.0) is None
    assert rule(3, 1).law(0.0).std() == pytest.approx(math.sqrt(4) / N)


def test_where_less_was_right_than_is_gained_a_worse_candidate_gains_less():
    """One of 12 was right and 8 were gained: worse by 1/24, half of the one is gained again."""
    counts = [0, 8, 1, 3]
    reference, candidate = np.repeat([1.0, 0, 1, 0], counts), np.repeat([0.0, 1, 1, 0], counts)
    found = ChangedAnswers(Scores(reference, candidate, True), 0.499, "mcnemar")
    critical = [
        (lost, gained)
        for lost, gained in OUTCOMES
        if lost + gained
        and stats.binomtest(lost, lost + gained, alternative="greater").pvalue <= 0.499
    ]
    law = stats.multinomial(N, [1 / 12, 1 / 24, 1 - 3 / 24])
    expected = sum(law.pmf([lost, gained, N - lost - gained]) for lost, gained in critical)
    assert found.power(1 / 24) == pytest.approx(expected)
    assert found.n_needed(1 / 24, BETA) > N
    with pytest.raises(DesignError, match=r"theta=0\.1: .* by more than 0\.08333"):
        found.power(0.1)
