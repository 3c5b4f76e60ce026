"""Where two samples have no answer, or half of one, by every method."""

from functools import partial

import numpy as np
import pytest

from simstudy.stats.two_sample.bootstrap_t import TAILS, bootstrap_t
from simstudy.stats.two_sample.permutation import permutation
from simstudy.stats.two_sample.rank_sum import rank_sum
from simstudy.stats.two_sample.t_tests import student, welch
from tests.stats.draws import rng_at
from tests.stats.two_sample.data import samples

RANDOM = {
    "permutation": permutation,
    **{f"bootstrap t, {tails}": partial(bootstrap_t, tails=tails) for tails in TAILS},
}
METHODS = {"welch": welch, "student": student, "rank sum": rank_sum} | {
    name: lambda x, y, method=method: method(x, y, rng_at()) for name, method in RANDOM.items()
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@every_method
def test_two_constant_samples_have_no_answer(method):
    """Of ranks, two that are the same constant, whose difference is 0."""
    values = (0.3, 0.3) if method is rank_sum else (0.1, 0.3)
    found = method(*(np.full((2, n), value) for n, value in zip((3, 4), values, strict=True)))
    assert found.estimate == pytest.approx(values[0] - values[1])
    said = [found.p] if method is rank_sum else [found.p, found.lower, found.upper]
    assert np.isnan(said).all()


@every_method
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_observation_that_is_not_finite_costs_its_replicate_alone(method, value):
    x, y = samples(5, 6)
    x[1, 2] = value
    assert np.isnan(method(x, y).p).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("method", "n"),
    [
        (METHODS["rank sum"], 2),
        (METHODS["permutation"], 2),
        (METHODS["bootstrap t, symmetric"], 2),
        (lambda x, y: permutation(x, y, rng_at(), n_perm=9), 9),
        (lambda x, y: bootstrap_t(x, y, rng_at(), n_boot=19), 9),
    ],
)
def test_too_few_for_the_level_leave_the_interval_unbounded_and_not_nan(method, n):
    found = method(*samples(n, n))
    assert np.isinf([found.lower, found.upper]).all()
    if n == 2:  # a third of all partitions repeat the samples, or turn them round
        assert (found.p > 0.05).all()
