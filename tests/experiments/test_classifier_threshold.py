"""The classifier's thresholds as an experiment, and the grid beyond it."""

import numpy as np
import pytest
from scipy import stats

from experiments import classifier_threshold_grid as wider
from experiments.classifier_threshold.study import Config, Threshold, study
from experiments.classifier_threshold.test_sets import first_block, n_low
from simstudy.errors import ConfigError
from simstudy.identity.streams import Streams
from simstudy.stats.bootstrap.resamples import draw_resamples, exact_shape
from simstudy.stats.classifier.thresholds import METHODS, thresholds
from tests.support import assert_within_mcse, replicates_to_catch


def streams():
    return Streams(1, "classifier", "scenario", 0)


@pytest.fixture(scope="module")
def published():
    return study(Config()).run()


def test_a_block_is_the_documents_loop():
    one, n_rep = Threshold(), 20
    found = one.simulate(streams(), n_rep)
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


def test_only_bootstraps_change_with_the_number_of_resamples(published):
    exactly, drawn = (published.columns(one, "threshold")["threshold"]
                      for one in published.plan.scenarios[:2])  # fmt: skip
    same = (exactly == drawn).all(axis=0)
    changed = {m for m, s in zip(METHODS, same, strict=True) if not s}
    assert {"normal", "bca strict"} <= changed
    assert not changed & {"empirical", "umbrella", "tolerance"}


def test_stored_test_sets_are_those_behind_the_thresholds(published):
    scenario = published.plan.scenarios[0]
    stored = first_block(published, scenario, "score_1", "threshold", "bootstrap_mean")
    np.testing.assert_array_equal(
        stored["score_1"], stored["threshold"][:, METHODS.index("umbrella")]
    )
    assert len(stored["score_1"]) == published.plan.block_size > 250


def test_what_is_stored_of_a_block_is_what_its_test_sets_say():
    scenario, n_rep = Threshold(), 20
    found = scenario.simulate(streams(), n_rep)
    x = np.sort(1 + streams()("data").standard_normal((n_rep, 50)), axis=1)
    made = draw_resamples(streams()("figure 2"), x[:4], n_boot=n_rep, q=scenario.target.q)
    stricter = thresholds(x, scenario.target._replace(confidence=0.92), ("umbrella", "bca strict"))
    for i in range(n_rep):
        kept = np.mean(x[i] > np.quantile(x[i], 1 - 0.95))
        assert found["sensitivity_on_test_set"][i] == kept
        assert found["score_3"][i] == x[i, 2]
    shape = exact_shape(x, scenario.target.q)
    np.testing.assert_array_equal(found["bootstrap_mean"], shape.mean)
    np.testing.assert_array_equal(found["bootstrap_skewness"], shape.skewness)
    np.testing.assert_array_equal(found["umbrella_at_92"], stricter["umbrella"])
    np.testing.assert_array_equal(found["bca_strict_at_92"], stricter["bca strict"])
    for i in range(4):
        plain = np.repeat(made.values[i], made.counts[i])
        np.testing.assert_array_equal(found[f"resample_{i + 1}"], plain)


def test_a_bootstrapped_quantile_is_made_of_the_stored_scores():
    rng, q = np.random.default_rng(1), Threshold().target.q
    largest = np.sort(rng.integers(50, size=(20_000, 50)), axis=1)[:, 3].max()
    assert largest < n_low(50, q) < 50
    assert n_low(3, 0.5) == 3


def test_claims_come_out_as_foreseen(published):
    claims = published.claims
    assert (claims["verdict"] == claims["expected"]).all(), claims[["claim", "detail"]]


def test_figures_of_other_sizes_are_drawn():
    result = study(Config(n_obs=[20], sensitivity=[0.9], n_boot=[0], confidence=[0.7])).run(
        n_rep=60
    )
    for name in result.figures:
        result.figure(name).draw()
    assert (result.claims["verdict"] == "no data").sum() > 5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sensitivity": [1.2]}, "sensitivity=\\[1.2\\]: allowed is a number above 0 and below 1"),
        ({"n_boot": [-1]}, "n_boot=\\[-1\\]: allowed is a whole number at least 0"),
        ({"n_obs": [1]}, "n_obs=\\[1\\]: allowed is a whole number at least 2"),
    ],
)
def test_impossible_settings_are_refused(given, said):
    with pytest.raises(ConfigError, match=said):
        Config(**given)


def test_an_unknown_distribution_of_scores_is_refused():
    with pytest.raises(ConfigError, match="scores=\\[cauchy\\]: allowed is text one of normal"):
        wider.Config(scores=["cauchy"])


def test_the_grid_agrees_with_its_theory():
    n_rep = replicates_to_catch(0.15, sd=0.5, comparisons=40)
    config = wider.Config(n_obs=[30, 50], sensitivity=[0.95], confidence=[0.8], n_rep=n_rep)
    rows = wider.study(config).run().summary.query("measure == 'coverage'").dropna(subset="exact")
    error = np.sqrt(rows["exact"] * (1 - rows["exact"]) / n_rep)
    sure = error == 0  # thresholds of minus infinity
    assert (rows["estimate"] == rows["exact"])[sure].all()
    some = rows[~sure]
    assert_within_mcse(some["estimate"], some["exact"], error[~sure])
    with pytest.raises(AssertionError, match="suspect the code"):
        assert_within_mcse(some["estimate"], some["confidence"], error[~sure])


def test_methods_of_the_grid_share_their_data_between_confidences():
    config = wider.Config(n_obs=[50], sensitivity=[0.95], scores=["normal"], n_rep=100)
    result = wider.study(config).run()
    place = wider.GRID_METHODS.index("empirical")
    low, high = (result.columns(one, "safe")["safe"][:, place] for one in result.plan.scenarios)
    np.testing.assert_array_equal(low, high)
