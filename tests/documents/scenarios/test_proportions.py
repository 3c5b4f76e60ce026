"""Lists and estimators as a study has them: data, columns, and what theory says of which cell."""

import numpy as np
import pytest

from simstudy.documents.scenarios.proportions import (
    METHODS,
    EstimatedProportion,
    Proportion,
)
from simstudy.documents.stats.compatible.combining import fisher
from simstudy.documents.stats.compatible.null_proportion import ESTIMATORS
from tests.documents.scenarios.draws import streams_at

TRIAL = Proportion(20, null_share=0.25, shift=2.0)


def test_data_are_p_values_their_truth_and_fishers():
    data = TRIAL.draw(streams_at(), 6)
    log_p = TRIAL.predictions.draw(streams_at()("data"), 6)
    np.testing.assert_array_equal(data["p"], np.exp(log_p))
    np.testing.assert_allclose(data["log10_p"], fisher(log_p) / np.log(10))
    assert data["truth"] == 0.25


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_its_estimator(name):
    data = TRIAL.draw(streams_at(), 6)
    found = METHODS[name](**data)
    np.testing.assert_array_equal(found["estimate"], ESTIMATORS[name](data["p"]))
    assert found["truth"] == data["truth"]
    np.testing.assert_array_equal(found["log10_p"], data["log10_p"])


def test_theory_speaks_of_independent_lists_and_of_the_order_of_p():
    trial = EstimatedProportion(20, null_share=0.25, shift=2.0)
    known = dict(zip(METHODS, trial.exact()["bias"], strict=True))
    said = {name for name, value in known.items() if np.isfinite(value)}
    assert said == {"cfdr_by_p", "cfdr_by_p_clipped", "rfdr_by_p", "storey"}
    assert EstimatedProportion(20, correlation=0.3).exact() == {}
