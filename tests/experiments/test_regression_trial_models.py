"""The trial of any model by any metric: a plain loop, truths, and models that fail."""

import pytest

pytest.importorskip("sklearn", reason="needs pip install -e '.[models]'")

from experiments.regression_trial_models import Config, study
from simstudy.errors import DesignError

pytestmark = pytest.mark.slow

FAST = {"n_test": [20], "n_truth": 1000, "n_boot": 80, "n_train": 40, "dgps": ["linear"]}


def test_a_few_models_decide_nothing():
    result = study(
        Config(**FAST | {"dgps": ["curved", "heavy_tails"], "n_test": [50]}, models=["ridge"])
    ).run(10)
    few = "too few replicates"
    assert result.claims["verdict"].tolist() == ["no data", few, few]  # no linear signal


def test_too_few_fresh_observations_are_refused():
    said = r"n_truth=1000 fresh observations know the true metric hardly better"
    with pytest.raises(DesignError, match=said):
        study(Config(**FAST | {"n_test": [500]}))
