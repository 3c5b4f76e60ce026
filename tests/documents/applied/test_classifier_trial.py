"""The trial of a user's classifier, against the document, SciPy and loops."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.applied import ClassifierPlan, judge_classifier_trial, plan_classifier_trial
from simstudy.errors import ConfigError, SimstudyError
from tests.support import refused

RNG = np.random.default_rng(3)


def cases(n_positive, n_negative, rng=RNG):
    label = np.repeat([1, 0], [n_positive, n_negative])
    return label, rng.normal(size=n_positive + n_negative) + 2 * label


LABEL, SCORE = cases(50, 60)
NEW = cases(210, 300)


def test_the_documents_example():
    """184 by the formula has power 78.8%; 80% is first reached, and never lost, by exact tests."""
    plan = plan_classifier_trial(LABEL, SCORE, sensitivity=0.95, margin=0.05, confidence=0.8)
    assert plan.n_formula == 184
    assert plan.power_at_formula == pytest.approx(exact_power(184), abs=1e-12)
    n = np.arange(1, 400)
    critical = 1 + stats.binom.ppf(0.95, n, 0.9).astype(int)  # P(X >= c) <= 0.05 < P(X >= c - 1)
    powers = dict(zip(n.tolist(), stats.binom.sf(critical - 1, n, 0.95).tolist(), strict=True))
    assert powers[184] == pytest.approx(0.788, abs=0.0005)
    assert plan.n_first == min(n for n, power in powers.items() if power >= 0.8)
    assert plan.n == plan.n_forever == 1 + max(n for n, power in powers.items() if power < 0.8)
    assert plan.threshold == np.sort(SCORE[:50])[0]  # of 50 only the least score is safe
    assert plan.coverage == pytest.approx(1 - 0.95**50)
    assert "umbrella 92.4 ± 0.2%, bca 76.9 ± 0.3%" in repr(plan)


def exact_power(n, k=0.95, null=0.9, alpha=0.05):
    critical = next(c for c in range(n + 2) if stats.binom.sf(c - 1, n, null) <= alpha)
    return stats.binom.sf(critical - 1, n, k)


@pytest.mark.parametrize("seed", range(8))
def test_threshold_size_and_power_by_independent_computation(seed):
    rng = np.random.default_rng(seed)
    label, score = cases(int(rng.integers(60, 400)), 50, rng)
    k, confidence = float(rng.uniform(0.8, 0.95)), float(rng.uniform(0.6, 0.95))
    n, margin = int(rng.integers(50, 400)), float(rng.uniform(0.03, 0.2))
    given = {"sensitivity": k, "confidence": confidence, "margin": margin, "n": n}
    plan = plan_classifier_trial(label, score, **given)
    positive = np.sort(score[label == 1])
    size = len(positive)
    unsafe = stats.binom.cdf(np.arange(size), size, 1 - k)  # of rank 1, 2, ...
    rank = int((unsafe <= 1 - confidence).sum())
    assert plan.threshold == positive[rank - 1]
    assert plan.coverage == pytest.approx(1 - unsafe[rank - 1])
    assert plan.expected_sensitivity == pytest.approx((size + 1 - rank) / (size + 1))
    assert plan.power == pytest.approx(exact_power(n, k, k - margin), abs=1e-12)
    law = stats.betabinom(n, size + 1 - rank, rank)
    assert plan.power_with_threshold == pytest.approx(law.sf(plan.critical - 1), abs=1e-10)
    assert plan.specificity == (score[label == 0] < plan.threshold).mean()


@pytest.mark.parametrize("seed", range(8))
def test_the_trial_by_scipy(seed):
    plan = plan_classifier_trial(LABEL, SCORE)
    label, score = cases(150, 80, np.random.default_rng(seed))
    found = judge_classifier_trial(plan, label, score)
    count = int((score[label == 1] >= plan.threshold).sum())
    test = stats.binomtest(count, 150, plan.null, alternative="greater")
    assert found.p_value == pytest.approx(test.pvalue, rel=1e-10)
    assert found.lower_bound == pytest.approx(test.proportion_ci(0.95, "exact").low, rel=1e-10)
    assert found.rejects == (test.pvalue <= 0.05)
    assert found.n_false_positive == (score[label == 0] >= plan.threshold).sum()


def test_the_margin_is_solved_for_where_n_and_power_are_given():
    plan = plan_classifier_trial(LABEL, SCORE, n=300, power=0.9)
    assert plan.power >= 0.9
    assert exact_power(300, 0.95, plan.null + 1e-4) < 0.9


def test_labels_may_be_words():
    words = np.where(LABEL == 1, "malignant", "benign")
    plan = plan_classifier_trial(words, SCORE, positive="malignant")
    numbers = plan_classifier_trial(LABEL, SCORE)
    assert (plan.threshold, plan.n) == (numbers.threshold, numbers.n)
    for yes in (LABEL == 1, np.where(LABEL == 1, "True", "False"), LABEL.astype(float)):
        assert plan_classifier_trial(yes, SCORE).threshold == plan.threshold


def test_one_case_of_each_group_is_taken():
    rows = np.repeat(np.arange(110), 3)
    plan = plan_classifier_trial(LABEL[rows], SCORE[rows], cluster=rows)
    assert plan.n_positive == 50
    assert plan.threshold == plan_classifier_trial(LABEL, SCORE).threshold
    assert "one positive case of each group" in plan.notes[-1]


def test_tied_scores_keep_the_sensitivity_and_are_said():
    score = np.round(SCORE)
    plan = plan_classifier_trial(LABEL, score)
    assert (score[LABEL == 1] >= plan.threshold).mean() >= 0.95
    tied = plan_classifier_trial(np.repeat([1, 0], 60), np.repeat([1.0, 0.0], 60))
    assert "60 positive scores equal the threshold" in repr(tied)


def test_a_plan_is_read_as_it_was_written(tmp_path):
    plan = plan_classifier_trial(LABEL, SCORE, simulate=True, n_rep=100)
    written = plan.write(str(tmp_path / "plan.json"))
    again = ClassifierPlan.read(str(written))
    assert again == replace(plan, settings=plan.content()["settings"])
    assert repr(again) == repr(plan)
    assert again.figure() is not None


def test_every_method_has_a_threshold_and_a_promise_of_its_own():
    for method in ("empirical", "percentile", "basic", "normal", "bca", "tolerance"):
        plan = plan_classifier_trial(LABEL, SCORE, method=method)
        assert plan.threshold == dict(plan.thresholds)[method]
        assert plan.coverage is None
        assert "without a guarantee" in repr(plan)
    empirical = dict(plan.thresholds)["empirical"]
    assert empirical == pytest.approx(np.quantile(SCORE[LABEL == 1], 0.05))


@pytest.mark.parametrize(
    ("label", "score", "given", "said"),
    [
        ([1] * 9, np.arange(9.0), {}, "label has one class only"),
        ([1, 0, 2] * 3, np.arange(9.0), {}, "label has 3 different labels"),
        (["a", "b"] * 3, np.arange(6.0), {}, "nothing says which one is positive"),
        (["a", "b"] * 3, np.arange(6.0), {"positive": "c"}, "positive=c: no case of label"),
        (["a", ""] * 3, np.arange(6.0), {}, "row 2: label is blank"),
        (LABEL[25:], SCORE[25:], {}, "n_obs=25 positive scores cannot keep a sensitivity of 0.95"),
        (LABEL, SCORE, {"n": 300, "power": 0.8, "margin": 0.05}, "n, power and margin are all"),
        (LABEL, SCORE, {"n": 1, "power": 0.99}, "n=1 positive cases have power 0.99 for no null"),
    ],
)
def test_what_makes_no_plan_is_refused(label, score, given, said):
    with refused(said):
        plan_classifier_trial(label, score, **given)


def test_a_plan_is_tested_on_its_own_scale_and_on_new_cases_only():
    shares = 1 / (1 + np.exp(-SCORE))
    plan = plan_classifier_trial(LABEL, shares)
    with pytest.raises(SimstudyError, match="proportions beside per cent"):
        judge_classifier_trial(plan, LABEL, 100 * shares)
    with pytest.raises(ConfigError, match="the file that the plan was made from"):
        judge_classifier_trial(plan, LABEL, shares)
    with pytest.raises(ConfigError, match=r"the plan has power 0\.5, and its settings give"):
        judge_classifier_trial(replace(plan, power=0.5), *NEW)
    few = judge_classifier_trial(plan, *cases(10, 5))
    assert "too few for any count to reject" in repr(few)
