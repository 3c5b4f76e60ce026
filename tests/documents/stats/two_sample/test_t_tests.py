"""Student's and Welch's tests against scipy and theory; where two samples have no answer."""

from functools import partial

import numpy as np
import pytest
from scipy import special, stats

from simstudy.documents.stats.two_sample import theory
from simstudy.documents.stats.two_sample.bootstrap_t import TAILS, bootstrap_t
from simstudy.documents.stats.two_sample.permutation import permutation
from simstudy.documents.stats.two_sample.rank_sum import rank_sum
from simstudy.documents.stats.two_sample.t_tests import student, welch
from tests.documents.stats.draws import rng_at, samples
from tests.support import assert_caught, assert_within_mcse, replicates_to_catch

SCIPY = {welch: False, student: True}  # whether variances are taken as equal
ALPHA = 0.05
SIZES = [(2, 2), (2, 9), (10, 30), (40, 12)]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("method", SCIPY)
def test_answers_are_those_of_scipy(method, sizes):
    x, y = samples(*sizes)
    found = method(x, y, alpha=0.1)
    known = stats.ttest_ind(x, y, axis=1, equal_var=SCIPY[method])
    interval = known.confidence_interval(0.9)
    np.testing.assert_allclose(found.p, known.pvalue, rtol=1e-10)
    np.testing.assert_allclose(found.lower, interval.low, rtol=1e-10)
    np.testing.assert_allclose(found.upper, interval.high, rtol=1e-10)


# ---------------------------------------------------------------- theory

CASES = [(10, 30, 4.0, 0.0), (10, 30, 4.0, 2.8), (30, 10, 9.0, 2.8), (2, 3, 1.0, 0.0)]
ERROR = 0.01
N_REP = replicates_to_catch(ERROR, sd=0.5, comparisons=len(CASES))


def rejections(method, n1: int, n2: int, variance_ratio: float, effect: float) -> float:
    """Share of normal samples in which the method rejects."""
    rng = np.random.default_rng(7)
    x = np.sqrt(variance_ratio) * rng.normal(size=(N_REP, n1))
    x += effect * np.sqrt(variance_ratio / n1 + 1 / n2)
    return float((method(x, rng.normal(size=(N_REP, n2))).p < ALPHA).mean())


RATES = {welch: theory.welch_rejection, student: theory.student_rejection}


@pytest.mark.parametrize("method", RATES)
def test_normal_data_are_rejected_as_often_as_theory_says(method):
    found = [rejections(method, *case) for case in CASES]
    for rate in RATES.values():
        exact = np.array([rate(*case[:3], effect=case[3]) for case in CASES])
        mcse = np.sqrt(exact * (1 - exact) / N_REP)
        if rate is RATES[method]:
            assert_within_mcse(found, exact, mcse)
        else:
            assert_caught(found, exact, mcse)


def test_more_nodes_change_nothing(monkeypatch):
    rates = [rate(10, 30, 4.0, effect=2.8) for rate in RATES.values()]
    monkeypatch.setattr(theory, "N_NODES", 2 * theory.N_NODES)
    again = [rate(10, 30, 4.0, effect=2.8) for rate in RATES.values()]
    assert rates == pytest.approx(again, rel=1e-12)


def test_nodes_and_weights_are_those_of_scipy():
    n1, n2 = 5, 30
    nodes, weights = special.roots_jacobi(theory.N_NODES, (n2 - 3) / 2, (n1 - 3) / 2)
    found = theory._shares(n1, n2, theory.N_NODES)
    np.testing.assert_allclose(found.share, (1 + nodes) / 2, rtol=1e-9)
    moments = [found.weight @ found.share**power for power in range(4)]
    known = [weights @ ((1 + nodes) / 2) ** power / weights.sum() for power in range(4)]
    assert moments == pytest.approx(known, rel=1e-12)


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
