import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from simstudy.errors import FigureError
from simstudy.figures.bands import running_mean
from simstudy.figures.running import MAX_COUNTS, counts_to_draw

Z_95 = 1.959963984540054
RNG = np.random.default_rng(5)


def slow_running_mean(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    rows = []
    for count in at:
        used = [v for v in values[:count] if not np.isnan(v)]
        mean, error = np.mean(used), np.std(used, ddof=1) / np.sqrt(len(used))
        rows.append([mean, mean - Z_95 * error, mean + Z_95 * error])
    return np.array(rows)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_running_mean_is_the_slow_loop(shift):
    values = shift + RNG.standard_normal(60)
    values[[3, 17]] = np.nan
    at = np.arange(2, 61)
    running = running_mean(values, at=at)
    np.testing.assert_allclose(np.array(running[1:]).T, slow_running_mean(values, at), rtol=1e-9)


def test_a_naive_running_variance_would_not_pass_that_test():
    values = 1e9 + RNG.standard_normal(60)
    naive = np.mean(values**2) - np.mean(values) ** 2
    assert not np.isclose(naive, values.var(), rtol=1e-3)
    running = running_mean(values, at=np.array([60]))
    expected = slow_running_mean(values, np.array([60]))[0]
    np.testing.assert_allclose(running.upper - running.lower, expected[2] - expected[1], rtol=1e-6)


def test_zeros_and_ones_get_wilsons_interval_from_the_first_replicate_on():
    hits = np.array([1.0, 1.0, np.nan, 0.0])
    running = running_mean(hits, at=np.array([1, 3, 4]))
    pairs = [(1, 1), (2, 2), (2, 3)]
    theirs = np.array([proportion_confint(*p, alpha=0.05, method="wilson") for p in pairs])
    np.testing.assert_allclose(np.column_stack([running.lower, running.upper]), theirs)


def test_a_wald_interval_would_not_pass_that_test():
    running = running_mean(np.ones(10), at=np.array([10]))
    assert running.lower[0] < 1 == running.estimate[0]


@given(st.integers(2, 10_000), st.integers(2, 10_000))
def test_counts_to_draw_begin_at_the_start_and_end_with_all(n_rep, start):
    start = min(start, n_rep)
    counts = counts_to_draw(n_rep, start)
    assert (counts[0], counts[-1]) == (start, n_rep)
    assert (np.diff(counts) > 0).all()
    assert len(counts) == min(MAX_COUNTS, n_rep - start + 1)


@pytest.mark.parametrize("start", [1, 11])
def test_a_start_without_a_standard_error_is_refused(start):
    with pytest.raises(FigureError, match=rf"start={start} with 10 .* start from 2 to 10"):
        counts_to_draw(10, start)
