"""Exact tests of two counts and of changed answers, against outcomes counted one by one."""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.stats.accuracy import counts, paired
from simstudy.documents.stats.accuracy import of_scores as module
from simstudy.errors import DesignError

ALPHA, BETA = 0.1, 0.2
N, M, PROMPTS = 9, 7, 12


def scores(reference, candidate, paired, unit=1.0, lower_is_better=False):
    """Right answers are those that are better."""
    sides = [np.asarray(side, float) for side in (reference, candidate)]
    return module.Scores(
        *(unit * (1 - side if lower_is_better else side) for side in sides), paired, lower_is_better
    )


def of_two(x, y, test="fisher", n=N, m=M, alpha=ALPHA, **options):
    """Of n and m answers x and y are right."""
    sides = [np.repeat([1, 0], [k, size - k]) for k, size in ((x, n), (y, m))]
    return module.two_proportions(scores(*sides, False, **options), alpha, test)


def of_changes(losses, gains, test="mcnemar", **options):
    """Half of the answers that did not change are right."""
    same = PROMPTS - losses - gains
    counts = [losses, gains, same // 2, same - same // 2]
    sides = np.repeat([1, 0, 1, 0], counts), np.repeat([0, 1, 1, 0], counts)
    return module.changed_answers(scores(*sides, True, **options), ALPHA, test)


def fisher_fails(x, y, n=N, m=M):
    table = [[y, m - y], [x, n - x]]
    return stats.fisher_exact(table, alternative="less").pvalue <= ALPHA


def mcnemar_fails(losses, gains, *_, alpha=ALPHA):
    changed = losses + gains
    return changed and stats.binomtest(losses, changed, alternative="greater").pvalue <= alpha


def power_of_two(p, q, n=N, m=M):
    return sum(
        stats.binom.pmf(x, n, p) * stats.binom.pmf(y, m, q)
        for x, y in itertools.product(range(n + 1), range(m + 1))
        if fisher_fails(x, y, n, m)
    )


def power_of_changes(p, q, n=PROMPTS, _=None, alpha=ALPHA):
    law = stats.multinomial(n, [p, q, 1 - p - q])
    return sum(
        law.pmf([lost, gained, n - lost - gained])
        for lost, gained in changes_of(n)
        if mcnemar_fails(lost, gained, alpha=alpha)
    )


def changes_of(n):
    return [(lost, gained) for lost in range(n + 1) for gained in range(n + 1 - lost)]


class Kind(NamedTuple):
    """A kind of counts, with the same by hand."""

    rule: Callable[..., Any]
    outcomes: list[tuple[int, int]]
    fails: Callable[..., bool]
    power: Callable[..., float]
    usual: tuple[int, int]
    shares: Callable[[float], tuple[float, float]]  # of candidates worse by an effect
    unchanged: float


TWO = Kind(
    of_two, list(itertools.product(range(N + 1), range(M + 1))), fisher_fails, power_of_two,
    (8, 6), lambda effect: (8 / 9, 8 / 9 - effect), 14 / 16,
)  # fmt: skip
CHANGES = Kind(
    of_changes, changes_of(PROMPTS), mcnemar_fails, power_of_changes,
    (2, 1), lambda effect: (1 / 12 + effect, 1 / 12), 3 / 24,
)  # fmt: skip
BOTH = pytest.mark.parametrize("kind", [TWO, CHANGES], ids=["two", "changes"])


@BOTH
def test_every_outcome_fails_as_by_scipy(kind):
    assert [kind.rule(*o).fails for o in kind.outcomes] == [kind.fails(*o) for o in kind.outcomes]


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        *((CHANGES, test) for test in module.CHANGE_TESTS),
        (TWO, next(iter(module.COUNT_TESTS))),
        *(pytest.param(TWO, test, marks=pytest.mark.slow) for test in list(module.COUNT_TESTS)[1:]),
    ],
)
def test_verdict_p_value_and_threshold_say_the_same(kind, test):
    """In every outcome: p is at most alpha where the candidate fails, and so is its mean gamma."""
    for x, y in kind.outcomes:
        found = kind.rule(x, y, test)
        worse_by = x / N - y / M if kind is TWO else (x - y) / PROMPTS
        is_beyond = not math.isnan(found.margin) and worse_by >= found.margin - 1e-12
        assert found.fails == (found.p_value <= ALPHA) == is_beyond


@BOTH
def test_power_and_level_are_sums_over_outcomes(kind):
    found = kind.rule(*kind.usual)
    assert found.power(0.3) == pytest.approx(kind.power(*kind.shares(0.3)))
    assert found.level == pytest.approx(kind.power(kind.unchanged, kind.unchanged))


@BOTH
def test_n_has_the_power_and_one_less_has_not(kind):
    n = kind.rule(*kind.usual, unit=100.0).n_needed(40.0, BETA)
    powers = [kind.power(*kind.shares(0.4), size, size) for size in (n - 1, n)]
    assert powers[0] < 1 - BETA <= powers[1]


@pytest.mark.parametrize(
    ("found", "most"), [(of_two(8, 6), 0.8889), (of_changes(1, 0), 0.5), (of_changes(5, 1), 0.6667)]
)
def test_the_detectable_effect_has_its_power_and_none_is_larger_than_can_be(found, most):
    assert found.power(found.detectable_effect(BETA)) == pytest.approx(1 - BETA)
    with pytest.raises(DesignError, match=rf"theta=0\.9: .* by more than {most}"):
        found.power(0.9)


@pytest.mark.parametrize("found", [of_two(2, 2), of_two(0, 0), of_changes(1, 8)])
def test_where_too_little_is_right_no_effect_is_detected(found):
    assert math.isnan(found.detectable_effect(BETA))
    assert math.isnan(found.power(math.nan))


def test_fishers_n_is_enough_for_boschloo():
    assert of_two(8, 6, "boschloo").n_needed(0.5, BETA) == of_two(8, 6).n_needed(0.5, BETA)


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize(("rule", "counts"), [(of_two, (8, 3)), (of_changes, (5, 1))])
def test_the_scale_and_its_direction_change_nothing_else(rule, counts, lower_is_better):
    plain, other = rule(*counts), rule(*counts, unit=100.0, lower_is_better=lower_is_better)
    assert (other.p_value, other.words) == (plain.p_value, plain.words)
    assert other.power(30.0) == pytest.approx(plain.power(0.3))
    assert other.detectable_effect(BETA) == pytest.approx(100 * plain.detectable_effect(BETA))
    for measured in ("margin", "standard_error"):
        assert getattr(other, measured) == pytest.approx(100 * getattr(plain, measured))


def test_standard_errors_are_those_of_differences_and_of_two_binomials():
    differences = np.repeat([1.0, -1.0, 0.0], [5, 1, 6])
    assert of_changes(5, 1).standard_error == pytest.approx(differences.std() / math.sqrt(PROMPTS))
    variances = 8 / 9 * 1 / 9 / 9, 3 / 7 * 4 / 7 / 7
    assert of_two(8, 3).standard_error == pytest.approx(math.sqrt(sum(variances)))


@pytest.mark.parametrize("test", ["z_pooled", "fisher_mid_p"])
def test_a_level_above_the_power_that_is_asked_for_needs_no_effect(test):
    """Two answers beside thirty: unchanged candidates fail more often than 1 - beta."""
    found = of_two(2, 1, test, 30, 2, alpha=0.49)
    assert found.power(0.0) > 0.51
    assert found.detectable_effect(0.49) == 0


def test_where_less_was_right_than_is_gained_a_worse_candidate_gains_less():
    """One of 12 was right and 8 were gained: worse by 1/24, half of the one is gained again."""
    counts = [0, 8, 1, 3]
    sides = np.repeat([1, 0, 1, 0], counts), np.repeat([0, 1, 1, 0], counts)
    found = module.changed_answers(scores(*sides, True), 0.499, "mcnemar")
    assert found.power(1 / 24) == pytest.approx(power_of_changes(1 / 12, 1 / 24, alpha=0.499))
    assert found.n_needed(1 / 24, BETA) > PROMPTS
    with pytest.raises(DesignError, match=r"theta=0\.1: .* by more than 0\.08333"):
        found.power(0.1)


def test_rare_events_are_counted_in_more_scores():
    assert module.most_counted(0.5) == 4 * module.VARIANCE_LIMIT
    assert module.most_counted(0.001) == pytest.approx(module.VARIANCE_LIMIT / 0.001 / 0.999, abs=1)
    assert module.most_counted(1.0) == module.most_counted(0.0) == module.MOST


@pytest.mark.parametrize("test", ["fisher", "fisher_mid_p", "z_pooled"])
@pytest.mark.parametrize("shares", [(0.7, 0.6), (1.0, 0.9), (0.02, 0.0)])
def test_power_of_counts_is_the_sum_over_all_of_them(test, shares):
    critical = counts.critical_counts(test, 300, 300, 0.05)
    expected = counts.rejection_probability(critical, 300, 300, *shares)
    assert module.power_of_counts(test, 300, 0.05, *shares) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("test", module.CHANGE_TESTS)
@pytest.mark.parametrize("shares", [(0.1, 0.05), (0.03, 0.0), (0.0, 1.0), (0.6, 0.4)])
def test_power_of_changes_is_the_sum_over_all_of_them(test, shares):
    critical = paired.critical_losses(test, 300, 0.05)
    expected = paired.rejection_probability(critical, 300, *shares)
    found = module.power_of_changes(test, 300, 0.05, *shares)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.05, 1e-4])
def test_few_losses_of_many_prompts_are_a_poisson_count(alpha):
    """Nothing gained: k losses fail where 2^-k is at most alpha, and k come at rate theta."""
    theta, target = 0.0005, 0.8
    fewest = math.ceil(-math.log2(alpha))
    n = module.enough_scores(
        lambda n: module.power_of_changes("mcnemar", n, alpha, theta, 0.0), target, 20_000
    )
    powers = [stats.binom.sf(fewest - 1, size, theta) for size in (n - 1, n)]
    assert powers[0] < target <= powers[1]
