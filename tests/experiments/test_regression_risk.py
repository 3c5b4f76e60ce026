"""The risk of a fitted linear model: claims, figures, settings."""

import pytest

from experiments.regression_risk import Config, study
from tests.experiments.claimed import assert_holds

pytestmark = pytest.mark.slow

EXACT = (
    "variance of chi-square",
    "norm as a sum",
    "printed risk",
)  # claims that need no replicates


@pytest.fixture(scope="module")
def published():
    """As many replicates as are published, by the law of the fits instead of by fits."""
    return study(Config(draws="law")).run()


def test_claims_come_out_as_foreseen_and_rivals_fall(published):
    assert_holds(published)


def test_few_replicates_reproduce_nothing():
    few = study(Config(n_test=[10000])).run(20).claims
    assert "reproduced" not in set(few.loc[~few["claim"].isin(EXACT), "verdict"])


def test_the_distance_vanishes_only_with_the_intercept(published):
    last = published.summary.query("n_test == 30000 and metric == 'mse'").set_index("measure")
    assert last.loc["rmse", "lower"] < last.loc["model_se", "estimate"] * 1.05
    assert last.loc["rmse_printed", "lower"] > 2 * last.loc["model_se", "estimate"]
