"""The check as a notebook asks for it: arrays or a frame in, a verdict and a report out."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from simstudy.documents.applied import AccuracyCheck, accuracy_check
from simstudy.errors import DesignError

RNG = np.random.default_rng(3)
OLD = RNG.normal(70, 12, 60)
NEW = OLD + RNG.normal(-3, 6, 60)
RIGHT, WRONG = [1] * 30 + [0] * 10, [1] * 20 + [0] * 20


def test_a_check_has_the_parts_of_its_test():
    check = accuracy_check(OLD, NEW, theta=2.0)
    expected = stats.ttest_rel(NEW, OLD, alternative="less")
    assert isinstance(check, AccuracyCheck)
    assert check.p_value == pytest.approx(expected.pvalue)
    assert check.verdict == "regression"
    assert check.is_regression
    assert check.threshold == pytest.approx(OLD.mean() - check.rule.margin)
    assert (check.n_reference, check.n_candidate, check.paired) == (60, 60, True)
    assert check.worse_by == pytest.approx(OLD.mean() - NEW.mean())
    assert check.correlation == pytest.approx(np.corrcoef(OLD, NEW)[0, 1])
    assert check.power == check.rule.power(2.0)
    assert check.n_needed == check.rule.n_needed(2.0, 0.2)


def test_without_theta_the_power_is_at_the_detectable_effect():
    check = accuracy_check(OLD, NEW, beta=0.1)
    assert check.power_at == check.detectable_effect
    assert check.power == pytest.approx(0.9)
    assert check.n_needed is None
    assert "90% against a candidate" in repr(check)
    assert "the detectable effect; theta= states another" in repr(check)


def test_lower_is_better_mirrors_everything():
    higher, lower = accuracy_check(OLD, NEW), accuracy_check(-OLD, -NEW, lower_is_better=True)
    assert lower.p_value == higher.p_value
    assert lower.threshold == -higher.threshold
    assert lower.worse_by == higher.worse_by
    assert lower.detectable_effect == higher.detectable_effect


def test_the_metric_says_which_way_is_better():
    for metric, lower in (("perplexity", True), ("Word Error Rate", True), ("accuracy", False)):
        assert accuracy_check(OLD, NEW, metric=metric).lower_is_better is lower
    assert not accuracy_check(OLD, NEW, metric="loss", lower_is_better=False).lower_is_better


def test_a_frame_is_asked_by_the_names_of_its_columns():
    """Also where the shorter column ends in missing values."""
    frame = pd.DataFrame({"old": OLD, "new": np.append(NEW[:50], [math.nan] * 10)})
    check = accuracy_check("old", "new", data=frame)
    again = accuracy_check(OLD, NEW[:50])
    assert repr(check.to_dict()) == repr(again.to_dict())
    assert not check.paired
    assert "as many scores of each" in check.notes[0]


def test_identical_scores_pass():
    for scores in (OLD, RIGHT):
        check = accuracy_check(scores, scores)
        assert (check.verdict, check.p_value) == ("no regression shown", 1.0)
        assert math.isnan(check.threshold)
        assert "no change (standard error 0); p = 1 > alpha" in repr(check)


def test_the_documents_test_of_the_same_prompts_says_what_it_ignores():
    check = accuracy_check(OLD, NEW, sigma=12.0)
    assert check.test == "z"
    assert not check.paired
    assert "a paired test finds smaller effects" in check.notes[0]
    paired = accuracy_check(OLD, NEW, sigma=12.0, correlation=0.8)
    assert paired.detectable_effect == pytest.approx(check.detectable_effect * math.sqrt(0.2))


def test_labels_in_another_order_are_not_paired_by_place():
    """Whether the order or the labels themselves were meant is not known."""
    reference = pd.Series([1] * 10 + [0] * 10)
    shuffled = reference.sample(frac=1, random_state=3)
    for other in (shuffled, reference.rename(lambda label: label + 1)):
        with pytest.raises(DesignError, match=r"have labels in common, and not in the same places"):
            accuracy_check(reference, other)
    assert accuracy_check(shuffled, shuffled).paired
    assert accuracy_check(reference.set_axis(range(20, 40)), shuffled).paired
    assert accuracy_check(reference.to_numpy(), shuffled.to_numpy()).paired
    assert not accuracy_check(reference, shuffled, paired=False).paired


@pytest.mark.parametrize("test", ["mcnemar", "paired_z"])
def test_a_test_of_pairs_does_not_say_that_columns_were_not_sorted(test):
    with pytest.raises(DesignError, match="are both sorted"):
        accuracy_check(RIGHT, WRONG, test=test)
    assert accuracy_check(RIGHT, WRONG, test=test, paired=True).paired


def test_what_there_is_not_is_said():
    none = repr(accuracy_check([1, 0, 1], [1, 0, 0]))
    assert "threshold     none: with so few right answers, changes or differences no" in none
    assert "detectable    none: no effect fails with probability 80% (1 - beta)" in none
    alike = repr(accuracy_check([0.5, 0.7, 0.1], [0.5, 0.7, 0.1]))
    assert "detectable    unknown: these scores have no spread to learn it from" in alike
    assert "nan" not in none + alike


def test_where_lower_is_better_the_threshold_is_above():
    check = accuracy_check([7.0, 8, 9, 6], [7.5, 8.1, 9.3, 6.1], metric="perplexity")
    assert "a candidate there or above fails" in repr(check)
    assert "lower is better" in repr(check)
