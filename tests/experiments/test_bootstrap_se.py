"""The bootstrap standard deviation of the MSE: claims, figures, settings."""

import numpy as np
import pytest

from experiments.bootstrap_se import Config, study
from simstudy.errors import DesignError


@pytest.fixture(scope="module")
def small():
    return study(Config()).run(n_rep=200)


def test_all_numbers_of_resamples_see_the_same_data(small):
    truths = [small.columns(scenario, "sd_true")["sd_true"] for scenario in small.plan.scenarios]
    for other in truths[1:]:
        np.testing.assert_array_equal(truths[0], other)


def test_claims_come_out_as_foreseen(small):
    claims = small.claims
    assert (claims["verdict"] == claims["expected"]).all(), claims[["claim", "detail"]]


def test_figures_are_functions_of_the_result(small):
    assert set(small.figure("2B").data["panel"]) == {"1,000 resamples", "the limit"}
    assert set(small.figure("scatter").data["x"]) == {50.0, 200.0, 1000.0}


def test_too_few_observations_are_refused():
    with pytest.raises(DesignError, match="n_train=5 observations are too few"):
        study(Config(n_train=[5]))
