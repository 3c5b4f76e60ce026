"""Replicates that lie far out: which are counted."""

import numpy as np
import pytest

from simstudy import measures as m


def rate(x, **options):
    return m.outlier_rate("x", **options).estimate({"x": np.asarray(x, float)})


def test_the_limit_is_in_robust_deviations_from_the_median():
    x = np.arange(-500.0, 501)
    limit = 10 * 1.4826 * 250  # the median distance from 0, the median
    assert rate(x).estimate == 0
    assert rate(np.r_[x, 0.99 * limit]).estimate == 0
    assert rate(np.r_[x, 1.01 * limit]).estimate == pytest.approx(1 / 1002)
    assert rate(np.r_[x, 1.01 * limit], beyond=11).estimate == 0


def test_few_far_out_hide_neither_each_other_nor_themselves():
    """A standard deviation would be drawn out by them, and two of twenty stay within 10 of it."""
    x = np.r_[np.linspace(-1, 1, 18), 1e6, 1e6]
    assert rate(x).estimate == pytest.approx(0.1)
    assert not (np.abs(x - x.mean()) > 10 * x.std()).any()


def test_infinite_values_count_and_failures_do_not():
    found = rate(np.r_[np.linspace(-1, 1, 8), np.inf, np.nan])
    assert (found.estimate, found.n_rep, found.n_failed) == (pytest.approx(1 / 9), 9, 1)
    assert np.isfinite(found.mcse)


def test_far_out_the_error_is_the_binomial_one():
    found = rate(np.r_[np.linspace(-1, 1, 98), 1e6, 1e6])
    assert float(found.mcse) == pytest.approx(np.sqrt(0.02 * 0.98 / 100), rel=1e-9)
    assert rate(np.linspace(-1, 1, 98)).mcse > 0  # none of 98 is not without error


def test_where_half_are_equal_nothing_is_said_to_lie_out():
    found = rate(np.r_[np.zeros(6), 1.0, 2, 3])
    assert np.isnan(found.estimate)
    assert str(found.reason).startswith("half of x or more are equal, so the MAD is 0")
