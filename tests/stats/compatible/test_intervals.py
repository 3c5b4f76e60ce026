"""Percentile intervals of proportions: the resamples in a loop, and coverage where it is known."""

import numpy as np
import pytest

from simstudy.stats.compatible import intervals
from simstudy.stats.compatible.intervals import percentile_interval
from simstudy.stats.compatible.null_proportion import storey
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch


def mean(p):
    return p.mean(axis=-1)


def test_limits_are_order_statistics_of_resampled_estimates():
    p = np.random.default_rng(1).random((4, 9))
    found = percentile_interval(p, storey, np.random.default_rng(2), n_boot=19, level=0.8)
    rng = np.random.default_rng(2)
    places = rng.integers(0, 9, size=(4, 19, 9), dtype=np.int32)
    for rep in range(4):
        drawn = sorted(float(storey(p[rep][places[rep, b]])) for b in range(19))
        assert found.lower[rep] == pytest.approx(drawn[1])  # (19 + 1) 0.1 is 2
        assert found.upper[rep] == pytest.approx(drawn[17])


def test_how_many_fit_at_a_time_moves_no_limit(monkeypatch):
    p = np.random.default_rng(1).random((7, 6))
    together = percentile_interval(p, mean, np.random.default_rng(2), n_boot=10)
    monkeypatch.setattr(intervals, "ROOM", 2 * 10 * 6)
    apart = percentile_interval(p, mean, np.random.default_rng(2), n_boot=10)
    np.testing.assert_array_equal(together, apart)


ERROR, LEVEL, N = 0.05, 0.9, 100
SD = np.sqrt(LEVEL * (1 - LEVEL))
N_REP = replicates_to_catch(ERROR, sd=SD)


def covered(level: float) -> float:
    """Of the mean of uniforms, whose percentile interval is nearly exact."""
    p = np.random.default_rng(3).random((N_REP, N))
    found = percentile_interval(p, mean, np.random.default_rng(4), n_boot=99, level=level)
    return float(((found.lower <= 0.5) & (found.upper >= 0.5)).mean())


def test_intervals_of_a_mean_cover():
    assert_within_mcse(covered(LEVEL), LEVEL, SD / np.sqrt(N_REP))
    # Caught: another level.
    assert_caught(covered(0.8), LEVEL, SD / np.sqrt(N_REP))
