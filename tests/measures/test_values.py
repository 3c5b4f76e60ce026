"""Estimates without their errors are those with them."""

import numpy as np
import pytest

from simstudy.measures import bias, coverage, empirical_se, median, rejection_rate

RNG = np.random.default_rng(1)
X = RNG.normal(size=(50, 3))
COLUMNS = {
    "x": np.where(X > 2, np.nan, X),
    "reject": X > 0.5,
    "given": X[:, :1] < 1,
    "lower": X - 1,
    "upper": X + 1,
}
MEASURES = [
    bias("x", truth=0.0),
    empirical_se("x"),
    rejection_rate("reject", given="given"),
    coverage("lower", "upper", truth=0.0),
    median("x"),
]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda each: each.name)
def test_values_are_those_of_the_estimate(measure):
    estimates = measure.estimate(COLUMNS)
    for name, values in measure.values(COLUMNS).items():
        assert np.array_equal(values, getattr(estimates, name), equal_nan=True)
