"""A summary says where one replicate carries an estimate's error, as with infinite variance."""

import numpy as np
import pytest

from simstudy.measures import bias, empirical_se

N_REP, SEEDS = 1000, range(200)


def warnings_of(law, measure) -> list[str]:
    found = [measure.estimate({"x": law(np.random.default_rng(seed), N_REP)}) for seed in SEEDS]
    return ["" if each.warning is None else str(each.warning) for each in found]


def pareto(rng, n):
    """Values with a mean and no variance."""
    return rng.pareto(1.5, n)


@pytest.mark.parametrize("measure", [bias("x", truth=0.0), empirical_se("x")])
def test_most_samples_of_a_law_without_a_variance_get_the_warning(measure):
    warnings = warnings_of(pareto, measure)
    assert np.mean(["one replicate carries" in text for text in warnings]) > 0.5


@pytest.mark.parametrize("measure", [bias("x", truth=0.0), empirical_se("x")])
def test_normal_values_do_not(measure):
    """Chance of one such sample: 1000 P(z^2 - 1 > sqrt(2 * 150)), about 0.02, for spreads."""
    warnings = warnings_of(lambda rng, n: rng.normal(size=n), measure)
    assert sum("one replicate carries" in text for text in warnings) <= 10


def test_the_warning_names_the_share():
    x = np.zeros(N_REP)
    x[:2] = [300.0, -100.0]
    found = bias("x", truth=0.0).estimate({"x": x})
    share = (300 - 0.2) ** 2 / ((300 - 0.2) ** 2 + (100 + 0.2) ** 2 + 998 * 0.2**2)
    assert f"one replicate carries {share:.0%} of the squared error" in str(found.warning)
