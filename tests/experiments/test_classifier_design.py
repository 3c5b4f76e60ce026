"""Umbrella ranks, sample sizes and the applied trial against the document's loops."""

import math

import numpy as np
import pytest
from scipy import stats

from experiments import umbrella_rank as umbrella
from experiments.classifier_sample_size import study as sample_size
from experiments.classifier_trial import study as trial
from simstudy.errors import ConfigError, DesignError
from simstudy.identity.streams import Streams
from simstudy.stats.classifier.thresholds import thresholds


def streams():
    return Streams(1, "classifier", "scenario", 0)


def foreseen(result):
    claims = result.claims
    assert (claims["verdict"] == claims["expected"]).all(), claims[["claim", "detail"]]


# ---------------------------------------------------------------- umbrella
def document_rank(n, k, j):
    """As published, with whole numbers in place of a data frame."""
    pdf = np.array([math.comb(n, r) * ((1 - k) ** r) * (k ** (n - r)) for r in range(n + 1)])
    cdf = np.array([pdf[r:].sum() for r in range(n + 1)])
    return max(max(np.flatnonzero(1 - cdf <= 1 - j)), 1)


@pytest.mark.parametrize("n_obs", [50, 85, 200])
def test_a_block_of_ranks_is_the_documents_loop(n_obs):
    one = umbrella.Umbrella(n_obs)
    rank = document_rank(n_obs, 0.95, 0.8)
    assert one.ranks.tolist() == [rank, 1, 2, 3, 4]
    found = one.simulate(streams(), 30)
    for i, scores in enumerate(streams()("data").random((30, n_obs))):
        ordered = np.sort(scores)
        safe = [ordered[r - 1] < 1 - 0.95 for r in one.ranks]
        exactly = [np.sum(scores < 1 - 0.95) == r for r in one.ranks]
        np.testing.assert_array_equal(found["safe"][i], safe)
        np.testing.assert_array_equal(found["exactly"][i], exactly)


def test_infeasible_ranks_are_safe_because_nobody_is_missed():
    one = umbrella.Umbrella(20)
    assert one.ranks[0] == 0
    assert one.simulate(streams(), 10)["safe"][:, 0].all()
    assert one.exact()["coverage"][0] == 1


def test_umbrella_claims_come_out_as_foreseen():
    foreseen(umbrella.study(umbrella.Config()).run(n_rep=100))


def test_too_few_cases_for_four_ranks_are_refused():
    with pytest.raises(ConfigError, match="n_obs=\\[3\\]: allowed is a whole number at least 4"):
        umbrella.Config(n_obs=[3])


# ---------------------------------------------------------------- sample size
def document_p_value(s_hat, n, l):  # noqa: E741
    return 1 - stats.norm.cdf((s_hat - l) / np.sqrt(l * (1 - l) / n))


@pytest.mark.parametrize(("k", "b"), [(0.95, 0.05), (0.85, 0.03)])
def test_a_block_of_trials_is_the_documents_loop(k, b):
    one = sample_size.Trial(k, b)
    found = one.simulate(streams(), 200)["reject"][:, 0]
    counts = streams()("data").binomial(one.n_trial, k, size=(200, 1))[:, 0]
    plain = [document_p_value(x / one.n_trial, one.n_trial, k - b) < 0.05 for x in counts]
    np.testing.assert_array_equal(found, plain)


def test_sample_size_claims_come_out_as_foreseen():
    foreseen(sample_size.study(sample_size.Config()).run(n_rep=5000))


def test_the_sizes_around_belong_to_the_last_design():
    config = sample_size.Config(sensitivity=[0.9], margin=[0.05], beta=[0.2], around=[280, 290])
    study = sample_size.study(config)
    assert [one.n_trial for one in study.scenarios] == [283, 280, 290]
    result = study.run(n_rep=100)
    for name in result.figures:
        result.figure(name).draw()
    assert (result.claims["verdict"] == "no data").sum() == 3


def test_a_margin_without_a_null_is_refused():
    with pytest.raises(DesignError, match=r"sensitivity 0\.85 puts the null outside"):
        sample_size.study(sample_size.Config(margin=[0.95]))


# ---------------------------------------------------------------- the applied example
@pytest.mark.parametrize("n_boot", [0, 50])
def test_a_block_of_the_example_is_the_documents_loop(n_boot):
    one, n_rep = trial.AppliedTrial(n_boot=n_boot), 20
    found = one.simulate(streams(), n_rep)
    again = streams()
    tests = 1 + again("data").standard_normal((n_rep, 50))
    trials = 1 + again("trial").standard_normal((n_rep, 184))
    bounds = thresholds(tests, one.target, resamples=one.resamples(again, tests))
    bounds["true"] = np.full(n_rep, 1 + stats.norm.ppf(1 - 0.95))
    for i in range(n_rep):
        for place, method in enumerate(trial.TRIAL_METHODS):
            share = np.mean(trials[i] > bounds[method][i])
            assert found["trial_sensitivity"][i, place] == pytest.approx(share, abs=1e-15)
            assert found["reject"][i, place] == (document_p_value(share, 184, 0.9) < 0.05)
            kept = stats.norm.sf(bounds[method][i], 1, 1)
            power = stats.binom.sf(172, 184, kept)
            assert found["power_given_threshold"][i, place] == pytest.approx(power, abs=1e-12)


def test_example_claims_come_out_as_foreseen():
    result = trial.study(trial.Config()).run()
    foreseen(result)
    rows = result.summary.query("measure == 'power'").dropna(subset="exact")
    error = np.sqrt(rows["exact"] * (1 - rows["exact"]) / rows["n_rep"])
    assert len(rows) == 6  # true threshold, empirical quantile and umbrella, twice
    assert ((rows["estimate"] - rows["exact"]).abs() < 4.5 * error).all()


def test_an_example_whose_null_is_true_is_refused():
    with pytest.raises(DesignError, match="puts the null outside"):
        trial.study(trial.Config(null_sensitivity=0.95))
