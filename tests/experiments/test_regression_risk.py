"""The risk of a fitted linear model: claims, figures, settings."""

import pytest

from experiments.regression_risk import Config, study
from simstudy.dgps.linear import LinearModel
from simstudy.errors import DesignError


@pytest.fixture(scope="module")
def published():
    return study(Config()).run()


def test_claims_come_out_as_foreseen(published):
    claims = published.claims
    assert (claims["verdict"] == claims["expected"]).all(), claims[["claim", "detail"]]


def test_the_distance_vanishes_only_with_the_intercept(published):
    last = published.summary.query("n_test == 100000 and metric == 'mse'").set_index("measure")
    assert last.loc["rmse", "lower"] < last.loc["model_se", "estimate"] * 1.05
    assert last.loc["rmse_printed", "lower"] > 2 * last.loc["model_se", "estimate"]


def test_figures_are_functions_of_the_result(published):
    assert len(published.figure("2A").data) == 4 * 250
    assert published.figure("distance").labels.x == "test observations"


def test_too_few_observations_are_refused():
    with pytest.raises(DesignError, match=r"n_train=20 observations are too few for 20 features"):
        study(Config(n_train=[20]))


def test_claims_without_their_scenario_have_no_data():
    result = study(Config(n_test=[50])).run(n_rep=20)
    assert set(result.claims["verdict"]) == {"no data"}


def test_other_settings_reach_the_scenario():
    made = study(Config(n_feature=3, coefficient=0.1, noise_variance=2.0)).scenarios[0]
    assert made.model == LinearModel(3, 0.1, 2.0)
