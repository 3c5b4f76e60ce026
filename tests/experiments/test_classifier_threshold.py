"""The classifier's thresholds as an experiment, and the grid beyond it."""

import numpy as np
import pytest

from experiments import classifier_threshold_grid as wider
from experiments.classifier_threshold.study import Config, study
from simstudy.errors import ConfigError
from simstudy.stats.classifier.thresholds import METHODS
from simstudy.trials.thresholds import Bound
from tests.support import assert_within_mcse, replicates_to_catch


@pytest.fixture(scope="module")
def published():
    return study(Config()).run()


def test_stored_test_sets_are_those_behind_the_thresholds(published):
    scenario = published.plan.scenarios[0]
    stored = published.first_block(scenario, "score_1", "threshold", "bootstrap_mean")
    np.testing.assert_array_equal(
        stored["score_1"], stored["threshold"][:, METHODS.index("umbrella")]
    )
    assert len(stored["score_1"]) == published.plan.block_size > 250


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
    place = Bound.methods.index("empirical")
    low, high = (
        result.columns(scenario, "safe")["safe"][:, place] for scenario in result.plan.scenarios
    )
    np.testing.assert_array_equal(low, high)
