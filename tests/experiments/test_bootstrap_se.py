"""The bootstrap standard deviation of the MSE: claims, figures, settings."""

import numpy as np
import pytest

from experiments.bootstrap_se import Config, study
from tests.experiments.claimed import assert_holds

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small():
    return study(Config()).run(n_rep=200)


def test_all_numbers_of_resamples_see_the_same_data(small):
    truths = [small.columns(scenario, "sd_true")["sd_true"] for scenario in small.plan.scenarios]
    for other in truths[1:]:
        np.testing.assert_array_equal(truths[0], other)


def test_claims_come_out_as_foreseen_and_the_rival_falls():
    """Of the published number of replicates, and the document's resamples alone."""
    assert_holds(study(Config(n_boot=[1000])).run())


def test_few_replicates_do_not_reproduce(small):
    assert small.claims["verdict"].tolist() == ["too few replicates", "differs"]
