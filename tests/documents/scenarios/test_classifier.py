"""Trials of a classifier, against the document's loops: thresholds, ranks, counts of positives."""

import math

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.scenarios import thresholds as trials
from simstudy.documents.stats.thresholds import METHODS, thresholds
from tests.documents.draws import streams


def document_p_value(s_hat, n, l):  # noqa: E741
    return 1 - stats.norm.cdf((s_hat - l) / np.sqrt(l * (1 - l) / n))


@pytest.mark.parametrize(("k", "b"), [(0.95, 0.05), (0.85, 0.03)])
def test_a_block_of_trials_is_the_documents_loop(k, b):
    trial = trials.Trial(k, b)
    found = trial.simulate(streams(), 200)["reject"][:, 0]
    counts = streams()("data").binomial(trial.n_trial, k, size=(200, 1))[:, 0]
    plain = [document_p_value(x / trial.n_trial, trial.n_trial, k - b) < 0.05 for x in counts]
    np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("n_boot", [0, 50])
def test_a_block_of_the_example_is_the_documents_loop(n_boot):
    applied, n_rep = trials.AppliedTrial(n_boot=n_boot), 20
    found = applied.simulate(streams(), n_rep)
    again = streams()
    tests = 1 + again("data").standard_normal((n_rep, 50))
    scores = 1 + again("trial").standard_normal((n_rep, 184))
    bounds = thresholds(tests, applied.target, resamples=applied.resamples(again, tests))
    bounds["true"] = np.full(n_rep, 1 + stats.norm.ppf(1 - 0.95))
    for i in range(n_rep):
        for place, method in enumerate(trials.TRIAL_METHODS):
            share = np.mean(scores[i] > bounds[method][i])
            assert found["trial_sensitivity"][i, place] == pytest.approx(share, abs=1e-15)
            assert found["reject"][i, place] == (document_p_value(share, 184, 0.9) < 0.05)
            kept = stats.norm.sf(bounds[method][i], 1, 1)
            power = stats.binom.sf(172, 184, kept)
            assert found["power_given_threshold"][i, place] == pytest.approx(power, abs=1e-12)


def test_a_block_of_thresholds_is_the_documents_loop():
    scenario, n_rep = trials.Threshold(), 20
    found = scenario.simulate(streams(), n_rep)
    rng = streams()("data")
    true = 1 + stats.norm.ppf(1 - 0.95)
    for i, phat in enumerate(rng.standard_normal((n_rep, 50)) + 1):
        empirical, smallest = np.quantile(phat, 1 - 0.95), np.sort(phat)[0]
        for method, plain in {"empirical": empirical, "umbrella": smallest}.items():
            place = METHODS.index(method)
            assert found["threshold"][i, place] == pytest.approx(plain, rel=1e-12)
            assert found["safe"][i, place] == (plain <= true)
            kept = 1 - stats.norm.cdf(plain, 1, 1)
            assert found["sensitivity"][i, place] == pytest.approx(kept, rel=1e-12)


def test_every_method_there_is_meets_the_same_test_sets():
    few, all_of_them = (kind().simulate(streams(), 20) for kind in (trials.Threshold, trials.Bound))
    assert trials.Bound.methods[: len(METHODS)] == METHODS
    assert set(all_of_them) == {"safe", "sensitivity"}
    for name, column in all_of_them.items():
        assert column.shape == (20, len(trials.Bound.methods))
        np.testing.assert_array_equal(column[:, : len(METHODS)], few[name])


def document_rank(n, k, j):
    """As published, with whole numbers in place of a data frame."""
    pdf = np.array([math.comb(n, r) * ((1 - k) ** r) * (k ** (n - r)) for r in range(n + 1)])
    cdf = np.array([pdf[r:].sum() for r in range(n + 1)])
    return max(max(np.flatnonzero(1 - cdf <= 1 - j)), 1)


@pytest.mark.parametrize("n_obs", [50, 85, 200])
def test_a_block_of_ranks_is_the_documents_loop(n_obs):
    umbrella = trials.Umbrella(n_obs)
    rank = document_rank(n_obs, 0.95, 0.8)
    assert umbrella.ranks.tolist() == [rank, 1, 2, 3, 4]
    found = umbrella.simulate(streams(), 30)
    for i, scores in enumerate(streams()("data").random((30, n_obs))):
        ordered = np.sort(scores)
        safe = [ordered[r - 1] < 1 - 0.95 for r in umbrella.ranks]
        exactly = [np.sum(scores < 1 - 0.95) == r for r in umbrella.ranks]
        np.testing.assert_array_equal(found["safe"][i], safe)
        np.testing.assert_array_equal(found["exactly"][i], exactly)


def test_thresholds_do_not_depend_on_the_order_of_a_test_set():
    scenario = trials.Threshold(n_obs=40)
    x = scenario.scores.draw(np.random.default_rng(8), 3, 40)
    shuffled = np.random.default_rng(9).permuted(x, axis=1)
    found, again = (scenario.set_on(each, scenario.resamples(None, each)) for each in (x, shuffled))
    for name, column in found.items():
        np.testing.assert_array_equal(again[name], column)
