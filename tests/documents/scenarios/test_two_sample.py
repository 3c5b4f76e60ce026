"""Two samples: what is drawn, that every method says the same things, and what theory knows."""

import numpy as np
import pytest
from scipy import stats

from simstudy.documents.dgps.location import Gamma, Gaussian, Lognormal, StudentT
from simstudy.documents.scenarios.two_sample import (
    METHODS,
    NO_ANSWER,
    ComparedSamples,
    TwoSample,
    bootstrap_t,
    permutation,
    plain_permutation,
    rank_sum,
    student,
    trimmed_t,
    welch,
)
from simstudy.documents.stats.two_sample import theory
from simstudy.engine.per_replicate import each_replicate
from tests.documents.scenarios.draws import streams_at

SHAPES = [Gaussian(mean=3.0, variance=2.0), StudentT(df=5), Gamma(shape=2), Lognormal(sigma=1)]
WHOLE_BLOCKS = (student, welch, rank_sum)
RANDOM = (permutation, plain_permutation, bootstrap_t)


def answers(method, trial: TwoSample, n_rep: int = 8):
    data = trial.draw(streams_at(), n_rep)
    own = {"streams": streams_at(4)} if method in RANDOM else {}
    return method(alpha=trial.alpha, **data, **own)


@pytest.mark.parametrize("dgp", SHAPES, ids=str)
def test_samples_are_the_shape_with_its_own_mean_and_variance_taken_out(dgp):
    trial = TwoSample(n1=4, n2=7, variance_ratio=3.0, effect=2.0, dgp=dgp)
    data, rng = trial.draw(streams_at(), 5), streams_at()("data")
    slow = [(dgp.draw(rng, 5, n) - dgp.mean) / np.sqrt(dgp.variance) for n in (4, 7)]
    sd1, sd2 = np.sqrt(1.5), np.sqrt(0.5)  # their squares average 1, in the ratio 3 to 1
    shift = 2.0 * np.sqrt(1.5 / 4 + 0.5 / 7)
    np.testing.assert_allclose(data["x"], sd1 * slow[0] + shift, rtol=1e-12)
    np.testing.assert_allclose(data["y"], sd2 * slow[1], rtol=1e-12)
    assert data["truth"] == pytest.approx(shift)


@pytest.mark.parametrize("method", [*WHOLE_BLOCKS, *RANDOM])
@pytest.mark.parametrize("effect", [0.0, 2.8])
def test_every_method_says_the_same_things(method, effect):
    found = answers(method, TwoSample(n1=6, n2=9, effect=effect))
    by_one = dict(answers(welch, TwoSample(n1=6, n2=9, effect=effect)))
    assert set(found) == set(by_one)
    assert (found["reject"] == (found["p"] < 0.05)).all()
    assert found["null_is_true"] == (effect == 0) == 1 - found["null_is_false"]


@pytest.mark.parametrize(("n1", "n2"), [(2, 2), (5, 9), (10, 30), (13, 4)])
def test_the_trimmed_test_is_that_of_scipy(n1, n2):
    data = TwoSample(n1, n2, variance_ratio=4.0).draw(streams_at(), 3)
    for x, y in zip(data["x"], data["y"], strict=True):
        found = trimmed_t(x, y, 0.1, 0.0)
        known = stats.ttest_ind(x, y, equal_var=False, trim=0.2)
        interval = known.confidence_interval(0.9)
        assert found["p"] == pytest.approx(known.pvalue, rel=1e-9)
        assert found["lower"] == pytest.approx(interval.low, rel=1e-9)
        assert found["upper"] == pytest.approx(interval.high, rel=1e-9)


def test_without_spread_the_trimmed_test_fails_and_says_why():
    flat = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 9.0])
    columns = each_replicate(
        lambda x, y: trimmed_t(x, y, 0.05, 0.0),
        np.stack([flat, np.arange(6.0)]),
        np.stack([flat, flat]),
        returns=("p",),
    )
    assert "no spread is left in either sample after trimming" in columns["error"][0]
    assert columns["error"][1] is None


@pytest.mark.parametrize("method", [*WHOLE_BLOCKS, *RANDOM])
def test_a_replicate_without_an_answer_is_a_failure_with_its_reason(method):
    x, y = np.random.default_rng(1).normal(size=(2, 3, 5))
    x[1] = y[1] = 0.3
    own = {"streams": streams_at()} if method in RANDOM else {}
    found = method(x, y, 0.05, 0.0, **own)
    assert found["error"].tolist() == [None, NO_ANSWER, None]
    assert np.isnan(found["p"]).tolist() == [False, True, False]


# ---------------------------------------------------------------- theory
def known_of(trial: ComparedSamples, measure: str) -> dict[str, float]:
    by_method = dict(zip(METHODS, trial.exact()[measure], strict=True))
    return {name: value for name, value in by_method.items() if not np.isnan(value)}


def test_of_normal_data_the_t_tests_are_known_whatever_the_variances():
    trial = ComparedSamples(n1=10, n2=30, variance_ratio=4.0)
    known = known_of(trial, "type_1_error")
    assert known["welch"] == theory.welch_rejection(10, 30, 4.0)
    assert set(known) == {"student", "welch"}
    assert set(known_of(ComparedSamples(10, 30, 4.0, effect=2.8), "power")) == {"student", "welch"}


def test_of_equal_distributions_tests_of_ranks_and_partitions_are_known():
    trial = ComparedSamples(n1=10, n2=30, dgp=Lognormal())
    known = known_of(trial, "type_1_error")
    assert set(known) == {"rank_sum", "plain_permutation", "permutation"}
    assert known["permutation"] == 0.05  # at or below 0.05 there are 50 of 1000 p-values


@pytest.mark.parametrize("effect", [0.0, 2.8])
def test_intervals_miss_as_often_as_a_true_null_is_rejected(effect):
    trial = ComparedSamples(n1=10, n2=30, variance_ratio=4.0, effect=effect)
    coverage = known_of(trial, "coverage")["welch"]
    assert coverage == 1 - theory.welch_rejection(10, 30, 4.0)
