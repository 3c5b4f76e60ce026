"""Processes and populations that have no truth are refused by name and value."""

import numpy as np
import pytest

from simstudy.documents.dgps.linear import LinearModel
from simstudy.documents.dgps.location import Gaussian
from simstudy.documents.dgps.prices import Prices
from simstudy.errors import DesignError


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


REFUSED = {
    "linear": [
        (lambda: LinearModel(n_feature=0), "n_feature=0"),
        (lambda: LinearModel(noise_variance=np.inf), "noise_variance=inf"),
        (lambda: LinearModel(curvature=np.nan), "curvature=nan"),
        (lambda: LinearModel(coefficient=0.0, curvature=1.0), "no signal for the curvature"),
        (lambda: LinearModel(correlation=1.0), "correlation=1"),
        (lambda: LinearModel(df=2.0), "df=2 "),
        (lambda: LinearModel(heteroskedasticity=1.5), "heteroskedasticity=1.5"),
        (lambda: LinearModel(n_feature=3).draw_fit(rng(), 2, 3), "too few for 3 features"),
        (lambda: Prices(0.0, signal=0.5), "spread=0"),
    ],
    "location": [
        (lambda: Gaussian(variance=0.0), "Gaussian.*variance"),
    ],
}


@pytest.mark.parametrize("module", REFUSED)
def test_what_has_no_truth_is_refused_by_name_and_value(module):
    for make, about in REFUSED[module]:
        with pytest.raises(DesignError, match=about):
            make()
