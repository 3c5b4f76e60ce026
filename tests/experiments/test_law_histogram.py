"""Histograms with the counts that a theory expects."""

import numpy as np
import pytest
from scipy import stats

from experiments._law_histogram import counts_with_law

EDGES = np.linspace(-3, 3, 13)
VALUES = np.random.default_rng(3).standard_normal(400)
BARS = counts_with_law(VALUES, EDGES, np.diff(stats.norm.cdf(EDGES)))


def test_counts_and_expectations_are_those_of_a_loop():
    for bar in BARS.itertuples():
        assert bar.count == sum(bar.left <= value < bar.right for value in VALUES)
        chance = stats.norm.cdf(bar.right) - stats.norm.cdf(bar.left)
        spread = 2 * stats.binom(400, chance).std()
        assert bar.expected == pytest.approx(400 * chance)
        assert bar.upper - bar.expected == pytest.approx(spread)
        assert bar.lower == pytest.approx(max(bar.expected - spread, 0))
