"""Histograms with the counts that a theory expects."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments._law_histogram import counts_with_law, law_histogram
from tests.figures.data import boxes, segments

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


def test_bars_are_the_counts_and_steps_the_law():
    both = pd.concat([BARS.assign(side=name) for name in ("left", "right")])
    drawn = law_histogram(both, x="z", panel="side", say=lambda rows: "words").draw()
    tops = sorted(box[3] for box in boxes(drawn))
    assert tops == pytest.approx(sorted(both["count"]))
    steps = [s for s in segments(drawn) if np.ptp(s[:, 1]) == 0 and np.ptp(s[:, 0]) > 0]
    assert sorted(s[0, 1] for s in steps) == pytest.approx(sorted(both["expected"]))
